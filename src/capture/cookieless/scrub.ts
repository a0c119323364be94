// Rewrites a cookieless event without what identifies its visitor: user agent and address are removed, ids replaced.
// All other members stay byte by byte.

import { decodeText, toBytes } from "../../core/bytes.ts";
import { JsonCursor, pastValue } from "../../core/json/json_cursor.ts";
import { ByteColumn } from "../../storage/native/native.ts";
import { field, itemKeys, type KnownKeys, knownKeys, toEscapedSlot, toSlot } from "../fields/event_fields.ts";
import type { Visitor } from "./visitor.ts";

/** The members of `properties` that matter here. */
const part = {
  $ip: 0,
  $raw_user_agent: 1,
  $cookieless_extra: 2,
  $host: 3,
  $timezone: 4,
  $initial_ip: 5,
  $initial_raw_user_agent: 6,
  $distinct_id: 7,
  $device_id: 8,
  $session_id: 9,
  distinct_id: 10,
  $set: 11,
  $set_once: 12,
} as const;
const partKeys = knownKeys(part);

const secret = [part.$ip, part.$raw_user_agent, part.$cookieless_extra];
const initial = [part.$initial_ip, part.$initial_raw_user_agent];
/** Members that are not stored: of `properties`, and of the objects of $set and $set_once. */
const dropped: ReadonlySet<number> = new Set(secret);
const droppedOfSets: ReadonlySet<number> = new Set([...secret, ...initial]);
const replaced: ReadonlySet<number> = new Set([part.$distinct_id, part.$device_id, part.$session_id]);

const factNames = ["$ip", "$raw_user_agent", "$cookieless_extra", "$host", "$timezone"] as const;
/** Facts of an event that identify its visitor; absent where it is no text. */
type VisitorFacts = Partial<Record<(typeof factNames)[number], string>>;

/** Reads these members of the valid object at `from`; of two with the same name the last counts. */
export function readVisitorFacts(bytes: Uint8Array, from: number): VisitorFacts {
  const found: VisitorFacts = {};
  const members = new JsonCursor(bytes, from);
  while (members.next()) {
    const slot = slotIn(partKeys, bytes, members);
    const name = factNames.find((factName) => part[factName] === slot);
    if (name === undefined) continue;
    const { value, end } = members;
    delete found[name];
    if (bytes[value] === 0x22) found[name] = JSON.parse(decodeText(bytes, value, end)) as string;
  }
  return found;
}

/**
 * The event in the valid object at `from`, scrubbed, as the only item of a new body. With a `visitor` it gets that
 * one's ids; without, its ids stay.
 */
export function scrub(bytes: Uint8Array, from: number, visitor: Visitor | undefined): Uint8Array {
  const out = new ByteColumn(pastValue(bytes, from) - from + addedBytes);
  const added = visitor && { distinct_id: visitor.distinct_id };
  // An array, since a single object could be read as a batch.
  out.u8(0x5b);
  const change = (slot: number, value: number) => {
    if (slot === field.distinct_id && visitor) return true;
    if (bytes[value] !== 0x7b) return false;
    if (slot === field.properties) return () => scrubProperties(bytes, value, visitor, out);
    return (slot === field.own_set || slot === field.own_set_once) && (() => scrubSet(bytes, value, out));
  };
  copyObject({ bytes, from, keys: itemKeys }, out, change, added);
  out.u8(0x5d);
  return out.filled();
}

/** Bytes for three ids, their names, and the event's own. */
const addedBytes = 512;

function scrubProperties(
  bytes: Uint8Array,
  from: number,
  visitor: Visitor | undefined,
  out: ByteColumn,
): void {
  const added = visitor && {
    $distinct_id: visitor.distinct_id,
    $device_id: visitor.device_id,
    $session_id: visitor.session_id,
  };
  const change = (slot: number, value: number) => {
    if (dropped.has(slot) || (visitor && replaced.has(slot))) return true;
    if (slot === part.distinct_id && visitor) {
      return () => out.raw(toBytes(JSON.stringify(visitor.distinct_id)));
    }
    const isSet = (slot === part.$set || slot === part.$set_once) && bytes[value] === 0x7b;
    return isSet && (() => scrubSet(bytes, value, out));
  };
  copyObject({ bytes, from, keys: partKeys }, out, change, added);
}

function scrubSet(bytes: Uint8Array, from: number, out: ByteColumn): void {
  copyObject({ bytes, from, keys: partKeys }, out, (slot) => droppedOfSets.has(slot));
}

/**
 * Copies the valid object at `from`, with the members `added` at its end; `change` decides by a member's slot and value
 * whether it is omitted, or writes another value.
 */
function copyObject(
  { bytes, from, keys }: { bytes: Uint8Array; from: number; keys: KnownKeys },
  out: ByteColumn,
  change: (slot: number, value: number) => boolean | (() => void),
  added?: Readonly<Record<string, string>>,
): void {
  const members = new JsonCursor(bytes, from);
  let next = 0x7b;
  while (members.next()) {
    const { key, value, end } = members;
    const changed = change(slotIn(keys, bytes, members), value);
    if (changed === true) continue;
    out.u8(next);
    next = 0x2c;
    out.raw(bytes, key - 1, changed ? value : end);
    if (changed) changed();
  }
  if (added || next === 0x7b) out.u8(next);
  if (added) out.raw(toBytes(JSON.stringify(added).slice(1, -1)));
  out.u8(0x7d);
}

/** The slot among `keys` of the member that is open. */
function slotIn(keys: KnownKeys, bytes: Uint8Array, { key, keyEnd }: JsonCursor): number {
  const isEscaped = bytes.subarray(key, keyEnd).includes(0x5c);
  return (isEscaped ? toEscapedSlot : toSlot)(keys, bytes, key, keyEnd);
}
