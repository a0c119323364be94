// A file as lines. At most one line and one chunk are in memory.

import { type FileRecord, OpenRecord, type RecordReader } from "./file_record.ts";

const newline = 0x0a;
const nothing = Buffer.alloc(0);

export class LineReader implements RecordReader {
  readonly #record: OpenRecord;

  constructor(bytesMax?: number) {
    this.#record = new OpenRecord(bytesMax);
  }

  *read(bytes: Buffer): Generator<FileRecord> {
    let from = 0;
    for (let to = bytes.indexOf(newline); to >= 0; to = bytes.indexOf(newline, from)) {
      if (this.#close(bytes, from, to)) yield this.#record;
      from = to + 1;
    }
    this.#record.retain(bytes.subarray(from));
  }

  *end(): Generator<FileRecord> {
    if (this.#close(nothing, 0, 0)) yield this.#record;
  }

  /** Trims the line that ends here; false when nothing is left. */
  #close(bytes: Buffer, start: number, end: number): boolean {
    const record = this.#record;
    record.close(bytes, start, end);
    record.line++;
    if (record.problem !== undefined) return true;
    const { source } = record;
    // Files that were joined have byte order marks inside.
    while (record.from < record.to && (source[record.from]! <= 0x20 || isMarkAt(source, record.from)))
      record.from += source[record.from]! <= 0x20 ? 1 : 3;
    while (record.to > record.from && source[record.to - 1]! <= 0x20) record.to--;
    return record.from < record.to;
  }
}

function isMarkAt(source: Uint8Array, at: number): boolean {
  return source[at] === 0xef && source[at + 1] === 0xbb && source[at + 2] === 0xbf;
}
