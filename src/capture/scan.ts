// The scan: one pass over a body's bytes that checks the JSON grammar and notes where each event's fields lie.
// Builds no objects and never awaits; works in slices, so that a long body does not hold everybody else up.

import { noteField, noteTrait, openEntry } from "./entry.ts";
import { ItemKey } from "./item_key.ts";
import {
  entryLength,
  envelope,
  envelopeKeys,
  field,
  firstPropertyIdentity,
  firstTrait,
  itemKeys,
  keySlot,
  noSlot,
  propertyKeys,
} from "./member.ts";
import { Outcomes, type Reason } from "./outcome.ts";
import type { Slab } from "./slab.ts";
import { Utf8Check } from "./utf8.ts";
import { Walk, malformed } from "./walk.ts";

type State = "start" | "members" | "items" | "done";

export class Scan {
  readonly bytes: Uint8Array;
  /** entryLength numbers for each event found; read with `field`. */
  entries: Int32Array;
  /** Events in `entries`. */
  count = 0;
  /** Items that can be no events, whatever is in them: not indexed, so that they cost no memory. */
  readonly ignored = new Outcomes<Reason>();
  /** Items seen, whatever became of them. */
  items = 0;
  shape: "batch" | "event" | "array" | "other" = "other";
  /** Raw values of the batch object's own members; [from, to) by `envelope`. */
  readonly #envelope = [0, 0, 0, 0, 0, 0, 0, 0];
  readonly #key: ItemKey;
  /** An item without a name may be an event all the same: /engage says what it is. */
  readonly #nameless: boolean;
  readonly #walk: Walk;
  readonly #slab: Slab | undefined;
  #state: State = "start";
  #expectItem = false;
  /** So many items go the slow way before the fast one is tried again; the last time it was #patience. */
  #slowItems = 0;
  #patience = 0;
  readonly #utf8: Utf8Check;

  /**
   * `bytes` are kept, and nothing of them is changed. `nameless`: items without an event name are indexed too.
   * `slab`: the bytes are its closed body, so that plain items go the fast way.
   */
  constructor(bytes: Uint8Array, nameless = false, slab?: Slab) {
    this.bytes = bytes;
    this.#nameless = nameless;
    this.#slab = slab;
    this.#key = new ItemKey(bytes);
    this.#utf8 = new Utf8Check(bytes);
    this.entries = slab?.entries ?? new Int32Array(entryLength * (1 + (bytes.length >> 9)));
    this.#walk = new Walk(bytes);
  }

