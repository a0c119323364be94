// The `options` of a v1 event, as the properties they stand for. Knows which there are, and what each may look like.

/** Options by name, the property that each stands for, and what it must be. */
const known = {
  cookieless_mode: ["$cookieless_mode", flagOf],
  disable_skew_correction: ["$ignore_sent_at", flagOf],
  product_tour_id: ["$product_tour_id", textOf],
  process_person_profile: ["$process_person_profile", flagOf],
} as const;

/** A property that an option stands for, and its JSON. */
export type OptionProperty = readonly [name: (typeof known)[keyof typeof known][0], json: string];

const none: readonly OptionProperty[] = [];

/**
 * The properties that the raw JSON of options at [from, to) stands for, each with its JSON. Options that are not known
 * count for nothing. Undefined when they are no object, or one of them is not what it must be: then nobody can tell
 * what was wanted of the event.
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

/** As PostHog reads it: also numbers, and the words and digits for it. */
function flagOf(value: unknown): string | undefined {
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number") return String(value !== 0);
  const word = typeof value === "string" ? value.trim().toLowerCase() : "";
  if (word === "true" || word === "1") return "true";
  return word === "false" || word === "0" ? "false" : undefined;
}

/** A text, or a whole number as one. */
function textOf(value: unknown): string | undefined {
  if (Number.isSafeInteger(value)) return `"${String(value)}"`;
  return typeof value === "string" ? JSON.stringify(value) : undefined;
}
