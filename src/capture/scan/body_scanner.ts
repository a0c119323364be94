// The scan: one pass over a body's bytes that checks the JSON grammar and writes the index of its events. It makes no
// objects, and works in slices, so that a long body or event delays no other request.

import { isUtf8 } from "node:buffer";
import { JsonWalker, malformed, notUtf8, stopped } from "../../core/json/json_walker.ts";
import { limits } from "../../core/limits.ts";
import {
  envelope,
  envelopeKeys,
  field,
  itemKeys,
  noSlot,
  propertyKeys,
  readSlot,
} from "../fields/event_fields.ts";
import type { ScanArena } from "../wasm/scan_arena.ts";
import { EventIndex, type IndexOptions } from "./event_index.ts";

/** The objects that are indexed, by depth: the body's own, an item, its properties. */
const level = { body: 0, item: 1, properties: 2 } as const;

/** Yields at the end of a turn; true at the end of a part of the index. */
type Scanning<Found = void> = Generator<boolean | undefined, Found, undefined>;

export class BodyScanner {
  readonly index: EventIndex;
  readonly #opened: number | undefined;
  #scanning: Scanning<unknown>;
  #isDone = false;
  /** Made for the first byte that is scanned the slow way; a plain body needs none. */
  #walk: JsonWalker | undefined;
  /** The next byte to scan; while the walker works, its offset counts instead, from `#walkedFrom` on in this turn. */
  #at = 0;
  #walkedFrom = 0;
  /** Bytes that may still be scanned in this turn. */
  #left = 0;
  #itemsFrom = 0;
  #expectItem = false;
  /** Items that still go the slow way before the fast one is tried again, and how many there were the last time. */
  #slowItemsLeft = 0;
  #backoff = 0;

  /**
   * @param bytes the body, not copied; with `options.fast` they are in its memory.
   * @param opened the result of open() of that arena for these bytes, which are known to be UTF-8; undefined when it
   *   was not called.
   */
  constructor(bytes: Uint8Array, options?: IndexOptions, opened?: number) {
    this.index = new EventIndex(bytes, options);
    this.#opened = opened;
    this.#scanning = this.#scanBody();
  }

