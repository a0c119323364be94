// Members put at the end of raw JSON objects, in place of those of the same name in them. All else of an object stays
// byte for byte.

import { bytesOf } from "../../core/bytes.ts";
import { Members } from "../../core/json/json_skipper.ts";

/** Every name that may be put into an object. */
const names = [
  "$lib",
  "$lib_version",
  "$session_id",
  "$window_id",
  "$cookieless_mode",
  "$ignore_sent_at",
  "$product_tour_id",
  "$process_person_profile",
] as const;
type Name = (typeof names)[number];

const keyOf = new Map(names.map((name) => [name, bytesOf(`"${name}":`)]));
const quoted = names.map((name) => `"${name}"`);
const nameBytesMax = Math.max(...names.map(({ length }) => length));

/** One member to put; its value lies in `from` at [start, end). */
interface Put {
  name: Name;
  from: Buffer;
  start: number;
  end: number;
}

export class Splice {
  readonly #source: Buffer;
  readonly #always: Uint8Array;
  readonly #alwaysNames: readonly string[];
  readonly #puts: Put[] = [];
  /** Some of the names stand where the next objects lie: SDKs take them out, so that nearly always none does. */
  #mayHave = true;

  /** `source`: where the objects lie. `always`: members that are put into each, as JSON without brackets. */
  constructor(source: Buffer, always: string) {
    this.#source = source;
    this.#always = bytesOf(always);
    this.#alwaysNames = Object.keys(JSON.parse(`{${always}}`) as object);
  }

  /** The next objects lie at [from, to). */
  look(from: number, to: number): void {
    const stretch = this.#source.subarray(from, to);
    this.#mayHave = quoted.some((name) => stretch.includes(name));
  }

  /** Puts a member into the next object, besides those that go into each. */
  add(name: Name, json: string): void {
    const from = Buffer.from(json);
    this.#puts.push({ name, from, start: 0, end: from.length });
  }

  /** The same for a value that lies in the source. */
  addRaw(name: Name, start: number, end: number): void {
    this.#puts.push({ name, from: this.#source, start, end });
  }

  /**
   * Writes the raw value at [from, to) with the members at its end, where to = 0 and null stand for an empty object;
   * anything else than an object is written as it is. Returns where it ends in `out`.
   */
  write(from: number, to: number, out: Buffer, at: number): number {
    const source = this.#source;
    const first = to > 0 ? source[from] : 0x6e;
    let end = at;
    if (first === 0x7b) end = this.#copyObject(from, to, out, at);
    else if (first === 0x6e) out[end++] = 0x7b;
    else {
      this.#puts.length = 0;
      return at + source.copy(out, at, from, to);
    }
    let has = first === 0x7b && !isOpening(out, at, end);
    for (const put of this.#puts) {
      if (has) out[end++] = 0x2c;
      has = true;
      const key = keyOf.get(put.name)!;
      out.set(key, end);
      end += key.length;
      end += put.from.copy(out, end, put.start, put.end);
    }
    this.#puts.length = 0;
    if (has && this.#always.length > 0) out[end++] = 0x2c;
    out.set(this.#always, end);
    end += this.#always.length;
    out[end++] = 0x7d;
    return end;
  }

  /** Copies an object up to its closing bracket, but for members that are put anew; returns where it ends. */
  #copyObject(from: number, to: number, out: Buffer, at: number): number {
    if (!this.#mayHave) return at + this.#source.copy(out, at, from, to - 1);
    const source = this.#source;
    let end = at;
    out[end++] = 0x7b;
    const members = new Members(source, from);
    while (members.next()) {
      if (this.#isPut(members.key, members.keyEnd)) continue;
      if (end > at + 1) out[end++] = 0x2c;
      end += source.copy(out, end, members.key - 1, members.end);
    }
    return end;
  }

  #isPut(from: number, to: number): boolean {
    if (to - from > nameBytesMax) return false;
    const name = this.#source.toString("latin1", from, to);
    return this.#alwaysNames.includes(name) || this.#puts.some((put) => put.name === name);
  }
}

/** Nothing but an object's opening bracket and white space. */
function isOpening(bytes: Uint8Array, from: number, to: number): boolean {
  let at = to - 1;
  while (at > from && bytes[at]! <= 0x20) at--;
  return at === from;
}
