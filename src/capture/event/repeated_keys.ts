// Whether an object may name a key twice: one walk over its bytes, which makes no objects. Keys are compared by their
// hashes, so that now and then another object is named, too.

import { closingQuote } from "../../core/json/json_cursor.ts";
import { limits } from "../../core/limits.ts";
import { ByteColumn } from "../../storage/native/native.ts";
import { appendText } from "../scan/json_value.ts";

/** Keys of one value, and bytes of one with escapes; past them a key may repeat. Events have a hundred of 20 bytes. */
const keysMax = 512;
const escapedBytesMax = 4096;
/** Slots that are looked at for a key: where hashes are made to collide, the walk ends. */
const probesMax = 64;
const slots = 2 * keysMax;

/** FNV-1a, of 32 bits. */
const hashBegin = 0x811c9dc5 | 0;
const hashFactor = 0x01000193;

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
    const nesting = this.#nesting;
    const before = this.#objects;
    let at = from;
    let depth = 0;
    let keysLeft = keysMax;
    let isKey = false;
    do {
      const byte = bytes[at]!;
      if (byte === 0x22 && isKey) {
        const key = ++at;
        let hash = hashBegin;
        let next = bytes[at]!;
        for (; next !== 0x22 && next !== 0x5c; next = bytes[++at]!) hash = Math.imul(hash ^ next, hashFactor);
        if (next === 0x5c) {
          at = closingQuote(bytes, at, bytes.length);
          hash = this.#hashEscaped(bytes, key, at);
        }
        if (keysLeft-- === 0 || !this.#add(hash, nesting[depth - 1]!, before)) return true;
        isKey = false;
      } else if (byte === 0x22) {
        at = closingQuote(bytes, at + 1, bytes.length);
      } else if (byte === 0x7b || byte === 0x5b) {
        isKey = byte === 0x7b;
        nesting[depth++] = isKey ? ++this.#objects : 0;
      } else if (byte === 0x7d || byte === 0x5d) {
        depth--;
        isKey = false;
      } else if (byte === 0x2c) isKey = nesting[depth - 1] !== 0;
      at++;
    } while (depth > 0);
    return false;
  }

  /** A hash of the characters of a key with escapes; 0 of one that is too long. */
  #hashEscaped(bytes: Uint8Array, from: number, to: number): number {
    if (to - from > escapedBytesMax) return 0;
    this.#unescaped.length = 0;
    appendText(bytes, from, to, this.#unescaped);
    const { bytes: text, length } = this.#unescaped;
    let hash = hashBegin;
    for (let at = 0; at < length; at++) hash = Math.imul(hash ^ text[at]!, hashFactor);
    return hash;
  }

  /** False when the object has a key of that hash, or none can be added; objects up to `before` are earlier walks'. */
  #add(hash: number, object: number, before: number): boolean {
    let slot = Math.imul(hash ^ Math.imul(object, 0x9e3779b1), 0x85ebca6b) >>> 22;
    for (let left = probesMax; hash !== 0 && left > 0; left--) {
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
