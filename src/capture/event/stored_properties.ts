// An event as it is stored: each key of an object once, with its last value, as every JSON parser reads it; and its
// properties with the `$set` and `$set_once` that stood beside them as members.

import { decodeText, toBytes } from "../../core/bytes.ts";
import { JsonCursor } from "../../core/json/json_cursor.ts";
import { alteration, type EntryOffset, field, type Indexed } from "../fields/event_fields.ts";
import type { Reason } from "../fields/outcome.ts";
import { type ByteRange, setBytes, setText } from "../fields/raw_value.ts";
import { RepeatedKeys } from "./repeated_keys.ts";

/** The members of an object by name: the key as it was written, and the text of the value. */
type Members = Map<string, readonly [key: string, value: string]>;

/** Used anew for every event whose keys must be compared. */
const repeatedKeys = new RepeatedKeys();
const emptyObject = toBytes("{}");
const beside = [
  ["$set", field.own_set, field.$set],
  ["$set_once", field.own_set_once, field.$set_once],
] as const;

/** Reads the properties of entry `at`; returns why the event is ignored, if they are none. */
export function readProperties(index: Indexed, at: EntryOffset, out: ByteRange): Reason | undefined {
  const { bytes, entries } = index;
  const [from, to] = [entries[at + field.properties]!, entries[at + field.properties + 1]!];
  const isAbsent = to === 0 || bytes[from] === 0x6e;
  if (!isAbsent && bytes[from] !== 0x7b) return "malformed_event_properties";
  if (isAbsent) setBytes(out, emptyObject, 0, emptyObject.length);
  else setBytes(out, bytes, from, to);
  const hasOwn = isObject(index, at, field.own_set) || isObject(index, at, field.own_set_once);
  if (hasOwn) setText(out, completeText(index, at, out));
  return undefined;
}

/** The text of entry `at`, each key of an object once; undefined where it is so already. */
export function readOnce({ bytes, entries }: Indexed, at: EntryOffset): string | undefined {
  const item = entries[at + field.item]!;
  const mayRepeat = (entries[at + field.altered]! & alteration.repeatedKey) !== 0;
  return mayRepeat && repeatedKeys.mayRepeat(bytes, item)
    ? rewrite(bytes, item, undefined, true)[0]
    : undefined;
}

/** The text of properties beside which others stand. */
function completeText(index: Indexed, at: EntryOffset, { source, from, to }: ByteRange): string {
  const { bytes, entries } = index;
  const objects = beside.filter(([, slot]) => isObject(index, at, slot));
  if (!objects.some(([, , inner]) => entries[at + inner + 1]! > 0)) {
    const members = objects.map(
      ([name, slot]) => `"${name}":${decodeText(bytes, entries[at + slot]!, entries[at + slot + 1]!)}`,
    );
    if (new JsonCursor(source, from).seek()) members.unshift(decodeText(source, from, to).slice(1, -1));
    return `{${members.join(",")}}`;
  }
  const all = readMembers(source, from);
  for (const [name, slot] of objects) {
    const sets = readMembers(bytes, entries[at + slot]!);
    const inner = all.get(name)?.[1] ?? "";
    const merged = inner.startsWith("{") ? new Map([...readMembers(toBytes(inner), 0), ...sets]) : sets;
    all.set(name, [`"${name}"`, objectText(merged)]);
  }
  return objectText(all);
}

function isObject({ bytes, entries }: Indexed, at: EntryOffset, slot: number): boolean {
  return entries[at + slot + 1]! > 0 && bytes[entries[at + slot]!] === 0x7b;
}

/** The members of the object that begins at `from`, the last of each key. */
function readMembers(bytes: Uint8Array, from: number): Members {
  const members: Members = new Map();
  rewrite(bytes, from, members);
  return members;
}

/**
 * The text of the object or list that begins at `from`, where an object within names a key twice, undefined elsewhere;
 * and where it ends. Its nesting is bounded by the scan. `members`: receives an object's members. `isEvent`: a repeated
 * key stands where it stood last, since of `distinct_id` and `$distinct_id` the later one counts.
 */
function rewrite(
  bytes: Uint8Array,
  from: number,
  members?: Members,
  isEvent = false,
): [text: string | undefined, end: number] {
  const cursor = new JsonCursor(bytes, from);
  const isList = bytes[from] === 0x5b;
  const values = new Map<
    string | number,
    readonly [key: string, from: number, end: number, text: string | undefined]
  >();
  let isSent = true;
  for (let count = 1; cursor.seek(); count++) {
    const { key, keyEnd, value } = cursor;
    const [inner, end] = (bytes[value]! | 0x20) === 0x7b ? rewrite(bytes, value) : [];
    if (end !== undefined) cursor.jump(end);
    else cursor.skip();
    const raw = isList ? "" : decodeText(bytes, key - 1, keyEnd + 1);
    const name = isList ? count : (JSON.parse(raw) as string);
    if (isEvent) values.delete(name);
    values.set(name, [raw, value, cursor.end, inner]);
    if (inner !== undefined || values.size < count) isSent = false;
  }
  if (isSent && !members) return [undefined, cursor.at];
  const all: Members = members ?? new Map();
  for (const [name, [key, value, end, text]] of values)
    all.set(String(name), [key, text ?? decodeText(bytes, value, end)]);
  return [isList ? `[${[...all.values()].map(([, value]) => value).join(",")}]` : objectText(all), cursor.at];
}

function objectText(members: Members): string {
  return `{${[...members.values()].map(([key, value]) => `${key}:${value}`).join(",")}}`;
}
