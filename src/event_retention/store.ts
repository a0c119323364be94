// Expired rows in ClickHouse: counted, deleted, and removed from the files. Every statement may be repeated. Conditions
// of deletions hold plain values, since the engine may run them later.

import { retentionLimits } from "./limits.ts";
import type { ClickHouse, QueryOptions } from "../storage/clickhouse/clickhouse.ts";
import type { Expiry } from "./expiry.ts";

/** Tables whose rows expire. The first is partitioned by the year of its timestamp, the other one is not. */
export const expiringTables = ["event_rows", "session_facts"] as const;
export type ExpiringTable = (typeof expiringTables)[number];

/** What a statement of a pass needs: a time limit, and the signal that ends it. */
export type RetentionAsk = Pick<QueryOptions, "abort">;

const reading = { timeoutMs: retentionLimits.expiryStatementMsMax, settings: { max_threads: 1 } };
const writing = {
  timeoutMs: retentionLimits.expiryStatementMsMax,
  settings: { lightweight_deletes_sync: 2, mutations_sync: 1 },
};

/** How many rows of events have expired, by year. Each version of a replaced row counts. */
export async function findExpiredEvents(
  clickhouse: ClickHouse,
  expiry: Expiry,
  asking: RetentionAsk = {},
): Promise<{ year: number; rows: number }[]> {
  const { text, params } = conditionOf(expiry, "timestamp");
  // Days in the table's sort key are wrong before 1970, and the index would leave rows out.
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

/** Marks the expired events of a year as deleted: queries no longer find them. */
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
 * How many rows of sessions have expired: those whose last event has. A session has several rows until they merge; of a
 * session that goes on after the cutoff some may be deleted earlier, and the others describe the events that are left.
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

/** The condition of expired rows by their timestamp column, compared as numbers: see findExpiredEvents. */
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
  /** All rows in its files. */
  rows: number;
  /** Deleted rows in its files. */
  masked: number;
  /** The approximate size of its files without them, in bytes. */
  bytes_left: number;
}

/** Partitions with deleted rows in their files. */
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

/** Free bytes of ClickHouse's largest disk. */
export async function freeBytes(clickhouse: ClickHouse, asking: RetentionAsk = {}): Promise<number> {
  const [disk] = await clickhouse.query<{ free: string }>(
    "SELECT max(free_space) AS free FROM system.disks",
    undefined,
    { ...reading, ...asking },
  );
  return Number(disk?.free ?? 0);
}

/** Rewrites a partition's files without deleted rows; the old files stay for some minutes. */
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
