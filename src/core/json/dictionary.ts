// JSON as it may come from others: a text that is none, objects and numbers among its values.

/** Whether a value is an object with members: no list, and not null. */
export function isDictionary(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of an object; none of any other value. */
export function toMembers(value: unknown): Record<string, unknown> {
  return isDictionary(value) ? value : {};
}

export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (!isDictionary(value)) return value;
  const members = Object.entries(value).map(([name, item]) => [change(name), mapTexts(item, change)]);
  return Object.fromEntries(members);
}

/** A finite number, or its text: 64-bit numbers are text in JSON. */
export function numberIn(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** The value of a JSON text; undefined for any other text. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
