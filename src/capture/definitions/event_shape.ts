// The shape of an event of the slow path: a hash of its names, different from the one of the fast scan.

import type { JsonCursor } from "../../core/json/json_cursor.ts";
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
