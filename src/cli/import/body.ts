// Bodies for /batch, filled row by row. Where a body ends depends on its rows alone, so that a second run of the
// same files makes the same bodies.

import { importLimits } from "./limits.ts";

export interface BodyLimits {
  /** Bytes of rows with their commas. A single longer row gets a body of its own. */
  bytesMax: number;
  rowsMax: number;
}

export const bodyLimits: BodyLimits = {
  bytesMax: importLimits.bodyBytesMax,
  rowsMax: importLimits.bodyRowsMax,
};

const tail = Buffer.from("]}");

/** One body, with the position and the origin of each row. */
export class Body {
  /** Counted from 0, in the order in which bodies are full. */
  number = 0;
  /** Whether it has merges, which are decided in the order of the files: it is sent after the one before it. */
  isOrdered = false;
  /** A digest of all rows up to this body's last. */
  chain = "";
  rows = 0;
  readonly #head: Buffer;
  #bytes: Buffer;
  #length: number;
  /** Ends of rows; the next begins after one comma. */
  #ends: number[] = [];
  #lines: number[] = [];
  #files: number[] = [];

  /** `bytesMax`: the usual size of its rows; it grows for more. */
  constructor(head: Buffer, bytesMax: number) {
    this.#head = head;
    this.#bytes = Buffer.allocUnsafe(head.length + bytesMax + 4096);
    this.#length = head.copy(this.#bytes);
  }

  clear(): void {
    this.#length = this.#head.length;
    this.rows = 0;
    this.#ends = [];
    this.#lines = [];
    this.#files = [];
  }

  get length(): number {
    return this.#length - this.#head.length;
  }

  /** Appends the row source[from, to), an object, with these members first: ASCII, each followed by a comma. */
  addBytes(source: Buffer, from: number, to: number, members: string): void {
    this.#reserve(to - from + members.length + 2);
    this.#separate();
    const hasMembers = members !== "";
    if (hasMembers) this.#length += this.#bytes.write(`{${members}`, this.#length, "latin1");
    this.#length += source.copy(this.#bytes, this.#length, hasMembers ? from + 1 : from, to);
  }

  addText(text: string): void {
    this.#reserve(text.length * 3 + 64);
    this.#separate();
    this.#length += this.#bytes.write(text, this.#length, "utf8");
  }

  /** Must be called after a row's bytes, with its file's index and its line. */
  endRow(file: number, line: number): void {
    this.#ends.push(this.#length);
    this.#files.push(file);
    this.#lines.push(line);
    this.rows++;
  }

  /** The rows without the head and the tail. */
  rowBytes(): Buffer {
    return this.#bytes.subarray(this.#head.length, this.#length);
  }

  findOrigin(row: number): { file: number; line: number } {
    return { file: this.#files[row]!, line: this.#lines[row]! };
  }

  /** The JSON of a body with rows [from, to). With all rows it shares this object's memory; a part is a copy. */
  bytes(from = 0, to = this.rows): Uint8Array<ArrayBuffer> {
    const head = this.#head.length;
    const start = from === 0 ? head : this.#ends[from - 1]! + 1;
    const end = to === 0 ? head : this.#ends[to - 1]!;
    if (from === 0 && to === this.rows) {
      this.#reserve(tail.length);
      tail.copy(this.#bytes, end);
      return this.#bytes.subarray(0, end + tail.length) as Uint8Array<ArrayBuffer>;
    }
    return Buffer.concat([this.#head, this.#bytes.subarray(start, end), tail]);
  }

  #separate(): void {
    if (this.rows > 0) this.#bytes[this.#length++] = 0x2c;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + more));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** A pool of bodies, numbered in order: two are open, one of them for merges, and one for each request in flight. */
export class Bodies {
  readonly #head: Buffer;
  readonly #limits: BodyLimits;
  readonly #idle: Body[] = [];
  readonly #open: { plain: Body; ordered: Body };
  #count = 0;
  #chain = 0n;

  constructor(apiKey: string, limits: BodyLimits) {
    const key = JSON.stringify(apiKey);
    this.#head = Buffer.from(`{"api_key":${key},"historical_migration":true,"batch":[`);
    this.#limits = limits;
    this.#open = { plain: this.#nextBody(false), ordered: this.#nextBody(true) };
  }

  /** The open body; `isOrdered`: that of merges. */
  openBody(isOrdered = false): Body {
    return this.#open[isOrdered ? "ordered" : "plain"];
  }

  /** Whether a row of about `rowBytes` bytes must go into the next body. */
  isFullFor(rowBytes: number, isOrdered = false): boolean {
    const { rows, length } = this.openBody(isOrdered);
    return rows > 0 && (rows >= this.#limits.rowsMax || length + rowBytes > this.#limits.bytesMax);
  }

  /** Ends the open body and opens the next; give the ended one back with release(). */
  seal(isOrdered = false): Body {
    const sealed = this.openBody(isOrdered);
    this.#chain = Bun.hash.xxHash64(sealed.rowBytes(), this.#chain);
    sealed.number = this.#count++;
    sealed.chain = this.#chain.toString(16).padStart(16, "0");
    this.#open[isOrdered ? "ordered" : "plain"] = this.#nextBody(isOrdered);
    return sealed;
  }

  #nextBody(isOrdered: boolean): Body {
    const body = this.#idle.pop() ?? new Body(this.#head, this.#limits.bytesMax);
    body.isOrdered = isOrdered;
    return body;
  }

  release(body: Body): void {
    body.clear();
    this.#idle.push(body);
  }
}
