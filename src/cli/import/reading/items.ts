// The items of JSON arrays, found while the bytes are read: `[…]`, `{"batch": […]}` or `{"results": […]}`, and any
// number of such documents. Items are not parsed; at most one item and one chunk are in memory.

import { JsonCursor } from "../../../core/json/json_cursor.ts";
import { type FileRecord, OpenRecord, type RecordReader } from "./file_record.ts";

/** Fields of an object that contain the list of events. */
const lists = new Set(["batch", "results"]);
/** Bytes of a field's name that are kept: no list has a longer one. */
const nameBytesMax = 1024;

/**
 * States of the reader. document: a document · name: a field name of the outer object, or its end · colon, value: the
 * rest of a field · comma: a comma after a field, or the end · item: an item, or the end of the list · next: a comma
 * after an item, or the end of the list
 */
type State = "document" | "name" | "colon" | "value" | "comma" | "item" | "next";
/** The kind of token that is being skipped over: a field name, a value that is not a list of events, or an item. */
type Token = "name" | "value" | "item";

export class ItemReader implements RecordReader {
  readonly #record: OpenRecord;
  readonly #isBare: boolean;
  #state: State = "document";
  #token: Token | undefined;
  /** Start of the open token in this chunk. */
  #from = 0;
  #line = 1;
  #tokenLine = 1;
  readonly #cursor = new JsonCursor();
  #inObject = false;
  #name = "";
  #listSeen = false;
  #broken = false;

  /** @param isBare whether the items have no list around them; commas between them may be absent. */
  constructor({ bytesMax, isBare = false }: { bytesMax?: number; isBare?: boolean } = {}) {
    this.#record = new OpenRecord(bytesMax);
    this.#isBare = isBare;
    if (isBare) this.#state = "item";
  }

  *read(bytes: Buffer): Generator<FileRecord> {
    this.#from = 0;
    this.#cursor.follow(bytes);
    for (let at = 0; at < bytes.length && !this.#broken; at++) {
      if (this.#token !== undefined) {
        const isWhole = this.#cursor.skip();
        const end = isWhole ? this.#cursor.end : bytes.length;
        this.#countLines(bytes, at, end);
        if (!isWhole) break;
        if (this.#closeToken(bytes, end)) yield this.#record;
        at = end - 1;
        continue;
      }
      const byte = bytes[at]!;
      if (byte === 0x0a) this.#line++;
      if (byte <= 0x20 || isMark(byte) || (this.#isBare && byte === 0x2c)) continue;
      if (!this.#step(bytes, at)) yield this.#record;
      // The first byte of a token belongs to it.
      if (this.#token !== undefined) at--;
    }
    if (this.#token !== undefined) this.#record.retain(bytes.subarray(this.#from), keptBytes[this.#token]);
  }

  *end(): Generator<FileRecord> {
    const outside = this.#isBare ? "item" : "document";
    if (this.#broken || (this.#state === outside && this.#token === undefined)) return;
    yield this.#rejected(this.#token === "item" ? this.#tokenLine : this.#line, "the JSON ends too early");
  }

  /** Handles one byte between tokens; false, with a problem in #record, when it is not allowed there. */
  #step(bytes: Buffer, at: number): boolean {
    const byte = bytes[at]!;
    if (this.#state === "document" && (byte === 0x5b || byte === 0x7b)) {
      this.#inObject = byte === 0x7b;
      this.#listSeen = !this.#inObject;
      this.#state = this.#inObject ? "name" : "item";
    } else if (this.#state === "name" && byte === 0x22) this.#openToken("name", bytes, at);
    else if (this.#state === "colon" && byte === 0x3a) this.#state = "value";
    else if (this.#state === "value") this.#startValue(bytes, at);
    else if (this.#state === "item" && byte !== 0x5d && byte !== 0x2c && byte !== 0x7d)
      this.#openToken("item", bytes, at);
    else if (this.#state === "next" && byte === 0x2c) this.#state = "item";
    else if (this.#state === "comma" && byte === 0x2c) this.#state = "name";
    else if ((this.#state === "item" || this.#state === "next") && byte === 0x5d) {
      this.#state = this.#inObject ? "comma" : "document";
    } else if ((this.#state === "name" || this.#state === "comma") && byte === 0x7d) return this.#endObject();
    else return this.#refuse(`unexpected "${String.fromCharCode(byte)}"`);
    return true;
  }

  #startValue(bytes: Buffer, at: number): void {
    if (bytes[at] === 0x5b && lists.has(this.#name)) {
      this.#state = "item";
      this.#listSeen = true;
    } else this.#openToken("value", bytes, at);
  }

  #endObject(): boolean {
    this.#state = "document";
    if (this.#listSeen) return true;
    return this.#refuse('no list of events: expected […], {"batch": […]} or {"results": […]}');
  }

  /** Ends the reading: after an error of the structure the next item cannot be found. */
  #refuse(what: string): boolean {
    this.#broken = true;
    this.#rejected(this.#line, `${what}; the rest of the file is not read`);
    return false;
  }

  #rejected(line: number, problem: string): FileRecord {
    this.#record.line = line;
    this.#record.problem = problem;
    return this.#record;
  }

  #openToken(token: Token, bytes: Buffer, at: number): void {
    this.#token = token;
    this.#from = at;
    this.#tokenLine = this.#line;
    this.#cursor.openValue(bytes, at);
  }

  #countLines(bytes: Buffer, from: number, to: number): void {
    for (let at = bytes.indexOf(0x0a, from); at >= 0 && at < to; at = bytes.indexOf(0x0a, at + 1))
      this.#line++;
  }

  /** True when the token was an item, which is then in #record. */
  #closeToken(bytes: Buffer, end: number): boolean {
    const token = this.#token!;
    const record = this.#record;
    this.#token = undefined;
    record.close(bytes, this.#from, end, keptBytes[token]);
    record.line = this.#tokenLine;
    this.#from = 0;
    if (token === "name") this.#name = record.source.toString("latin1", record.from + 1, record.to - 1);
    this.#state = this.#isBare ? "item" : afterToken[token];
    return token === "item";
  }
}

/** Whether a byte is one of a byte order mark, which stands inside of files that were joined. */
const isMark = (byte: number): boolean => byte === 0xef || byte === 0xbb || byte === 0xbf;

/** Bytes of each token that are kept from chunk to chunk; undefined: as many as a record may have. */
const keptBytes = { name: nameBytesMax, value: 0, item: undefined } as const;
const afterToken = { name: "colon", value: "comma", item: "next" } as const;
