// The bits of lz-string's base64: six a letter, the first one lowest.

/** Six bits of each letter; 255 for what is no letter. */
const letterBits = new Uint8Array(256).fill(255);
for (const [bits, letter] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
].entries()) {
  for (let bit = 0, turned = 0; bit < 6; bit++) {
    turned |= ((bits >> bit) & 1) << (5 - bit);
    letterBits[letter.charCodeAt(0)] = turned;
  }
}
// "=" is padding; a space is a plus that a form decoded.
letterBits[0x3d] = 0;
letterBits[0x20] = letterBits[0x2b]!;

/** The text is not lz-string. */
export class NotPacked extends Error {}

export class LzBits {
  readonly #text: Uint8Array;
  #at = 0;
  /** Bits read from letters and not used yet, and how many. */
  #pending = 0;
  #pendingBits = 0;

  constructor(text: Uint8Array) {
    this.#text = text;
  }

  /** The next bits, at most 25. @throws NotPacked behind the text, and at what is no letter. */
  read(count: number): number {
    while (this.#pendingBits < count) {
      const letter = this.#at < this.#text.length ? letterBits[this.#text[this.#at++]!]! : 255;
      if (letter === 255) throw new NotPacked();
      this.#pending |= letter << this.#pendingBits;
      this.#pendingBits += 6;
    }
    const value = this.#pending & ((1 << count) - 1);
    this.#pending >>>= count;
    this.#pendingBits -= count;
    return value;
  }
}
