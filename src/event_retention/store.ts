// Expired rows in ClickHouse: counted, deleted, and removed from the files. Every statement may be repeated. Conditions
// of deletions have literal values, since the engine may run them later. Postgres has passes, with the times of their
// processes, and the retention of projects.

import { limits } from "../core/limits.ts";
import type { ClickHouse, QueryOptions } from "../storage/clickhouse/clickhouse.ts";
import { isFill, stopFill } from "../storage/migrations/fill_store.ts";
import type { Postgres, PostgresFragment } from "../storage/postgres/postgres.ts";
import { type Expiry, type OwnRetention, passDueSince } from "./expiry.ts";
import { retentionLimits } from "./limits.ts";

/** Tables whose rows expire, by this moment. The first is partitioned by its year, the other one is not. */
export const expiringColumns = { event_rows: "timestamp", session_facts: "end_time" } as const;
type ExpiringTable = keyof typeof expiringColumns;
export const expiringTables = Object.keys(expiringColumns) as ExpiringTable[];

/** Tables of recordings, whose rows the engine removes some hours after this moment. */
export const pieceColumns = { snapshot_chunks: "expires_at", session_recording_days: "expires_at" } as const;

const settings = {
  deleting: { lightweight_deletes_sync: 2, mutations_sync: 1 },
  reading: { max_threads: 1 },
};

/** The statements of one pass; `abort` ends the present one. */
export class ExpiredRows {
  readonly #clickhouse: ClickHouse;
  readonly #reading: QueryOptions;
  readonly #writing: QueryOptions;

  constructor(clickhouse: ClickHouse, abort: AbortSignal) {
    const bounds = { timeoutMs: retentionLimits.expiryStatementMsMax, abort };
    this.#clickhouse = clickhouse;
    this.#reading = { ...bounds, settings: settings.reading };
    this.#writing = { ...bounds, settings: settings.deleting };
  }

  /** How many rows of events have expired, by year. Each version of a replaced row counts. */
  async findEvents(expiry: Expiry): Promise<{ year: number; rows: number }[]> {
    const { text, params } = buildCondition(expiry, "timestamp");
    // Days in the table's sort key are wrong before 1970, and the index would leave rows out.
    const found = await this.#clickhouse.query<{ year: number; rows: string }>(
      `SELECT toYear(timestamp) AS year, count() AS rows FROM event_rows
       WHERE _partition_id >= '1970' AND timestamp < fromUnixTimestamp64Micro({latest:Int64}, 'UTC') AND ${text}
       GROUP BY year
       UNION ALL
       SELECT toYear(timestamp) AS year, count() AS rows FROM event_rows
       WHERE _partition_id < '1970' AND ${text}
       GROUP BY year`,
      { ...params, latest: expiry.before },
      this.#reading,
    );
    return found
      .map(({ year, rows }) => ({ year, rows: Number(rows) }))
      .toSorted((left, right) => left.year - right.year);
  }

  /** Marks the expired events of a year as deleted: queries no longer find them. */
  async deleteEvents(expiry: Expiry, year: number): Promise<void> {
    const { text, params } = buildCondition(expiry, "timestamp");
    const { tables } = this.#clickhouse;
    await stopFill(this.#clickhouse);
    const statement = `DELETE FROM ${tables.local("event_rows")} IN PARTITION {year:UInt16} WHERE ${text}`;
    await this.#clickhouse.command(statement, { ...params, year }, this.#writing);
  }

  /**
   * How many rows of sessions have expired: those whose last event has. A session has several rows until they merge; of
   * a session that continues after the cutoff some may be deleted earlier, and the others describe the events that are
   * left.
   */
  async countSessions(expiry: Expiry): Promise<number> {
    const { text, params } = buildCondition(expiry, "end_time");
    const statement = `SELECT count() AS rows FROM session_facts WHERE ${text}`;
    const [found] = await this.#clickhouse.query<{ rows: string }>(statement, params, this.#reading);
    return Number(found?.rows ?? 0);
  }

  /** Deletes expired rows of sessions, which countSessions() counts. */
  async deleteSessions(expiry: Expiry): Promise<void> {
    const { text, params } = buildCondition(expiry, "end_time");
    const statement = `DELETE FROM ${this.#clickhouse.tables.local("session_facts")} WHERE ${text}`;
    await this.#clickhouse.command(statement, params, this.#writing);
  }

  /** Partitions with deleted rows; `bytes_left`: the approximate size of their files without them. */
  async findMasked(table: ExpiringTable) {
    const all = this.#clickhouse.tables.system("parts");
    const parts = `${all} WHERE active AND database = currentDatabase() AND table = {name:String}`;
    const found = await this.#clickhouse.query<Record<"partition" | "rows" | "masked" | "bytes", string>>(
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
      { ...this.#reading, settings: { ...settings.reading, apply_deleted_mask: 0 } },
    );
    return found.map(({ partition, ...numbers }) => {
      const [rows, masked, bytes] = [Number(numbers.rows), Number(numbers.masked), Number(numbers.bytes)];
      return { partition, rows, masked, bytes_left: Math.ceil((bytes * (rows - masked)) / rows) };
    });
  }

  async freeBytes(): Promise<number> {
    const statement = `SELECT max(free_space) AS free FROM ${this.#clickhouse.tables.system("disks")}`;
    const [disk] = await this.#clickhouse.query<{ free: string }>(statement, undefined, this.#reading);
    return Number(disk?.free ?? 0);
  }

  /** Rewrites a partition's files without deleted rows; the old files stay for some minutes. */
  async removeMasked(table: ExpiringTable, partition: string): Promise<void> {
    const localTable = this.#clickhouse.tables.local(table);
    const statement = `ALTER TABLE ${localTable} APPLY DELETED MASK IN PARTITION ID {partition:String}`;
    await this.#clickhouse.command(statement, { partition }, this.#writing);
  }

  /** Why the engine has not carried out earlier deletions yet ("" while it works on them); undefined when it has. */
  async unfinishedDeletion(): Promise<string | undefined> {
    const [found] = await this.#clickhouse.query<{ reason: string }>(
      `SELECT max(latest_fail_reason) AS reason FROM ${this.#clickhouse.tables.system("mutations")}
       WHERE database = currentDatabase() AND table IN {tables:Array(String)} AND NOT is_done
         AND NOT ${isFill}
       HAVING count() > 0`,
      { tables: [...expiringTables] },
      this.#reading,
    );
    return found?.reason;
  }
}

