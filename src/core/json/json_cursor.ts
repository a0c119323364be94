// A cursor over JSON whose grammar was checked before: an object member by member, an array item by item, or one value
// at once. It builds no objects, and can stop within a value of megabytes and resume later. JsonWalker checks it,
// too, and takes 1.2 to 1.7 times as long: so there are two.

/** 1 for bytes inside a text but for its closing quote and backslashes. */
const inText = new Uint8Array(256).fill(1);
inText[0x22] = 0;
inText[0x5c] = 0;
/** 1 for white space, commas and colons. */
const gap = new Uint8Array(256).fill(1, 0, 0x21);
gap[0x2c] = 1;
gap[0x3a] = 1;

/** The state: before a member or item, or within its key; before a value, or within it. */
const atNext = 0;
const inKey = 1;
const atValue = 2;
const inValue = 3;

export class JsonCursor {
  at = 0;
  /** Set after the closing bracket. */
  ended = false;
  /** Start of the key's bytes, without its quotes. */
  key = 0;
  keyEnd = 0;
  /** Start of the raw value. */
  value = 0;
  end = 0;
  #bytes: Uint8Array;
  #step: number = atNext;
  #isArray = false;
  /** Open containers around `at`, within the value. */
  #depth = 0;
  #inText = false;
  /** A number or word. */
  #isScalar = false;

  /** `from`: the opening bracket of an object or array. */
  constructor(bytes: Uint8Array = nothing, from = 0) {
    this.#bytes = bytes;
    this.open(bytes, from);
  }

  /** Starts anew with the object or array whose opening bracket is at `from`. */
  open(bytes: Uint8Array, from: number): this {
    return this.#start(bytes, from + 1, bytes[from] === 0x5b);
  }

  /** Starts anew with the items from `from` on. */
  openItems(bytes: Uint8Array, from: number): this {
    return this.#start(bytes, from, true);
  }

  /** Starts anew within the value whose first byte is at `from`: skip() passes it. */
  openValue(bytes: Uint8Array, from: number): void {
    this.#bytes = bytes;
    this.value = from;
    this.#begin(from);
  }

  #start(bytes: Uint8Array, at: number, isArray: boolean): this {
    this.#bytes = bytes;
    this.#isArray = isArray;
    this.#step = atNext;
    this.at = at;
    this.ended = false;
    return this;
  }

  /** Enters the container at `value`: seek() then finds its content, and leave() continues after it. */
  enter(): void {
    this.#start(this.#bytes, this.value + 1, this.#bytes[this.value] === 0x5b);
  }

  /** Continues in the object or array around the one that has ended. */
  leave(isArray: boolean): void {
    this.#start(this.#bytes, this.at, isArray);
  }

  /** Continues at the beginning of these bytes, which follow the former ones, as where a file is read in chunks. */
  follow(bytes: Uint8Array): void {
    this.at -= this.#bytes.length;
    this.#bytes = bytes;
  }

  /** Passes a value that is known to end at `end`. */
  jump(end: number): void {
    this.at = this.end = end;
    this.#step = atNext;
  }

  /** Passes the next member or item. False after the last one, which sets `ended`, and near `goal`: call it again. */
  next(goal: number = this.#bytes.length): boolean {
    return this.seek(goal) && this.skip(goal);
  }

  /** Finds the value of the next member or item; false as next(). */
  seek(goal: number = this.#bytes.length): boolean {
    const bytes = this.#bytes;
    if (this.#step === atNext) {
      this.at = pastGap(bytes, this.at, goal);
      if (this.at >= goal) return false;
      if (isClosing(bytes[this.at]!)) {
        this.at++;
        this.ended = true;
        return false;
      }
      this.#step = this.#isArray ? atValue : inKey;
      this.key = this.at + 1;
      if (!this.#isArray) this.#begin(this.at);
    }
    if (this.#step === inKey) {
      if (!this.#text(goal)) return false;
      this.keyEnd = this.at - 1;
      this.#step = atValue;
    }
    if (this.#step === atValue) {
      this.at = pastGap(bytes, this.at, goal);
      if (this.at >= goal) return false;
      this.value = this.at;
      this.#begin(this.at);
      this.#step = inValue;
    }
    return true;
  }

  /** Passes the value that seek() has found; false about `goal`: call it again. */
  skip(goal: number = this.#bytes.length): boolean {
    if (this.#inText && !this.#text(goal)) return false;
    if (this.#isScalar ? !this.#scalar(goal) : this.#depth > 0 && !this.#nested(goal)) return false;
    this.end = this.at;
    this.#step = atNext;
    return true;
  }

  #begin(from: number): void {
    const first = this.#bytes[from]!;
    this.#inText = first === 0x22;
    this.#depth = isOpening(first) ? 1 : 0;
    this.#isScalar = !this.#inText && this.#depth === 0;
    this.at = this.#isScalar ? from : from + 1;
  }

  #scalar(goal: number): boolean {
    const bytes = this.#bytes;
    let { at } = this;
    while (at < goal && !endsScalar(bytes[at]!)) at++;
    this.at = at;
    return at < goal;
  }

  #text(goal: number): boolean {
    const at = closingQuote(this.#bytes, this.at, goal);
    this.#inText = at >= goal;
    this.at = this.#inText ? at : at + 1;
    return !this.#inText;
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
      else if (isClosing(byte) && --depth === 0) break;
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

function isClosing(byte: number): boolean {
  return (byte | 0x20) === 0x7d;
}

function endsScalar(byte: number): boolean {
  return byte <= 0x20 || byte === 0x2c || isClosing(byte);
}

/** The first byte that is not white space, comma or colon, or the goal. */
function pastGap(bytes: Uint8Array, from: number, goal: number): number {
  let at = from;
  while (at < goal && gap[bytes[at]!] === 1) at++;
  return at;
}

/** The closing quote of a text, from within it; the goal or the byte after it when the text does not end before. */
export function closingQuote(bytes: Uint8Array, from: number, goal: number): number {
  let at = from;
  for (;;) {
    while (at < goal && inText[bytes[at]!] === 1) at++;
    if (at >= goal || bytes[at] === 0x22) return at;
    at += 2;
  }
}

/** The offset after a value that begins at `from`. */
export function pastValue(bytes: Uint8Array, from: number): number {
  const cursor = new JsonCursor().openItems(bytes, from);
  cursor.next();
  return cursor.at;
}
