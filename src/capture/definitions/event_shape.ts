// Hashes of names: the shape of an event that did not go the fast way, which is another than the fast scan makes, and
// the number of a definition.

import type { JsonCursor } from "../../core/json/json_cursor.ts";
import type { ByteRange } from "../scan/byte_range.ts";
import type { NamedEvent } from "./named_event.ts";
import { showsType } from "./property_type.ts";

/** The result of hashShape(). */
export const shapeHash = new Uint32Array(2);

/** A hash of all names of an event, and of which values show a type. */
export function hashShape({ event, properties, changes, groups }: NamedEvent, members: JsonCursor): void {
  shapeHash[0] = 0x811c9dc5;
  shapeHash[1] = changes.count;
  mix(event.source, event.from, event.to, 1);
  if (groups.identified) mix(groups.types[0]!.source, groups.types[0]!.from, groups.types[0]!.to, 2);
  const { source } = properties;
  members.open(source, properties.from);
  while (members.next()) mix(source, members.key, members.keyEnd, showsType(source[members.value]!) ? 3 : 4);
  for (let at = 0; at < changes.count; at++) {
    const shows = showsType(changes.source[changes.valueFrom[at]!]!) ? 8 : 16;
    mix(changes.keySource(at), changes.keyFrom[at]!, changes.keyTo[at]!, changes.ops[at]! + shows);
  }
}

/** Two hashes of 32 bits, which differ in their factors. */
function mix(source: Uint8Array, from: number, to: number, what: number): void {
  let low = Math.imul(shapeHash[0]! ^ what, 0x01000193);
  let high = Math.imul(shapeHash[1]! + what, 0x85ebca6b);
  for (let at = from; at < to; at++) {
    low = Math.imul(low ^ source[at]!, 0x01000193);
    high = Math.imul((high ^ source[at]!) + (high >>> 15), 0xc2b2ae35);
  }
  shapeHash[0] = low ^ (low >>> 13) ^ (to - from);
  shapeHash[1] = high;
}

/**
 * A definition's name with its kind and type of group as a number of 53 bits; makes no garbage. Names with one number
 * may be made on purpose: another number is another name, the same number proves nothing.
 */
export function nameNumber(kind: number, group_type: string, { source, from, to }: ByteRange): number {
  let low = Math.imul(0x811c9dc5 ^ kind, 0x01000193);
  let high = Math.imul(kind + 1, 0x85ebca6b) ^ group_type.length;
  const before = from - group_type.length;
  for (let at = before; at < to; at++) {
    const unit = at < from ? group_type.charCodeAt(at - before) : source[at]!;
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul((high ^ unit) + (high >>> 15), 0xc2b2ae35);
  }
  return ((high ^ (high >>> 13)) & 0x1f_ffff) * 0x1_0000_0000 + ((low ^ (low >>> 13)) >>> 0);
}
