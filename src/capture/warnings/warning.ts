// A warning as a row, and rows of warnings as columns until they are sealed into a frame.

import { ByteColumn, writeBlockHead, writeColumnHead, writeRowKeys } from "../../storage/native/native.ts";
import type { LaneBlock } from "../journal/lane_block.ts";

export interface WarningRow {
  project_id: number;
  /** A Reason, a Warning, or a type of spike. */
  type: string;
  /** JSON text of an object. */
  details: string;
  /** The event's name; empty when it has none. */
  event: string;
  distinct_id: string;
  /** How many events the row stands for. */
  count: number;
  /** When the server saw it, in microseconds since 1970. */
  timestamp: number;
}

const columnTypes = {
  project_id: "UInt32",
  type: "String",
  details: "String",
  event: "String",
  distinct_id: "String",
  count: "UInt64",
  timestamp: "DateTime64(6, 'UTC')",
} as const;
type Name = keyof typeof columnTypes;
const names = Object.keys(columnTypes) as Name[];

export class WarningBlock implements LaneBlock<WarningRow> {
  readonly changes = 0;
  partition = 0;
  rows = 0;
  oldest = 0;
  readonly #columns = Object.fromEntries(names.map((name) => [name, new ByteColumn()])) as Record<
    Name,
    ByteColumn
  >;

  append(row: WarningRow): number {
    const before = this.#bytes();
    const columns = this.#columns;
    if (this.rows === 0) this.oldest = row.timestamp;
    columns.project_id.u32(row.project_id);
    for (const name of ["type", "details", "event", "distinct_id"] as const) columns[name].text(row[name]);
    columns.count.u64(BigInt(row.count));
    columns.timestamp.i64(row.timestamp);
    this.rows++;
    return this.#bytes() - before;
  }

  encode(out: ByteColumn, batch: bigint, firstRow: number): void {
    writeBlockHead(out, names.length + 2, this.rows);
    for (const name of names) {
      writeColumnHead(out, name, columnTypes[name]);
      out.raw(this.#columns[name].bytes, 0, this.#columns[name].length);
    }
    writeRowKeys(out, this.rows, batch, firstRow);
  }

  clear(): void {
    this.rows = 0;
    for (const name of names) this.#columns[name].length = 0;
  }

  #bytes(): number {
    return names.reduce((bytes, name) => bytes + this.#columns[name].length, 0);
  }
}
