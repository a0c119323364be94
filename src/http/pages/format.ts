// The format that a request wants.

/**
 * The format in the query; else, when the Accept header does not accept JSON, the first that it accepts.
 * @param types the media types of each format but JSON, in small letters.
 */
export function wantedFormat<Format extends string>(
  request: Request,
  named: Format | "json" | undefined,
  types: Readonly<Record<Format, readonly string[]>>,
): Format | "json" {
  if (named !== undefined) return named;
  const listed = (request.headers.get("accept") ?? "").toLowerCase().split(",");
  const accepted = listed.filter((name) => !refused.test(name)).map((name) => name.split(";", 1)[0]!.trim());
  const accepts = (type: string) => accepted.includes(type);
  if (accepts("application/json")) return "json";
  return (Object.keys(types) as Format[]).find((format) => types[format].some(accepts)) ?? "json";
}

/** The weight of a type that must not be sent (RFC 9110, 12.4.2). */
const refused = /;\s?q=0(\.0{0,3})?\s?$/;
