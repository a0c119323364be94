// The index of a body's events: where the fields of each lie, which items are no events, and the one project key that
// the body names. The scanner writes it; append_events.ts reads it.

import { isTextAt } from "../../core/bytes.ts";
import { free } from "../../core/chunks.ts";
import { Fault } from "../../core/fault.ts";
import type { JsonWalker } from "../../core/json/json_walker.ts";
import { limits } from "../../core/limits.ts";
import type { MemoryLease } from "../../work/bodies/memory_budget.ts";
import type { Repaired } from "../decode/repair.ts";
import {
  alteration,
  columnsAt,
  entryLength,
  envelope,
  field,
  firstColumn,
  firstIdentity,
  firstPropertyIdentity,
  firstTrait,
  gradeValue,
  keySlot,
  noSlot,
  toOffset,
  traitColumns,
  valueKindOf,
} from "../fields/event_fields.ts";
import { Outcomes, type Reason } from "../fields/outcome.ts";
import { singleKey } from "../wasm/layout.ts";
import type { ScanArena } from "../wasm/scan_arena.ts";

/** How much larger than estimated a moved index is made. */
const movedFactor = 1.1;

export interface IndexOptions {
  /** Items without an event name are indexed too: the path names them (/engage). */
  allowsNameless?: boolean;
  /** Items without a name or an id are indexed too. */
  indexesAll?: boolean;
  /** Whether ignored items are listed. */
  isVerbose?: boolean | undefined;
  /** Memory for an index that becomes larger than is likely is acquired from it. */
  lease?: Pick<MemoryLease, "acquire" | "release"> | undefined;
  /** The fast scan in whose memory the bytes lie. */
  fast?: ScanArena | undefined;
  /** Why items that are no objects are ignored, by their ordinal; malformed_event by default. */
  refused?: ReadonlyMap<number, Reason> | undefined;
  /** For a repaired copy of a body: what was repaired. */
  repaired?: Repaired | undefined;
  /** The bound of the index; tests make it smaller. */
  indexBytesMax?: number;
}

type RawRange = readonly [from: number, to: number];
const none: RawRange = [0, 0];

export class EventIndex {
  #bytes: Uint8Array;
  #entries: Int32Array;
  /** Events in `entries`; of the present part, where the index isPartial. */
  count = 0;
  /** True when there are more events than one index may hold: the body is then indexed again, part by part. */
  isPartial = false;
  /** Second pass: items ignored in the first are not reported again. */
  isSecondPass = false;
  /** Items that cannot be events. They are not indexed, so that they cost no memory. */
  readonly ignored = new Outcomes<Reason>();
  /** Items seen, ignored ones included. */
  items = 0;
  shape: "batch" | "event" | "array" | "other" = "other";
  /** The first project key that an item names; 0, 0 before there is one. */
  firstKey: RawRange = none;
  /** Whether a later item names another key. */
  itemKeysDiffer = false;
  readonly repaired: Repaired | undefined;
  /** The open item's own key, and the one in its properties, which counts when it has none of its own. */
  #ownKey: RawRange = none;
  #innerKey: RawRange = none;
  /** Raw values of the batch object's own members; [from, to) by `envelope`. */
  readonly #envelope = [0, 0, 0, 0, 0, 0, 0, 0];
  /** A larger index that the full one is moved to, and how many of its numbers are moved. */
  #larger: Int32Array | undefined;
  #moved = 0;
  readonly #options: IndexOptions;
  #fast: ScanArena | undefined;
  /** The generation of the fast scan's memory that this index is of. */
  readonly #generation: number;
  readonly #numbersMax: number;

  constructor(bytes: Uint8Array, options: IndexOptions = {}) {
    const { fast, indexBytesMax = limits.indexBytesMax } = options;
    this.#bytes = bytes;
    this.#options = options;
    this.ignored.isListed = options.isVerbose;
    this.#fast = fast;
    this.#generation = fast?.generation ?? 0;
    this.repaired = options.repaired;
    this.#numbersMax = indexBytesMax / Int32Array.BYTES_PER_ELEMENT;
    this.#entries = fast?.entries ?? new Int32Array(entryLength * (1 + (bytes.length >> 9)));
  }

