// Deleting for good: persons with all that is known of them, and what is left of deleted projects. Never forgets an
// order: it is written down first, carried out at once, and again when nothing older can arrive any more.

import { limits } from "../../core/limits.ts";
import type { ClickHouse } from "../../storage/clickhouse.ts";
import type { Postgres } from "../../storage/postgres.ts";

export interface DeletionOrder {
  project_id: number;
  person_id: string;
  main_id: string;
  distinct_ids: string[];
  /** Its events too. */
  delete_events: boolean;
  user_id: number;
  key_id: string;
}

/** An order as it rests. */
interface Order {
  id: number;
  project_id: number;
  distinct_ids: string[];
  delete_events: boolean;
  /** Microseconds since 1970. */
  ordered_at: number;
}

const options = { timeoutMs: limits.deletionMsMax };

/** Writes the order down, undoes the person's merges, and carries it out; `now` in microseconds. */
export async function orderDeletion(
  sql: Postgres,
  clickhouse: ClickHouse,
  order: DeletionOrder,
  now: number,
): Promise<void> {
  const { project_id, main_id, person_id, delete_events, user_id, key_id } = order;
  const [written] = await sql<Order[]>`
    WITH merged AS (
      SELECT distinct_id FROM merged_ids WHERE project_id = ${project_id} AND main_id = ${main_id}
    )
    INSERT INTO person_deletions
      (project_id, person_id, distinct_ids, delete_events, user_id, key_id, ordered_at)
    SELECT ${project_id}::integer, ${person_id}::uuid,
      ARRAY(SELECT distinct_id FROM merged UNION SELECT unnest(${order.distinct_ids}::text[])),
      ${delete_events}::boolean, ${user_id}::integer, ${key_id}, ${now}::bigint
    RETURNING id, project_id, distinct_ids, delete_events, ordered_at`;
  if (written) await deletePerson(sql, clickhouse, written);
}

/** Every step may be repeated. What arrived after the order is fed to the derived tables again. */
async function deletePerson(sql: Postgres, clickhouse: ClickHouse, order: Order): Promise<void> {
  const { id, project_id, distinct_ids: ids, ordered_at, delete_events } = order;
  const params = { project_id, ids, at: ordered_at };
  const [next] = await sql<{ version: string }[]>`SELECT nextval('merge_versions')::text AS version`;
  await sql`
    DELETE FROM merged_ids
    WHERE project_id = ${project_id} AND distinct_id = ANY(${ids}::text[]) AND created_at <= ${ordered_at}::bigint`;
  await clickhouse.command(
    `INSERT INTO deleted_ids (project_id, id_hash, deleted_at)
     SELECT {project_id:UInt32}, sipHash64(arrayJoin({ids:Array(String)})),
       fromUnixTimestamp64Micro({at:Int64}, 'UTC')`,
    params,
    options,
  );
  await clickhouse.command(
    `INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version, is_deleted)
     SELECT project_id, distinct_id, '', merged_at, created_at, {version:UInt64}, 1
     FROM merged_ids FINAL
     WHERE project_id = {project_id:UInt32} AND distinct_id IN {ids:Array(String)}
       AND created_at <= fromUnixTimestamp64Micro({at:Int64}, 'UTC')`,
    { ...params, version: next?.version },
    options,
  );
  const own = "project_id = {project_id:UInt32} AND distinct_id IN {ids:Array(String)}";
  for (const table of ["seen", "person_props"]) {
    await clickhouse.command(`DELETE FROM ${table} WHERE ${own}`, params, options);
  }
  if (delete_events) {
    const deletions = [
      `event_rows WHERE ${own} AND created_at <= fromUnixTimestamp64Micro({at:Int64}, 'UTC')`,
      "session_facts WHERE project_id = {project_id:UInt32} AND substring(first_seen, 9) IN {ids:Array(String)}",
      `snapshot_chunks WHERE ${own} AND created_at <= fromUnixTimestamp64Micro({at:Int64}, 'UTC')`,
      `session_recording_days WHERE ${own}`,
      `ingestion_warnings WHERE ${own} AND timestamp <= fromUnixTimestamp64Micro({at:Int64}, 'UTC')`,
    ];
    for (const which of deletions) await clickhouse.command(`DELETE FROM ${which}`, params, options);
  }
  await clickhouse.command(
    `INSERT INTO event_feed
       (uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration,
        person_mode, pk, pw, pv, gt, gk)
     SELECT uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration,
        person_mode, pk, pw, pv, gt, gk
     FROM event_rows WHERE ${own} AND created_at > fromUnixTimestamp64Micro({at:Int64}, 'UTC')`,
    params,
    options,
  );
  await sql`UPDATE person_deletions SET begun_at = coalesce(begun_at, now()) WHERE id = ${id}`;
}

