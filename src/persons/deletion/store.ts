// Deletion of persons with all their data, and of the data of deleted projects. An order is stored first and carried
// out at once. It is carried out again when no older event can arrive any more.

import { newUuid } from "../../core/id.ts";
import { personLimits } from "../limits.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { sessionsOfStored } from "../../storage/events/sessions.ts";
import type { Postgres, PostgresFragment } from "../../storage/postgres/postgres.ts";
import { copyRows } from "../store.ts";

interface DeletionOrder {
  project_id: number;
  person_id: string;
  main_id: string;
  /** Whether the person's events are deleted too. */
  delete_events: boolean;
  user_id: number;
  key_id: string;
}

/** An order as stored; its distinct ids are in person_deletion_ids. */
interface Order {
  id: string;
  project_id: number;
  delete_events: boolean;
  /** Microseconds since 1970. */
  ordered_at: number;
}

const options = { timeoutMs: personLimits.deletionMsMax };

/**
 * Stores the order, undoes the person's merges, and deletes its data. `now` is in microseconds. False when the person
 * was merged into another in the meantime; then nothing is done.
 */
export async function orderDeletion(
  sql: Postgres,
  clickhouse: ClickHouse,
  order: DeletionOrder,
  now: number,
): Promise<boolean> {
  const { project_id, main_id, person_id, delete_events, user_id, key_id } = order;
  const written = await sql.begin(async (transaction) => {
    const [row] = await transaction<Order[]>`
      INSERT INTO person_deletions (project_id, person_id, delete_events, user_id, key_id, ordered_at)
      SELECT ${project_id}::integer, ${person_id}::uuid, ${delete_events}::boolean, ${user_id}::integer, ${key_id},
        ${now}::bigint
      WHERE NOT EXISTS (
        SELECT 1 FROM merged_ids
        WHERE project_id = ${project_id} AND distinct_id = ${main_id} AND main_id <> ${main_id}
      )
      RETURNING id::text, project_id, delete_events, ordered_at`;
    if (row) {
      await transaction`
        INSERT INTO person_deletion_ids (deletion_id, distinct_id)
        SELECT ${row.id}::bigint, distinct_id FROM merged_ids
        WHERE project_id = ${project_id} AND main_id = ${main_id}
        UNION
        SELECT ${row.id}::bigint, ${main_id}`;
    }
    return row;
  });
  if (written) await deletePerson(sql, clickhouse, written);
  return written !== undefined;
}

