// A block: rows of one lane and year, as columns, until they are sealed into a journal frame.

import { memoryHere } from "../../core/machine.ts";
import { engineBounds } from "../../storage/embedded/engine_config.ts";
import {
  ByteColumn,
  Dictionary,
  microsType,
  sumCapacity,
  writeBlockHead,
  writeColumnHead,
  writeRowKeys,
} from "../../storage/native/native.ts";
import { type ColumnFill, cutBlock } from "../../storage/native/native_cut.ts";
import type { Row } from "../fields/row.ts";
import { type LaneBlock, type LaneKind, plainLane, toYear } from "../journal/lane_kind.ts";
import { journalLimits } from "../journal/limits.ts";
import { captureLimits } from "../limits.ts";
import { layout } from "../wasm/layout.ts";
import type { ColumnBatch } from "../wasm/scan_arena.ts";
import { hasNoIdentity, IdentityColumns } from "./identity_columns.ts";
import { PropertyColumns } from "./property_columns.ts";

/** The engine's memory for an INSERT, in its bytes: as read, squashed to one block, sorted, and compressed. */
const insertTimesBytes = 4;

/** Events, by year. */
const eventLane = {
  ...plainLane,
  table: "event_rows",
  toPartition: toYear,
  openBlock: () => new Block(),
  isNative: true,
  isCounted: true,
  watermark: "stored",
} as const;

export const liveLane: LaneKind<Block> = {
  ...eventLane,
  name: "live",
  segmentBytesMax: captureLimits.liveSegmentBytesMax,
  preparedBytesMax: journalLimits.preparedBytesMax,
};

/** Native bytes of an import's INSERT, by the memory of the engine in bytes. */
export function fitImportBatch(engineBytes: number): number {
  const { batchBytesMax, importBatchBytesMax, importMemoryFraction, historicalFlushesMax } = captureLimits;
  const fitting = (engineBytes * importMemoryFraction) / (insertTimesBytes * historicalFlushesMax);
  return Math.min(Math.max(batchBytesMax, fitting), importBatchBytesMax);
}

/** No file is made ahead: an import's groups are long, so that one more sync costs nothing. */
export const historicalLane: LaneKind<Block> = {
  ...eventLane,
  name: "historical",
  segmentBytesMax: captureLimits.historicalSegmentBytesMax,
  batchRowsMax: captureLimits.importBatchRowsMax,
  get batchBytesMax() {
    return fitImportBatch(engineBounds(memoryHere()).serverBytes);
  },
  flushesAtOnce: captureLimits.historicalFlushesMax,
  growIntervalsMax: captureLimits.historicalGrowIntervalsMax,
};

export class Block implements LaneBlock<Row> {
  /** The year of all its rows. */
  partition = 0;
  rows = 0;
  /** created_at of the first row, in microseconds; meaningless while rows = 0. */
  oldest = 0;
  readonly #uuid = new ByteColumn();
  readonly #project = new ByteColumn();
  readonly #event = new Dictionary();
  readonly #distinctId = new ByteColumn();
  readonly #properties = new ByteColumn(4096);
  readonly #timestamp = new ByteColumn();
  readonly #createdAt = new ByteColumn();
  readonly #historical = new ByteColumn();
  readonly #texts = [this.#distinctId, this.#properties];
  readonly #fixed = [this.#uuid, this.#project, this.#timestamp, this.#createdAt, this.#historical];
  /** Made for the first row that needs them, so that other events cost nothing. */
  #identity: IdentityColumns | undefined;
  readonly #propertyColumns = new PropertyColumns();

  get changes(): number {
    return this.#identity?.changes ?? 0;
  }

