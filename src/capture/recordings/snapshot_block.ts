// Chunks of recordings as columns, until they are sealed into a frame.

import { captureLimits } from "../limits.ts";
import { ByteColumn, writeBlockHead, writeColumnHead, writeRowKeys } from "../../storage/native/native.ts";
import { Pieces } from "../../storage/native/native_pieces.ts";
import type { LaneBlock } from "../journal/lane_block.ts";
import type { SnapshotRow } from "./snapshot.ts";

const microsType = "DateTime64(6, 'UTC')";

const columnTypes = {
  project_id: "UInt32",
  session_id: "String",
  uuid: "UUID",
  window_id: "String",
  distinct_id: "String",
  first_at: microsType,
  last_at: microsType,
  created_at: microsType,
  expires_at: microsType,
  event_count: "UInt32",
  click_count: "UInt32",
  keypress_count: "UInt32",
  mouse_activity_count: "UInt32",
  console_log_count: "UInt32",
  console_warn_count: "UInt32",
  console_error_count: "UInt32",
  active_at: "String",
  start_url: "String",
  snapshot_source: "String",
  size: "UInt32",
  data: "String",
} as const;
type Name = keyof typeof columnTypes;
const names = Object.keys(columnTypes) as Name[];

export class SnapshotBlock implements LaneBlock<SnapshotRow> {
  readonly changes = 0;
  partition = 0;
  rows = 0;
  oldest = 0;
  readonly #columns = newColumns();
  /** The column of data; bytes of long chunks are borrowed, not copied. */
  readonly #data = new Pieces();

  append(row: SnapshotRow): number {
    const { facts, data } = row;
    const columns = this.#columns;
    if (this.rows === 0) this.oldest = row.timestamp;
    const size = data.to - data.from;
    columns.project_id.u32(row.project_id);
    columns.session_id.text(row.session_id);
    columns.uuid.raw(row.uuid);
    columns.window_id.text(row.window_id);
    columns.distinct_id.string(row.distinct_id.source, row.distinct_id.from, row.distinct_id.to);
    const known = !Number.isNaN(facts.first);
    columns.first_at.i64(known ? Math.round(facts.first * 1000) : row.timestamp);
    columns.last_at.i64(known ? Math.round(facts.last * 1000) : row.timestamp);
    columns.created_at.i64(row.timestamp);
    columns.expires_at.i64(row.expires_at);
    columns.event_count.u32(facts.events);
    columns.click_count.u32(facts.clicks);
    columns.keypress_count.u32(facts.keypresses);
    columns.mouse_activity_count.u32(facts.mouseActivities);
    columns.console_log_count.u32(facts.consoleLogs);
    columns.console_warn_count.u32(facts.consoleWarns);
    columns.console_error_count.u32(facts.consoleErrors);
    columns.active_at.text([...facts.active].join());
    columns.start_url.text(facts.startUrl);
    columns.snapshot_source.text(row.source);
    columns.size.u32(size);
    this.#data.varuint(size);
    if (row.own) this.#data.borrow(data.source.subarray(data.from, data.to));
    else this.#data.copy(data.source, data.from, data.to);
    this.rows++;
    return size + captureLimits.rowBytesGuess;
  }

  encode(out: ByteColumn, batch: bigint, firstRow: number): void {
    writeBlockHead(out, names.length + 2, this.rows);
    for (const name of names) {
      writeColumnHead(out, name, columnTypes[name]);
      if (name === "data") for (const piece of this.#data.list()) out.raw(piece);
      else out.raw(this.#columns[name].bytes, 0, this.#columns[name].length);
    }
    writeRowKeys(out, this.rows, batch, firstRow);
  }

  clear(): void {
    this.rows = 0;
    for (const name of names) this.#columns[name].length = 0;
    this.#data.clear();
  }
}

function newColumns(): Record<Name, ByteColumn> {
  return Object.fromEntries(names.map((name) => [name, new ByteColumn()])) as Record<Name, ByteColumn>;
}
