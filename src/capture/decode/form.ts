// A form's fields, slice by slice: the `data` field as bytes, and some short ones as text.

import { decodeText, hexValue } from "../../core/bytes.ts";
import type { Slices } from "../../work/slices.ts";

/** The other fields are short words and numbers; longer ones are ignored. */
const fieldBytesMax = 64;

export class Form {
  /** The first `data` field; undefined without one. */
  data: Uint8Array | undefined;
  readonly #fields = new Map<string, string>();
  readonly #bytes: Uint8Array;
  #at = 0;
  /** The name of the present field, once it is read; "" for one that is ignored. */
  #name: string | undefined;
  #out: Uint8Array;
  #length = 0;
  readonly #scratch = new Uint8Array(fieldBytesMax);

  /** `isValue`: the bytes are a value of `data`, without its name. */
  constructor(bytes: Uint8Array, isValue = false) {
    this.#bytes = bytes;
    this.#out = this.#scratch;
    if (isValue) this.#open("data");
  }

  /** A short field, percent-decoded. */
  field(name: string): string | null {
    return this.#fields.get(name) ?? null;
  }

  /** Reads about so many bytes in each step. */
  *read(bytesMax: number): Slices<this> {
    const bytes = this.#bytes;
    for (let isFirst = true; this.#at < bytes.length; isFirst = false) {
      if (!isFirst) yield;
      const goal = Math.min(bytes.length, this.#at + bytesMax);
      while (this.#at < goal) {
        this.#copy(goal);
        const ending = bytes[this.#at];
        if (ending === 0x26) this.#close();
        else if (ending === 0x3d && this.#name === undefined) this.#open(this.#text());
        else continue;
        this.#at++;
      }
    }
    this.#close();
    return this;
  }

  /** Decodes up to `goal` (two digits of a percent sign may follow it), an ampersand, or the end of a name. */
  #copy(goal: number): void {
    const [bytes, out, inName] = [this.#bytes, this.#out, this.#name === undefined];
    let at = this.#at;
    let length = this.#length;
    for (; at < goal; at++) {
      let byte = bytes[at]!;
      if (byte === 0x26 || (byte === 0x3d && inName)) break;
      if (byte === 0x2b) byte = 0x20;
      else if (byte === 0x25 && at + 2 < bytes.length) {
        const high = hexValue[bytes[at + 1]!]!;
        const low = hexValue[bytes[at + 2]!]!;
        if (high < 16 && low < 16) {
          byte = high * 16 + low;
          at += 2;
        }
      }
      // Writes beyond the scratch array have no effect: such a field is too long and ignored.
      out[length++] = byte;
    }
    this.#at = at;
    this.#length = length;
  }

  #open(name: string): void {
    const isData = name === "data" && this.data === undefined;
    // The first field of each name counts.
    this.#name = this.#fields.has(name) ? "" : name;
    this.#out = isData ? Buffer.allocUnsafeSlow(this.#bytes.length - this.#at) : this.#scratch;
    this.#length = 0;
  }

  #close(): void {
    // A name without a value is ignored.
    if (this.#name === undefined) {
      this.#length = 0;
      return;
    }
    if (this.#out !== this.#scratch) this.data = this.#out.subarray(0, this.#length);
    else if (known.has(this.#name)) this.#fields.set(this.#name, this.#text());
    this.#name = undefined;
    this.#out = this.#scratch;
    this.#length = 0;
  }

  #text(): string {
    if (this.#length > fieldBytesMax) return "";
    return decodeText(this.#scratch, 0, this.#length);
  }
}

const known = new Set(["compression", "sent_at", "_"]);
