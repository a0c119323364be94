// The index of a body's events: for each, where its fields lie; and which items are none. Never looks further than the
// first byte of a value.

import { captureLimits } from "../limits.ts";
import { limits } from "../../core/limits.ts";
import { noteField, noteTrait, openEntry } from "./entry.ts";
import { singleKey } from "../wasm/layout.ts";
import { ItemKey } from "./item_key.ts";
import {
  entryLength,
  envelope,
  field,
  firstPropertyIdentity,
  firstTrait,
  keySlot,
  noSlot,
} from "./event_fields.ts";
import { Outcomes, type Reason } from "../event/outcome.ts";
import { FastPath } from "./fast_path.ts";
import type { Repaired } from "../decode/repair.ts";
import type { ScanArena } from "../wasm/scan_arena.ts";
import type { JsonWalker } from "./json_walker.ts";

/** Room in a moved index, beside what is likely. */
const recycledShare = 1.1;

export type BodyShape = "batch" | "event" | "array" | "other";

export class EventIndex {
  readonly bytes: Uint8Array;
  /** entryLength numbers for each event found; read with `field`. */
  entries: Int32Array;
  /** Events in `entries`: of this part, where there are parts. */
  count = 0;
  /** There were more events than an index may hold: all was looked at, but they must be indexed again in parts. */
  isPartial = false;
  /** They are: of what is none the first time told. */
  protected again = false;
  /** Items that can be no events, whatever is in them: not indexed, so that they cost no memory. */
  readonly ignored = new Outcomes<Reason>();
  /** Items without a name or an id are indexed too: set before the scan begins. */
  indexesAll = false;
  /** Why items stand for nothing that are no objects, by their ordinal; malformed_event unless told. */
  refused: ReadonlyMap<number, Reason> | undefined;
  /** Items seen, whatever became of them. */
  items = 0;
  shape: BodyShape = "other";
  protected readonly key: ItemKey;
  protected readonly plain = new FastPath();
  /** Raw values of the batch object's own members; [from, to) by `envelope`. */
  readonly #envelope = [0, 0, 0, 0, 0, 0, 0, 0];
  /** Where a full index moves to, and how much of it has. */
  #roomy: Int32Array | undefined;
  #moved = 0;
  /** An item without a name may be an event all the same: /engage says what it is. */
  readonly #nameless: boolean;
  readonly #numbersMax: number;
  /** Of a repaired copy of a body: where. */
  repaired: Repaired | undefined;

  constructor(
    bytes: Uint8Array,
    nameless: boolean,
    entries: Int32Array,
    indexBytesMax: number = limits.indexBytesMax,
  ) {
    this.bytes = bytes;
    this.#numbersMax = indexBytesMax / Int32Array.BYTES_PER_ELEMENT;
    this.#nameless = nameless;
    this.key = new ItemKey(bytes);
    this.entries = entries;
  }

