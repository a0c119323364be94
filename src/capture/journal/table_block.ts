// Blocks of tables whose columns all have fixed types: warnings, pieces of recordings.

import {
  type ByteColumn,
  Pieces,
  writeBlockHead,
  writeColumnHead,
  writeRowKeys,
} from "../../storage/native/native.ts";
import type { LaneBlock, LaneRow } from "./lane_kind.ts";

/** Appends a row's values to the columns; returns about how many bytes they take. */
type Put<Row, Name extends string> = (columns: Readonly<Record<Name, Pieces>>, row: Row) => number;

export class TableBlock<Row extends LaneRow, Name extends string> implements LaneBlock<Row> {
  readonly changes = 0;
  partition = 0;
  rows = 0;
  oldest = 0;
  readonly #types: [name: Name, type: string][];
  readonly #columns: Readonly<Record<Name, Pieces>>;
  readonly #put: Put<Row, Name>;

  constructor(types: Readonly<Record<Name, string>>, put: Put<Row, Name>) {
    this.#types = Object.entries(types) as [Name, string][];
    const columns = this.#types.map(([name]) => [name, new Pieces()]);
    this.#columns = Object.fromEntries(columns) as Record<Name, Pieces>;
    this.#put = put;
  }

  append(row: Row): number {
    if (this.rows++ === 0) this.oldest = row.timestamp;
    return this.#put(this.#columns, row);
  }

  encode(out: ByteColumn, batch: bigint, firstRow: number): void {
    writeBlockHead(out, this.#types.length + 2, this.rows);
    for (const [name, type] of this.#types) {
      writeColumnHead(out, name, type);
      this.#columns[name].writeTo(out);
    }
    writeRowKeys(out, this.rows, batch, firstRow);
  }

  clear(): void {
    this.rows = 0;
    for (const [name] of this.#types) this.#columns[name].clear();
  }
}
