// Passes over JSON whose grammar was checked already, without checking it again: a value at once, or a stretch at a
// time where it may have megabytes; or an object member by member.

/** 1 for bytes within a text that are neither its end nor an escape. */
const inText = new Uint8Array(256).fill(1);
inText[0x22] = 0;
inText[0x5c] = 0;
/** 1 for what lies between values, commas and colons included. */
const gap = new Uint8Array(256).fill(1, 0, 0x21);
gap[0x2c] = 1;
gap[0x3a] = 1;

/** Behind white space, commas and colons, or at the goal. */
export function pastGap(bytes: Uint8Array, from: number, goal: number): number {
  let at = from;
  while (at < goal && gap[bytes[at]!] === 1) at++;
  return at;
}

/** One value on its way past; begin() again for the next. */
export class JsonSkipper {
  at = 0;
  #bytes: Uint8Array = nothing;
  /** Containers around `at`, within the value. */
  #depth = 0;
  #inText = false;
  /** A number or word. */
  #isScalar = false;

  /** Begins with the value whose first byte is at `from`. */
  begin(bytes: Uint8Array, from: number): void {
    const first = bytes[from]!;
    this.#bytes = bytes;
    this.#inText = first === 0x22;
    this.#depth = isOpening(first) ? 1 : 0;
    this.#isScalar = !this.#inText && this.#depth === 0;
    this.at = this.#isScalar ? from : from + 1;
  }

  /** Goes on to behind the value, or to about `goal`; true when it is through. */
  go(goal: number): boolean {
    if (this.#inText && !this.#text(goal)) return false;
    if (this.#isScalar) return this.#scalar(goal);
    return this.#depth === 0 || this.#nested(goal);
  }

  #scalar(goal: number): boolean {
    const bytes = this.#bytes;
    let { at } = this;
    while (at < goal && !endsScalar(bytes[at]!)) at++;
    this.at = at;
    return at < goal;
  }

  #text(goal: number): boolean {
    const bytes = this.#bytes;
    let { at } = this;
    for (;;) {
      while (at < goal && inText[bytes[at]!] === 1) at++;
      if (at >= goal) break;
      if (bytes[at] === 0x22) {
        this.#inText = false;
        this.at = at + 1;
        return true;
      }
      at += 2;
    }
    this.at = at;
    return false;
  }

  #nested(goal: number): boolean {
    const bytes = this.#bytes;
    let { at } = this;
    let depth = this.#depth;
    while (at < goal) {
      const byte = bytes[at++]!;
      if (byte === 0x22) {
        this.at = at;
        this.#inText = true;
        if (!this.#text(goal)) break;
        at = this.at;
      } else if (isOpening(byte)) depth++;
      else if ((byte | 0x20) === 0x7d && --depth === 0) break;
    }
    if (!this.#inText) this.at = at;
    this.#depth = depth;
    return depth === 0;
  }
}

const nothing = new Uint8Array(0);

function isOpening(byte: number): boolean {
  return (byte | 0x20) === 0x7b;
}

function endsScalar(byte: number): boolean {
  return byte <= 0x20 || byte === 0x2c || byte === 0x7d || byte === 0x5d;
}

/** From a text's opening quote to behind its closing one. */
export function pastString(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  while (bytes[at] !== 0x22) at += bytes[at] === 0x5c ? 2 : 1;
  return at + 1;
}

/** From a value's first byte to behind its last. */
export function pastValue(bytes: Uint8Array, from: number): number {
  if (bytes[from] === 0x22) return pastString(bytes, from);
  whole.begin(bytes, from);
  whole.go(bytes.length);
  return whole.at;
}

const whole = new JsonSkipper();

/** The members of an object, one after the other; opened anew for the next object. */
export class Members {
  /** Where the key's bytes lie, without its quotes. */
  key = 0;
  keyEnd = 0;
  /** Where the raw value lies. */
  value = 0;
  end = 0;
  #bytes: Uint8Array;
  #at: number;

  /** `from`: the object's opening bracket. */
  constructor(bytes: Uint8Array, from: number) {
    this.#bytes = bytes;
    this.#at = from + 1;
  }

  open(bytes: Uint8Array, from: number): this {
    this.#bytes = bytes;
    this.#at = from + 1;
    return this;
  }

  /** Goes on to the next member; false when there is none. A value at `knownValue` is known to end at `knownEnd`. */
  next(knownValue = -1, knownEnd = 0): boolean {
    const bytes = this.#bytes;
    const at = pastGap(bytes, this.#at, bytes.length);
    if (bytes[at] !== 0x22) return false;
    const end = pastString(bytes, at);
    this.key = at + 1;
    this.keyEnd = end - 1;
    this.value = pastGap(bytes, end, bytes.length);
    this.end = this.value === knownValue ? knownEnd : pastValue(bytes, this.value);
    this.#at = this.end;
    return true;
  }
}
