// Where capture's own facts rest: which batches ClickHouse has, and how far each journal has come. Never
// holds events back.

import type { ClickHouse } from "../storage/clickhouse.ts";
import type { Postgres } from "../storage/postgres.ts";

/**
 * Whether any row of a batch is in ClickHouse. One batch is one part, so a row found means all of them were
 * committed;
 * rows collapsed by ReplacingMergeTree make counting wrong, so nothing is counted.
 */
export async function batchIsStored(clickhouse: ClickHouse, batch: bigint): Promise<boolean> {
  const found = await clickhouse.query<{ found: number }>(
    "SELECT 1 AS found FROM event_rows WHERE _batch = {batch:UInt64} LIMIT 1",
    { batch: batch.toString() },
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
