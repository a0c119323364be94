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

/** States of the scan. */
const step = {
  /** The check for UTF-8; then the body's first byte. */
  start: 0,
  opening: 11,
  /** In the array of events: at an item; within one that is no object; after an item. */
  item: 1,
  nonObject: 2,
  afterItem: 3,
  /** In an indexed object: after its opening bracket; at a key; within an incomplete value; after a value. */
  afterBracket: 4,
  member: 5,
  value: 6,
  afterValue: 7,
  /** Within a body that is neither object nor array; after a body's value; after its last byte. */
  scalar: 8,
  end: 9,
  done: 10,
} as const;

/** The objects that are indexed, by depth: the body's own, an item, its properties. */
const level = { body: 0, item: 1, properties: 2 } as const;

export class BodyScanner {
  readonly index: EventIndex;
  /** Made for the first byte that is scanned the slow way; a plain body needs none. */
  #walk!: JsonWalker;
  /** The next byte to scan; while the walker works, its offset counts instead. */
  #at = 0;
  /** The first so many bytes are known to be UTF-8. */
  #utf8Bytes = 0;
  #step: number = step.start;
  #level: number = level.body;
  #expectItem = false;
  #itemsFrom = 0;
  /** Items that still go the slow way before the fast one is tried again, and how many there were the last time. */
  #slowItemsLeft = 0;
  #backoff = 0;
  /** The open member's slot in an event, its slot in a batch object's envelope, and where its value begins. */
  #slot: number = noSlot;
  #envelopeSlot: number = noSlot;
  #from = 0;
  /** Start of the value of the open `properties`, and its level. */
  #propertiesFrom = 0;
  #propertiesLevel: number = level.body;

  /**
   * @param bytes the body, not copied; with `options.fast` they are in its memory.
   * @param opened the result of open() of that arena for these bytes, which are known to be UTF-8; undefined when it
   *   was not called.
   */
  constructor(bytes: Uint8Array, options?: IndexOptions, opened?: number) {
    this.index = new EventIndex(bytes, options);
    if (opened !== undefined) this.#open(opened);
  }

