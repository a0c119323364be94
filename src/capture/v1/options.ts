// The `options` of a v1 event, and the properties that they become.

/** The property and the reader of each option. */
const known = {
  cookieless_mode: ["$cookieless_mode", flagOf],
  disable_skew_correction: ["$ignore_sent_at", flagOf],
  product_tour_id: ["$product_tour_id", textOf],
  process_person_profile: ["$process_person_profile", flagOf],
} as const;

/** A property that an option becomes, with its value as JSON. */
export type OptionProperty = readonly [name: (typeof known)[keyof typeof known][0], json: string];

const none: readonly OptionProperty[] = [];

/**
 * The properties that the options at [from, to) become; the bytes are raw JSON. Unknown options are skipped. Undefined
 * when the options are not an object, or one has an invalid value: the event is then refused, since its sender's
 * intent is unknown.
 */
export function readOptions(source: Buffer, from: number, to: number): readonly OptionProperty[] | undefined {
  if (to - from <= 2) return to === 0 || source[from] === 0x7b ? none : undefined;
  const sent = JSON.parse(source.toString("utf8", from, to)) as unknown;
  if (sent === null) return none;
  if (typeof sent !== "object" || Array.isArray(sent)) return undefined;
  const read: OptionProperty[] = [];
  for (const [name, [property, jsonOf]] of Object.entries(known)) {
    const value = Object.hasOwn(sent, name) ? (sent as Record<string, unknown>)[name] : null;
    if (value === null) continue;
    const json = jsonOf(value);
    if (json === undefined) return undefined;
    read.push([property, json]);
  }
  return read;
}

/** A flag as PostHog reads it: a boolean, a number, or a text for one. */
function flagOf(value: unknown): string | undefined {
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number") return String(value !== 0);
  const word = typeof value === "string" ? value.trim().toLowerCase() : "";
  if (word === "true" || word === "1") return "true";
  return word === "false" || word === "0" ? "false" : undefined;
}

/** A text, or a whole number as a text. */
function textOf(value: unknown): string | undefined {
  if (Number.isSafeInteger(value)) return `"${String(value)}"`;
  return typeof value === "string" ? JSON.stringify(value) : undefined;
}
