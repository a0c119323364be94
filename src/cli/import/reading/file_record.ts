// A record as it is in a file, and the readers that cut a file's bytes into records; the one of lines.

import { importLimits } from "../limits.ts";

/** One record of a file. Readers reuse the object: its fields are valid until the next record is read. */
export interface FileRecord {
  /** The record's bytes are source[from, to). */
  source: Buffer;
  from: number;
  to: number;
  /** The line it starts on, from 1. */
  line: number;
  /** Why it cannot be read; its bytes have no meaning then. */
  problem: string | undefined;
}

/** Cuts a file's bytes into records. A record longer than the limit is yielded with a problem, without its bytes. */
export interface RecordReader {
  read(bytes: Buffer): Iterable<FileRecord>;
  /** Must be called after the last bytes. */
  end(): Iterable<FileRecord>;
}

/** The record that a reader is in, which may have begun in an earlier chunk. */
export class OpenRecord implements FileRecord {
  source: Buffer = Buffer.alloc(0);
  from = 0;
  to = 0;
  line = 0;
  problem: string | undefined;
  readonly #bytesMax: number;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(bytesMax: number = importLimits.recordBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** Keeps bytes of it until the next chunk arrives. Of a record that is too long only the length is kept. */
  retain(chunk: Buffer, bytesMax = this.#bytesMax): void {
    // An empty slice would hold its chunk's memory.
    if (chunk.length === 0) return;
    this.#length += chunk.length;
    if (this.#length <= bytesMax) this.#chunks.push(chunk);
    else this.#chunks = [];
  }

  /** Ends it with bytes[from, to). */
  close(bytes: Buffer, from: number, to: number, bytesMax = this.#bytesMax): void {
    this.source = bytes;
    this.from = from;
    this.to = to;
    this.problem = undefined;
    let length = to - from;
    if (this.#length > 0) {
      this.retain(bytes.subarray(from, to), bytesMax);
      length = this.#length;
      this.source = Buffer.concat(this.#chunks);
      this.from = 0;
      this.to = this.source.length;
      this.#chunks = [];
      this.#length = 0;
    }
    if (length <= bytesMax) return;
    const [is, may] = [length.toLocaleString("en"), bytesMax.toLocaleString("en")];
    this.problem = `${is} bytes long; a record may have ${may}`;
  }
}

const newline = 0x0a;
const nothing = Buffer.alloc(0);

/** A file as lines. At most one line and one chunk are in memory. */
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
