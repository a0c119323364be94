// What lz-string's compressToBase64 wrote, back to bytes. The package itself is not used: its output has no
// bound, and 30 kB can be made to unpack into a gigabyte. Never makes more than it is allowed to.
//
// A stream of codes, least significant bit first, six bits a letter: 0 and 1 bring a new character of 8 or 16
// bits, 2 ends, others name an entry of a dictionary that grows by one with every code. Each entry is an
// earlier output plus the character behind it, so that it lies in the output already and is kept as a place
// and a length.

/** Six bits of each letter; 255 for others. */
const letterBits = new Uint8Array(256).fill(255);
for (const [bits, letter] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
].entries())
  letterBits[letter.charCodeAt(0)] = bits;
// "=" fills up; a blank is a plus that a form took for one.
letterBits[0x3d] = 0;
letterBits[0x20] = 62;

const newByte = 0;
const newWide = 1;
const ending = 2;

/**
 * @returns UTF-8, "too large" when it would be more than `bytesMax`, or undefined when it is not such a text.
 */
export function unpackLzString(text: Uint8Array, bytesMax: number): Uint8Array | "too large" | undefined {
  const units = new Unpacking(text, Math.floor(bytesMax / 2)).run();
  if (typeof units === "string" || units === undefined) return units;
  const bytes = Buffer.from(Buffer.from(units.buffer, 0, units.length * 2).toString("utf16le"));
  return bytes.length > bytesMax ? "too large" : bytes;
}

class Unpacking {
  readonly #text: Uint8Array;
  readonly #unitsMax: number;
  #at = 0;
  #letter = 0;
  #left = 0;
  /** False once a letter was none, or the text was over. */
  #sound = true;
  #units = new Uint16Array(1024);
  #length = 0;
  /** Where each entry begins, and its length; the first three are the codes above. */
  #starts = new Uint32Array(256);
  #lengths = new Uint32Array(256);
  #entries = 3;

  constructor(text: Uint8Array, unitsMax: number) {
    this.#text = text;
    this.#unitsMax = unitsMax;
  }

  run(): Uint16Array<ArrayBuffer> | "too large" | undefined {
    const first = this.#bits(2);
    if (first === ending) return this.#units.subarray(0, 0);
    if (first > ending || !this.#character(first)) return undefined;
    let [previous, previousLength] = [0, 1];
    let width = 3;
    let room = 4;
    // Grows with every entry; a code is as wide as the dictionary needs.
    const grow = () => {
      if (--room === 0) room = 2 ** width++;
    };
    for (;;) {
      const code = this.#bits(width);
      if (!this.#sound) return undefined;
      if (code === ending) return this.#units.subarray(0, this.#length);
      const start = this.#length;
      if (code === newByte || code === newWide) {
        if (!this.#character(code)) return undefined;
        grow();
      } else if (code < this.#entries) this.#copy(this.#starts[code]!, this.#lengths[code]!);
      else if (code === this.#entries) this.#copy(previous, previousLength + 1);
      else return undefined;
      if (this.#length > this.#unitsMax) return "too large";
      this.#enter(previous, previousLength + 1);
      grow();
      [previous, previousLength] = [start, this.#length - start];
    }
  }

  /** Reads a new character, puts it out and makes it an entry. */
  #character(kind: number): boolean {
    const unit = this.#bits(kind === newByte ? 8 : 16);
    if (!this.#sound) return false;
    this.#reserve(1);
    this.#enter(this.#length, 1);
    this.#units[this.#length++] = unit;
    return true;
  }

  #bits(count: number): number {
    let value = 0;
    for (let bit = 0; bit < count; bit++) {
      if (this.#left === 0) {
        const letter = this.#at < this.#text.length ? letterBits[this.#text[this.#at++]!]! : 255;
        if (letter === 255) this.#sound = false;
        this.#letter = letter;
        this.#left = 6;
      }
      value += ((this.#letter >> --this.#left) & 1) * 2 ** bit;
    }
    return value;
  }

  /** Unit by unit: an entry may reach into what it is just making. */
  #copy(from: number, length: number): void {
    if (this.#length + length > this.#unitsMax) {
      this.#length = this.#unitsMax + 1;
      return;
    }
    this.#reserve(length);
    for (let i = 0; i < length; i++) this.#units[this.#length++] = this.#units[from + i]!;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#units.length) return;
    const grown = new Uint16Array(Math.max(this.#length + more, this.#units.length * 2));
    grown.set(this.#units);
    this.#units = grown;
  }

  #enter(start: number, length: number): void {
    if (this.#entries === this.#starts.length) {
      const grown = (values: Uint32Array) => {
        const bigger = new Uint32Array(values.length * 2);
        bigger.set(values);
        return bigger;
      };
      this.#starts = grown(this.#starts);
      this.#lengths = grown(this.#lengths);
    }
    this.#starts[this.#entries] = start;
    this.#lengths[this.#entries++] = length;
  }
}
