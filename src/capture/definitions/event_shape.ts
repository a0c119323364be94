// The shape of an event of the slow path: a hash of its names, different from the one of the fast scan.

import { JsonCursor } from "../../core/json/json_cursor.ts";
import type { Row } from "../fields/row.ts";
import { showsType } from "./property_type.ts";

/** An event as far as it has names: a row on its way into the columns, or one that was read back. */
export type NamedEvent = Pick<Row, "project_id" | "event" | "properties" | "created_at"> & {
  changes: Pick<
    Row["changes"],
    "count" | "ops" | "keySource" | "keyFrom" | "keyTo" | "valueFrom" | "source"
  > & { valueTo: ArrayLike<number> };
  groups: Pick<Row["groups"], "identified" | "types">;
};

/** Hashes all names of an event, and which values show a type. Used again and again. */
export class ShapeHash {
  low = 0;
  high = 0;
  readonly #members = new JsonCursor();

  of({ event, properties, changes, groups }: NamedEvent): this {
    this.low = 0x811c9dc5;
    this.high = changes.count;
    this.#mix(event.source, event.from, event.to, 1);
    if (groups.identified) {
      const [type] = groups.types;
      this.#mix(type!.source, type!.from, type!.to, 2);
    }
    const { source } = properties;
    const members = this.#members.open(source, properties.from);
    while (members.next()) {
      this.#mix(source, members.key, members.keyEnd, showsType(source[members.value]!) ? 3 : 4);
    }
    for (let at = 0; at < changes.count; at++) {
      const shows = showsType(changes.source[changes.valueFrom[at]!]!) ? 8 : 16;
      this.#mix(changes.keySource(at), changes.keyFrom[at]!, changes.keyTo[at]!, changes.ops[at]! + shows);
    }
    return this;
  }

  /** Two hashes of 32 bits, which differ in their factors. */
  #mix(source: Uint8Array, from: number, to: number, what: number): void {
    let low = Math.imul(this.low ^ what, 0x01000193);
    let high = Math.imul(this.high + what, 0x85ebca6b);
    for (let at = from; at < to; at++) {
      low = Math.imul(low ^ source[at]!, 0x01000193);
      high = Math.imul((high ^ source[at]!) + (high >>> 15), 0xc2b2ae35);
    }
    this.low = (low ^ (low >>> 13) ^ (to - from)) >>> 0;
    this.high = high >>> 0;
  }
}
