// The number of a list's events on each day. FINAL costs several times as much as counting. It is needed only where an
// event may have two rows: on days whose rows are in several parts, or in a part that was never merged, since INSERTs
// leave equal rows as they are.

import { filteredOptions, type ProjectReads } from "../storage/clickhouse/query_options.ts";
import type { Conditions } from "../storage/events/conditions.ts";
import { eventLimits } from "./limits.ts";

/** Events of one day. ClickHouse writes 64-bit numbers as text. */
export interface DayCount {
  day: string;
  count: string | number;
}

/**
 * Rows by day and part. A part's name has its partition, first and last block, and level, as in 2024_1_9_2; at level 0
 * it was never merged.
 */
const selectParts = (where: string) => `
  SELECT toDate32(timestamp) AS date, count() AS rows, splitByChar('_', any(_part))[4] AS level,
    any(toDate(timestamp)) AS key
  FROM event_rows WHERE ${where} GROUP BY date, _part_index`;

/** The days of stored events, in the order of a list; for conditions that cost little to check twice. */
export async function countDays(
  reads: ProjectReads,
  { where, params }: Conditions,
  order: "ASC" | "DESC",
): Promise<DayCount[]> {
  // Each shard has parts of its own.
  if (reads.clickhouse.cluster) return await countFinalDays(reads, "stored_events", { where, params }, order);
  // If all rows of a day are in one merged part, no two of them are equal. `key_day` is the day in the table's key,
  // which wraps before 1970 and after 2149.
  const days = await reads.query<DayCount & { is_merged: number; key_day: string }>(
    `SELECT toString(date) AS day, sum(rows) AS count, count() = 1 AND any(level) != '0' AS is_merged,
       toString(any(key)) AS key_day
     FROM (${selectParts(where)}) GROUP BY date ORDER BY date ${order}`,
    params,
  );
  const unmerged = days.filter((item) => !item.is_merged);
  if (unmerged.length === 0) return days;
  const isShort = unmerged.length <= eventLimits.unmergedDaysMax;
  const finals = await reads.query<DayCount>(
    `SELECT toString(toDate32(timestamp)) AS day, count() AS count
     FROM stored_events
     WHERE ${where} ${isShort ? "AND toDate(timestamp) IN {key_days:Array(Date)}" : ""}
     GROUP BY day`,
    { ...params, ...(isShort && { key_days: unmerged.map(({ key_day }) => key_day) }) },
  );
  const countOf = new Map(finals.map(({ day, count }) => [day, count]));
  // A day whose rows were deleted meanwhile has none.
  return days.map(({ day, count, is_merged }) => ({
    day,
    count: is_merged ? count : (countOf.get(day) ?? 0),
  }));
}

/** Variant of countDays(), in one statement over a view of final rows. */
export async function countFinalDays(
  reads: ProjectReads,
  view: "events" | "stored_events",
  { where, params }: Conditions,
  order: "ASC" | "DESC",
): Promise<DayCount[]> {
  return await reads.query<DayCount>(
    `SELECT toString(date) AS day, count
     FROM (SELECT toDate32(timestamp) AS date, count() AS count FROM ${view} WHERE ${where} GROUP BY date)
     ORDER BY date ${order}`,
    params,
    filteredOptions,
  );
}