  /**
   * Begins the next part of an index that isPartial; advance() then returns true at the end of the part. False when no
   * part is left.
   */
  nextPart(): boolean {
    const { index } = this;
    if (index.isSecondPass && this.#step === step.done) return false;
    if (!index.isSecondPass) {
      index.isSecondPass = true;
      index.items = 0;
      this.#at = this.#itemsFrom;
      this.#expectItem = false;
      this.#step = step.item;
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
    const { index } = this;
    if (this.#step === step.start) {
      this.#checkUtf8(bytesMax * utf8Factor);
      if (this.#utf8Bytes < index.bytes.length) return false;
      this.#open(index.fast?.open() ?? 0);
    }
    let left = bytesMax;
    while (this.#step !== step.done) {
      if (this.#step === step.item && index.isFull && !index.grow(this.#at)) return index.isSecondPass;
      const fast = this.#step === step.item ? index.fast : undefined;
      if (fast && --this.#slowItemsLeft < 0) {
        left -= this.#scanPlain(fast, left);
        if (left <= 0) return this.#step === step.done;
        if (index.isFull || this.#step === step.done) continue;
      }
      left -= this.#scanSlow(left);
      if (left <= 0) return this.#step === step.done;
    }
    return true;
  }

  /** Checks about `bytesMax` bytes more. */
  #checkUtf8(bytesMax: number): void {
    const { bytes } = this.index;
    let to = Math.min(bytes.length, this.#utf8Bytes + bytesMax);
    for (let back = 0; back < 3 && to < bytes.length && (bytes[to]! & 0xc0) === 0x80; back++) to--;
    const isWhole = this.#utf8Bytes === 0 && to === bytes.length;
    if (!isUtf8(isWhole ? bytes : bytes.subarray(this.#utf8Bytes, to))) throw notUtf8();
    this.#utf8Bytes = to;
  }

  /** Adopts what ScanArena.open() returned: the body is one event, or a batch whose events begin at that offset. */
  #open(opened: number): void {
    this.#step = opened === 0 ? step.opening : opened === 1 ? step.done : step.item;
    if (opened === 1) this.index.readSingle();
    if (opened <= 1) return;
    this.index.openItems("batch");
    this.index.readEnvelope(0);
    this.#at = this.#itemsFrom = opened;
  }

  /**
   * Indexes the plain items in about `bytesMax` bytes, and the end of a body after them; returns what that cost. The
   * item before which it stops goes the slow way.
   */
  #scanPlain(fast: ScanArena, bytesMax: number): number {
    const { index } = this;
    const { count, capacity, items, bytes } = index;
    const from = this.#at;
    const goal = from + bytesMax;
    const countMax = Math.min(capacity, count + Math.ceil(bytesMax / entryCost));
    this.#at = fast.scan(from, goal, [count, countMax], items, index.firstKey);
    const found = fast.foundCount;
    index.count += found;
    index.items += found;
    if (found > 0) {
      this.#expectItem = fast.isCommaNext;
      if (!fast.isCommaNext && this.#endsPlain(fast)) {
        this.#at = bytes.length;
        this.#step = step.done;
      }
    }
    // If one item is unusual, the next ones are likely to be.
    if (found > 0) this.#backoff = 0;
    else if (this.#at < goal) this.#backoff = Math.min(slowItemsMax, this.#backoff * 2 + 1);
    this.#slowItemsLeft = this.#backoff;
    return Math.max(this.#at - from, found * entryCost);
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

  /** Scans the slow way to the end of an item, or until about `bytesMax` bytes of cost are used; returns the cost. */
  #scanSlow(bytesMax: number): number {
    const { bytes } = this.index;
    const walk = (this.#walk ??= new JsonWalker(bytes, limits.eventBytesMax));
    const from = this.#at;
    walk.at = from;
    walk.goal = Math.min(bytes.length, from + Math.ceil(bytesMax / slowFactor));
    while (this.#scanStep());
    this.#at = walk.at;
    return Math.max(walk.at - from, itemBytesLeast) * slowFactor;
  }

  /** One step the slow way; false at the end of an item or of the body, and when the walker stops at its goal. */
  #scanStep(): boolean {
    switch (this.#step) {
      case step.opening:
        return this.#opening();
      case step.item:
        return this.#item();
      case step.afterBracket:
        return this.#nextMember(true);
      case step.member:
        return this.#members();
      case step.afterValue:
        return this.#nextMember(false);
      case step.afterItem:
        return this.#afterItem();
      case step.end:
        return this.#end();
      case step.done:
        return false;
      default:
        return this.#walk.resume() && this.#passed();
    }
  }

  /** Ends a value that was passed in several slices. */
  #passed(): true {
    const ended = this.#step;
    if (ended === step.value) this.#record(this.#slot, this.#from);
    const outside = ended === step.nonObject ? step.afterItem : step.end;
    this.#step = ended === step.value ? step.afterValue : outside;
    return true;
  }

  #opening(): boolean {
    const walk = this.#walk;
    const { bytes } = this.index;
    if (walk.at === 0 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) walk.at = 3;
    const first = walk.peek();
    if (first === stopped) return false;
    if (first === 0x7b) this.#openObject(level.body);
    else if (first === 0x5b) this.#openArray("array");
    else if (walk.skip(0)) this.#step = step.end;
    else this.#step = step.scalar;
    return this.#step !== step.scalar;
  }

  #openObject(at: number): void {
    const walk = this.#walk;
    this.index.openEntry(walk.at++);
    walk.altered = 0;
    walk.isDeep = false;
    this.#level = at;
    this.#step = step.afterBracket;
  }

  #openArray(shape: "batch" | "array"): void {
    this.#walk.at++;
    this.index.openItems(shape);
    this.#itemsFrom = this.#walk.at;
    this.#expectItem = false;
    this.#step = step.item;
  }

  #item(): boolean {
    const walk = this.#walk;
    const next = walk.peek();
    if (next === stopped) return false;
    if (next === 0x5d && !this.#expectItem) return this.#closeArray();
    if (next === 0x7b) {
      this.#openObject(level.item);
      return true;
    }
    this.index.ignoreItem();
    const isWhole = walk.skip(1);
    this.#step = isWhole ? step.afterItem : step.nonObject;
    return isWhole;
  }

  #afterItem(): boolean {
    const walk = this.#walk;
    const next = walk.peek();
    if (next === stopped) return false;
    if (next === 0x5d) return this.#closeArray();
    if (next !== 0x2c) throw walk.unexpected();
    walk.at++;
    this.#expectItem = true;
    this.#step = step.item;
    return false;
  }

  #closeArray(): true {
    this.#walk.at++;
    this.#expectItem = false;
    this.#level = level.body;
    const following = this.index.shape === "batch" ? step.afterValue : step.end;
    this.#step = this.index.isSecondPass ? step.done : following;
    return true;
  }

  /** Scans the members of an object. Whether the body's own object is a batch shows only at its end. */
  #members(): boolean {
    const walk = this.#walk;
    const depth = this.#depth;
    const inProperties = this.#level === level.properties;
    const keys = inProperties ? propertyKeys : itemKeys;
    for (;;) {
      if (!walk.key()) return false;
      const slot = readSlot(keys, walk);
      if (!inProperties && this.#opensNested(slot)) return true;
      const from = walk.at;
      if (!walk.skip(depth)) {
        this.#slot = slot;
        this.#from = from;
        this.#step = step.value;
        return false;
      }
      this.#record(slot, from);
      if (walk.peek() !== 0x2c) break;
      walk.at++;
    }
    this.#step = step.afterValue;
    return true;
  }

  /** True when the member whose key was just read is the array of events, or an event's properties. */
  #opensNested(slot: number): boolean {
    const walk = this.#walk;
    if (this.#level === level.body) {
      this.#envelopeSlot = readSlot(envelopeKeys, walk);
      if (this.#envelopeSlot === envelope.batch) {
        if (this.index.bytes[walk.at] !== 0x5b) throw malformed("batch is not an array");
        this.#openArray("batch");
        return true;
      }
    }
    if (slot !== field.properties) return false;
    this.index.openProperties();
    if (this.index.bytes[walk.at] !== 0x7b) return false;
    this.#propertiesFrom = walk.at++;
    this.#propertiesLevel = this.#level;
    this.#level = level.properties;
    this.#step = step.afterBracket;
    return true;
  }

  /** The depth of the open member's value. */
  get #depth(): number {
    if (this.#level === level.properties) return this.#propertiesLevel === level.body ? 1 : 3;
    return this.#level === level.body ? 0 : 2;
  }

  /** Records a member whose value begins at `from` and has just been passed. */
  #record(slot: number, from: number): void {
    const to = this.#walk.at;
    if (this.#level === level.properties) this.index.recordProperty(slot, from, to);
    else {
      this.index.recordOwn(slot, from, to);
      if (this.#level === level.body) this.index.recordEnvelope(this.#envelopeSlot, from, to);
    }
  }

  /** At an object's first member, or after a value: at a comma. */
  #nextMember(isFirst: boolean): boolean {
    const walk = this.#walk;
    const next = walk.peek();
    if (next === stopped) return false;
    if (next === 0x7d) return this.#closeObject();
    if (!isFirst && next !== 0x2c) throw walk.unexpected();
    if (!isFirst) walk.at++;
    this.#step = step.member;
    return true;
  }

  #closeObject(): true {
    const walk = this.#walk;
    walk.at++;
    if (this.#level === level.properties) {
      this.#level = this.#propertiesLevel;
      this.#envelopeSlot = noSlot;
      this.#record(field.properties, this.#propertiesFrom);
      this.#step = step.afterValue;
      return true;
    }
    const isItem = this.#level === level.item;
    if (this.index.shape === "other") this.index.shape = "event";
    if (isItem || this.index.shape === "event") this.index.closeEntry(walk.at, walk);
    if (isItem) this.index.items++;
    this.#step = isItem ? step.afterItem : step.end;
    return true;
  }

  #end(): boolean {
    const next = this.#walk.peek();
    if (next !== -1 && next !== stopped) throw this.#walk.unexpected();
    if (next === -1) this.#step = step.done;
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
