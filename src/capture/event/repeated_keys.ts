// Whether an object may name a key twice: one walk over its bytes, which makes no objects. Keys are compared by their
// hashes, so that now and then another object is named, too.

import { closingQuote } from "../../core/json/json_cursor.ts";
import { limits } from "../../core/limits.ts";
import { ByteColumn } from "../../storage/native/native.ts";
import { appendText } from "../fields/raw_value.ts";

/** Keys of one value; past them a key may repeat. Events have a hundred. */
const keysMax = 512;
/** Slots that are looked at for a key: where hashes are made to collide, the walk ends. */
const probesMax = 64;
const slots = 2 * keysMax;

export class RepeatedKeys {
  /** The hash of each key, and the number of its object; one of an earlier walk leaves the slot free. */
  readonly #hashes = new Int32Array(slots);
  readonly #owners = new Int32Array(slots);
  #objects = 0;
  /** The numbers of the open containers; 0 for a list. */
  readonly #nesting = new Int32Array(limits.jsonDepthMax);
  readonly #unescaped = new ByteColumn(256);

  /** @param from where an object or list begins whose grammar and depth were checked. */
  mayRepeat(bytes: Uint8Array, from: number): boolean {
    const before = this.#objects;
    let at = from;
    let depth = 0;
    let keysLeft = keysMax;
    let isKey = false;
    do {
      const byte = bytes[at]!;
      if (byte === 0x22) {
        const text = at + 1;
        at = closingQuote(bytes, text, bytes.length);
        if (isKey && keysLeft-- === 0) return true;
        if (isKey && !this.#add(this.#hash(bytes, text, at), this.#nesting[depth - 1]!, before)) return true;
        isKey = false;
      } else if (byte === 0x7b || byte === 0x5b) {
        isKey = byte === 0x7b;
        this.#nesting[depth++] = isKey ? ++this.#objects : 0;
      } else if (byte === 0x7d || byte === 0x5d) {
        depth--;
        isKey = false;
      } else if (byte === 0x2c) isKey = this.#nesting[depth - 1] !== 0;
      at++;
    } while (depth > 0);
    return false;
  }

  /** A hash of a key's characters (FNV-1a), however they are written. */
  #hash(bytes: Uint8Array, from: number, to: number, isRaw = true): number {
    let hash = 0x811c9dc5 | 0;
    for (let at = from; at < to; at++) {
      if (isRaw && bytes[at] === 0x5c) {
        this.#unescaped.length = 0;
        appendText(bytes, from, to, this.#unescaped);
        return this.#hash(this.#unescaped.bytes, 0, this.#unescaped.length, false);
      }
      hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    }
    return hash;
  }

  /** False when the object has a key of that hash, or none can be added; objects up to `before` are earlier walks'. */
  #add(hash: number, object: number, before: number): boolean {
    let slot = Math.imul(hash ^ Math.imul(object, 0x9e3779b1), 0x85ebca6b) >>> 22;
    for (let left = probesMax; left > 0; left--) {
      const owner = this.#owners[slot]!;
      if (owner <= before) {
        this.#owners[slot] = object;
        this.#hashes[slot] = hash;
        return true;
      }
      if (owner === object && this.#hashes[slot] === hash) return false;
      slot = (slot + 1) % slots;
    }
    return false;
  }
}
