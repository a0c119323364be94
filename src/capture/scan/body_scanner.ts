// The scan: one pass over a body's bytes that checks the JSON grammar and writes the index of its events. It builds no
// objects and never awaits; it works in slices, so that a long body, or one long event, holds nobody up.

import { EventIndex, type IndexOptions } from "./event_index.ts";
import { envelope, envelopeKeys, field, itemKeys, noSlot, propertyKeys } from "./event_fields.ts";
import { FastPath, entryCost, itemBytesLeast } from "./fast_path.ts";
import { captureLimits } from "../limits.ts";
import { Utf8Check } from "../decode/utf8.ts";
import { malformed, notUtf8 } from "./json_lexer.ts";
import { JsonWalker, stopped } from "./json_walker.ts";

/** What comes next. */
const step = {
  /** Bytes that nobody knows to be UTF-8; then the body's first byte. */
  start: 0,
  opening: 11,
  /** Within the array of events: an item, or behind one. */
  item: 1,
  noItem: 2,
  behindItem: 3,
  /** Within an object that matters, its bracket just passed; a key; a value that stopped midway; behind one. */
  first: 4,
  member: 5,
  value: 6,
  more: 7,
  /** Within a body that is neither object nor array; behind its value. */
  other: 8,
  end: 9,
  done: 10,
} as const;

/** The objects that matter, by how deep they lie: the body's own, an item, its properties. */
const level = { body: 0, item: 1, properties: 2 } as const;

export class BodyScanner {
  readonly index: EventIndex;
  readonly #walk: JsonWalker;
  readonly #utf8: Utf8Check;
  readonly #plain = new FastPath();
  #step: number = step.start;
  #level: number = level.body;
  #expectItem = false;
  #itemsFrom = 0;
  /** The open member's slot, in a batch object's envelope too, and where its value begins. */
  #slot: number = noSlot;
  #outer: number = noSlot;
  #from = 0;
  /** The same of the open `properties`, and the level they lie in. */
  #propertiesFrom = 0;
  #propertiesLevel: number = level.body;

  /**
   * `bytes` are kept; with `fast` they are what it holds. `isSingle`: what its single() has said of them, which are
   * then known to be UTF-8; undefined when it was not asked.
   */
  constructor(bytes: Uint8Array, options?: IndexOptions, isSingle?: boolean) {
    this.index = new EventIndex(bytes, options);
    this.#utf8 = new Utf8Check(bytes);
    this.#walk = new JsonWalker(bytes);
    if (isSingle) this.#takeSingle();
    else if (isSingle === false) this.#step = step.opening;
  }

  /**
   * Begins the next part of an index that isPartial; advance() is then through when the part is. False when there was
   * none left.
   */
  nextPart(): boolean {
    const { index } = this;
    if (index.isSecondPass && this.#step === step.done) return false;
    if (!index.isSecondPass) {
      index.isSecondPass = true;
      index.items = 0;
      this.#walk.at = this.#itemsFrom;
      this.#expectItem = false;
      this.#step = step.item;
    }
    index.count = 0;
    return true;
  }

  /**
   * Goes on for about `bytesMax` bytes, a quarter of them where they go the slow way, or limits.eventBytesMax more
   * the fast way. True when the body is through.
   * @throws Fault invalid_payload, naming the byte, for anything that is not JSON in UTF-8.
   */
  advance(bytesMax: number): boolean {
    const { index } = this;
    const walk = this.#walk;
    if (this.#step === step.start) {
      if (!this.#utf8.advance(bytesMax * utf8Factor)) throw notUtf8();
      if (!this.#utf8.through) return false;
      const { fast } = index;
      this.#step = step.opening;
      if (fast && index.bytes.length < captureLimits.arenaBodyBytesMin && fast.single()) this.#takeSingle();
    }
    let left = bytesMax;
    while (this.#step !== step.done) {
      if (this.#step === step.item && index.isFull && !index.makeRoom(walk.at)) return index.isSecondPass;
      const before = walk.at;
      const fast = this.#step === step.item ? index.fast : undefined;
      const indexed = fast && this.#plain.isDue() ? this.#plain.index(fast, walk, left, index) : 0;
      if (indexed > 0) this.#expectItem = this.#plain.comma;
      left -= Math.max(walk.at - before, indexed * entryCost);
      if (left <= 0) return false;
      if (fast && index.isFull) continue;
      const slowFrom = walk.at;
      walk.goal = Math.min(index.bytes.length, slowFrom + Math.ceil(left / slowFactor));
      while (this.#takeStep());
      left -= Math.max(walk.at - slowFrom, itemBytesLeast) * slowFactor;
      if (left <= 0) return this.#step === step.done;
    }
    return true;
  }

  #takeSingle(): void {
    this.index.takeSingle();
    this.#step = step.done;
  }

  /** One step the slow way; false where an item is over, or the body, or the walk stops at its goal. */
  #takeStep(): boolean {
    switch (this.#step) {
      case step.opening:
        return this.#open();
      case step.item:
        return this.#item();
      case step.first:
        return this.#first();
      case step.member:
        return this.#members();
      case step.more:
        return this.#more();
      case step.behindItem:
        return this.#behindItem();
      case step.end:
        return this.#end();
      case step.done:
        return false;
      default:
        return this.#walk.resume() && this.#passed();
    }
  }

  /** A value that stopped midway is through. */
  #passed(): true {
    const was = this.#step;
    if (was === step.value) this.#note(this.#slot, this.#from);
    this.#step = was === step.value ? step.more : was === step.noItem ? step.behindItem : step.end;
    return true;
  }

  #open(): boolean {
    const walk = this.#walk;
    const { bytes } = this.index;
    if (walk.at === 0 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) walk.at = 3;
    const first = walk.peek();
    if (first === stopped) return false;
    if (first === 0x7b) this.#openObject(level.body);
    else if (first === 0x5b) this.#openArray("array");
    else if (walk.skip(0)) this.#step = step.end;
    else this.#step = step.other;
    return this.#step !== step.other;
  }

  #openObject(which: number): void {
    const walk = this.#walk;
    this.index.openEntry(walk.at++);
    walk.altered = 0;
    this.#level = which;
    this.#step = step.first;
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
    const whole = walk.skip(1);
    this.#step = whole ? step.behindItem : step.noItem;
    return whole;
  }

