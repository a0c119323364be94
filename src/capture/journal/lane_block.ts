// What travels in a lane, and what holds it until it is written: rows, and blocks of them.

import type { ByteColumn } from "../../storage/native/native.ts";

/** What travels in a lane. */
export interface LaneRow {
  project_id: number;
  /** Microseconds since 1970, UTC: decides the partition. */
  timestamp: number;
}

/** Rows of one partition (lanePartition) as columns, until they are sealed into a frame. */
export interface LaneBlock<Row extends LaneRow> {
  partition: number;
  rows: number;
  /** created_at of the first row, in microseconds. */
  oldest: number;
  /** Of persons and groups, in these rows: each becomes a row of its own when they are stored. */
  readonly changes: number;
  /** Takes a row; returns about how many bytes it weighs. */
  append(row: Row): number;
  /** Writes the rows as one Native block. */
  encode(out: ByteColumn, batch: bigint, firstRow: number): void;
  /** Empties the columns and keeps their memory. */
  clear(): void;
}
