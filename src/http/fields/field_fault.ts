// Faults of wrong fields, in the words of the API that clients know; ids in paths, and the fault for those of nothing.

import { Fault, type FaultCode } from "../../core/fault.ts";
import { isUuid } from "../../core/id.ts";
import { limits } from "../../core/limits.ts";

/** The path of a value: names and indices from the body down. */
export type FieldPath = readonly string[];

/** The fault of a wrong value, with its path as `attr`; null for the body itself. */
export function fieldFault(code: FaultCode, detail: string, path: FieldPath): Fault {
  return new Fault(code, detail, { attr: path.length > 0 ? path.join("__") : null });
}

/** The fault of a room for a reference to something that does not exist. */
export function missingReference(attr: string, id: number | string): Fault {
  return new Fault("does_not_exist", `Invalid pk "${id}" - object does not exist.`, { attr });
}

export function nameType(value: unknown): string {
  if (value === null) return "NoneType";
  if (Array.isArray(value)) return "list";
  if (typeof value === "string") return "str";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return "dict";
}

/** A wrong value as a refusal shows it, cut to `limits.valueShownCharsMax`. */
export function excerpt(value: unknown): string {
  const text = typeof value === "string" ? value : quoted(value, 3);
  return text.length > limits.valueShownCharsMax ? `${text.slice(0, limits.valueShownCharsMax)}…` : text;
}

function quoted(value: unknown, depthMax: number): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return `'${value}'`;
  if (typeof value !== "object") return String(value);
  if (depthMax === 0) return "...";
  // More members than this are cut from the text anyway.
  const members = Object.entries(value).slice(0, 100);
  const texts = members.map(([name, item]) => [`'${name}'`, quoted(item, depthMax - 1)]);
  if (Array.isArray(value)) return `[${texts.map(([, text]) => text).join(", ")}]`;
  return `{${texts.map((pair) => pair.join(": ")).join(", ")}}`;
}

export function notFound(detail = "Not found."): Fault {
  return new Fault("not_found", detail);
}

/** @throws Fault not_found with this detail when nothing was found. */
export function present<Found>(found: Found | undefined, detail?: string): Found {
  if (found === undefined) throw notFound(detail);
  return found;
}

/** The number of a row. @throws Fault not_found for what can be no 32-bit id. */
export function parseRowId(param: string, detail?: string): number {
  const id = /^[1-9]\d{0,9}$/.test(param) ? Number(param) : Infinity;
  if (id > 2_147_483_647) throw notFound(detail);
  return id;
}

/** A UUID in small letters. @throws Fault not_found for what is none. */
export function parseUuid(param: string, detail?: string): string {
  if (!isUuid(param)) throw notFound(detail);
  return param.toLowerCase();
}

/** The insight that a path names: digits are its id, anything else its short id. @throws Fault not_found */
export function parseInsightName(param: string): number | string {
  if (/^\d*$/.test(param)) return parseRowId(param);
  if (!/^[0-9A-Za-z]{8,12}$/.test(param)) throw notFound();
  return param;
}
