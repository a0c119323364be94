// The index of a body's events: for each, where its fields lie; and which items are none. The scanner writes it,
// whoever appends its events reads it. Nothing of a value is read here but its first byte.

import { limits } from "../../core/limits.ts";
import { singleKey } from "../wasm/layout.ts";
import {
  entryLength,
  envelope,
  field,
  firstIdentity,
  firstPropertyIdentity,
  firstTrait,
  gradeOfTrait,
  keySlot,
  noSlot,
} from "./event_fields.ts";
import { Outcomes, type Reason } from "../event/outcome.ts";
import type { Repaired } from "../decode/repair.ts";
import type { ScanArena } from "../wasm/scan_arena.ts";

/** Room in a moved index, beside what is likely. */
const recycledShare = 1.1;

export type BodyShape = "batch" | "event" | "array" | "other";

export interface IndexOptions {
  /** Items without an event name are indexed too: the path says what they are (/engage). */
  nameless?: boolean;
  /** Items without a name or an id are indexed too. */
  indexesAll?: boolean;
  /** The fast scan in whose memory the bytes lie. */
  fast?: ScanArena | undefined;
  /** Why items that are no objects are ignored, by their ordinal; malformed_event unless told. */
  refused?: ReadonlyMap<number, Reason> | undefined;
  /** Of a repaired copy of a body: what was repaired. */
  repaired?: Repaired | undefined;
  /** Smaller in tests. */
  indexBytesMax?: number;
}

/** [from, to) of a raw value, its quotes included. */
type Place = readonly [from: number, to: number];
const none: Place = [0, 0];

export class EventIndex {
  bytes: Uint8Array;
  /** entryLength numbers for each event found; read with `field`. */
  entries: Int32Array;
  /** Events in `entries`: of this part, where there are parts. */
  count = 0;
  /** More events than one index may hold: the body is indexed again, part by part. */
  isPartial = false;
  /** Second pass: items ignored in the first are not reported again. */
  isSecondPass = false;
  /** Items that cannot be events. They are not indexed, so that they cost no memory. */
  readonly ignored = new Outcomes<Reason>();
  /** Items seen, ignored ones included. */
  items = 0;
  shape: BodyShape = "other";
  /** The first project key that an item names; 0, 0 before there is one. */
  firstKey: Place = none;
  /** A later item names another key. */
  itemKeysDiffer = false;
  readonly repaired: Repaired | undefined;
  /** The open item's own key, and the one in its properties, which counts when it has none of its own. */
  #ownKey: Place = none;
  #innerKey: Place = none;
  /** Raw values of the batch object's own members; [from, to) by `envelope`. */
  readonly #envelope = [0, 0, 0, 0, 0, 0, 0, 0];
  /** A larger index that the full one is moved to, and how many of its numbers are there. */
  #larger: Int32Array | undefined;
  #moved = 0;
  readonly #options: IndexOptions;
  #fast: ScanArena | undefined;
  readonly #numbersMax: number;

  constructor(bytes: Uint8Array, options: IndexOptions = {}) {
    const { fast, indexBytesMax = limits.indexBytesMax } = options;
    this.bytes = bytes;
    this.#options = options;
    this.#fast = fast;
    this.repaired = options.repaired;
    this.#numbersMax = indexBytesMax / Int32Array.BYTES_PER_ELEMENT;
    this.entries = fast?.entries ?? new Int32Array(entryLength * (1 + (bytes.length >> 9)));
  }

  /** The fast scan, while it holds the bytes and the whole index. */
  get fast(): ScanArena | undefined {
    return this.entries === this.#fast?.entries ? this.#fast : undefined;
  }

  /** Whether the bytes lie in memory that other requests use from their next turn on: detach() before waiting. */
  get isShared(): boolean {
    return this.#fast?.isShared === true;
  }

  /** Copies bytes and entries out of memory that other requests use from their next turn on. */
  detach(): void {
    if (!this.isShared) return;
    this.bytes = this.bytes.slice();
    this.entries = this.entries.slice(0, this.count * entryLength);
    this.#fast = undefined;
  }

