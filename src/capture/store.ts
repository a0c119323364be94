// Where capture's own facts rest: which batches ClickHouse has, and how far each journal has come. Never
// holds events back.

import { limits } from "../core/limits.ts";
import type { ClickHouse } from "../storage/clickhouse.ts";
import type { Postgres } from "../storage/postgres.ts";

/**
 * Whether any row of a batch is in ClickHouse. One batch is one part, so a row found means all of them were
 * committed;
 * rows collapsed by ReplacingMergeTree make counting wrong, so nothing is counted.
 */
export async function batchIsStored(clickhouse: ClickHouse, table: string, batch: bigint): Promise<boolean> {
  const found = await clickhouse.query<{ found: number }>(
    "SELECT 1 AS found FROM {table:Identifier} WHERE _batch = {batch:UInt64} LIMIT 1",
    { table, batch: batch.toString() },
  );
  return found.length > 0;
}

/** Registers a journal by its name, once; resolves to its number. */
export async function registerJournal(sql: Postgres, name: string): Promise<number> {
  const rows = await sql<{ id: number }[]>`
    INSERT INTO journals (name) VALUES (${name})
    ON CONFLICT (name) DO UPDATE SET name = excluded.name
    RETURNING id`;
  const id = rows[0]?.id;
  if (id === undefined) throw new Error("the journal was not registered");
  return id;
}

/** Says how far a journal has come: every row it took before `watermark` (microseconds) is in ClickHouse. */
export async function publishWatermark(
  sql: Postgres,
  name: string,
  watermark: number,
  now: number,
): Promise<void> {
  await sql`
    UPDATE journals
    SET watermark = to_timestamp(${watermark / 1e6}), seen_at = to_timestamp(${now / 1e3})
    WHERE name = ${name}`;
}

/** Live events of the last `minutes`, by project and minute since 1970: what the watch for spikes missed. */
export async function recentMinutes(
  clickhouse: ClickHouse,
  now: number,
  minutes: number,
): Promise<{ project_id: number; minute: number; events: number }[]> {
  const rows = await clickhouse.query<{ project_id: number; minute: string; events: string }>(
    `SELECT project_id, intDiv(toUnixTimestamp64Milli(created_at), 60000) AS minute, count() AS events
     FROM event_rows
     WHERE created_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND NOT historical_migration
     GROUP BY project_id, minute
     LIMIT {rows:UInt64}`,
    { from: now - minutes * 60_000, rows: minutes * limits.spikeProjectsMax },
  );
  return rows.map(({ project_id, minute, events }) => ({
    project_id,
    minute: Number(minute),
    events: Number(events),
  }));
}