/** The condition of expired rows by their timestamp column, compared as numbers: see findEvents(). */
function buildCondition({ before, projects }: Expiry, column: "timestamp" | "end_time") {
  const moment = `toUnixTimestamp64Micro(${column})`;
  if (!projects) return { text: `${moment} < {before:Int64}`, params: { before } };
  const { ids, before: expiryMoments } = projects;
  return {
    text: `project_id IN {ids:Array(UInt32)}
      AND ${moment} < transform(project_id, {ids:Array(UInt32)}, {own:Array(Int64)}, toInt64(-9223372036854775808))`,
    params: { ids, own: expiryMoments },
  };
}

export type MaskedPartition = Awaited<ReturnType<ExpiredRows["findMasked"]>>[number];

/** Whether a pass is due. Timestamps in the future, written by a clock that was fast, do not count. */
export function isPassDue(sql: Postgres, now: number): PostgresFragment {
  return sql`(q.passed_at IS NULL OR q.passed_at < ${new Date(passDueSince(now))} OR q.passed_at > ${new Date(now)})`;
}

/** Records, before rows are deleted, that files hold deleted rows from now on. */
export async function recordMasked(sql: Postgres, now: number): Promise<void> {
  await sql`
    UPDATE passes SET masked_since = least(masked_since, ${new Date(now)}) WHERE id = 'event retention'`;
}

/** Records that no file holds deleted rows any more. */
export async function recordUnmasked(sql: Postgres): Promise<void> {
  await sql`UPDATE passes SET masked_since = NULL WHERE id = 'event retention'`;
}

/** Projects that keep events for fewer days than `days`, the server's own retention, page by page. */
export async function* listOwnRetentions(sql: Postgres, days: number | undefined) {
  let last: OwnRetention | undefined = { id: 0, days: 0 };
  while (last) {
    const page: OwnRetention[] = await sql<OwnRetention[]>`
      SELECT id, event_retention_days AS days FROM projects
      WHERE (event_retention_days, id) > (${last.days}, ${last.id})
        AND event_retention_days < ${days ?? limits.retentionDaysMax + 1}
      ORDER BY event_retention_days, id
      LIMIT ${retentionLimits.expiryProjectsMax}`;
    if (page.length > 0) yield page;
    last = page.length < retentionLimits.expiryProjectsMax ? undefined : page.at(-1);
  }
}

/** Whether a file may have pieces of recordings that expire before `until`, in ms. */
export async function havePiecesExpired(clickhouse: ClickHouse, until: number): Promise<boolean> {
  const found = await clickhouse.query(
    `SELECT 1 FROM ${clickhouse.tables.system("parts")}
     WHERE active AND database = currentDatabase() AND table IN {tables:Array(String)}
       AND toUnixTimestamp(delete_ttl_info_min) BETWEEN 1 AND {until:UInt64} LIMIT 1`,
    { tables: Object.keys(pieceColumns), until: Math.ceil(until / 1000) },
    { settings: settings.reading },
  );
  return found.length > 0;
}