  /** Raw text of a batch object's own member, or undefined. */
  member(name: keyof typeof envelope): [number, number] | undefined {
    const [from, to] = [this.#envelope[envelope[name]]!, this.#envelope[envelope[name] + 1]!];
    return to > 0 ? [from, to] : undefined;
  }

  /** The raw key that the items name, for bodies without one of their own. */
  get itemKey(): Place | undefined {
    return this.firstKey[1] > 0 ? this.firstKey : undefined;
  }

  /** Takes over what ScanArena.single() has written of a body that is one event. */
  takeSingle(): void {
    this.shape = "event";
    this.count = 1;
    this.items = 1;
    const { entries } = this;
    for (let at = 0; at < singleKey; at++) this.#envelope[at] = entries[entryLength + at]!;
    const key = entryLength + singleKey;
    if (entries[key + 1]! > 0) this.firstKey = [entries[key]!, entries[key + 1]!];
  }

  /** Forgets what was found so far: only the last array of items counts. */
  openItems(shape: "batch" | "array"): void {
    this.shape = shape;
    this.isPartial = false;
    this.count = 0;
    this.items = 0;
    this.ignored.clear();
    this.firstKey = none;
    this.itemKeysDiffer = false;
  }

  /** One more entry wants more room. */
  get isFull(): boolean {
    return this.count >= this.room;
  }

  /** Entries there is room for. */
  get room(): number {
    return Math.floor(Math.min(this.entries.length, this.#numbersMax) / entryLength);
  }

  /**
   * Makes room in the full index: it grows as far as it may, else it begins anew and isPartial. False when it is still
   * moving, or is a part and stays full.
   */
  makeRoom(through: number): boolean {
    if (this.isSecondPass) return false;
    if (this.entries.length < this.#numbersMax) return this.#moveIndex(through);
    this.isPartial = true;
    this.count = 0;
    return true;
  }

  /**
   * Moves a stretch of the full index to where there is room for as many entries as the whole body is likely to have,
   * of which `through` bytes are; true when it is through.
   */
  #moveIndex(through: number): boolean {
    const used = this.count * entryLength;
    const factor = Math.max(2, (this.bytes.length / through) * recycledShare);
    this.#larger ??= new Int32Array(Math.min(this.#numbersMax, Math.ceil(this.entries.length * factor)));
    const to = Math.min(used, this.#moved + limits.copyBytesMax / Int32Array.BYTES_PER_ELEMENT);
    this.#larger.set(this.entries.subarray(this.#moved, to), this.#moved);
    this.#moved = to;
    if (to < used) return false;
    this.entries = this.#larger;
    this.#larger = undefined;
    this.#moved = 0;
    return true;
  }

  openEntry(from: number): void {
    const start = this.count * entryLength;
    if (start + entryLength > this.entries.length) {
      const larger = new Int32Array(this.entries.length * 2);
      larger.set(this.entries);
      this.entries = larger;
    }
    this.entries.fill(0, start, start + entryLength);
    this.entries[start + field.item] = from;
    this.#ownKey = none;
    this.#innerKey = none;
  }

  /** Ends the open entry at byte `to`; `altered`: 1 when it holds what cannot be stored. */
  closeEntry(to: number, altered: number): void {
    const start = this.count * entryLength;
    const entries = this.entries;
    entries[start + field.item + 1] = to;
    entries[start + field.ordinal] = this.shape === "event" ? 0 : this.items;
    entries[start + field.altered] = altered;
    if (this.shape === "event") this.items = 1;
    this.#closeKey();
    const hasId =
      entries[start + field.distinct_id + 1]! + entries[start + field.properties_distinct_id + 1]! > 0;
    if (this.#options.indexesAll) this.count++;
    else if (entries[start + field.event + 1] === 0 && !this.#options.nameless)
      this.#ignore("missing_event_name");
    else if (!hasId) this.#ignore("missing_distinct_id");
    else this.count++;
  }

  #closeKey(): void {
    const [from, to] = this.#ownKey[1] > 0 ? this.#ownKey : this.#innerKey;
    if (to === 0) return;
    const [known, end] = this.firstKey;
    if (end === 0) this.firstKey = [from, to];
    else if (!this.itemKeysDiffer) {
      this.itemKeysDiffer = to - from !== end - known;
      for (let i = 0; i < to - from && !this.itemKeysDiffer; i++) {
        this.itemKeysDiffer = this.bytes[from + i] !== this.bytes[known + i];
      }
    }
  }

  /** The open entry is no event: it is counted by its reason, and the next one takes its place. */
  #ignore(reason: Reason): void {
    if (this.isSecondPass) return;
    const start = this.count * entryLength;
    this.ignored.add(this.entries[start + field.ordinal]!, reason, this.entries, start);
  }

  /** An item was seen that is no object. */
  ignoreItem(): void {
    if (!this.isSecondPass)
      this.ignored.add(this.items, this.#options.refused?.get(this.items) ?? "malformed_event");
    this.items++;
  }

  /** A `properties` begins: the last of two members with one name counts, as everywhere in JSON. */
  openProperties(): void {
    const entry = this.count * entryLength;
    this.entries[entry + field.properties_distinct_id + 1] = 0;
    this.entries[entry + field.traits] = 0;
    if (this.entries[entry + field.identity] === 1) {
      this.entries.fill(0, entry + firstPropertyIdentity, entry + entryLength);
    }
  }

  /** Notes one of the item's own members: its raw value lies at [from, to). */
  noteOwn(slot: number, from: number, to: number): void {
    if (slot === keySlot && this.bytes[from] === 0x22) this.#ownKey = [from, to];
    else if (slot >= 0) this.#noteField(slot, from, to);
  }

  /** Notes a member of the body's own object that may be a batch's. */
  noteEnvelope(slot: number, from: number, to: number): void {
    if (slot === noSlot) return;
    this.#envelope[slot] = from;
    this.#envelope[slot + 1] = to;
  }

  /** Notes a member of its `properties`. */
  noteProperty(slot: number, from: number, to: number): void {
    if (slot === noSlot) return;
    const first = this.bytes[from]!;
    if (slot === keySlot && first === 0x22) this.#innerKey = [from, to];
    else if (slot >= firstTrait) this.#noteTrait(slot - firstTrait, first, to - from);
    else if (slot >= 0) this.#noteField(slot, from, to);
  }

  #noteField(slot: number, from: number, to: number): void {
    const { entries } = this;
    const entry = this.count * entryLength;
    entries[entry + slot] = from;
    entries[entry + slot + 1] = to;
    if (slot >= firstIdentity) entries[entry + field.identity] = 1;
  }

  /** Notes the grade of a raw value that begins with the byte `first` and has `size` bytes. */
  #noteTrait(which: number, first: number, size: number): void {
    const { entries } = this;
    const place = this.count * entryLength + field.traits;
    const others = entries[place]! & ~(3 << (which * 2));
    entries[place] = others | (gradeOfTrait(which, first, size) << (which * 2));
  }
}
