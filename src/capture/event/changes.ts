// What an event says of its person and of a group: $set, $set_once, $unset and $group_set as keys, kinds and raw
// texts. Keeps nothing from one event to the next, and makes no object for one.

import { captureLimits } from "../limits.ts";
import { ByteColumn } from "../../storage/native/native.ts";
import { Members, pastGap, pastValue } from "../../core/json/json_skipper.ts";
import { appendText } from "../scan/json_value.ts";

/** What is done to a key. The numbers are what rests in event_rows.pw. */
export const op = { set: 0, once: 1, unset: 2, group: 3 } as const;

const noBytes: Uint8Array = new Uint8Array(0);
const slots = 4096;

/** The changes of one event, each key and kind once; filled again for every event. */
export class EventChanges {
  count = 0;
  /** True when some were left out, being too many, too long or too big. */
  cut = false;
  readonly ops = new Uint8Array(captureLimits.changesMax);
  /** The bytes that a key and a value lie in, and where. */
  readonly keyFrom = new Int32Array(captureLimits.changesMax);
  readonly keyTo = new Int32Array(captureLimits.changesMax);
  readonly valueFrom = new Int32Array(captureLimits.changesMax);
  readonly valueTo = new Int32Array(captureLimits.changesMax);
  source = noBytes;
  /** 1 where a key was written with escapes: it then lies in `texts`. */
  readonly unescaped = new Uint8Array(captureLimits.changesMax);
  readonly texts = new ByteColumn(256);
  #bytes = 0;
  readonly #members = new Members(new Uint8Array(0), 0);
  readonly #slots = new Int16Array(slots);
  readonly #ages = new Uint32Array(slots);
  #age = 0;

  clear(): void {
    this.count = 0;
    this.cut = false;
  }

  begin(source: Uint8Array): void {
    this.source = source;
    this.count = 0;
    this.cut = false;
    this.#bytes = 0;
    this.texts.length = 0;
    this.#age++;
  }

  keySource(at: number): Uint8Array {
    return this.unescaped[at] === 1 ? this.texts.bytes : this.source;
  }

  /** Every member of the object that begins at `at`. */
  object(at: number, what: number): void {
    const members = this.#members.open(this.source, at);
    while (members.next()) {
      const { key, keyEnd, value, end } = members;
      if (what === op.unset) this.#note(what, key - 1, keyEnd + 1, 0, 0);
      else this.#note(what, key - 1, keyEnd + 1, value, end);
    }
  }

  /** Every text of the list that begins at `at`; other items are passed over. */
  list(at: number): void {
    const { source } = this;
    let next = pastGap(source, at + 1, source.length);
    while (source[next] !== 0x5d) {
      const end = pastValue(source, next);
      if (source[next] === 0x22) this.#note(op.unset, next, end, 0, 0);
      next = pastGap(source, end, source.length);
    }
  }

  /** `from` and `to` of the key include its quotes. The later of two notes about one key counts. */
  #note(what: number, from: number, to: number, valueFrom: number, valueTo: number): void {
    const { count } = this;
    this.#bytes += to - from + valueTo - valueFrom;
    const tooBig =
      to - from - 2 > captureLimits.changeKeyBytesMax || this.#bytes > captureLimits.changesBytesMax;
    if (tooBig || count === captureLimits.changesMax) {
      this.cut = true;
      return;
    }
    this.#readKey(count, from, to);
    const place = this.#find(what);
    if (place === count) this.count++;
    this.ops[place] = what;
    this.valueFrom[place] = valueFrom;
    this.valueTo[place] = valueTo;
  }

  #readKey(at: number, from: number, to: number): void {
    this.unescaped[at] = 0;
    this.keyFrom[at] = from + 1;
    this.keyTo[at] = to - 1;
    for (let place = from + 1; place < to - 1; place++) {
      if (this.source[place] !== 0x5c) continue;
      this.unescaped[at] = 1;
      this.keyFrom[at] = this.texts.length;
      appendText(this.source, from + 1, to - 1, this.texts);
      this.keyTo[at] = this.texts.length;
      return;
    }
  }

  /** Where the key at `count` was noted before for the same kind of change; `count` when it was not. */
  #find(what: number): number {
    const { count } = this;
    // A set and an unset of one key are one change: the later.
    const kind = what === op.unset ? op.set : what;
    const bytes = this.keySource(count);
    const [from, to] = [this.keyFrom[count]!, this.keyTo[count]!];
    let hash = 0x811c9dc5 ^ hashSeed ^ kind;
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    for (let slot = (hash ^ (hash >>> 15)) & (slots - 1); ; slot = (slot + 1) & (slots - 1)) {
      if (this.#ages[slot] !== this.#age) {
        this.#ages[slot] = this.#age;
        this.#slots[slot] = count;
        return count;
      }
      const known = this.#slots[slot]!;
      const knownKind = this.ops[known] === op.unset ? op.set : this.ops[known];
      if (knownKind === kind && this.#sameKey(known, bytes, from, to)) return known;
    }
  }

  #sameKey(known: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = this.keyFrom[known]!;
    if (this.keyTo[known]! - start !== to - from) return false;
    const other = this.keySource(known);
    for (let i = 0; i < to - from; i++) if (bytes[from + i] !== other[start + i]) return false;
    return true;
  }
}

const hashSeed = crypto.getRandomValues(new Uint32Array(1))[0]!;