  /** Raw text of a batch object's own member, or undefined. */
  member(name: keyof typeof envelope): [number, number] | undefined {
    const [from, to] = [this.#envelope[envelope[name]]!, this.#envelope[envelope[name] + 1]!];
    return to > 0 ? [from, to] : undefined;
  }

  /** The raw key that the items name, for bodies without one of their own. */
  get itemKey(): readonly [number, number] | undefined {
    return this.key.first[1] > 0 ? this.key.first : undefined;
  }

  get itemKeysDiffer(): boolean {
    return this.key.differs;
  }

  /** Lets the arena index a short body that is one plain event; false when it is anything else. */
  protected takeSingle(arena: { single(): boolean } | undefined): boolean {
    if (!arena || this.bytes.length >= captureLimits.arenaBodyBytesMin || !arena.single()) return false;
    this.shape = "event";
    this.count = 1;
    this.items = 1;
    const { entries } = this;
    for (let at = 0; at < singleKey; at++) this.#envelope[at] = entries[entryLength + at]!;
    const key = entryLength + singleKey;
    if (entries[key + 1]! > 0) this.key.first = [entries[key]!, entries[key + 1]!];
    return true;
  }

  /** Lets the arena index what is plain of about `bytesMax` bytes; returns how many items that were. */
  protected takePlain(arena: ScanArena, walk: JsonWalker, bytesMax: number): number {
    const { count, room, items } = this;
    const found = this.plain.index(arena, walk, bytesMax, { count, room, items, key: this.key.first });
    this.count += found;
    this.items += found;
    return found;
  }

  /** Forgets what was found so far: only the last array of items counts. */
  protected openItems(shape: "batch" | "array"): void {
    this.shape = shape;
    this.isPartial = false;
    this.count = 0;
    this.items = 0;
    this.ignored.clear();
    this.key.clear();
  }

  /** One more entry wants more room. */
  protected get isFull(): boolean {
    return this.count >= this.room;
  }

  /** Entries there is room for. */
  protected get room(): number {
    return Math.floor(Math.min(this.entries.length, this.#numbersMax) / entryLength);
  }

  /**
   * Makes room in the full index, as far as it may grow; else it begins anew, unless it is a part: that is full. False
   * when it is not through.
   */
  protected makeRoom(through: number): boolean {
    if (this.again) return false;
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
    this.#roomy ??= new Int32Array(Math.min(this.#numbersMax, Math.ceil(this.entries.length * factor)));
    const to = Math.min(used, this.#moved + limits.copyBytesMax / Int32Array.BYTES_PER_ELEMENT);
    this.#roomy.set(this.entries.subarray(this.#moved, to), this.#moved);
    this.#moved = to;
    if (to < used) return false;
    this.entries = this.#roomy;
    this.#roomy = undefined;
    this.#moved = 0;
    return true;
  }

  protected openEntry(from: number): void {
    this.entries = openEntry(this.entries, this.count * entryLength, from);
    this.key.openItem();
  }

  /** Ends the open entry at byte `to`; `altered`: 1 when it holds what cannot be stored. */
  protected closeEntry(to: number, altered: number): void {
    const start = this.count * entryLength;
    const entries = this.entries;
    entries[start + field.item + 1] = to;
    entries[start + field.ordinal] = this.shape === "event" ? 0 : this.items;
    entries[start + field.altered] = altered;
    if (this.shape === "event") this.items = 1;
    this.key.closeItem();
    const hasId =
      entries[start + field.distinct_id + 1]! + entries[start + field.properties_distinct_id + 1]! > 0;
    if (this.indexesAll) this.count++;
    else if (entries[start + field.event + 1] === 0 && !this.#nameless) this.#ignore("missing_event_name");
    else if (!hasId) this.#ignore("missing_distinct_id");
    else this.count++;
  }

  /** The open entry is no event: it is noted by its reason, and its place taken by the next one. */
  #ignore(reason: Reason): void {
    if (this.again) return;
    const start = this.count * entryLength;
    this.ignored.add(this.entries[start + field.ordinal]!, reason, this.entries, start);
  }

  /** An item was seen that is no object. */
  protected ignoreItem(): void {
    if (!this.again) this.ignored.add(this.items, this.refused?.get(this.items) ?? "malformed_event");
    this.items++;
  }

  /** A `properties` begins: the last of two members with one name counts, as everywhere in JSON. */
  protected openProperties(): void {
    const entry = this.count * entryLength;
    this.entries[entry + field.properties_distinct_id + 1] = 0;
    this.entries[entry + field.traits] = 0;
    if (this.entries[entry + field.identity] === 1) {
      this.entries.fill(0, entry + firstPropertyIdentity, entry + entryLength);
    }
  }

  /** Notes one of the item's own members: its raw value lies at [from, to). */
  protected noteOwn(slot: number, from: number, to: number): void {
    if (slot === keySlot && this.bytes[from] === 0x22) this.key.own = [from, to];
    else if (slot >= 0) noteField(this.entries, this.count * entryLength, slot, from, to);
  }

  /** Notes a member of the body's own object that may be a batch's. */
  protected noteEnvelope(slot: number, from: number, to: number): void {
    if (slot === noSlot) return;
    this.#envelope[slot] = from;
    this.#envelope[slot + 1] = to;
  }

  /** Notes a member of its `properties`. */
  protected noteProperty(slot: number, from: number, to: number): void {
    if (slot === noSlot) return;
    const first = this.bytes[from]!;
    const entry = this.count * entryLength;
    if (slot === keySlot && first === 0x22) this.key.inner = [from, to];
    else if (slot >= firstTrait) noteTrait(this.entries, entry, slot, first, to - from);
    else if (slot >= 0) noteField(this.entries, entry, slot, from, to);
  }
}
