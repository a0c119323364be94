// Orders to delete persons. An order is stored, and from then on reads omit its persons; it is carried out a moment
// later, and again when no older event can arrive.

import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import type { HiddenRows } from "../../storage/clickhouse/hidden_rows.ts";
import { awaitDeletions } from "../../storage/cluster/listed_deletion.ts";
import { arrayText, type Postgres, type PostgresFragment } from "../../storage/postgres/postgres.ts";
import { areSeveral, isOrderDue, isPassed } from "../journals_store.ts";
import { personLimits } from "../limits.ts";
import { dueSplits } from "../split/store.ts";
import { type DeletionScope, erase, erasedTables, type Erasure, listDeleted } from "./erase_store.ts";
import { forgetSessions } from "./session_store.ts";

/**
 * Stores an order for each person. `now` is in microseconds. Resolves when no read shows the persons any more, to those
 * whose orders were stored: one that was merged into another in the meantime is left as it is.
 */
export async function orderDeletions(
  sql: Postgres,
  clickhouse: ClickHouse,
  request: DeletionScope & { project_id: number; user_id: number; key_id: string },
  persons: readonly { person_id: string; main_id: string }[],
  now: number,
): Promise<Set<string>> {
  const { project_id, delete_events, delete_recordings, keep_person, user_id, key_id } = request;
  const mains = arrayText(persons.map(({ main_id }) => main_id));
  const uuids = arrayText(persons.map(({ person_id }) => person_id));
  const stored = await sql.begin(async (transaction) => {
    const orders = await transaction<{ id: string; person_id: string }[]>`
      INSERT INTO person_deletion_orders
        (project_id, person_id, delete_events, delete_recordings, keep_person, user_id, key_id, ordered_at)
      SELECT ${project_id}::integer, p.person_id, ${delete_events}::boolean, ${delete_recordings}::boolean,
        ${keep_person}::boolean, ${user_id}::integer, ${key_id}, ${now}::bigint
      FROM unnest(${uuids}::text::uuid[], ${mains}::text::text[]) AS p(person_id, main_id)
      WHERE NOT EXISTS (
        SELECT 1 FROM merged_ids m
        WHERE m.project_id = ${project_id} AND m.distinct_id = p.main_id AND m.main_id <> p.main_id
      )
      RETURNING id::text, person_id::text`;
    const ids = arrayText(orders.map(({ id }) => id));
    await transaction`
      INSERT INTO person_deletion_ids (deletion_id, distinct_id)
      SELECT o.id, i.distinct_id
      FROM unnest(${uuids}::text::uuid[], ${mains}::text::text[]) AS p(person_id, main_id)
      JOIN person_deletion_orders o ON o.id = ANY (${ids}::text::bigint[]) AND o.person_id = p.person_id
      CROSS JOIN LATERAL (
        SELECT distinct_id FROM merged_ids WHERE project_id = ${project_id} AND main_id = p.main_id
        UNION
        SELECT p.main_id
      ) AS i`;
    return orders;
  });
  const ids = stored.map(({ id }) => id);
  if (ids.length > 0) {
    const erasure = { ...request, ids, ordered_at: now };
    if (keep_person || !(await hide(sql, clickhouse, erasure))) await erase(sql, clickhouse, erasure);
  }
  return new Set(stored.map(({ person_id }) => person_id));
}

/** Whether no read shows the persons of the order, and none will until it is carried out. */
async function hide(sql: Postgres, clickhouse: ClickHouse, erasure: Erasure): Promise<boolean> {
  if (clickhouse.cluster || (!clickhouse.embedded && (await areSeveral(sql)))) return false;
  await listDeleted(sql, clickhouse, erasure);
  return await hideOrdered(sql, clickhouse);
}

const orderedAt = (sql: Postgres) => sql`to_timestamp(ordered_at / 1e6)`;
/** The last moment at which the keys of a deleted project may have worked. */
const keysEnd = (sql: Postgres) => sql`ordered_at + make_interval(secs => ${personLimits.goneKeySeconds})`;

const dueOrders = (sql: Postgres) => sql`
  FROM person_deletion_orders WHERE finished_at IS NULL AND ${isOrderDue(sql, orderedAt(sql))}`;
const dueProjects = (sql: Postgres) => sql`
  FROM project_deletions WHERE finished_at IS NULL AND ${isOrderDue(sql, keysEnd(sql))}`;

/** Whether a split or a deletion of a person or a project is due. */
export function isAnyDue(sql: Postgres): PostgresFragment {
  const due = [dueSplits(sql), dueOrders(sql), dueProjects(sql)] as const;
  return sql`(EXISTS (SELECT ${due[0]}) OR EXISTS (SELECT ${due[1]}) OR EXISTS (SELECT ${due[2]}))`;
}

/**
 * Carries out new orders, and again those that every journal has passed. Resolves to the number of orders finished.
 * @param isArchived whether an archive gets the ids of orders, and forgets them.
 */
