// Deletes persons in both stores. Every step may be repeated.

import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { arrayText, type Postgres } from "../../storage/postgres/postgres.ts";
import { type ListedIds, mirrorMerges, withListedIds } from "../mirror_store.ts";
import { forgetMerges } from "./merges_store.ts";
import { eraseSessions } from "./session_store.ts";

export interface DeletionScope {
  delete_events: boolean;
  delete_recordings: boolean;
  /** True: the person stays, with its properties and merges. */
  keep_person: boolean;
}

/** Persons of one project that are deleted together; their distinct ids are in person_deletion_ids. */
export interface Erasure extends DeletionScope {
  project_id: number;
  /** Ids of the stored orders, one for each person. */
  ids: string[];
  /** Rows that arrived until then are deleted; microseconds since 1970. */
  ordered_at: number;
}

/**
 * The tables of each part of a deletion. `id`: a row's distinct id, where no column has it. `arrived`: its arrival;
 * without one, rows that arrive until the deletion is carried out belong to it, too.
 */
export const erasedTables: readonly {
  isErased: (scope: DeletionScope) => boolean;
  tables: Readonly<Record<string, { id?: string; arrived?: string }>>;
}[] = [
  {
    isErased: ({ keep_person }) => !keep_person,
    tables: { seen: { arrived: "arrived" }, person_props: {} },
  },
  {
    isErased: ({ delete_events }) => delete_events,
    tables: {
      event_rows: { arrived: "created_at" },
      // As they are hidden; they are removed by their session.
      session_facts: { id: "substring(first_seen, 9)" },
      ingestion_warnings: { arrived: "timestamp" },
    },
  },
  {
    isErased: ({ delete_recordings }) => delete_recordings,
    tables: { snapshot_chunks: { arrived: "created_at" }, session_recording_days: {} },
  },
];

const moment = "fromUnixTimestamp64Micro({at:Int64}, 'UTC')";
const fed = `uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration,
  person_mode, pk, pw, pv, gt, gk, rank`;

/** Deletes these persons' data, in one pass for all. Rows that arrived after the order stay, or are derived again. */
export async function erase(sql: Postgres, clickhouse: ClickHouse, erasure: Erasure): Promise<void> {
  const { project_id, ordered_at, keep_person } = erasure;
  const ids = arrayText(erasure.ids);
  const [next] = await sql<{ version: string }[]>`SELECT nextval('merge_versions')::text AS version`;
  const kept = await sql.begin((transaction) => forgetMerges(transaction, erasure));
  await withListedIds(clickhouse, project_id, readIds(sql, ids), async (listed) => {
    const params = { version: next?.version, at: ordered_at };
    if (!keep_person) await recordDeleted(sql, erasure, listed);
    await eraseListed(clickhouse, erasure, listed, params);
  });
  if (kept !== undefined) await mirrorMerges(sql, clickhouse, kept);
  await sql`
    UPDATE person_deletion_orders SET begun_at = coalesce(begun_at, now())
    WHERE id = ANY (${ids}::text::bigint[])`;
}

/** Lists the persons' ids as deleted, which hides their rows until they are removed. */
export async function listDeleted(sql: Postgres, clickhouse: ClickHouse, erasure: Erasure): Promise<void> {
  const { project_id, ids, ordered_at } = erasure;
  await withListedIds(clickhouse, project_id, readIds(sql, arrayText(ids)), async (listed) => {
    await recordDeleted(sql, erasure, listed);
    await insertDeleted(listed, { at: ordered_at });
  });
}

/** Keeps what an export of persons reports, where the project has one. */
async function recordDeleted(sql: Postgres, { project_id, ordered_at: at }: Erasure, listed: ListedIds) {
  const { rows, command } = listed;
  const exports = await sql`
    SELECT FROM batch_exports WHERE project_id = ${project_id} AND model = 'persons' AND NOT deleted LIMIT 1`;
  if (exports.length === 0) return;
  await command(
    `INSERT INTO deleted_persons
       (project_id, distinct_id, person_id, version, created_at, arrived, changed, deleted_at)
     SELECT d.project_id, d.distinct_id, d.person_id, d.version, d.created_at, s.arrived, d.changed_at, ${moment}
     FROM person_distinct_ids AS d
     INNER JOIN
       (SELECT distinct_id, min(arrived) AS arrived FROM seen WHERE ${rows} GROUP BY distinct_id) AS s
       ON d.distinct_id = s.distinct_id
     WHERE d.project_id = {project_id:UInt32} AND d.changed_at <= ${moment}`,
    { at },
  );
}

function readIds(sql: Postgres, ids: string) {
  return sql<{ distinct_id: string }[]>`
    SELECT DISTINCT distinct_id FROM person_deletion_ids WHERE deletion_id = ANY (${ids}::text::bigint[])`;
}

async function insertDeleted({ from, command }: ListedIds, params: Record<string, unknown>) {
  await command(
    `INSERT INTO deleted_ids (project_id, id_hash, deleted_at)
     SELECT {project_id:UInt32}, sipHash64(distinct_id), ${moment} FROM ${from}`,
    params,
  );
}

async function eraseListed(
  clickhouse: ClickHouse,
  scope: Erasure,
  listed: ListedIds,
  params: Record<string, unknown>,
) {
  const { rows, remove, command } = listed;
  if (!scope.keep_person) {
    await insertDeleted(listed, params);
    await command(
      `INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version, is_deleted)
       SELECT project_id, distinct_id, '', merged_at, created_at, {version:UInt64}, 1
       FROM merged_ids FINAL
       WHERE ${rows} AND created_at <= ${moment}`,
      params,
    );
  }
  if (scope.delete_events)
    await eraseSessions(clickhouse, scope, listed, `${rows} AND created_at <= ${moment}`);
  const parts = erasedTables.filter(({ isErased }) => isErased(scope));
  for (const [table, { id, arrived }] of parts.flatMap(({ tables }) => Object.entries(tables))) {
    if (table === "session_facts") continue;
    // All that is derived of an id is derived again, below, for the events that stay.
    const where = arrived === undefined || table === "seen" ? "1" : `${arrived} <= ${moment}`;
    await remove(table, params, where, id);
  }
  const later = `${rows} AND created_at > ${moment}`;
  if (!scope.keep_person)
    await command(`INSERT INTO event_feed (${fed}) SELECT ${fed} FROM event_rows WHERE ${later}`, params);
}
