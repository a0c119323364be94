// The fields of a JSON object with their values as raw text, so that values move without being changed (a
// number keeps its digits). The grammar is not checked here: JSON.parse must have accepted the text before.

import { isDictionary, jsonIn } from "../../../core/json/dictionary.ts";
import { JsonCursor } from "../../../core/json/json_cursor.ts";

/** Name → the value's JSON text as written. A repeated name keeps its last value, as in JSON.parse. */
export type RawFields = Map<string, string>;

/** The object that a JSON text is; undefined when it is none. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  const value = jsonIn(text);
  return isDictionary(value) ? value : undefined;
}

/** The JSON text of an object with further fields in front, but for names that it has. */
export function withFields(object: string, more: (readonly [name: string, raw: string])[]): string {
  if (more.length === 0) return object;
  const present = parseRawFields(object);
  const added = more.filter(([name]) => !present.has(name));
  if (added.length === 0) return object;
  const head = writeRawFields(new Map(added));
  return present.size === 0 ? head : `${head.slice(0, -1)},${object.trimStart().slice(1)}`;
}

/** `text` must be what JSON.parse accepts as an object. */
export function parseRawFields(text: string): RawFields {
  const fields: RawFields = new Map();
  const bytes = Buffer.from(text);
  const members = new JsonCursor(bytes, bytes.indexOf("{"));
  while (members.next()) {
    const plain = bytes.toString("utf8", members.key, members.keyEnd);
    const name = plain.includes("\\") ? (JSON.parse(`"${plain}"`) as string) : plain;
    fields.delete(name);
    fields.set(name, bytes.toString("utf8", members.value, members.end));
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
