// The fields of a JSON object with their values as raw text, so that values move without being changed (a
// number keeps its digits). The grammar is not checked here: JSON.parse must have accepted the text before.

import { isDictionary } from "../../../core/json/dictionary.ts";

/** Name → the value's JSON text as written. A repeated name keeps its last value, as in JSON.parse. */
export type RawFields = Map<string, string>;

/** The object that a JSON text is; undefined when it is none. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return isDictionary(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The JSON text of an object with further fields in front, but for names that it has. */
export function withFields(object: string, more: (readonly [name: string, raw: string])[]): string {
  if (more.length === 0) return object;
  const own = parseRawFields(object);
  const added = more.filter(([name]) => !own.has(name));
  if (added.length === 0) return object;
  const head = writeRawFields(new Map(added));
  return own.size === 0 ? head : `${head.slice(0, -1)},${object.trimStart().slice(1)}`;
}

/** `text` must be what JSON.parse accepts as an object. */
export function parseRawFields(text: string): RawFields {
  const fields: RawFields = new Map();
  let at = skipSpace(text, text.indexOf("{") + 1);
  while (text.charCodeAt(at) === 0x22) {
    const nameEnd = stringEnd(text, at);
    const name = readName(text, at, nameEnd);
    const from = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const to = valueEnd(text, from);
    fields.delete(name);
    fields.set(name, text.slice(from, to));
    at = skipSpace(text, to);
    if (text.charCodeAt(at) === 0x2c) at = skipSpace(text, at + 1);
  }
  return fields;
}

export function writeRawFields(fields: RawFields): string {
  let text = "{";
  for (const [name, value] of fields) {
    text += `${text.length > 1 ? "," : ""}${JSON.stringify(name)}:${value}`;
  }
  return `${text}}`;
}

/** The value of a field that is a string and not empty. */
export function fieldText(fields: RawFields, name: string): string | undefined {
  const raw = fields.get(name);
  if (raw === undefined || raw.charCodeAt(0) !== 0x22 || raw.length === 2) return undefined;
  return JSON.parse(raw) as string;
}

/** The value of a field as an id: its text, or the digits of a number; undefined for "", null, true, [] and {}. */
export function fieldId(fields: RawFields, name: string): string | undefined {
  const raw = fields.get(name);
  return raw !== undefined && /^[-\d]/.test(raw) ? raw : fieldText(fields, name);
}

/** The fields of a field that is an object; no fields for anything else. */
export function objectField(fields: RawFields, name: string): RawFields {
  const raw = fields.get(name);
  return raw !== undefined && raw.charCodeAt(0) === 0x7b ? parseRawFields(raw) : new Map();
}

/** Whether a value is there: not missing, null or "". */
export function hasValue(raw: string | undefined): raw is string {
  return raw !== undefined && raw !== "null" && raw !== '""';
}

/** Sets `to` unless the value is missing, null or "", or the name is there already. */
export function putField(properties: RawFields, to: string, raw: string | undefined): void {
  if (hasValue(raw) && !properties.has(to)) properties.set(to, raw);
}

/** Moves fields to other names; a name that is there already keeps its value. */
export function renameFields(properties: RawFields, names: Readonly<Record<string, string>>): void {
  for (const [from, to] of Object.entries(names)) {
    const raw = properties.get(from);
    if (raw === undefined) continue;
    properties.delete(from);
    putField(properties, to, raw);
  }
}

function readName(text: string, from: number, to: number): string {
  const plain = text.slice(from + 1, to - 1);
  return plain.includes("\\") ? (JSON.parse(text.slice(from, to)) as string) : plain;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** One past the closing quote of the string that starts at `from`. */
function stringEnd(text: string, from: number): number {
  let at = from + 1;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code === 0x5c) at++;
  }
  return at;
}

function valueEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = stringEnd(text, at) - 1;
      if (depth === 0) return at + 1;
    } else if (code === 0x7b || code === 0x5b) depth++;
    else if (code === 0x7d || code === 0x5d) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (code === 0x2c || code <= 0x20)) return at;
  }
  return text.length;
}
