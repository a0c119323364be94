// Capture's statements: batches inserted, found and derived again, sessions derived, counts of recent minutes; a
// checkpoint of Postgres.

import type { ClickHouse, DerivedInsert, NativeBody } from "../storage/clickhouse/clickhouse.ts";
import { dividesBatches } from "../storage/cluster/placement.ts";
import { insertStoredEventDays } from "../storage/events/event_days.ts";
import { insertStoredSessions, sessionSettings } from "../storage/events/sessions.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { flushLimits } from "./flush/limits.ts";
import { captureLimits } from "./limits.ts";
import type { SeededMinute } from "./warnings/spike.ts";

/**
 * Writes batches as one INSERT: the engine makes a part of each partition they are of, one after the other. When it
 * fails, any of them may be stored, and each of them whole or not at all.
 */
export async function insertBatches(clickhouse: ClickHouse, table: string, body: NativeBody): Promise<void> {
  await clickhouse.insertNative(table, body, {
    timeoutMs: captureLimits.insertMsMax,
    settings: { max_partitions_per_insert_block: captureLimits.insertPartitionsMax },
  });
}

/**
 * Which of these batches are in ClickHouse. One batch is in one part, so a row found means all of them were committed;
 * rows collapsed by ReplacingMergeTree make counting wrong, so nothing is counted.
 *
 * On a cluster a batch has a part on each of several shards, and every row must be found, over all shards. A row that
 * was collapsed is missing here, and so is one that the answering replica has not got yet: sending such a batch again
 * doubles rows only until they are merged, and no view shows that. Where INSERTs wait for a quorum, a row found may be
 * on one replica only: nothing is excluded.
 */
export async function storedBatches(
  clickhouse: ClickHouse,
  table: string,
  counted: readonly { id: bigint; rows: number }[],
): Promise<Set<bigint>> {
  const isDivided = clickhouse.cluster !== undefined && dividesBatches(table);
  const hasNoQuorum = "(SELECT any(value) FROM system.settings WHERE name = 'insert_quorum') = '0'";
  const found = await clickhouse.query<{ batch: string; rows: string }>(
    `SELECT _batch AS batch, ${isDivided ? "uniqExact(_row)" : "1"} AS rows
     FROM {table:Identifier}
     WHERE _batch IN {batches:Array(UInt64)} ${isDivided ? `AND ${hasNoQuorum}` : ""}
     GROUP BY batch
     LIMIT {count:UInt32}`,
    { table, batches: counted.map(({ id }) => id), count: counted.length },
    { kind: "flush" },
  );
  const rows = new Map(found.map((batch) => [BigInt(batch.batch), Number(batch.rows)]));
  const isStored = (batch: { id: bigint; rows: number }) =>
    isDivided ? rows.get(batch.id) === batch.rows : rows.has(batch.id);
  return new Set(counted.filter(isStored).map(({ id }) => id));
}

/**
 * Feeds stored batches once more to the tables that are derived from theirs: the engine may have died between a batch
 * and its views. Changes nothing where they have it, since they fold by least and greatest.
 */
export async function deriveAgain(clickhouse: ClickHouse, table: string, batches: bigint[]): Promise<void> {
  const text = derivations[table];
  if (text === undefined) return;
  await clickhouse.command(text, { batches: batches }, { timeoutMs: captureLimits.insertMsMax });
}

const feedColumns =
  "uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration, " +
  "person_mode, pk, pw, pv, gt, gk, rank";

/** Keyed by table: how what is derived from its rows is derived again. */
const derivations: Readonly<Record<string, string>> = {
  event_rows: `INSERT INTO event_feed (${feedColumns})
    SELECT ${feedColumns.replaceAll(/(\w+)/g, "e.$1")}
    FROM event_rows AS e
    LEFT ANY JOIN (
      SELECT project_id, id_hash, max(deleted_at) AS id_deleted_at FROM deleted_ids GROUP BY project_id, id_hash
    ) AS d ON e.project_id = d.project_id AND sipHash64(e.distinct_id) = d.id_hash
    WHERE e._batch IN {batches:Array(UInt64)} AND e.created_at > d.id_deleted_at`,
  snapshot_chunks: `INSERT INTO session_recording_days
      (project_id, day, session_hash, distinct_id, start_time, expires_at, lacks_full_snapshot, last_received_at)
    SELECT c.project_id, toDate32(c.first_at) AS day, c.session_hash, c.distinct_id, min(c.first_at),
      max(c.expires_at), min(c.lacks_full_snapshot), max(c.created_at)
    FROM snapshot_chunks AS c
    WHERE c._batch IN {batches:Array(UInt64)}
    GROUP BY c.project_id, day, c.session_hash, c.distinct_id`,
};

