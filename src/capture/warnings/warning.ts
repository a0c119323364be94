// A warning as a row, and the columns of such rows until they are sealed into a frame.

import { microsType } from "../../storage/native/native.ts";
import { type LaneKind, plainLane, TableBlock, type TableColumns, toMonth } from "../journal/lane_kind.ts";
import { captureLimits } from "../limits.ts";

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

const columns: TableColumns<WarningRow> = [
  ["project_id", "UInt32", (out, row) => out.u32(row.project_id)],
  ["type", "String", (out, row) => out.text(row.type)],
  ["details", "String", (out, row) => out.text(row.details)],
  ["event", "String", (out, row) => out.text(row.event)],
  ["distinct_id", "String", (out, row) => out.text(row.distinct_id)],
  ["count", "UInt64", (out, row) => out.u64(BigInt(row.count))],
  ["timestamp", microsType, (out, row) => out.i64(row.timestamp)],
];

export const warningLane: LaneKind<ReturnType<typeof warningBlock>> = {
  ...plainLane,
  name: "warnings",
  table: "ingestion_warnings",
  toPartition: toMonth,
  openBlock: warningBlock,
  segmentBytesMax: captureLimits.warningSegmentBytesMax,
};

function warningBlock() {
  const measure = ({ type, details, event, distinct_id }: WarningRow) =>
    fixedBytes + type.length + details.length + event.length + distinct_id.length;
  return new TableBlock(columns, measure);
}

/** Bytes of a row in the columns of numbers. */
const fixedBytes = 20;
