// A file as lines. At most one line and one chunk are in memory.

import { importLimits } from "../limits.ts";
import type { FileRecord, RecordReader } from "../formats/record.ts";

const newline = 0x0a;
const nothing = Buffer.alloc(0);

export class LineReader implements RecordReader {
  readonly #record: FileRecord = { source: nothing, from: 0, to: 0, line: 0, flaw: undefined };
  readonly #bytesMax: number;
  /** The pieces of a line that began in earlier chunks. */
  #pieces: Buffer[] = [];
  #piecesBytes = 0;
  #line = 0;

  constructor(bytesMax: number = importLimits.recordBytesMax) {
    this.#bytesMax = bytesMax;
  }

  *read(bytes: Buffer): Generator<FileRecord> {
    let from = 0;
    for (let to = bytes.indexOf(newline); to >= 0; to = bytes.indexOf(newline, from)) {
      this.#line++;
      const found = this.#piecesBytes > 0 ? this.#joined(bytes, to) : this.#found(bytes, from, to);
      from = to + 1;
      if (found) yield this.#record;
    }
    if (from < bytes.length) this.#keep(bytes.subarray(from));
  }

  *end(): Generator<FileRecord> {
    this.#line++;
    if (this.#piecesBytes > 0 && this.#joined(nothing, 0)) yield this.#record;
  }

  #keep(piece: Buffer): void {
    this.#piecesBytes += piece.length;
    // Of a line that is too long only the length is kept.
    if (this.#piecesBytes <= this.#bytesMax) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  #joined(bytes: Buffer, to: number): boolean {
    this.#keep(bytes.subarray(0, to));
    const length = this.#piecesBytes;
    const whole = length <= this.#bytesMax ? Buffer.concat(this.#pieces) : nothing;
    this.#pieces = [];
    this.#piecesBytes = 0;
    return whole.length === length ? this.#found(whole, 0, length) : this.#tooLong(length);
  }

  /** Fills #record with the line, trimmed; false when nothing is left. */
  #found(source: Buffer, start: number, end: number): boolean {
    let from = start;
    let to = end;
    while (from < to && source[from]! <= 0x20) from++;
    while (to > from && source[to - 1]! <= 0x20) to--;
    if (from === to) return false;
    if (to - from > this.#bytesMax) return this.#tooLong(to - from);
    const record = this.#record;
    record.source = source;
    record.from = from;
    record.to = to;
    record.line = this.#line;
    record.flaw = undefined;
    return true;
  }

  #tooLong(length: number): boolean {
    this.#record.line = this.#line;
    this.#record.flaw = tooLong(length, this.#bytesMax);
    return true;
  }
}

export function tooLong(length: number, bytesMax: number): string {
  const [is, may] = [length.toLocaleString("en"), bytesMax.toLocaleString("en")];
  return `${is} bytes long; a record may have ${may}`;
}