/** One of the parts into which the numbers of rows in their batches divide these. */
export interface BatchPart {
  parts: number;
  part: number;
}

/** Derives the sessions of the journal's blocks, or the days of their events. Doing so again changes nothing. */
export async function deriveBlocks(
  clickhouse: ClickHouse,
  insert: DerivedInsert,
  body: NativeBody,
): Promise<void> {
  const options = { timeoutMs: captureLimits.insertMsMax, settings: sessionSettings };
  await clickhouse.insertDerived(insert, body, options);
}

/**
 * Derives sessions and days of stored batches, or of a part of them, from event_rows. That reads every event of their
 * years once these are merged: it is for rows whose blocks cannot be sent again.
 */
export async function deriveStored(
  clickhouse: ClickHouse,
  batches: bigint[],
  { parts, part }: BatchPart = { parts: 1, part: 0 },
): Promise<void> {
  const inBatches = "_batch IN {batches:Array(UInt64)}";
  const which = parts === 1 ? inBatches : `${inBatches} AND _row % {parts:UInt32} = {part:UInt32}`;
  const options = { timeoutMs: captureLimits.insertMsMax, settings: sessionSettings };
  for (const text of [insertStoredSessions(which), insertStoredEventDays(which)])
    await clickhouse.command(text, { batches, parts, part }, options);
}

/**
 * Live events of the last `minutes`, by project and minute since 1970: what the spike watch missed before the start.
 */
export async function recentMinutes(
  clickhouse: ClickHouse,
  now: number,
  minutes: number,
): Promise<({ project_id: number } & SeededMinute)[]> {
  const rows = await clickhouse.query<{ project_id: number; minute: string; events: string; since: string }>(
    `SELECT project_id, intDiv(toUnixTimestamp64Milli(created_at), 60000) AS minute, count() AS events,
       min(toUnixTimestamp64Milli(created_at)) AS since
     FROM event_rows
     WHERE created_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND NOT historical_migration
     GROUP BY project_id, minute
     LIMIT {rows:UInt64}`,
    { from: now - minutes * 60_000, rows: minutes * captureLimits.spikeProjectsMax },
  );
  return rows.map(({ project_id, minute, events, since }) => ({
    project_id,
    minute: Number(minute),
    since: Number(since),
    events: Number(events),
  }));
}

/** After a checkpoint Postgres uses files of its log again, where it would make others. */
export async function checkpointPostgres(sql: Postgres): Promise<void> {
  await sql`CHECKPOINT`;
}

export type SessionBacklog = ReturnType<typeof openSessionBacklog>;

/**
 * Batches whose sessions ClickHouse refused to derive. They wait in Postgres, so that no file of the journal waits for
 * them, and any server derives them from the stored rows. Deriving twice changes nothing.
 */
export function openSessionBacklog(sql: Postgres) {
  const toTexts = (batches: readonly bigint[]) => batches.map(String);
  return {
    add: async (batches: readonly bigint[]) => {
      await sql`
        INSERT INTO session_backlog (batch) SELECT unnest(${toTexts(batches)}::text[]) ON CONFLICT DO NOTHING`;
    },
    /** The batches that wait longest, at most flushLimits.backlogStepBatchesMax, and how many wait in all. */
    read: async () => {
      const rows = await sql<{ batch: string; count: string }[]>`
        SELECT batch, (SELECT count(*) FROM session_backlog) AS count
        FROM session_backlog ORDER BY added_at, batch LIMIT ${flushLimits.backlogStepBatchesMax}`;
      return { oldest: rows.map(({ batch }) => BigInt(batch)), count: Number(rows[0]?.count ?? 0) };
    },
    remove: async (batches: readonly bigint[]) => {
      await sql`DELETE FROM session_backlog WHERE batch = ANY(${toTexts(batches)}::text[])`;
    },
  };
}
