// Rewrites a cookieless event without what identifies its visitor: user agent and address are removed, ids replaced.
// All other members stay byte by byte.

import { bytesOf } from "../../core/bytes.ts";
import { ByteColumn } from "../../storage/native/native.ts";
import { type KnownKeys, field, itemKeys, knownKeys, slotOf, slotOfEscaped } from "../scan/event_fields.ts";
import { Members, pastValue } from "../../core/json/json_skipper.ts";
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

/** What an event says about its visitor; absent where it is no text. */
export interface VisitorFacts {
  $ip?: string;
  $raw_user_agent?: string;
  $cookieless_extra?: string;
  $host?: string;
  $timezone?: string;
}

const factNames = ["$ip", "$raw_user_agent", "$cookieless_extra", "$host", "$timezone"] as const;
const decoder = new TextDecoder();

/** Reads these members of the valid object at `from`; of two with the same name the last counts. */
export function readVisitorFacts(bytes: Uint8Array, from: number): VisitorFacts {
  const found: VisitorFacts = {};
  eachMember(bytes, from, partKeys, (slot, _key, value, end) => {
    const name = factNames.find((one) => part[one] === slot);
    if (name === undefined) return;
    delete found[name];
    if (bytes[value] === 0x22) found[name] = JSON.parse(decoder.decode(bytes.subarray(value, end))) as string;
  });
  return found;
}

/**
 * The event in the valid object at `from`, scrubbed, as the only item of a new body. With a `visitor` it gets that
 * one's ids; without, its ids stay.
 */
export function scrub(bytes: Uint8Array, from: number, visitor: Visitor | undefined): Uint8Array {
  const out = new ByteColumn(pastValue(bytes, from) - from + addedBytes);
  // In an array: a single object could be taken for a batch.
  out.u8(0x5b);
  const put = opened(out);
  eachMember(bytes, from, itemKeys, (slot, key, value, end) => {
    const isObject = bytes[value] === 0x7b;
    if (slot === field.distinct_id && visitor) return;
    put();
    if (slot === field.properties && isObject) {
      out.raw(bytes, key, value);
      scrubProperties(bytes, value, visitor, out);
    } else if ((slot === field.own_set || slot === field.own_set_once) && isObject) {
      out.raw(bytes, key, value);
      scrubSet(bytes, value, out);
    } else out.raw(bytes, key, end);
  });
  if (visitor) {
    put();
    out.raw(bytesOf(`"distinct_id":${JSON.stringify(visitor.distinct_id)}`));
  }
  out.u8(0x7d);
  out.u8(0x5d);
  return out.filled();
}

/** Room for three ids, their names, and the event's own. */
const addedBytes = 512;

function scrubProperties(
  bytes: Uint8Array,
  from: number,
  visitor: Visitor | undefined,
  out: ByteColumn,
): void {
  const put = opened(out);
  eachMember(bytes, from, partKeys, (slot, key, value, end) => {
    if (dropped.has(slot) || (visitor && replaced.has(slot))) return;
    put();
    if ((slot === part.$set || slot === part.$set_once) && bytes[value] === 0x7b) {
      out.raw(bytes, key, value);
      scrubSet(bytes, value, out);
    } else if (slot === part.distinct_id && visitor) {
      out.raw(bytes, key, value);
      out.raw(bytesOf(JSON.stringify(visitor.distinct_id)));
    } else out.raw(bytes, key, end);
  });
  if (visitor) {
    put();
    const { distinct_id, device_id, session_id } = visitor;
    const ids = { $distinct_id: distinct_id, $device_id: device_id, $session_id: session_id };
    out.raw(bytesOf(JSON.stringify(ids).slice(1, -1)));
  }
  out.u8(0x7d);
}

function scrubSet(bytes: Uint8Array, from: number, out: ByteColumn): void {
  const put = opened(out);
  eachMember(bytes, from, partKeys, (slot, key, _value, end) => {
    if (droppedOfSets.has(slot)) return;
    put();
    out.raw(bytes, key, end);
  });
  out.u8(0x7d);
}

/** Opens an object; returns a function to call before each member. */
function opened(out: ByteColumn): () => void {
  out.u8(0x7b);
  let members = 0;
  return () => {
    if (members++ > 0) out.u8(0x2c);
  };
}

/** Calls `visit` for each member of a valid object: its slot among `keys`, where key and value begin, where it ends. */
function eachMember(
  bytes: Uint8Array,
  from: number,
  keys: KnownKeys,
  visit: (slot: number, key: number, value: number, end: number) => void,
): void {
  const members = new Members(bytes, from);
  while (members.next()) {
    const { key, keyEnd, value, end } = members;
    const isEscaped = bytes.subarray(key, keyEnd).includes(0x5c);
    visit((isEscaped ? slotOfEscaped : slotOf)(keys, bytes, key, keyEnd), key - 1, value, end);
  }
}
