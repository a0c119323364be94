// What JSON calls an object.

/** Whether a value is an object with members: no list, and not null. */
export function isDictionary(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