  /** Raw text of a batch object's own member, or undefined. */
  member(name: keyof typeof envelope): [number, number] | undefined {
    const [from, to] = [this.#envelope[envelope[name]]!, this.#envelope[envelope[name] + 1]!];
    return to > 0 ? [from, to] : undefined;
  }

  /** The raw key that the items name, for bodies without one of their own. */
  get itemKey(): readonly [number, number] | undefined {
    return this.#key.first[1] > 0 ? this.#key.first : undefined;
  }

  get itemKeysDiffer(): boolean {
    return this.#key.differs;
  }

  /** The slab that holds the bytes and the whole index; undefined when one of them lies elsewhere. */
  get slab(): Slab | undefined {
    return this.entries === this.#slab?.entries ? this.#slab : undefined;
  }

  /**
   * Goes on for about `bytesMax` bytes, a quarter of them where they go the slow way (never less than one item).
   * True when the body is through.
   * @throws Fault invalid_payload, naming the byte, for anything that is not JSON in UTF-8.
   */
  advance(bytesMax: number): boolean {
    if (!this.#utf8.through || this.#state === "start") {
      if (!this.#utf8.advance(bytesMax * utf8Factor)) throw malformed("the body is not UTF-8");
      if (!this.#utf8.through) return false;
      this.#start();
    }
    let left = bytesMax;
    while (!this.#ended()) {
      const before = this.#walk.at;
      const slab = this.#state === "items" ? this.slab : undefined;
      if (slab && --this.#slowItems < 0) this.#plainItems(slab, before + left);
      left -= this.#walk.at - before;
      if (left <= 0) return false;
      const slowFrom = this.#walk.at;
      if (this.#state === "members") this.#member();
      else this.#nextItem();
      left -= Math.max(this.#walk.at - slowFrom, itemBytesLeast) * slowFactor;
      if (left <= 0) return this.#ended();
    }
    return true;
  }

  #ended(): boolean {
    return this.#state === "done";
  }

  #start(): void {
    if (this.bytes[0] === 0xef && this.bytes[1] === 0xbb && this.bytes[2] === 0xbf) this.#walk.at = 3;
    const first = this.#walk.peek();
    if (first === 0x7b) {
      this.#walk.at++;
      this.#openEntry(this.#walk.at - 1);
      this.#state = this.#walk.peek() === 0x7d ? this.#endObject() : "members";
    } else if (first === 0x5b) {
      this.shape = "array";
      this.#walk.at++;
      this.#openItems("array");
    } else {
      this.#walk.skip(0);
      this.#finish();
    }
  }

  /** One member of the top-level object: a batch's, or a single event's, which shows only at the end. */
  #member(): void {
    this.#walk.key();
    const outer = this.#walk.slot(envelopeKeys);
    const inner = this.#walk.slot(itemKeys);
    if (outer === envelope.batch) {
      if (this.#walk.peek() !== 0x5b) throw malformed("batch is not an array");
      this.#walk.at++;
      this.#openItems("batch");
      return;
    }
    const start = this.#value(inner, 0);
    if (outer !== noSlot) {
      this.#envelope[outer] = start;
      this.#envelope[outer + 1] = this.#walk.at;
    }
    this.#state = this.#walk.more(0x7d) ? "members" : this.#endObject();
  }

  #endObject(): State {
    if (this.bytes[this.#walk.at] === 0x7d && this.#state === "start") this.#walk.at++;
    if (this.shape !== "batch") {
      this.shape = "event";
      this.#closeEntry(this.#walk.at);
    }
    this.#finish();
    return "done";
  }

  #openItems(shape: "batch" | "array"): void {
    this.shape = shape;
    this.count = 0;
    this.items = 0;
    this.ignored.clear();
    this.#key.clear();
    this.#expectItem = false;
    this.#state = "items";
  }

  /** Lets the slab index what it can; what it stops before is the slow way's. */
  #plainItems(slab: Slab, goal: number): void {
    this.#walk.peek();
    this.#walk.at = slab.scan(this.#walk.at, goal, this.count, this.items, this.#key.first);
    const { found, comma } = slab;
    // Where one item is unusual, the next ones are likely to be.
    this.#patience = found > 0 ? 0 : Math.min(slowItemsMax, this.#patience * 2 + 1);
    this.#slowItems = this.#patience;
    this.count += found;
    this.items += found;
    if (found > 0) this.#expectItem = comma;
  }

  #nextItem(): void {
    const next = this.#walk.peek();
    if (next === 0x5d && !this.#expectItem) {
      this.#walk.at++;
      this.#closeItems();
      return;
    }
    if (next === 0x7b) this.#item();
    else {
      this.ignored.add(this.items, "malformed_event");
      this.#walk.skip(1);
    }
    this.items++;
    this.#expectItem = this.#walk.more(0x5d);
    if (!this.#expectItem) this.#closeItems();
  }

  #closeItems(): void {
    this.#expectItem = false;
    if (this.shape === "batch") {
      this.#state = "members";
      if (!this.#walk.more(0x7d)) this.#state = this.#endObject();
    } else this.#finish();
  }

  #item(): void {
    this.#openEntry(this.#walk.at);
    this.#walk.at++;
    if (this.#walk.peek() === 0x7d) this.#walk.at++;
    else {
      do {
        this.#walk.key();
        this.#value(this.#walk.slot(itemKeys), 2);
      } while (this.#walk.more(0x7d));
    }
    this.#closeEntry(this.#walk.at);
  }

  #openEntry(from: number): void {
    const start = this.count * entryLength;
    this.entries = openEntry(this.entries, start, from);
    this.#walk.altered = 0;
    this.#key.openItem();
  }

  #closeEntry(to: number): void {
    const start = this.count * entryLength;
    const entries = this.entries;
    entries[start + field.item + 1] = to;
    entries[start + field.ordinal] = this.shape === "event" ? 0 : this.items;
    entries[start + field.altered] = this.#walk.altered;
    if (this.shape === "event") this.items = 1;
    this.#key.closeItem();
    const hasId =
      entries[start + field.distinct_id + 1]! + entries[start + field.properties_distinct_id + 1]! > 0;
    if (entries[start + field.event + 1] === 0 && !this.#nameless) this.#ignore("missing_event_name");
    else if (!hasId) this.#ignore("missing_distinct_id");
    else this.count++;
  }

  /** The open entry is no event: it is noted by its reason, and its place taken by the next one. */
  #ignore(reason: Reason): void {
    const start = this.count * entryLength;
    this.ignored.add(this.entries[start + field.ordinal]!, reason, this.entries, start);
  }

  /** Reads a value into its slot of the open entry; returns where it starts. */
  #value(slot: number, depth: number): number {
    const first = this.#walk.peek();
    const start = this.#walk.at;
    const entry = this.count * entryLength;
    // The last of two members with one name counts, as everywhere in JSON.
    if (slot === field.properties) {
      this.entries[entry + field.properties_distinct_id + 1] = 0;
      this.entries[entry + field.traits] = 0;
      if (this.entries[entry + field.identity] === 1) {
        this.entries.fill(0, entry + firstPropertyIdentity, entry + entryLength);
      }
    }
    if (slot === field.properties && first === 0x7b) this.#properties(depth + 1);
    else this.#walk.skip(depth);
    if (slot === keySlot && first === 0x22) this.#key.own = [start, this.#walk.at];
    else if (slot >= 0) noteField(this.entries, entry, slot, start, this.#walk.at);
    return start;
  }

  #properties(depth: number): void {
    const entry = this.count * entryLength;
    this.#walk.at++;
    if (this.#walk.peek() === 0x7d) {
      this.#walk.at++;
      return;
    }
    do {
      this.#walk.key();
      const slot = this.#walk.slot(propertyKeys);
      const first = this.#walk.peek();
      const start = this.#walk.at;
      this.#walk.skip(depth);
      if (slot === noSlot) continue;
      if (slot === keySlot && first === 0x22) this.#key.inner = [start, this.#walk.at];
      else if (slot >= firstTrait) noteTrait(this.entries, entry, slot, first, this.#walk.at - start);
      else if (slot >= 0) noteField(this.entries, entry, slot, start, this.#walk.at);
    } while (this.#walk.more(0x7d));
  }

  #finish(): void {
    if (this.#walk.peek() !== -1) throw this.#walk.unexpected();
    this.#state = "done";
  }
}

/** Bytes checked for UTF-8 in the time that one is scanned, and scanned fast in the time of one the slow way. */
const utf8Factor = 8;
const slowFactor = 4;
/** What an item costs at the least, in bytes; and the most items before the fast way is tried again. */
const [itemBytesLeast, slowItemsMax] = [32, 64];
