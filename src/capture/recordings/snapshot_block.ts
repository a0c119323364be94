// Pieces of recordings as columns, until they are sealed into a frame.

import { microsType, type Pieces } from "../../storage/native/native.ts";
import { type LaneKind, plainLane, TableBlock, type TableColumns, toMonth } from "../journal/lane_kind.ts";
import { journalLimits } from "../journal/limits.ts";
import { captureLimits } from "../limits.ts";
import type { SnapshotRow } from "./snapshot.ts";

const columns: TableColumns<SnapshotRow> = [
  ["project_id", "UInt32", (out, row) => out.u32(row.project_id)],
  ["session_id", "String", (out, row) => out.text(row.session_id)],
  ["uuid", "UUID", (out, row) => out.raw(row.uuid)],
  ["window_id", "String", (out, row) => out.text(row.window_id)],
  ["distinct_id", "String", (out, { distinct_id: { source, from, to } }) => out.string(source, from, to)],
  ["first_at", microsType, (out, row) => out.i64(toServerTime(row, row.facts.first))],
  ["last_at", microsType, (out, row) => out.i64(toServerTime(row, row.facts.last))],
  ["created_at", microsType, (out, row) => out.i64(row.timestamp)],
  ["expires_at", microsType, (out, row) => out.i64(row.expires_at)],
  ["event_count", "UInt32", (out, { facts }) => out.u32(facts.events)],
  ["click_count", "UInt32", (out, { facts }) => out.u32(facts.clicks)],
  ["keypress_count", "UInt32", (out, { facts }) => out.u32(facts.keypresses)],
  ["mouse_activity_count", "UInt32", (out, { facts }) => out.u32(facts.mouseActivities)],
  ["console_log_count", "UInt32", (out, { facts }) => out.u32(facts.consoleLogs)],
  ["console_warn_count", "UInt32", (out, { facts }) => out.u32(facts.consoleWarns)],
  ["console_error_count", "UInt32", (out, { facts }) => out.u32(facts.consoleErrors)],
  ["active_at", "String", (out, { facts }) => out.text([...facts.active].join())],
  ["start_url", "String", (out, { facts }) => out.text(facts.startUrl)],
  ["snapshot_source", "String", (out, row) => out.text(row.source)],
  ["lacks_full_snapshot", "UInt8", (out, { facts }) => out.u8(facts.fullSnapshots === 0 ? 1 : 0)],
  ["inflated_size", "UInt32", (out, { facts }) => out.u32(Math.min(facts.inflatedBytes, 0xffffffff))],
  ["size", "UInt32", (out, row) => out.u32(dataBytes(row))],
  ["data", "String", writeData],
];

export const recordingLane: LaneKind<ReturnType<typeof snapshotBlock>> = {
  ...plainLane,
  name: "recordings",
  table: "snapshot_chunks",
  toPartition: toMonth,
  openBlock: snapshotBlock,
  isCounted: true,
  watermark: "recordings",
  segmentBytesMax: captureLimits.snapshotSegmentBytesMax,
  preparedBytesMax: journalLimits.preparedBytesMax,
  // Deleted recordings must not stay in a file.
  isRecycled: false,
};

function snapshotBlock() {
  return new TableBlock(columns, (row) => dataBytes(row) + captureLimits.rowBytesGuess);
}

/** A time of the client in ms by our clock, in microseconds; the arrival when none is known. */
function toServerTime({ skew, timestamp }: SnapshotRow, millis: number): number {
  return Number.isNaN(millis) ? timestamp : Math.round(millis * 1000) - skew;
}

function dataBytes({ data: { from, to } }: SnapshotRow): number {
  return to - from;
}

/** Bytes of long pieces are borrowed, not copied. */
function writeData(out: Pieces, row: SnapshotRow): void {
  const { source, from, to } = row.data;
  out.varuint(to - from);
  if (row.own) out.borrow(source.subarray(from, to));
  else out.copy(source, from, to);
}
