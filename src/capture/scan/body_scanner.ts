// The scan: one pass over a body's bytes that checks the JSON grammar and notes where each event's fields lie.
// Builds no objects and never awaits; works in slices, so that a long body, or one long event, holds nobody up.

import { EventIndex } from "./event_index.ts";
import {
  entryLength,
  envelope,
  envelopeKeys,
  field,
  itemKeys,
  noSlot,
  propertyKeys,
} from "./event_fields.ts";
import { entryCost, itemBytesLeast } from "./fast_path.ts";
import { level, step } from "./scan_step.ts";
import type { ScanArena } from "../wasm/scan_arena.ts";
import { Utf8Check } from "../decode/utf8.ts";
import { malformed, notUtf8 } from "./json_lexer.ts";
import { JsonWalker, stopped } from "./json_walker.ts";

export class BodyScanner extends EventIndex {
  readonly #walk: JsonWalker;
  readonly #arena: ScanArena | undefined;
  readonly #utf8: Utf8Check;
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
   * `bytes` are kept, and nothing of them is changed. `nameless`: items without an event name are indexed too.
   * `arena`: the bytes are its closed body, so that plain items go the fast way. `indexBytesMax`: tests make it
   * smaller.
   */
  constructor(bytes: Uint8Array, nameless = false, arena?: ScanArena, indexBytesMax?: number) {
    const entries = arena?.entries ?? new Int32Array(entryLength * (1 + (bytes.length >> 9)));
    super(bytes, nameless, entries, indexBytesMax);
    this.#arena = arena;
    this.#utf8 = new Utf8Check(bytes);
    this.#walk = new JsonWalker(bytes);
  }

  /** The arena that holds the bytes and the whole index; undefined when one of them lies elsewhere. */
  get arena(): ScanArena | undefined {
    return this.entries === this.#arena?.entries ? this.#arena : undefined;
  }

  /**
   * Of a body that isPartial: begins the next part of the index, the first one at first. Then advance() as before; it
   * is through when the part is. False when there was none left.
   */
  nextPart(): boolean {
    if (this.again && this.#step === step.done) return false;
    if (!this.again) {
      this.again = true;
      this.items = 0;
      this.#walk.at = this.#itemsFrom;
      this.#expectItem = false;
      this.#step = step.item;
    }
    this.count = 0;
    return true;
  }

  /**
   * Goes on for about `bytesMax` bytes, a quarter of them where they go the slow way, or limits.eventBytesMax more
   * the fast way. True when the body is through.
   * @throws Fault invalid_payload, naming the byte, for anything that is not JSON in UTF-8.
   */
  advance(bytesMax: number): boolean {
    const walk = this.#walk;
    if (this.#step === step.start) {
      if (!this.#utf8.advance(bytesMax * utf8Factor)) throw notUtf8();
      if (!this.#utf8.through) return false;
      if (this.takeSingle(this.arena)) this.#step = step.done;
    }
    let left = bytesMax;
    while (this.#step !== step.done) {
      if (this.#step === step.item && this.isFull && !this.makeRoom(walk.at)) return this.again;
      const before = walk.at;
      const arena = this.#step === step.item ? this.arena : undefined;
      const indexed = arena && this.plain.isDue() ? this.takePlain(arena, walk, left) : 0;
      if (indexed > 0) this.#expectItem = this.plain.comma;
      left -= Math.max(walk.at - before, indexed * entryCost);
      if (left <= 0) return false;
      if (arena && this.isFull) continue;
      const slowFrom = walk.at;
      walk.goal = Math.min(this.bytes.length, slowFrom + Math.ceil(left / slowFactor));
      while (this.#takeStep());
      left -= Math.max(walk.at - slowFrom, itemBytesLeast) * slowFactor;
      if (left <= 0) return this.#step === step.done;
    }
    return true;
  }

  /** One step the slow way; false where an item is over, or the body, or the walk stops at its goal. */
  #takeStep(): boolean {
    switch (this.#step) {
      case step.start:
        return this.#start();
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

  #start(): boolean {
    const walk = this.#walk;
    const { bytes } = this;
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
    this.openEntry(walk.at++);
    walk.altered = 0;
    this.#level = which;
    this.#step = step.first;
  }

  #openArray(shape: "batch" | "array"): void {
    this.#walk.at++;
    this.openItems(shape);
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
    this.ignoreItem();
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
    this.#step = this.again ? step.done : this.shape === "batch" ? step.more : step.end;
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
        if (this.bytes[walk.at] !== 0x5b) throw malformed("batch is not an array");
        this.#openArray("batch");
        return true;
      }
    }
    if (slot !== field.properties) return false;
    this.openProperties();
    if (this.bytes[walk.at] !== 0x7b) return false;
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
    if (this.#level === level.properties) this.noteProperty(slot, from, to);
    else {
      this.noteOwn(slot, from, to);
      if (this.#level === level.body) this.noteEnvelope(this.#outer, from, to);
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
    if (this.shape === "other") this.shape = "event";
    if (isItem || this.shape === "event") this.closeEntry(walk.at, walk.altered);
    if (isItem) this.items++;
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