export async function finishDeletions(
  sql: Postgres,
  clickhouse: ClickHouse,
  stopping?: AbortSignal,
  isArchived = false,
) {
  const due = await sql<(Omit<Erasure, "ids"> & { id: string; passed: boolean })[]>`
    SELECT id::text, project_id, ordered_at, delete_events,
      coalesce(delete_recordings, delete_events) AS delete_recordings, keep_person,
      ${isPassed(sql, orderedAt(sql))} AS passed
    ${dueOrders(sql)}
    ORDER BY id LIMIT ${personLimits.deletionsAtOnce}`;
  let finished = 0;
  // The orders of one request have all other fields in common, and are carried out together.
  for (const orders of Map.groupBy(due, ({ id: _id, ...order }) => JSON.stringify(order)).values()) {
    stopping?.throwIfAborted();
    const ids = orders.map(({ id }) => id);
    await erase(sql, clickhouse, { ...orders[0]!, ids });
    await hideOrdered(sql, clickhouse);
    if (!orders[0]!.passed) continue;
    await forgetSessions(clickhouse, orders[0]!);
    const done = arrayText(ids);
    await sql`
      WITH forgotten AS (
        DELETE FROM person_deletion_ids WHERE NOT ${isArchived}::boolean AND (
          deletion_id = ANY (${done}::text::bigint[])
          OR deletion_id IN (SELECT id FROM person_deletion_orders WHERE finished_at IS NOT NULL))
      )
      UPDATE person_deletion_orders SET finished_at = now() WHERE id = ANY (${done}::text::bigint[])`;
    finished += ids.length;
  }
  return finished;
}

/**
 * Deletes the rows of deleted projects from every table with a project_id: at once, and again when the journals have
 * passed the time until which their keys may have worked. Resolves to the projects finished.
 */
export async function removeGoneProjects(sql: Postgres, clickhouse: ClickHouse): Promise<number[]> {
  const due = await sql<{ project_id: number; passed: boolean }[]>`
    SELECT project_id, ${isPassed(sql, keysEnd(sql))} AS passed ${dueProjects(sql)}
    ORDER BY project_id LIMIT ${personLimits.deletionsAtOnce}`;
  const finished: number[] = [];
  for (const { project_id, passed } of due) {
    const tables = await clickhouse.query<{ table: string }>(
      `SELECT DISTINCT table FROM system.columns
       WHERE database = currentDatabase() AND name = 'project_id' AND table IN
         (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')`,
    );
    for (const { table } of tables) {
      const text = `DELETE FROM ${clickhouse.tables.local(table)} WHERE project_id = {project_id:UInt32}`;
      await awaitDeletions(clickhouse, table, personLimits.deletionMsMax);
      await clickhouse.command(text, { project_id }, { timeoutMs: personLimits.deletionMsMax });
    }
    for (const table of ["merged_ids", "person_splits", "person_activity", "group_types"])
      await sql`DELETE FROM ${sql(table)} WHERE project_id = ${project_id}`;
    await sql`
      UPDATE project_deletions
      SET begun_at = coalesce(begun_at, now()), finished_at = CASE WHEN ${passed} THEN now() END
      WHERE project_id = ${project_id}`;
    if (passed) finished.push(project_id);
  }
  return finished;
}

interface Ordered extends DeletionScope {
  project_id: number;
  /** Microseconds since 1970. */
  ordered_at: string;
}

/**
 * Updates which rows are hidden. @returns whether all ordered persons are: not on a cluster, where filters of reads do
 * not reach the shards' tables, not where the engine cannot, and not with too many orders to name in each read.
 */
export async function hideOrdered(sql: Postgres, clickhouse: ClickHouse): Promise<boolean> {
  if (clickhouse.cluster) return false;
  const orders = await sql<Ordered[]>`
    SELECT DISTINCT project_id, ordered_at::text, delete_events,
      coalesce(delete_recordings, delete_events) AS delete_recordings, keep_person
    FROM person_deletion_orders
    WHERE finished_at IS NULL AND begun_at IS NULL AND NOT keep_person
    ORDER BY 2, 1 LIMIT ${personLimits.hiddenOrdersMax + 1}`;
  if (orders.length > 0 && !(await clickhouse.canHide())) return false;
  const projects = Map.groupBy(orders.slice(0, personLimits.hiddenOrdersMax), (order) => order.project_id);
  const hidden = new Map([...projects].map(([id, ofProject]) => [id, hiddenRows(id, ofProject)]));
  clickhouse.hide("deleted", hidden.size === 0 ? undefined : (project_id) => hidden.get(project_id));
  return orders.length <= personLimits.hiddenOrdersMax;
}

/** Keyed by table, the rows that a deletion will remove: those that had arrived by its order. */
function hiddenRows(project_id: number, orders: readonly Ordered[]): HiddenRows {
  const rows: HiddenRows = {};
  for (const { isErased, tables } of erasedTables) {
    const moments = orders
      .filter(isErased)
      .map(({ ordered_at }) => `fromUnixTimestamp64Micro(${ordered_at}, 'UTC')`);
    if (moments.length === 0) continue;
    const ids = `SELECT id_hash FROM deleted_ids
        WHERE project_id = ${project_id} AND deleted_at IN (${moments.join()})`;
    for (const [table, { id = "distinct_id", arrived }] of Object.entries(tables)) {
      const until = arrived === undefined ? "" : ` AND ${arrived} <= ${moments.at(-1)}`;
      rows[table] = `project_id = ${project_id} AND sipHash64(${id}) IN (${ids})${until}`;
    }
  }
  return rows;
}
