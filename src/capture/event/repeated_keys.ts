// Whether an event's objects name a key twice, for events that the fast scan has not indexed: by a hash of each key,
// and where two are equal, or a key is written with escapes, by the keys themselves.

import { bytesOf, decodeText, isTextAt } from "../../core/bytes.ts";
import { closingQuote, JsonCursor } from "../../core/json/json_cursor.ts";
import { limits } from "../../core/limits.ts";
import { type EntryOffset, field, type Indexed } from "../scan/event_fields.ts";

/** Bits of an entry's `altered`: it holds what cannot be stored; one of its objects names a key twice. */
export const alteration = { characters: 1, repeatedKey: 2 } as const;

const snapshot = bytesOf("$snapshot");
const slots = [field.properties, field.own_set, field.own_set_once];
/** Keys of an event that are compared by their hashes. */
const keysMax = 2048;

class KeyReader {
  /** Three numbers a slot: which value was read, the object and the hash. */
  readonly #table = new Int32Array(keysMax * 2 * 3);
  /** Of each open container: its number, or 0 for a list. */
  readonly #open = new Int32Array(limits.jsonDepthMax + 1);
  #reading = 0;

  isRepeated({ bytes, entries }: Indexed, at: EntryOffset): boolean {
    const name = entries[at + field.event]! + 1;
    if (entries[at + field.item + 1]! - entries[at + field.item]! > limits.eventBytesMax) return false;
    if (isTextAt(bytes, name, name + snapshot.length, snapshot)) return false;
    for (const slot of slots) {
      const [from, to] = [entries[at + slot]!, entries[at + slot + 1]!];
      if (to === 0 || bytes[from] !== 0x7b) continue;
      if (this.#mayRepeat(bytes, from, to) && hasRepeatedKey(bytes, from)) return true;
    }
    return false;
  }

  #mayRepeat(bytes: Uint8Array, from: number, to: number): boolean {
    const open = this.#open;
    this.#reading = (this.#reading + 1) | 0;
    let [depth, objects, keys, isKey] = [-1, 0, 0, false];
    for (let at = from; at < to; at++) {
      const byte = bytes[at]!;
      if (byte === 0x22) {
        if (!isKey) at = closingQuote(bytes, at + 1, to);
        else {
          let hash = 0;
          for (at++; bytes[at] !== 0x22; at++) {
            if (bytes[at] === 0x5c) return true;
            hash = Math.imul(hash ^ bytes[at]!, 0x01000193) + 1;
          }
          if (++keys > keysMax || !this.#add(open[depth]!, hash)) return true;
          isKey = false;
        }
      } else if (byte === 0x2c) isKey = open[depth]! > 0;
      else if (byte === 0x7b) {
        open[++depth] = ++objects;
        isKey = true;
      } else if (byte === 0x5b) open[++depth] = 0;
      else if (byte === 0x7d || byte === 0x5d) {
        depth--;
        isKey = false;
      }
    }
    return false;
  }

  /** False when the object has had this hash. */
  #add(object: number, hash: number): boolean {
    const table = this.#table;
    let slot = (Math.imul(hash ^ object, 0x9e3779b1) >>> 20) & (keysMax * 2 - 1);
    for (; table[slot * 3] === this.#reading; slot = (slot + 1) & (keysMax * 2 - 1)) {
      if (table[slot * 3 + 1] === object && table[slot * 3 + 2] === hash) return false;
    }
    table[slot * 3] = this.#reading;
    table[slot * 3 + 1] = object;
    table[slot * 3 + 2] = hash;
    return true;
  }
}

/** Overwritten by every event. */
const reader = new KeyReader();

/**
 * Whether an object of entry `at` names a key twice. Pieces of recordings, and what is too large for an event, are not
 * read.
 */
export function repeatsKey(index: Indexed, at: EntryOffset): boolean {
  return reader.isRepeated(index, at);
}

function hasRepeatedKey(bytes: Uint8Array, from: number): boolean {
  const cursor = new JsonCursor(bytes, from);
  /** The keys of each open object; undefined for a list. */
  const open: (Set<string> | undefined)[] = [new Set()];
  while (open.length > 0) {
    if (!cursor.seek()) {
      open.pop();
      cursor.leave(open.at(-1) === undefined);
      continue;
    }
    const keys = open.at(-1);
    if (keys) {
      const key = JSON.parse(decodeText(bytes, cursor.key - 1, cursor.keyEnd + 1)) as string;
      if (keys.has(key)) return true;
      keys.add(key);
    }
    const first = bytes[cursor.value]!;
    if (!(first === 0x7b || first === 0x5b)) cursor.skip();
    else {
      cursor.enter();
      open.push(first === 0x7b ? new Set() : undefined);
    }
  }
  return false;
}
