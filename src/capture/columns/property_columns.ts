// The columns of properties in a block, each Nullable(String). Without a column the engine reads its values from the
// text (the column's default): so where one of them is no text, whole number, true, false or null.

import { JsonCursor } from "../../core/json/json_cursor.ts";
import { propertyColumns } from "../../storage/events/event_columns.ts";
import { ByteColumn, sumCapacity, writeColumnHead } from "../../storage/native/native.ts";
import { knownKeys, noSlot, toEscapedSlot, toSlot } from "../fields/event_fields.ts";
import { appendText, type ByteRange } from "../fields/raw_value.ts";
import { captureLimits } from "../limits.ts";
import { layout } from "../wasm/layout.ts";
import type { ColumnBatch } from "../wasm/scan_arena.ts";

const keys = knownKeys(Object.fromEntries(propertyColumns.map((name, column) => [name, column])));

/** Raw values beside texts that the engine writes as they were sent. */
const plainWord = /^(?:true|false|0|-?[1-9]\d{0,17})$/;
const plainWordBytes = 19;

/** The column of a key, however it is written. */
function readColumn(source: Uint8Array, { key, keyEnd }: JsonCursor): number {
  const column = toSlot(keys, source, key, keyEnd);
  if (column !== noSlot) return column;
  for (let at = key; at < keyEnd; at++)
    if (source[at] === 0x5c) return toEscapedSlot(keys, source, key, keyEnd);
  return noSlot;
}

export class PropertyColumns {
  readonly #columns = propertyColumns.map(() => ({ nulls: new ByteColumn(0), texts: new ByteColumn(0) }));
  /** Bits of the columns with a value that the engine has to read. */
  #unread = 0;
  readonly #cursor = new JsonCursor();
  readonly #text = new ByteColumn(256);

  get capacity(): number {
    return sumCapacity([this.#text, ...this.#columns.flatMap(({ nulls, texts }) => [nulls, texts])]);
  }

  /** How many columns encode() writes. */
  get count(): number {
    let count = propertyColumns.length;
    for (let bits = this.#unread; bits !== 0; bits &= bits - 1) count--;
    return count;
  }

  /** Adds row number `rowNumber` (rising), by the text of its properties; returns how many bytes it has. */
  append(rowNumber: number, { source, from }: ByteRange): number {
    const cursor = this.#cursor.open(source, from);
    let bytes = 0;
    while (cursor.next()) {
      const column = readColumn(source, cursor);
      if (column === noSlot) continue;
      if (this.#appendValue(rowNumber, column, source, cursor)) bytes += cursor.end - cursor.value;
      else this.#unread |= 1 << column;
    }
    return bytes;
  }

  /** Appends a raw value that is not null; false for one that only the engine can read. */
  #appendValue(
    rowNumber: number,
    column: number,
    source: Uint8Array,
    { value, end }: { value: number; end: number },
  ): boolean {
    // A key that comes twice, which the scan should have met.
    if (this.#columns[column]!.nulls.length > rowNumber) return false;
    const first = source[value];
    if (first === 0x6e) return true;
    const isText = first === 0x22;
    this.#text.length = 0;
    if (isText) appendText(source, value + 1, end - 1, this.#text);
    else if (end - value > plainWordBytes) return false;
    else this.#text.raw(source, value, end);
    if (!isText && !plainWord.test(Buffer.from(this.#text.filled()).toString("latin1"))) return false;
    const { nulls, texts } = this.#pad(column, rowNumber);
    nulls.u8(0);
    texts.string(this.#text.bytes, 0, this.#text.length);
    return true;
  }

  /** Appends many rows that are columns already, from number `rowNumber` on; returns how many bytes they have. */
  appendColumns(rowNumber: number, { rows, bytes, valued, unread, columnEnds }: ColumnBatch): number {
    this.#unread |= unread;
    let [from, all]: [number, number] = [layout.OUT_COLUMN_TEXTS, 0];
    for (let column = 0; column < propertyColumns.length; column++) {
      const end = columnEnds[column]!;
      if ((valued & (1 << column)) !== 0) {
        const { nulls, texts } = this.#pad(column, rowNumber);
        const nullsAt = layout.OUT_NULLS + column * captureLimits.sliceRowsMax;
        nulls.raw(bytes, nullsAt, nullsAt + rows);
        texts.raw(bytes, from, end);
        all += end - from;
      }
      from = end;
    }
    return all;
  }

  /** Fills a column with nulls up to that row. */
  #pad(column: number, rowNumber: number) {
    const values = this.#columns[column]!;
    const missing = rowNumber - values.nulls.length;
    values.nulls.repeat(1, missing);
    values.texts.repeat(0, missing);
    return values;
  }

  encode(out: ByteColumn, rows: number): void {
    for (const [column, name] of propertyColumns.entries()) {
      if ((this.#unread & (1 << column)) !== 0) continue;
      const { nulls, texts } = this.#pad(column, rows);
      writeColumnHead(out, name, "Nullable(String)");
      out.raw(nulls.bytes, 0, nulls.length);
      out.raw(texts.bytes, 0, texts.length);
    }
  }

  clear(): void {
    this.#unread = 0;
    for (const { nulls, texts } of this.#columns) nulls.length = texts.length = 0;
  }
}
