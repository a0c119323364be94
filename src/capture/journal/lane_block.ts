// Rows of a lane, and the blocks that hold them until they are written.

import type { ByteColumn } from "../../storage/native/native.ts";

/** A row of any lane. */
export interface LaneRow {
  project_id: number;
  /** Decides the partition; in microseconds since 1970. */
  timestamp: number;
}

/** Rows of one partition (lanePartition) as columns, until they are written as a frame. */
export interface LaneBlock<Row extends LaneRow> {
  partition: number;
  rows: number;
  /** created_at of the first row, in microseconds. */
  oldest: number;
  /** Changes of persons and groups in these rows; each becomes a row when they are stored. */
  readonly changes: number;
  /** Appends a row; returns about how many bytes it takes. */
  append(row: Row): number;
  /** Writes the rows as one Native block. */
  encode(out: ByteColumn, batch: bigint, firstRow: number): void;
  /** Empties the columns and keeps their memory. */
  clear(): void;
}