  /** @throws Error when its memory holds another body by now: somebody waited without detach(). */
  get bytes(): Uint8Array {
    this.#fast?.assertHolds(this.#generation);
    return this.#bytes;
  }

  /** entryLength numbers for each event found; read with `field`. */
  get entries(): Int32Array {
    this.#fast?.assertHolds(this.#generation);
    return this.#entries;
  }

  /** The fast scan, while it holds the bytes and the whole index. */
  get fast(): ScanArena | undefined {
    return this.#entries === this.#fast?.entries ? this.#fast : undefined;
  }

  /** Whether the bytes lie in memory that other requests use from the next turn on: detach() before waiting. */
  get isShared(): boolean {
    return this.#fast?.isShared === true;
  }

  /** Copies bytes and entries out of memory that other requests use from the next turn on. */
  detach(): void {
    if (!this.isShared) return;
    this.#bytes = this.#bytes.slice();
    this.#entries = this.#entries.slice(0, this.count * entryLength);
    this.#fast = undefined;
  }

  /** Frees the memory of the entries, unless it is the fast scan's. Nothing reads the index afterwards. */
  free(): void {
    this.#freeEntries();
    if (this.#larger) free(this.#larger);
  }

  #freeEntries(): void {
    if (this.#entries !== this.#fast?.entries) free(this.#entries);
  }

  /** Raw text of a batch object's own member, or undefined. */
  member(name: keyof typeof envelope): [number, number] | undefined {
    const [from, to] = [this.#envelope[envelope[name]]!, this.#envelope[envelope[name] + 1]!];
    return to > 0 ? [from, to] : undefined;
  }

  /** The raw key that the items name, for bodies without one of their own. */
  get itemKey(): RawRange | undefined {
    return this.firstKey[1] > 0 ? this.firstKey : undefined;
  }

  /** Adopts what ScanArena.open() has written of a body that is one event. */
  readSingle(): void {
    this.shape = "event";
    this.readEnvelope(0);
    this.count = 1;
    this.items = 1;
    const { entries } = this;
    const key = entryLength + singleKey;
    if (entries[key + 1]! > 0) this.firstKey = [entries[key]!, entries[key + 1]!];
  }

  /** Adopts members of the body's own object, which the fast scan has recorded after entry number `nth`. */
  readEnvelope(nth: number): void {
    const start = (nth + 1) * entryLength;
    for (let at = 0; at < singleKey; at += 2) {
      const to = this.#entries[start + at + 1]!;
      if (to > 0) this.recordEnvelope(at, this.#entries[start + at]!, to);
    }
  }

  /** Begins an array of items, and forgets an earlier one: of two members with one name the last counts. */
  openItems(shape: "batch" | "array"): void {
    this.shape = shape;
    this.isPartial = false;
    this.count = 0;
    this.items = 0;
    if (this.ignored.total > 0) this.ignored.clear();
    this.firstKey = none;
    this.itemKeysDiffer = false;
  }

  /** Whether there is no space for another entry. */
  get isFull(): boolean {
    return this.count >= this.capacity;
  }

  /** The number of entries that fit. */
  get capacity(): number {
    return Math.floor(Math.min(this.#entries.length, this.#numbersMax) / entryLength);
  }

  /** Moves the full index to a larger one, or empties it at its bound (isPartial). False until then, or in a part. */
  grow(scannedBytes: number): boolean {
    if (this.isSecondPass) return false;
    if (this.#entries.length < this.#numbersMax) return this.#moveIndex(scannedBytes);
    this.isPartial = true;
    this.count = 0;
    return true;
  }

  /**
   * Copies a slice of the full index to a larger one, sized for the entries that the whole body is likely to have,
   * judging by its first `scannedBytes`; true when all is copied.
   * @throws Fault unavailable when there is no memory for it.
   */
  #moveIndex(scannedBytes: number): boolean {
    const used = this.count * entryLength;
    const factor = Math.max(2, (this.#bytes.length / scannedBytes) * movedFactor);
    const numbers = Math.min(this.#numbersMax, Math.ceil(this.#entries.length * factor));
    if (!this.#larger) this.#options.lease?.acquire(numbers * Int32Array.BYTES_PER_ELEMENT);
    this.#larger ??= new Int32Array(numbers);
    const to = Math.min(used, this.#moved + limits.copyBytesMax / Int32Array.BYTES_PER_ELEMENT);
    this.#larger.set(this.#entries.subarray(this.#moved, to), this.#moved);
    this.#moved = to;
    if (to < used) return false;
    if (this.#entries !== this.#fast?.entries) this.#options.lease?.release(this.#entries.byteLength);
    this.#freeEntries();
    this.#entries = this.#larger;
    this.#larger = undefined;
    this.#moved = 0;
    return true;
  }

  openEntry(from: number): void {
    const start = this.count * entryLength;
    this.#entries.fill(0, start, start + entryLength);
    this.#entries[start + field.item] = from;
    this.#ownKey = none;
    this.#innerKey = none;
  }

  /** Ends the open entry at byte `to`, unless it is too deep; `altered`: 1 when it holds what cannot be stored. */
  closeEntry(to: number, { altered, isDeep }: Pick<JsonWalker, "altered" | "isDeep">): void {
    const start = this.count * entryLength;
    const entries = this.#entries;
    entries[start + field.item + 1] = to;
    entries[start + field.ordinal] = this.shape === "event" ? 0 : this.items;
    const isEvent = !isDeep && to - entries[start + field.item]! <= limits.eventBytesMax;
    const mayRepeat = isEvent && (!this.fast || this.fast.mayRepeat(this.count));
    entries[start + field.altered] = altered | (mayRepeat ? alteration.repeatedKey : 0);
    if (this.shape === "event") this.items = 1;
    this.#closeKey();
    const hasId =
      entries[start + field.distinct_id + 1]! + entries[start + field.properties_distinct_id + 1]! > 0;
    if (this.#options.indexesAll) this.count++;
    else if (isDeep) this.#ignore("nested_too_deep");
    else if (entries[start + field.event + 1] === 0 && !this.#options.allowsNameless)
      this.#ignore("missing_event_name");
    else if (!hasId) this.#ignore("missing_distinct_id");
    else this.count++;
  }

  #closeKey(): void {
    const [from, to] = this.#ownKey[1] > 0 ? this.#ownKey : this.#innerKey;
    if (to === 0) return;
    const [firstFrom, firstTo] = this.firstKey;
    if (firstTo === 0) this.firstKey = [from, to];
    else this.itemKeysDiffer ||= !isTextAt(this.#bytes, from, to, this.#bytes.subarray(firstFrom, firstTo));
  }

  /** Counts the open entry as ignored; the next one replaces it. */
  #ignore(reason: Reason): void {
    if (this.isSecondPass) return;
    const start = this.count * entryLength;
    this.ignored.add(this.#entries[start + field.ordinal]!, reason, this.#entries, toOffset(this.count));
  }

  ignoreItem(): void {
    if (!this.isSecondPass)
      this.ignored.add(this.items, this.#options.refused?.get(this.items) ?? "malformed_event");
    this.items++;
  }

  /** Begins `properties`: an earlier one is dropped, since the last of two members with one name counts. */
  openProperties(): void {
    const entry = this.count * entryLength;
    this.#entries[entry + field.properties_distinct_id + 1] = 0;
    this.#entries[entry + field.traits] = 0;
    this.#entries.fill(0, entry + columnsAt, entry + entryLength);
    if (this.#entries[entry + field.identity] === 1) {
      this.#entries.fill(0, entry + firstPropertyIdentity, entry + columnsAt);
    }
  }

  /** Records one of the item's own members: its raw value lies at [from, to). */
  recordOwn(slot: number, from: number, to: number): void {
    if (slot === keySlot && this.#bytes[from] === 0x22) this.#ownKey = [from, to];
    else if (slot >= 0) this.#recordField(slot, from, to);
  }

  /** Records a member of the body's own object that may be a batch's. */
  recordEnvelope(slot: number, from: number, to: number): void {
    if (slot === noSlot) return;
    this.#envelope[slot] = from;
    this.#envelope[slot + 1] = to;
  }

  /** Records a member of its `properties`. */
  recordProperty(slot: number, from: number, to: number): void {
    if (slot === noSlot) return;
    const first = this.#bytes[from]!;
    if (slot === keySlot && first === 0x22) this.#innerKey = [from, to];
    else if (slot >= firstColumn) this.#recordColumn(slot - firstColumn, from);
    else if (slot >= firstTrait) {
      this.#recordTrait(slot - firstTrait, first, to - from);
      if (slot < firstTrait + traitColumns) this.#recordColumn(slot - firstTrait, from);
    } else if (slot >= 0) this.#recordField(slot, from, to);
  }

  #recordColumn(column: number, from: number): void {
    this.entries[this.count * entryLength + columnsAt + column] = from;
  }

  #recordField(slot: number, from: number, to: number): void {
    const { entries } = this;
    const entry = this.count * entryLength;
    entries[entry + slot] = from;
    entries[entry + slot + 1] = to;
    if (slot >= firstIdentity) entries[entry + field.identity] = 1;
  }

  /** Records the grade of a raw value that begins with the byte `first` and has `size` bytes. */
  #recordTrait(trait: number, first: number, size: number): void {
    const { entries } = this;
    const traitsAt = this.count * entryLength + field.traits;
    const otherTraits = entries[traitsAt]! & ~(3 << (trait * 2));
    entries[traitsAt] = otherTraits | (gradeValue(valueKindOf[trait]!, first, size) << (trait * 2));
  }
}

/** The part of an index that is about the body as a whole. */
export type Envelope = Pick<
  EventIndex,
  "bytes" | "shape" | "items" | "member" | "itemKey" | "itemKeysDiffer"
>;

/**
 * The key of a body: a batch's own wins over its items'; otherwise all items must name the same.
 * @throws Fault missing_api_key or invalid_api_key (401), invalid_payload when there is no event at all.
 */
export function readBodyKey(index: Envelope): string {
  if (index.shape === "other")
    throw new Fault("invalid_payload", "Malformed request data: expected an object or an array.");
  if (index.items === 0) throw new Fault("invalid_payload", "The request holds no event.");
  const ownKey = readText(index, index.member("api_key"));
  if (ownKey) return ownKey;
  if (index.itemKeysDiffer) {
    throw new Fault("invalid_api_key", "The events of one request must all name the same project API key.");
  }
  const itemKey = readText(index, index.itemKey);
  if (itemKey) return itemKey;
  throw new Fault(
    "missing_api_key",
    "API key not provided. Send your project API key as api_key in the body.",
  );
}

/** The key that the items name first. */
export function readItemKey(index: Envelope): string | undefined {
  return readText(index, index.itemKey);
}

/** The key that decides the project of a body, if what is indexed so far is certain to have it. */
export function readEarlyKey(index: Envelope): string | undefined {
  return readText(index, index.shape === "array" ? index.itemKey : index.member("api_key"));
}

/** True when the body is one object that has neither a `batch` nor an `event`. */
export function isNoBatch({ shape, count, ignored }: EventIndex): boolean {
  return shape === "event" && count === 0 && ignored.counts.has("missing_event_name");
}

/** The text of a raw JSON string, trimmed; undefined for any other value, and for an empty one. */
function readText({ bytes }: Pick<Envelope, "bytes">, [from, to]: RawRange = none): string | undefined {
  if (to === 0 || bytes[from] !== 0x22) return undefined;
  const bucket = (bytes[to - 2]! + 31 * bytes[to - 3]! + 17 * (to - from)) % recentKeys.length;
  const recent = recentKeys[bucket];
  if (recent?.raw.equals(bytes.subarray(from, to))) return recent.text;
  const raw = Buffer.from(bytes.subarray(from, to));
  const text = (JSON.parse(raw.toString()) as string).trim() || undefined;
  if (raw.length <= recentKeyBytesMax) recentKeys[bucket] = { raw, text };
  return text;
}

/** Keys read lately, by their last bytes and their length: most requests name one of few keys. */
const recentKeys: ({ raw: Buffer; text: string | undefined } | undefined)[] = Array.from({ length: 256 });
/** The longest key, with its quotes, in bytes. */
const recentKeyBytesMax = limits.projectKeyBytesMax + 2;

/** True when the body declares a migration. */
export function isHistorical(index: Envelope): boolean {
  const member = index.member("historical_migration");
  const text = member && Buffer.from(index.bytes.subarray(...member)).toString();
  return text === "true" || text === '"true"';
}