  #behindItem(): boolean {
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
    this.#step = this.index.isSecondPass ? step.done : this.index.shape === "batch" ? step.more : step.end;
    return true;
  }

  /** Behind an object's opening bracket. */
  #first(): boolean {
    const next = this.#walk.peek();
    if (next === stopped) return false;
    if (next === 0x7d) return this.#closeObject();
    this.#step = step.member;
    return true;
  }

  /** Members one after the other; of the body's own object it shows only at the end whether they are a batch's. */
  #members(): boolean {
    const walk = this.#walk;
    const depth = this.#depth;
    const inProperties = this.#level === level.properties;
    const keys = inProperties ? propertyKeys : itemKeys;
    for (;;) {
      if (!walk.key()) return false;
      const slot = walk.slot(keys);
      if (!inProperties && this.#opensMore(slot)) return true;
      const from = walk.at;
      if (!walk.skip(depth)) {
        this.#slot = slot;
        this.#from = from;
        this.#step = step.value;
        return false;
      }
      this.#note(slot, from);
      if (walk.peek() !== 0x2c) break;
      walk.at++;
    }
    this.#step = step.more;
    return true;
  }

  /** True when the member whose key was just read is the array of events, or an event's properties. */
  #opensMore(slot: number): boolean {
    const walk = this.#walk;
    if (this.#level === level.body) {
      this.#outer = walk.slot(envelopeKeys);
      if (this.#outer === envelope.batch) {
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
    this.#step = step.first;
    return true;
  }

  /** How deep the open member's value lies, as depth is counted everywhere here. */
  get #depth(): number {
    if (this.#level === level.properties) return this.#propertiesLevel === level.body ? 1 : 3;
    return this.#level === level.body ? 0 : 2;
  }

  /** Notes a member whose value begins at `from` and was just passed. */
  #note(slot: number, from: number): void {
    const to = this.#walk.at;
    if (this.#level === level.properties) this.index.noteProperty(slot, from, to);
    else {
      this.index.noteOwn(slot, from, to);
      if (this.#level === level.body) this.index.noteEnvelope(this.#outer, from, to);
    }
  }

  #more(): boolean {
    const walk = this.#walk;
    const next = walk.peek();
    if (next === stopped) return false;
    if (next === 0x7d) return this.#closeObject();
    if (next !== 0x2c) throw walk.unexpected();
    walk.at++;
    this.#step = step.member;
    return true;
  }

  #closeObject(): true {
    const walk = this.#walk;
    walk.at++;
    if (this.#level === level.properties) {
      this.#level = this.#propertiesLevel;
      this.#outer = noSlot;
      this.#note(field.properties, this.#propertiesFrom);
      this.#step = step.more;
      return true;
    }
    const isItem = this.#level === level.item;
    if (this.index.shape === "other") this.index.shape = "event";
    if (isItem || this.index.shape === "event") this.index.closeEntry(walk.at, walk.altered);
    if (isItem) this.index.items++;
    this.#step = isItem ? step.behindItem : step.end;
    return true;
  }

  #end(): boolean {
    const next = this.#walk.peek();
    if (next !== -1 && next !== stopped) throw this.#walk.unexpected();
    if (next === -1) this.#step = step.done;
    return false;
  }
}

/** Bytes checked for UTF-8 while one is scanned, and scanned fast while one goes the slow way. */
const [utf8Factor, slowFactor] = [8, 4];