/**
 * Carries out again what must be: orders that were begun and are complete now, since every journal has passed them,
 * and those whose process died before it had begun. Resolves to how many were finished.
 */
export async function finishDeletions(sql: Postgres, clickhouse: ClickHouse): Promise<number> {
  const orders = await sql<(Order & { passed: boolean })[]>`
    SELECT id, project_id, distinct_ids, delete_events, ordered_at,
      NOT EXISTS (
        SELECT 1 FROM journals
        WHERE coalesce(watermark, created_at) <= to_timestamp(ordered_at / 1e6)
          AND coalesce(seen_at, created_at) > now() - make_interval(days => ${limits.journalGoneDays})
      ) AS passed
    FROM person_deletions
    WHERE finished_at IS NULL
    ORDER BY id LIMIT ${limits.deletionsAtOnce}`;
  let finished = 0;
  for (const order of orders) {
    if (!order.passed) continue;
    await deletePerson(sql, clickhouse, order);
    await sql`UPDATE person_deletions SET finished_at = now(), distinct_ids = NULL WHERE id = ${order.id}`;
    finished++;
  }
  return finished;
}

/**
 * Removes the rows of projects that are gone from every table that has a project: at once, and again when the
 * journals have passed the time until which their keys may have worked. Resolves to the projects finished.
 */
export async function removeGoneProjects(sql: Postgres, clickhouse: ClickHouse): Promise<number[]> {
  const orders = await sql<{ project_id: number; begun: boolean; passed: boolean }[]>`
    SELECT project_id, begun_at IS NOT NULL AS begun,
      NOT EXISTS (
        SELECT 1 FROM journals
        WHERE coalesce(watermark, created_at) <= ordered_at + make_interval(secs => ${limits.goneKeySeconds})
          AND coalesce(seen_at, created_at) > now() - make_interval(days => ${limits.journalGoneDays})
      ) AS passed
    FROM project_deletions
    WHERE finished_at IS NULL
    ORDER BY project_id LIMIT ${limits.deletionsAtOnce}`;
  const finished: number[] = [];
  for (const { project_id, begun, passed } of orders) {
    if (begun && !passed) continue;
    const tables = await clickhouse.query<{ table: string }>(
      `SELECT DISTINCT table FROM system.columns
       WHERE database = currentDatabase() AND name = 'project_id' AND table IN
         (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')`,
    );
    for (const { table } of tables) {
      const text = "DELETE FROM {table:Identifier} WHERE project_id = {project_id:UInt32}";
      await clickhouse.command(text, { table, project_id }, options);
    }
    await sql`DELETE FROM merged_ids WHERE project_id = ${project_id}`;
    await sql`DELETE FROM group_types WHERE project_id = ${project_id}`;
    await sql`
      UPDATE project_deletions
      SET begun_at = coalesce(begun_at, now()), finished_at = CASE WHEN ${passed} THEN now() END
      WHERE project_id = ${project_id}`;
    if (passed) finished.push(project_id);
  }
  return finished;
}
