// Reads untrusted values: what has another type than expected is empty.

export { isFields, toFields, unwrapQuery } from "../../query/result.ts";

export type Fields = Readonly<Record<string, unknown>>;

export function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function toNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
