// A lane as the owner of its rows makes it, and what every part of a journal works with.

import {
  type ByteColumn,
  Pieces,
  sumCapacity,
  writeBlockHead,
  writeColumnHead,
  writeRowKeys,
} from "../../storage/native/native.ts";
import { captureLimits } from "../limits.ts";
import type { JournalIo } from "./journal_io.ts";

/**
 * toYYYYMM of a time in microseconds since 1970, UTC, as ClickHouse computes it: if one row of a batch were in another
 * partition than the rest, half of the batch could be stored without the other.
 */
export function toMonth(micros: number): number {
  const at = new Date(Math.floor(micros / 1000));
  return at.getUTCFullYear() * 100 + at.getUTCMonth() + 1;
}

/** toYear of such a time. */
export function toYear(micros: number): number {
  return Math.floor(toMonth(micros) / 100);
}

/** Sizes of what a project has in a lane. */
export interface PendingSize {
  /** Estimates of blocks; for segments found at the start, as in the file. */
  bytes: number;
  /** Changes of persons and groups; each becomes a row when stored. Unknown, and 0, for segments found at the start. */
  changes: number;
}

export interface LaneRow {
  project_id: number;
  /** Decides the partition; in microseconds since 1970. */
  timestamp: number;
}

/** Rows of one partition as columns, until they are written as a frame. */
export interface FrameBlock {
  partition: number;
  rows: number;
  /** created_at of the first row, in microseconds. */
  oldest: number;
  /** Changes of persons and groups in these rows; each becomes a row when they are stored. */
  readonly changes: number;
  encode(out: ByteColumn, batch: bigint, firstRow: number): void;
}

export interface LaneBlock<Row extends LaneRow> extends FrameBlock {
  /** Appends a row; returns about how many bytes it takes. */
  append(row: Row): number;
  /** Bytes of memory that it has, filled or not. */
  readonly capacity: number;
  clear(): void;
}

export interface LaneKind<Block extends LaneBlock<LaneRow> = LaneBlock<LaneRow>> {
  /** Lower-case letters: the names of its files begin with it. */
  readonly name: string;
  readonly sink: "clickhouse" | "postgres";
  readonly table: string;
  /** The partition of that table for a row of this time, in microseconds since 1970. */
  toPartition(this: void, micros: number): number;
  openBlock(this: void): Block;
  /** Whether its segments are Native blocks of events and nothing else, so that the engine can read them. */
  readonly isNative: boolean;
  /** Whether its rows count among the events that wait, of all and of their projects. */
  readonly isCounted: boolean;
  /** The watermark that its rows hold back until they are stored. */
  readonly watermark?: "stored" | "recordings";
  readonly segmentBytesMax: number;
  /** Rows and bytes of a batch, and of the batches in one INSERT. */
  readonly batchRowsMax: number;
  readonly batchBytesMax: number;
  /** The largest file that is made ahead for a segment; 0 for none. */
  readonly preparedBytesMax: number;
  readonly flushesAtOnce: number;
  /** Flush intervals for which a segment may grow, while it does grow and is not the first after a pause. */
  readonly growIntervalsMax: number;
  /** Whether files of finished segments may be kept, to be overwritten. */
  readonly isRecycled: boolean;
}

export const plainLane = {
  sink: "clickhouse",
  isNative: false,
  isCounted: false,
  batchRowsMax: captureLimits.batchRowsMax,
  batchBytesMax: captureLimits.batchBytesMax,
  preparedBytesMax: 0,
  flushesAtOnce: 1,
  growIntervalsMax: 1,
  isRecycled: true,
} as const;

export interface JournalSetup {
  readonly io: JournalIo;
  /** Their order is part of the file format: a new lane comes last. */
  readonly lanes: readonly LaneKind[];
}

export function byLane<T>({ lanes }: JournalSetup, make: (lane: LaneKind) => T): ReadonlyMap<LaneKind, T> {
  return new Map(lanes.map((lane) => [lane, make(lane)]));
}

/** The columns of a table: each with its type, and how a row's value is written. */
export type TableColumns<Row> = readonly (readonly [
  name: string,
  type: string,
  write: (out: Pieces, row: Row) => void,
])[];

export class TableBlock<Row extends LaneRow> implements LaneBlock<Row> {
  readonly changes = 0;
  partition = 0;
  rows = 0;
  oldest = 0;
  readonly #columns: TableColumns<Row>;
  readonly #outs: readonly Pieces[];
  readonly #measure: (row: Row) => number;

  /** @param measure about how many bytes a row takes. */
  constructor(columns: TableColumns<Row>, measure: (row: Row) => number) {
    this.#columns = columns;
    this.#outs = columns.map(() => new Pieces());
    this.#measure = measure;
  }

  get capacity(): number {
    return sumCapacity(this.#outs);
  }

  append(row: Row): number {
    if (this.rows++ === 0) this.oldest = row.timestamp;
    for (let i = 0; i < this.#columns.length; i++) this.#columns[i]![2](this.#outs[i]!, row);
    return this.#measure(row);
  }

  encode(out: ByteColumn, batch: bigint, firstRow: number): void {
    writeBlockHead(out, this.#columns.length + 2, this.rows);
    for (const [i, [name, type]] of this.#columns.entries()) {
      writeColumnHead(out, name, type);
      this.#outs[i]!.writeTo(out);
    }
    writeRowKeys(out, this.rows, batch, firstRow);
  }

  clear(): void {
    this.rows = 0;
    for (const out of this.#outs) out.clear();
  }
}
