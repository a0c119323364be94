// CSV as in RFC 4180: quoted fields may contain separators, quotes and newlines. At most one record and one
// chunk are in memory.

import { type FileRecord, OpenRecord, type RecordReader } from "./file_record.ts";

const quote = 0x22;
const nothing = Buffer.alloc(0);

export class CsvReader implements RecordReader {
  readonly #record: OpenRecord;
  readonly #separator: number;
  /** A quote opens a field only at its start; elsewhere it is a character like any other. */
  #state: "start" | "plain" | "quoted" | "closed" = "start";
  #line = 1;
  #recordLine = 1;

  constructor(separator: string, bytesMax?: number) {
    this.#separator = separator.charCodeAt(0);
    this.#record = new OpenRecord(bytesMax);
  }

  *read(bytes: Buffer): Generator<FileRecord> {
    let from = 0;
    for (let end = this.#recordEnd(bytes, 0); end >= 0; end = this.#recordEnd(bytes, from)) {
      const found = this.#close(bytes, from, end);
      from = end + 1;
      if (found) yield this.#record;
      this.#recordLine = this.#line;
    }
    this.#record.retain(bytes.subarray(from));
  }

  *end(): Generator<FileRecord> {
    const isQuoted = this.#state === "quoted";
    if (!this.#close(nothing, 0, 0)) return;
    if (isQuoted) this.#record.problem = "the file ends inside a quoted field";
    yield this.#record;
  }

  /** The index of the newline that ends the open record; -1 when it is not in these bytes. */
  #recordEnd(bytes: Buffer, from: number): number {
    let state = this.#state;
    for (let index = from; index < bytes.length; index++) {
      const byte = bytes[index]!;
      if (byte === 0x0a) {
        this.#line++;
        if (state !== "quoted") {
          this.#state = "start";
          return index;
        }
      } else if (state === "quoted") {
        if (byte === quote) state = "closed";
      } else if (byte === quote && state !== "plain") state = "quoted";
      else if (byte === this.#separator) state = "start";
      else state = "plain";
    }
    this.#state = state;
    return -1;
  }

  /** Ends the record here; false when its line is empty. */
  #close(bytes: Buffer, from: number, end: number): boolean {
    const record = this.#record;
    record.close(bytes, from, end);
    record.line = this.#recordLine;
    if (record.problem !== undefined) return true;
    if (record.to > record.from && record.source[record.to - 1] === 0x0d) record.to--;
    return record.to > record.from;
  }
}

/**
 * The fields of one record; undefined when a character follows a closing quote.
 * @param quotes receives the numbers of those in quotes.
 */
export function splitFields(text: string, separator: string, quotes?: Set<number>): string[] | undefined {
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    if (text.charCodeAt(at) === quote) {
      const end = closingQuote(text, at);
      quotes?.add(fields.length);
      const inside = text.slice(at + 1, end);
      fields.push(inside.includes('"') ? inside.replaceAll('""', '"') : inside);
      at = end + 1;
      if (at < text.length && text[at] !== separator) return undefined;
    } else {
      const end = text.indexOf(separator, at);
      const to = end < 0 ? text.length : end;
      fields.push(text.slice(at, to));
      at = to;
    }
    if (at >= text.length) return fields;
    at++;
  }
}

function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text.charCodeAt(at + 1) !== quote) return at;
  }
  return text.length;
}
