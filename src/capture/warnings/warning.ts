// A warning as a row, and the columns of such rows until they are sealed into a frame.

import { type LaneKind, plainLane, TableBlock } from "../journal/lane_kind.ts";
import { toMonth } from "../journal/segments/partition.ts";
import { warningLimits } from "./limits.ts";

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

export const warningLane: LaneKind<ReturnType<typeof warningBlock>> = {
  ...plainLane,
  name: "warnings",
  table: "ingestion_warnings",
  toPartition: toMonth,
  openBlock: warningBlock,
  segmentBytesMax: warningLimits.warningSegmentBytesMax,
};

function warningBlock() {
  return new TableBlock<WarningRow, keyof typeof columnTypes>(columnTypes, (columns, row) => {
    const { type, details, event, distinct_id } = row;
    columns.project_id.u32(row.project_id);
    columns.type.text(type);
    columns.details.text(details);
    columns.event.text(event);
    columns.distinct_id.text(distinct_id);
    columns.count.u64(BigInt(row.count));
    columns.timestamp.i64(row.timestamp);
    return fixedBytes + type.length + details.length + event.length + distinct_id.length;
  });
}

/** Bytes of a row in the columns of numbers. */
const fixedBytes = 20;
