// The items of JSON arrays, found as the bytes pass by: `[…]`, `{"batch": […]}`, `{"results": […]}`, one such
// document after another. Never parses an item, and never holds more of the file than one of them.

import { importLimits } from "../limits.ts";
import { tooLong } from "./lines.ts";
import type { FileRecord, RecordReader } from "../formats/record.ts";

/** Members of an object that hold the list of events. */
const lists = new Set(["batch", "results"]);
const nameBytesMax = 1024;
const nothing = Buffer.alloc(0);

/**
 * document: between documents · name: before a member's name of the outer object, or its end · colon,
 * value: the rest of a member · comma: after a member · item: before an item, or the list's end · next:
 * after an item
 */
type Place = "document" | "name" | "colon" | "value" | "comma" | "item" | "next";
/** What is being run through: a member's name, its value when it is no list, or an item. */
type Span = "name" | "value" | "item";

export class ItemReader implements RecordReader {
  readonly #record: FileRecord = { source: nothing, from: 0, to: 0, line: 0, flaw: undefined };
  readonly #bytesMax: number;
  #place: Place = "document";
  #span: Span | undefined;
  /** Where the open span begins in this chunk; its earlier bytes are in #pieces. */
  #from = 0;
  #pieces: Buffer[] = [];
  #length = 0;
  #line = 1;
  #spanLine = 1;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #inObject = false;
  #name = "";
  #listSeen = false;
  #dead = false;

  constructor(bytesMax: number = importLimits.importRecordBytesMax) {
    this.#bytesMax = bytesMax;
  }

  *read(bytes: Buffer): Generator<FileRecord> {
    this.#from = 0;
    for (let at = 0; at < bytes.length && !this.#dead; at++) {
      if (this.#span !== undefined) {
        const end = this.#spanEnd(bytes, at);
        if (end < 0) break;
        if (this.#closeSpan(bytes, end)) yield this.#record;
        at = end - 1;
        continue;
      }
      const byte = bytes[at]!;
      if (byte === 0x0a) this.#line++;
      if (byte <= 0x20) continue;
      if (!this.#step(byte, at)) yield this.#record;
      // The byte that opens a span belongs to it.
      if (this.#span !== undefined) at--;
    }
    if (this.#span !== undefined) this.#keep(bytes, bytes.length, this.#span);
  }

  *end(): Generator<FileRecord> {
    if (this.#dead || (this.#place === "document" && this.#span === undefined)) return;
    yield this.#flawed(this.#span === "item" ? this.#spanLine : this.#line, "the JSON ends too early");
  }

  /** Takes one byte between spans; false with a flaw noted when it cannot stand there. */
  #step(byte: number, at: number): boolean {
    if (this.#place === "document" && (byte === 0x5b || byte === 0x7b)) {
      this.#inObject = byte === 0x7b;
      this.#listSeen = !this.#inObject;
      this.#place = this.#inObject ? "name" : "item";
    } else if (this.#place === "name" && byte === 0x22) this.#openSpan("name", at);
    else if (this.#place === "colon" && byte === 0x3a) this.#place = "value";
    else if (this.#place === "value") this.#startValue(byte, at);
    else if (this.#place === "item" && byte !== 0x5d && byte !== 0x2c && byte !== 0x7d)
      this.#openSpan("item", at);
    else if (this.#place === "next" && byte === 0x2c) this.#place = "item";
    else if (this.#place === "comma" && byte === 0x2c) this.#place = "name";
    else if ((this.#place === "item" || this.#place === "next") && byte === 0x5d) {
      this.#place = this.#inObject ? "comma" : "document";
    } else if ((this.#place === "name" || this.#place === "comma") && byte === 0x7d) return this.#endObject();
    else return this.#refuse(`unexpected "${String.fromCharCode(byte)}"`);
    return true;
  }

  #startValue(byte: number, at: number): void {
    if (byte === 0x5b && lists.has(this.#name)) {
      this.#place = "item";
      this.#listSeen = true;
    } else this.#openSpan("value", at);
  }

  #endObject(): boolean {
    this.#place = "document";
    if (this.#listSeen) return true;
    return this.#refuse('no list of events: expected […], {"batch": […]} or {"results": […]}');
  }

  /** The structure is lost from here on: what follows cannot be told apart. */
  #refuse(what: string): boolean {
    this.#dead = true;
    this.#flawed(this.#line, `${what}; the rest of the file is not read`);
    return false;
  }

  #flawed(line: number, flaw: string): FileRecord {
    this.#record.line = line;
    this.#record.flaw = flaw;
    return this.#record;
  }

  #openSpan(span: Span, at: number): void {
    this.#span = span;
    this.#from = at;
    this.#spanLine = this.#line;
    this.#length = 0;
    this.#depth = 0;
  }

  /** One past the span's last byte, looking from `start`; -1 when it goes on in the next chunk. */
  #spanEnd(bytes: Buffer, start: number): number {
    let depth = this.#depth;
    let inString = this.#inString;
    let escaped = this.#escaped;
    let end = -1;
    for (let at = start; at < bytes.length && end < 0; at++) {
      const byte = bytes[at]!;
      if (escaped) escaped = false;
      else if (inString) {
        if (byte === 0x5c) escaped = true;
        else if (byte === 0x22) {
          inString = false;
          if (depth === 0) end = at + 1;
        }
      } else if (byte === 0x22) inString = true;
      else if (byte === 0x7b || byte === 0x5b) depth++;
      else if (byte === 0x7d || byte === 0x5d) {
        if (depth === 0) end = at;
        else if (--depth === 0) end = at + 1;
      } else if (byte <= 0x2c && depth === 0 && (byte === 0x2c || byte <= 0x20)) end = at;
      else if (byte === 0x0a) this.#line++;
    }
    this.#depth = depth;
    this.#inString = inString;
    this.#escaped = escaped;
    return end;
  }

  /** True when the span was an item, which is in #record then. */
  #closeSpan(bytes: Buffer, end: number): boolean {
    const span = this.#span;
    this.#span = undefined;
    const record = this.#record;
    record.flaw = undefined;
    record.line = this.#spanLine;
    if (this.#length > 0) {
      this.#keep(bytes, end, span);
      record.source = Buffer.concat(this.#pieces);
      record.from = 0;
      record.to = record.source.length;
      this.#pieces = [];
    } else {
      this.#length = end - this.#from;
      record.source = bytes;
      record.from = this.#from;
      record.to = end;
    }
    if (span === "item") {
      this.#place = "next";
      if (this.#length > this.#bytesMax) record.flaw = tooLong(this.#length, this.#bytesMax);
      return true;
    }
    if (span === "name") this.#name = record.source.toString("latin1", record.from + 1, record.to - 1);
    this.#place = span === "name" ? "colon" : "comma";
    return false;
  }

  /** Holds on to the span's bytes of this chunk, unless it is too long or its bytes do not matter. */
  #keep(bytes: Buffer, end: number, span: Span | undefined): void {
    this.#length += end - this.#from;
    const bytesMax = span === "item" ? this.#bytesMax : span === "name" ? nameBytesMax : 0;
    if (this.#length <= bytesMax) this.#pieces.push(bytes.subarray(this.#from, end));
    else this.#pieces = [];
    this.#from = 0;
  }
}
