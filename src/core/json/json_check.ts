// Checks slice by slice that bytes are one JSON text. JSON.parse takes 40 times the memory for a text made of brackets,
// and blocks the event loop until its end.

/** What may come next; `after` means behind a value: a comma or a closing bracket. */
const place = {
  value: 0,
  firstItem: 1,
  firstKey: 2,
  key: 3,
  colon: 4,
  after: 5,
  text: 6,
  keyText: 7,
} as const;

/** The nesting that most texts stay within; thousands of texts are checked for one page. */
const depthMin = 32;

/** 1 for bytes that a text may contain unescaped: no quote, backslash or control character. */
const ordinary = new Uint8Array(256).fill(1, 0x20);
ordinary[0x22] = 0;
ordinary[0x5c] = 0;
/** 1 for bytes of numbers and words, which are short and checked by a regular expression. */
const scalar = new Uint8Array(256);
for (const letter of "+-.0123456789Eaeflnrstu") scalar[letter.charCodeAt(0)] = 1;

/** The longest number that is accepted, in bytes: no program writes a longer one. */
const scalarBytesMax = 64;
const scalarText = /^(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)$/;

/** The bytes must be UTF-8, which is checked elsewhere. */
export class JsonCheck {
  readonly #bytes: Uint8Array;
  readonly #depthMax: number;
  /** The opening brackets of the containers around `#at`; grows. */
  #nesting: Uint8Array = new Uint8Array(depthMin);
  #depth = 0;
  #at = 0;
  #next: number = place.value;

  /** `depthMax`: how deep containers may be nested; a deeper text is refused. */
  constructor(bytes: Uint8Array, depthMax: number) {
    this.#bytes = bytes;
    this.#depthMax = depthMax;
  }

  /** Checks about `bytesMax` bytes more. Returns whether the text is JSON; undefined when there is more to check. */
  advance(bytesMax: number): boolean | undefined {
    const bytes = this.#bytes;
    const goal = Math.min(bytes.length, this.#at + bytesMax);
    while (this.#at < goal) {
      if (this.#next === place.text || this.#next === place.keyText) {
        if (!this.#pastText(goal)) return false;
        continue;
      }
      const byte = bytes[this.#at]!;
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) this.#at++;
      else if (!this.#take(byte)) return false;
    }
    if (this.#at < bytes.length) return undefined;
    return this.#depth === 0 && this.#next === place.after;
  }

  /** Takes the token that begins with this byte; false when no such token may come here. */
  #take(byte: number): boolean {
    const { value, firstItem, firstKey, key, colon, after, text, keyText } = place;
    const next = this.#next;
    if (next === after) return this.#separate(byte);
    if (next === colon) {
      this.#next = value;
      this.#at++;
      return byte === 0x3a;
    }
    if ((next === firstItem && byte === 0x5d) || (next === firstKey && byte === 0x7d)) return this.#close();
    if (next === key || next === firstKey) {
      this.#next = keyText;
      this.#at++;
      return byte === 0x22;
    }
    if (byte === 0x7b || byte === 0x5b) {
      if (this.#depth >= this.#depthMax) return false;
      if (this.#depth === this.#nesting.length) this.#grow();
      this.#nesting[this.#depth++] = byte;
      this.#next = byte === 0x7b ? firstKey : firstItem;
      this.#at++;
      return true;
    }
    if (byte !== 0x22) return this.#pastScalar();
    this.#next = text;
    this.#at++;
    return true;
  }

  #grow(): void {
    const nesting = new Uint8Array(this.#nesting.length * 2);
    nesting.set(this.#nesting);
    this.#nesting = nesting;
  }

  /** A comma or a closing bracket behind a value. */
  #separate(byte: number): boolean {
    const open = this.#depth > 0 ? this.#nesting[this.#depth - 1]! : 0;
    // In ASCII, "{" and "}", and "[" and "]", are two apart.
    if (byte === open + 2) return this.#close();
    if (open === 0 || byte !== 0x2c) return false;
    this.#next = open === 0x7b ? place.key : place.value;
    this.#at++;
    return true;
  }

  #close(): true {
    this.#depth--;
    this.#at++;
    this.#next = place.after;
    return true;
  }

  /** Goes on to behind the closing quote, or to the goal; false at a byte that no text may contain. */
  #pastText(goal: number): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    for (;;) {
      while (at < goal && ordinary[bytes[at]!] === 1) at++;
      this.#at = at;
      if (at >= goal) return true;
      if (bytes[at] === 0x22) {
        this.#next = this.#next === place.keyText ? place.colon : place.after;
        this.#at++;
        return true;
      }
      const length = bytes[at] === 0x5c ? escapeLength(bytes, at) : 0;
      if (length === 0) return false;
      at += length;
    }
  }

  #pastScalar(): boolean {
    const bytes = this.#bytes;
    const from = this.#at;
    let at = from;
    // Fast path: an integer of few digits, as most numbers are.
    while (at - from <= scalarBytesMax && isDigit(bytes[at])) at++;
    if (at > from && at - from <= scalarBytesMax && scalar[bytes[at] ?? 0] === 0) {
      this.#at = at;
      this.#next = place.after;
      return bytes[from] !== 0x30 || at === from + 1;
    }
    at = from;
    while (at < bytes.length && at - from <= scalarBytesMax && scalar[bytes[at]!] === 1) at++;
    this.#at = at;
    this.#next = place.after;
    if (at - from > scalarBytesMax || at === from) return false;
    return scalarText.test(String.fromCharCode(...bytes.subarray(from, at)));
  }
}

/** The length of the escape at `at`, in bytes; 0 when it is invalid. */
function escapeLength(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1];
  if (letter === undefined) return 0;
  if (letter !== 0x75) return '"\\/bfnrt'.includes(String.fromCharCode(letter)) ? 2 : 0;
  for (let digit = at + 2; digit < at + 6; digit++) if (!isHex(bytes[digit])) return 0;
  return 6;
}

function isDigit(byte = 0): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHex(byte = 0): boolean {
  return isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}
