// Pieces of recordings as columns, until they are sealed into a frame.

import { microsType } from "../../storage/native/native.ts";
import { type LaneKind, plainLane, TableBlock } from "../journal/lane_kind.ts";
import { journalLimits } from "../journal/limits.ts";
import { toMonth } from "../journal/segments/partition.ts";
import { captureLimits } from "../limits.ts";
import { recordingLimits } from "./limits.ts";
import type { SnapshotRow } from "./snapshot.ts";

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
  lacks_full_snapshot: "UInt8",
  inflated_size: "UInt32",
  size: "UInt32",
  data: "String",
} as const;

export const recordingLane: LaneKind<ReturnType<typeof snapshotBlock>> = {
  ...plainLane,
  name: "recordings",
  table: "snapshot_chunks",
  toPartition: toMonth,
  openBlock: snapshotBlock,
  isCounted: true,
  watermark: "recordings",
  segmentBytesMax: recordingLimits.snapshotSegmentBytesMax,
  preparedBytesMax: journalLimits.preparedBytesMax,
  // Deleted recordings must not stay in a file.
  isRecycled: false,
};

function snapshotBlock() {
  return new TableBlock<SnapshotRow, keyof typeof columnTypes>(columnTypes, (columns, row) => {
    const { facts, data } = row;
    const size = data.to - data.from;
    columns.project_id.u32(row.project_id);
    columns.session_id.text(row.session_id);
    columns.uuid.raw(row.uuid);
    columns.window_id.text(row.window_id);
    columns.distinct_id.string(row.distinct_id.source, row.distinct_id.from, row.distinct_id.to);
    const known = !Number.isNaN(facts.first);
    columns.first_at.i64(known ? Math.round(facts.first * 1000) - row.skew : row.timestamp);
    columns.last_at.i64(known ? Math.round(facts.last * 1000) - row.skew : row.timestamp);
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
    columns.lacks_full_snapshot.u8(facts.fullSnapshots === 0 ? 1 : 0);
    columns.inflated_size.u32(Math.min(facts.inflatedBytes, 0xffffffff));
    columns.size.u32(size);
    columns.data.varuint(size);
    // Bytes of long pieces are borrowed, not copied.
    if (row.own) columns.data.borrow(data.source.subarray(data.from, data.to));
    else columns.data.copy(data.source, data.from, data.to);
    return size + captureLimits.rowBytesGuess;
  });
}
