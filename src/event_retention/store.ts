// Expired rows in ClickHouse: found, deleted, and taken out of the files. Every statement may be repeated. Conditions
// of deletions are plain values: the engine may carry them out later.

import { retentionLimits } from "./limits.ts";
import type { ClickHouse, QueryOptions } from "../storage/clickhouse/clickhouse.ts";
import type { Expiry } from "./expiry.ts";

/** Tables whose rows expire. The first is parted by the year of its moment, the other one not at all. */
export const expiringTables = ["event_rows", "session_facts"] as const;
export type ExpiringTable = (typeof expiringTables)[number];

/** What a pass asks with: its own time, and the end of its waiting. */
export type RetentionAsk = Pick<QueryOptions, "abort">;

const reading = { timeoutMs: retentionLimits.expiryStatementMsMax, settings: { max_threads: 1 } };
const writing = {
  timeoutMs: retentionLimits.expiryStatementMsMax,
  settings: { lightweight_deletes_sync: 2, mutations_sync: 1 },
};

/** How many rows of events have expired, by the years that hold any. Rows that replace each other count each. */
export async function findExpiredEvents(
  clickhouse: ClickHouse,
  expiry: Expiry,
  asking: RetentionAsk = {},
): Promise<{ year: number; rows: number }[]> {
  const { text, params } = conditionOf(expiry, "timestamp");
  // The days in the table's order go wrong before 1970, where the index would leave rows out.
  const found = await clickhouse.query<{ year: number; rows: string }>(
    `SELECT toYear(timestamp) AS year, count() AS rows FROM event_rows
     WHERE _partition_id >= '1970' AND timestamp < fromUnixTimestamp64Micro({latest:Int64}, 'UTC') AND ${text}
     GROUP BY year
     UNION ALL
     SELECT toYear(timestamp) AS year, count() AS rows FROM event_rows
     WHERE _partition_id < '1970' AND ${text}
     GROUP BY year`,
    { ...params, latest: expiry.before },
    { ...reading, ...asking },
  );
  return found
    .map(({ year, rows }) => ({ year, rows: Number(rows) }))
    .toSorted((one, other) => one.year - other.year);
}

/** Marks the expired events of a year as deleted: from then on no query finds them. */
export async function deleteExpiredEvents(
  clickhouse: ClickHouse,
  expiry: Expiry,
  year: number,
  asking: RetentionAsk = {},
): Promise<void> {
  const { text, params } = conditionOf(expiry, "timestamp");
  const statement = `DELETE FROM event_rows IN PARTITION {year:UInt16} WHERE ${text}`;
  await clickhouse.command(statement, { ...params, year }, { ...writing, ...asking });
}

/**
 * How many rows of sessions have expired: those whose last event has. A session has several rows until they merge; of
 * one that goes on after the cutoff some may go earlier, and the others tell of the events that are left.
 */
export async function countExpiredSessions(
  clickhouse: ClickHouse,
  expiry: Expiry,
  asking: RetentionAsk = {},
): Promise<number> {
  const { text, params } = conditionOf(expiry, "end_time");
  const [found] = await clickhouse.query<{ rows: string }>(
    `SELECT count() AS rows FROM session_facts WHERE ${text}`,
    params,
    { ...reading, ...asking },
  );
  return Number(found?.rows ?? 0);
}

/** The same for sessions. */
export async function deleteExpiredSessions(
  clickhouse: ClickHouse,
  expiry: Expiry,
  asking: RetentionAsk = {},
): Promise<void> {
  const { text, params } = conditionOf(expiry, "end_time");
  await clickhouse.command(`DELETE FROM session_facts WHERE ${text}`, params, { ...writing, ...asking });
}

/** What has expired, by a column that holds its moment. Compared as numbers: see findExpiredEvents. */
function conditionOf(
  { before, projects }: Expiry,
  column: "timestamp" | "end_time",
): { text: string; params: Record<string, unknown> } {
  const moment = `toUnixTimestamp64Micro(${column})`;
  if (!projects) return { text: `${moment} < {before:Int64}`, params: { before } };
  const { ids, before: own } = projects;
  return {
    text: `project_id IN {ids:Array(UInt32)}
      AND ${moment} < transform(project_id, {ids:Array(UInt32)}, {own:Array(Int64)}, toInt64(-9223372036854775808))`,
    params: { ids, own },
  };
}

export interface MaskedPartition {
  partition: string;
  /** All that its files hold. */
  rows: number;
  /** Those that are deleted and still there. */
  masked: number;
  /** About how many bytes its files have without them. */
  bytes_left: number;
}

/** Partitions with rows that are deleted and still in the files. */
export async function findMasked(
  clickhouse: ClickHouse,
  table: ExpiringTable,
  asking: RetentionAsk = {},
): Promise<MaskedPartition[]> {
  const parts = "system.parts WHERE active AND database = currentDatabase() AND table = {name:String}";
  const found = await clickhouse.query<{ partition: string; rows: string; masked: string; bytes: string }>(
    `SELECT m.partition AS partition, m.rows AS rows, m.masked AS masked, s.bytes AS bytes
     FROM (
       SELECT _partition_id AS partition, count() AS rows, countIf(_row_exists = 0) AS masked
       FROM {table:Identifier}
       WHERE _partition_id IN (SELECT partition_id FROM ${parts} AND has_lightweight_delete)
       GROUP BY partition HAVING masked > 0
     ) AS m
     LEFT JOIN (
       SELECT partition_id, sum(bytes_on_disk) AS bytes FROM ${parts} GROUP BY partition_id
     ) AS s ON m.partition = s.partition_id
     ORDER BY partition`,
    { table, name: table },
    { ...reading, ...asking, settings: { ...reading.settings, apply_deleted_mask: 0 } },
  );
  return found.map(({ partition, ...numbers }) => {
    const [rows, masked, bytes] = [Number(numbers.rows), Number(numbers.masked), Number(numbers.bytes)];
    return { partition, rows, masked, bytes_left: Math.ceil((bytes * (rows - masked)) / rows) };
  });
}

/** Free bytes of the largest disk that ClickHouse writes to. */
export async function freeBytes(clickhouse: ClickHouse, asking: RetentionAsk = {}): Promise<number> {
  const [disk] = await clickhouse.query<{ free: string }>(
    "SELECT max(free_space) AS free FROM system.disks",
    undefined,
    { ...reading, ...asking },
  );
  return Number(disk?.free ?? 0);
}

/** Writes a partition's files anew without rows that are deleted; the files of before last some minutes more. */
export async function removeMasked(
  clickhouse: ClickHouse,
  table: ExpiringTable,
  partition: string,
  asking: RetentionAsk = {},
): Promise<void> {
  const where = "IN PARTITION ID {partition:String}";
  await clickhouse.command(
    `ALTER TABLE {table:Identifier} APPLY DELETED MASK ${where}`,
    { table, partition },
    { ...writing, ...asking },
  );
}

/** Why the engine has not carried out earlier deletions yet ("" while it works on them); undefined when it has. */
export async function unfinishedDeletion(clickhouse: ClickHouse): Promise<string | undefined> {
  const [found] = await clickhouse.query<{ reason: string }>(
    `SELECT max(latest_fail_reason) AS reason FROM system.mutations
     WHERE database = currentDatabase() AND table IN {tables:Array(String)} AND NOT is_done
     HAVING count() > 0`,
    { tables: [...expiringTables] },
    reading,
  );
  return found?.reason;
}
