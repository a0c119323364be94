// Reads the numbers, texts and columns of a Native block.

export class CutShort extends Error {
  constructor() {
    super("block is cut short");
  }
}

export class BlockReader {
  at = 0;
  readonly bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  varuint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (this.at === this.bytes.length) throw new CutShort();
      const byte = this.bytes[this.at++]!;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw new Error("varuint too long");
  }

  u64(): bigint {
    const at = this.at;
    this.slice(8);
    return this.#view.getBigUint64(at, true);
  }

  /** An unsigned 64-bit integer below 2^32. */
  lowWord(): number {
    const at = this.at;
    this.advance(8);
    return this.#view.getUint32(at, true);
  }

  lowWords(count: number): Uint32Array {
    const words = new Uint32Array(count);
    for (let i = 0; i < count; i++) words[i] = this.lowWord();
    return words;
  }

  text(): string {
    return new TextDecoder().decode(this.slice(this.varuint()));
  }

  slice(size: number): Uint8Array {
    this.advance(size);
    return this.between(this.at - size, this.at);
  }

  advance(size: number): void {
    if (this.at + size > this.bytes.length) throw new CutShort();
    this.at += size;
  }

  /** Moves past these bytes, if they come next. */
  skipEqual(expected: Uint8Array): boolean {
    if (this.at + expected.length > this.bytes.length) return false;
    for (let i = 0; i < expected.length; i++) if (this.bytes[this.at + i] !== expected[i]) return false;
    this.at += expected.length;
    return true;
  }

  between(from: number, to: number): Uint8Array {
    return this.bytes.subarray(from, to);
  }

  /** Walks `count` String values and returns the bytes of those from `from` to `to`. */
  strings(count: number, from: number, to: number): Uint8Array {
    let first = this.at;
    let last = this.at;
    for (let i = 0; i < count; i++) {
      if (i === from) first = this.at;
      const length = this.varuint();
      this.at += length;
      if (this.at > this.bytes.length) throw new CutShort();
      if (i + 1 === to) last = this.at;
    }
    return from < to ? this.between(first, last) : this.between(first, first);
  }
}