  get capacity(): number {
    const columns = [...this.#texts, ...this.#fixed, this.#event, this.#propertyColumns];
    return sumCapacity(this.#identity ? [...columns, this.#identity] : columns);
  }

  append(row: Row): number {
    if (this.rows === 0) this.oldest = row.created_at;
    const before = this.#namesBytes();
    this.#uuid.raw(row.uuid);
    this.#project.u32(row.project_id);
    this.#event.append(row.event.source, row.event.from, row.event.to);
    this.#distinctId.string(row.distinct_id.source, row.distinct_id.from, row.distinct_id.to);
    this.#properties.string(row.properties.source, row.properties.from, row.properties.to);
    this.#timestamp.i64(row.timestamp);
    this.#createdAt.i64(row.created_at);
    this.#historical.u8(row.historical_migration ? 1 : 0);
    const identityBytes = hasNoIdentity(row) ? 0 : this.#identityColumns().append(this.rows, row);
    const columnBytes = this.#propertyColumns.append(this.rows, row.properties);
    this.rows++;
    const idBytes = row.distinct_id.to - row.distinct_id.from;
    const textBytes = row.properties.to - row.properties.from + idBytes + this.#namesBytes() - before;
    return textBytes + identityBytes + columnBytes + captureLimits.rowBytesGuess;
  }

  /** Appends plain rows that are columns already; returns about how many bytes they have. */
  appendColumns(columns: ColumnBatch): number {
    const { rows, bytes } = columns;
    const before = this.#namesBytes();
    if (this.rows === 0) this.oldest = columns.created;
    const copy = (column: ByteColumn, from: number, size: number) => column.raw(bytes, from, from + size);
    copy(this.#uuid, layout.OUT_UUID, rows * 16);
    copy(this.#project, layout.OUT_PROJECT, rows * 4);
    const events = bytes.subarray(layout.OUT_EVENT, layout.OUT_EVENT + rows);
    this.#event.appendNumbered(events, rows, columns.names);
    copy(this.#distinctId, layout.OUT_IDS, columns.idsBytes);
    copy(this.#properties, layout.OUT_PROPERTIES, columns.propertiesBytes);
    copy(this.#timestamp, layout.OUT_TIMESTAMP, rows * 8);
    copy(this.#createdAt, layout.OUT_CREATED, rows * 8);
    copy(this.#historical, layout.OUT_HISTORICAL, rows);
    const identityBytes = columns.identity
      ? this.#identityColumns().appendColumns(this.rows, columns, columns.identity)
      : 0;
    const columnBytes = this.#propertyColumns.appendColumns(this.rows, columns);
    this.rows += rows;
    const textBytes = columns.propertiesBytes + columns.idsBytes + this.#namesBytes() - before;
    return textBytes + identityBytes + columnBytes + rows * captureLimits.rowBytesGuess;
  }

  #identityColumns(): IdentityColumns {
    return (this.#identity ??= new IdentityColumns());
  }

  /** Bytes of the names of events and of changed keys, each name once: they may be long. */
  #namesBytes(): number {
    return this.#event.bytes + (this.#identity?.namesBytes ?? 0);
  }

  /**
   * Writes the rows as one Native block, under this batch and with row numbers from `firstRow` on. The columns from
   * which days of events are derived come first, since they are read again without the others.
   */
  encode(out: ByteColumn, batch: bigint, firstRow: number): void {
    writeBlockHead(out, 10 + this.#propertyColumns.count + (this.#identity?.columns ?? 0), this.rows);
    const write = (name: string, type: string, column: ByteColumn) => {
      writeColumnHead(out, name, type);
      out.raw(column.bytes, 0, column.length);
    };
    write("uuid", "UUID", this.#uuid);
    write("project_id", "UInt32", this.#project);
    writeColumnHead(out, "event", "LowCardinality(String)");
    this.#event.encode(out, this.rows);
    write("timestamp", microsType, this.#timestamp);
    write("distinct_id", "String", this.#distinctId);
    write("properties", "String", this.#properties);
    write("created_at", microsType, this.#createdAt);
    write("historical_migration", "Bool", this.#historical);
    this.#identity?.encode(out, this.rows);
    this.#propertyColumns.encode(out, this.rows);
    writeRowKeys(out, this.rows, batch, firstRow);
  }

  /** Empties the columns and keeps their memory. */
  clear(): void {
    this.rows = 0;
    for (const column of [...this.#texts, ...this.#fixed]) column.length = 0;
    this.#event.clear();
    this.#identity?.clear();
    this.#propertyColumns.clear();
  }
}

/**
 * Cuts a frame's rows `from` to `to` out of its Native bytes for another batch, renumbered from `firstRow`.
 * Used when a refused batch is halved; a frame is one Native block.
 */
export function rebatch(
  frame: Uint8Array,
  from: number,
  to: number,
  batch: bigint,
  firstRow: number,
): Uint8Array {
  const batchFill: ColumnFill = (out) => out.u64(batch);
  const rowFill: ColumnFill = (out, row) => out.u32(firstRow + row);
  return cutBlock(frame, from, to, { _batch: batchFill, _row: rowFill });
}