/** Every step may be repeated. Events that arrived after the order are fed to the derived tables again. */
async function deletePerson(sql: Postgres, clickhouse: ClickHouse, order: Order): Promise<void> {
  const { id, project_id, ordered_at, delete_events } = order;
  const [next] = await sql<{ version: string }[]>`SELECT nextval('merge_versions')::text AS version`;
  await sql`
    DELETE FROM merged_ids m USING person_deletion_ids d
    WHERE d.deletion_id = ${id}::bigint AND m.project_id = ${project_id} AND m.distinct_id = d.distinct_id
      AND m.created_at <= ${ordered_at}::bigint`;
  // A name for this attempt, since two processes may carry out one order at the same time.
  const attempt = newUuid();
  const copied = sql<{ distinct_id: string }[]>`
    SELECT distinct_id FROM person_deletion_ids WHERE deletion_id = ${id}::bigint`;
  await copyRows<{ distinct_id: string }>(copied, clickhouse, "deleting_ids", [
    ["attempt", "String", (out) => out.text(attempt)],
    ["project_id", "UInt32", (out) => out.u32(project_id)],
    ["distinct_id", "String", (out, { distinct_id }) => out.text(distinct_id)],
  ]);
  // The statements name the table of ids; ids are not sent with each.
  const params = { project_id, attempt, version: next?.version, at: ordered_at };
  const ids = "(SELECT distinct_id FROM deleting_ids WHERE attempt = {attempt:UUID})";
  const own = `project_id = {project_id:UInt32} AND distinct_id IN ${ids}`;
  const moment = "fromUnixTimestamp64Micro({at:Int64}, 'UTC')";
  const fed = `uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration,
    person_mode, pk, pw, pv, gt, gk`;
  const deletions = [`seen WHERE ${own}`, `person_props WHERE ${own}`];
  if (delete_events) {
    deletions.push(
      `event_rows WHERE ${own} AND created_at <= ${moment}`,
      `session_facts WHERE project_id = {project_id:UInt32} AND substring(first_seen, 9) IN ${ids}`,
      `snapshot_chunks WHERE ${own} AND created_at <= ${moment}`,
      `session_recording_days WHERE ${own}`,
      `ingestion_warnings WHERE ${own} AND timestamp <= ${moment}`,
    );
  }
  const statements = [
    `INSERT INTO deleted_ids (project_id, id_hash, deleted_at)
     SELECT {project_id:UInt32}, sipHash64(distinct_id), ${moment}
     FROM deleting_ids WHERE attempt = {attempt:UUID}`,
    `INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version, is_deleted)
     SELECT project_id, distinct_id, '', merged_at, created_at, {version:UInt64}, 1
     FROM merged_ids FINAL
     WHERE ${own} AND created_at <= ${moment}`,
    ...deletions.map((which) => `DELETE FROM ${which}`),
    `INSERT INTO event_feed (${fed}) SELECT ${fed} FROM event_rows WHERE ${own} AND created_at > ${moment}`,
    // Of the rows deleted above some were of events that stay.
    ...(delete_events ? [sessionsOfStored(`${own} AND created_at > ${moment}`)] : []),
  ];
  for (const statement of statements) await clickhouse.command(statement, params, options);
  await clickhouse.command("ALTER TABLE deleting_ids DROP PARTITION {attempt:UUID}", { attempt }, options);
  await sql`UPDATE person_deletions SET begun_at = coalesce(begun_at, now()) WHERE id = ${id}::bigint`;
}

/**
 * Whether every journal has passed the moment, so that no older row arrives any more. A journal that was not seen for
 * long does not count.
 */
function isPassed(sql: Postgres, moment: PostgresFragment): PostgresFragment {
  return sql`NOT EXISTS (
    SELECT 1 FROM journals
    WHERE coalesce(watermark, created_at) <= ${moment}
      AND coalesce(seen_at, created_at) > now() - make_interval(days => ${personLimits.journalGoneDays}))`;
}

/** Carries out again the orders that every journal has passed. Resolves to the number of orders finished. */
export async function finishDeletions(sql: Postgres, clickhouse: ClickHouse): Promise<number> {
  const passed = isPassed(sql, sql`to_timestamp(ordered_at / 1e6)`);
  const orders = await sql<(Order & { passed: boolean })[]>`
    SELECT id::text, project_id, delete_events, ordered_at, ${passed} AS passed
    FROM person_deletions
    WHERE finished_at IS NULL
    ORDER BY id LIMIT ${personLimits.deletionsAtOnce}`;
  let finished = 0;
  for (const order of orders) {
    if (!order.passed) continue;
    await deletePerson(sql, clickhouse, order);
    await sql`
      WITH forgotten AS (DELETE FROM person_deletion_ids WHERE deletion_id = ${order.id}::bigint)
      UPDATE person_deletions SET finished_at = now() WHERE id = ${order.id}::bigint`;
    finished++;
  }
  return finished;
}

/**
 * Deletes the rows of deleted projects from every table with a project_id: at once, and again when the journals have
 * passed the time until which their keys may have worked. Resolves to the projects finished.
 */
export async function removeGoneProjects(sql: Postgres, clickhouse: ClickHouse): Promise<number[]> {
  const keysEnd = sql`ordered_at + make_interval(secs => ${personLimits.goneKeySeconds})`;
  const orders = await sql<{ project_id: number; begun: boolean; passed: boolean }[]>`
    SELECT project_id, begun_at IS NOT NULL AS begun, ${isPassed(sql, keysEnd)} AS passed
    FROM project_deletions
    WHERE finished_at IS NULL
    ORDER BY project_id LIMIT ${personLimits.deletionsAtOnce}`;
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
