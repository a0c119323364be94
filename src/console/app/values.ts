// Reads untrusted values: what has another type than expected is empty.

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function toFields(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function toNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A saved query without the nodes around it. */
export function toSource(query: unknown): Fields {
  const outer = toFields(query);
  return "source" in outer ? toFields(outer["source"]) : outer;
}