  /**
   * Begins the next part of an index that isPartial; advance() then returns true at the end of the part. False when no
   * part is left.
   */
  nextPart(): boolean {
    const { index } = this;
    if (index.isSecondPass && this.#isDone) return false;
    if (!index.isSecondPass) {
      index.isSecondPass = true;
      index.items = 0;
      this.#at = this.#itemsFrom;
      this.#scanning = this.#scanItems();
    }
    index.count = 0;
    return true;
  }

  /**
   * Scans about `bytesMax` bytes: a quarter of them the slow way, up to limits.eventBytesMax more the fast way. True
   * when the body, or its part, is scanned.
   * @throws Fault invalid_payload, naming the byte, for anything that is not JSON in UTF-8.
   */
  advance(bytesMax: number): boolean {
    this.#left = bytesMax;
    if (this.#walk) this.#walkFrom(this.#walk, this.#walk.at);
    const { done = false, value } = this.#scanning.next();
    this.#isDone = done;
    return done || value === true;
  }

  *#scanBody(): Scanning {
    const { index } = this;
    if (this.#opened === undefined) yield* this.#checkUtf8();
    const opened = this.#opened ?? index.fast?.open() ?? 0;
    // The body is one event, or a batch whose events begin at that offset.
    if (opened === 1) return index.readSingle();
    if (opened > 1) {
      index.openItems("batch");
      index.readEnvelope(0);
      this.#at = opened;
      if (yield* this.#scanItems()) return;
      yield* this.#scanObject(level.body, 0, false);
    } else if (yield* this.#scanSlowly()) return;
    const walk = this.#walk!;
    let next = walk.peek();
    for (; next === stopped; next = walk.peek()) yield;
    if (next !== -1) throw walk.unexpected();
  }

  /** The body's value, from its first byte on. True when the end of the body was passed as well. */
  *#scanSlowly(): Scanning<boolean> {
    const { index } = this;
    const { bytes } = index;
    const walk = this.#walkOn();
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) walk.at = 3;
    let first = walk.peek();
    for (; first === stopped; first = walk.peek()) yield;
    if (first === 0x7b) return yield* this.#scanObject(level.body, 0);
    if (first === 0x5b) return yield* this.#openItems("array");
    for (let isPassed = walk.skip(0); !isPassed; isPassed = walk.resume()) yield;
    return false;
  }

  /** Checks eight times as many bytes for UTF-8 in a turn as are scanned. */
  *#checkUtf8(): Scanning {
    const { bytes } = this.index;
    for (let from = 0; from < bytes.length || from === 0;) {
      if (from > 0) yield;
      let to = Math.min(bytes.length, from + this.#left * utf8Factor);
      for (let back = 0; back < 3 && to < bytes.length && (bytes[to]! & 0xc0) === 0x80; back++) to--;
      const isWhole = from === 0 && to === bytes.length;
      if (!isUtf8(isWhole ? bytes : bytes.subarray(from, to))) throw notUtf8();
      if (to === bytes.length) return;
      from = to;
    }
  }

  *#openItems(shape: "batch" | "array"): Scanning<boolean> {
    this.#walk!.at++;
    this.index.openItems(shape);
    this.#endWalk(this.#walk!);
    return yield* this.#scanItems();
  }

  /** The items of an array and its end. True when the end of the body was passed as well. */
  *#scanItems(): Scanning<boolean> {
    const { index } = this;
    this.#itemsFrom = this.#at;
    this.#expectItem = false;
    for (;;) {
      while (index.isFull && !index.grow(this.#at)) yield index.isSecondPass;
      if (index.fast && --this.#slowItemsLeft < 0) {
        if (this.#scanPlain(index.fast)) return true;
        const isTurnOver = this.#left <= 0;
        if (isTurnOver) yield;
        if (isTurnOver || index.isFull) continue;
      }
      const walk = this.#walkOn();
      let next = walk.peek();
      for (; next === stopped; next = walk.peek()) yield;
      if (next === 0x5d && !this.#expectItem) break;
      if (next === 0x7b) yield* this.#scanObject(level.item, 2);
      else {
        index.ignoreItem();
        for (let isPassed = walk.skip(1); !isPassed; isPassed = walk.resume()) yield;
      }
      for (next = walk.peek(); next === stopped; next = walk.peek()) yield;
      if (next === 0x5d) break;
      if (next !== 0x2c) throw walk.unexpected();
      walk.at++;
      this.#expectItem = true;
      this.#endWalk(walk);
      if (this.#left <= 0) yield;
    }
    this.#walk!.at++;
    return false;
  }

  /**
   * Indexes the plain items of this turn, and the end of a body after them: true when that was passed. The item before
   * which it stops goes the slow way.
   */
  #scanPlain(fast: ScanArena): boolean {
    const { index } = this;
    const { count, capacity, items } = index;
    const from = this.#at;
    const goal = from + this.#left;
    const countMax = Math.min(capacity, count + Math.ceil(this.#left / entryCost));
    this.#at = fast.scan(from, goal, [count, countMax], items, index.firstKey);
    const found = fast.foundCount;
    index.count += found;
    index.items += found;
    // If one item is unusual, the next ones are likely to be.
    if (found > 0) this.#backoff = 0;
    else if (this.#at < goal) this.#backoff = Math.min(slowItemsMax, this.#backoff * 2 + 1);
    this.#slowItemsLeft = this.#backoff;
    this.#left -= Math.max(this.#at - from, found * entryCost);
    if (found > 0) this.#expectItem = fast.isCommaNext;
    return found > 0 && !fast.isCommaNext && this.#endsPlain(fast);
  }

  /** Whether only the usual end of a body follows the events. */
  #endsPlain(fast: ScanArena): boolean {
    const { index } = this;
    const isBatch = index.shape === "batch";
    // The entries that open() writes use the space of two.
    if (index.isSecondPass || index.isPartial || index.count + 2 > index.capacity) return false;
    if (!fast.endsPlain(this.#at, index.count, isBatch)) return false;
    if (isBatch) index.readEnvelope(index.count);
    return true;
  }

  /** The walker, at the next byte. */
  #walkOn(): JsonWalker {
    const walk = (this.#walk ??= new JsonWalker(this.index.bytes, limits.eventBytesMax));
    this.#walkFrom(walk, this.#at);
    return walk;
  }

  #walkFrom(walk: JsonWalker, at: number): void {
    walk.at = this.#walkedFrom = at;
    walk.goal = Math.min(walk.bytes.length, at + Math.ceil(this.#left / slowFactor));
  }

  #endWalk({ at }: JsonWalker): void {
    this.#at = at;
    this.#left -= Math.max(at - this.#walkedFrom, itemBytesLeast) * slowFactor;
  }

  /**
   * The object at the walker, or what follows a member of it. True when the end of the body was passed as well.
   * @param depth of its values. @param isFirst whether no member was passed before.
   */
  *#scanObject(at: number, depth: number, isFirst = true): Scanning<boolean> {
    const { index } = this;
    const walk = this.#walk!;
    const inProperties = at === level.properties;
    const keys = inProperties ? propertyKeys : itemKeys;
    if (isFirst && !inProperties) {
      index.openEntry(walk.at);
      walk.altered = 0;
      walk.isDeep = false;
    }
    if (isFirst) walk.at++;
    for (let hasComma = !isFirst; ; hasComma = true) {
      let next = walk.peek();
      for (; next === stopped; next = walk.peek()) yield;
      if (next === 0x7d) break;
      if (hasComma && next !== 0x2c) throw walk.unexpected();
      if (hasComma) walk.at++;
      while (!walk.key()) yield;
      const slot = readSlot(keys, walk);
      const outer = at === level.body ? readSlot(envelopeKeys, walk) : noSlot;
      const from = walk.at;
      const first = walk.bytes[from];
      if (outer === envelope.batch) {
        if (first !== 0x5b) throw malformed("batch is not an array");
        if (yield* this.#openItems("batch")) return true;
        continue;
      }
      if (slot === field.properties) index.openProperties();
      if (slot === field.properties && first === 0x7b) {
        yield* this.#scanObject(level.properties, depth + 1);
      } else for (let isPassed = walk.skip(depth); !isPassed; isPassed = walk.resume()) yield;
      if (inProperties) index.recordProperty(slot, from, walk.at);
      else index.recordOwn(slot, from, walk.at);
      if (outer !== noSlot) index.recordEnvelope(outer, from, walk.at);
    }
    walk.at++;
    if (inProperties) return false;
    // Whether the body's own object is a batch shows only at its end.
    if (index.shape === "other") index.shape = "event";
    if (at === level.item || index.shape === "event") index.closeEntry(walk.at, walk);
    if (at === level.item) index.items++;
    return false;
  }
}

/**
 * How many bytes are checked for UTF-8 while one is scanned, and scanned the fast way while one is scanned the slow
 * way.
 */
const [utf8Factor, slowFactor] = [8, 4];
/** The least cost of an item the slow way, in bytes. */
const itemBytesLeast = 32;
/** The least cost of an item the fast way: its entry is longer, and its memory is touched for the first time. */
const entryCost = 64;
/** The most items that go the slow way before the fast one is tried again. */
const slowItemsMax = 64;
