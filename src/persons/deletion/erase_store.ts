// What a deletion of persons does in both stores. Every step may be repeated.

import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { sessionsOfStored } from "../../storage/events/sessions.ts";
import { arrayText } from "../../storage/postgres/array_text.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { type ListedIds, withListedIds } from "../listed_ids_store.ts";

/** What of a person is deleted. */
export interface DeletionScope {
  delete_events: boolean;
  delete_recordings: boolean;
  /** True: the person stays, with its properties and merges. */
  keep_person: boolean;
}

/** Persons of one project that are deleted together; their distinct ids are in person_deletion_ids. */
export interface Erasure extends DeletionScope {
  project_id: number;
  /** Of the stored orders, one for each person. */
  ids: string[];
  /** What arrived until then is deleted; microseconds since 1970. */
  ordered_at: number;
}

const moment = "fromUnixTimestamp64Micro({at:Int64}, 'UTC')";
const fed = `uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration,
  person_mode, pk, pw, pv, gt, gk`;

/** Deletes the data of these persons, in one pass for all. What arrived after the order stays, or is derived again. */
export async function erase(sql: Postgres, clickhouse: ClickHouse, erasure: Erasure): Promise<void> {
  const { project_id, ordered_at, keep_person } = erasure;
  const ids = arrayText(erasure.ids);
  const [next] = await sql<{ version: string }[]>`SELECT nextval('merge_versions')::text AS version`;
  if (!keep_person) {
    await sql`
      DELETE FROM merged_ids m USING person_deletion_ids d
      WHERE d.deletion_id = ANY (${ids}::text::bigint[]) AND m.project_id = ${project_id}
        AND m.distinct_id = d.distinct_id AND m.created_at <= ${ordered_at}::bigint`;
  }
  const copied = sql<{ distinct_id: string }[]>`
    SELECT DISTINCT distinct_id FROM person_deletion_ids WHERE deletion_id = ANY (${ids}::text::bigint[])`;
  await withListedIds(clickhouse, project_id, copied, async (listed) => {
    const params = { version: next?.version, at: ordered_at };
    for (const statement of statementsOf(erasure, listed)) await listed.command(statement, params);
  });
  await sql`
    UPDATE person_deletion_orders SET begun_at = coalesce(begun_at, now())
    WHERE id = ANY (${ids}::text::bigint[])`;
}

function statementsOf(scope: DeletionScope, { own, from }: ListedIds): string[] {
  const { delete_events, delete_recordings, keep_person } = scope;
  const arrived = `${own} AND created_at <= ${moment}`;
  const later = `${own} AND created_at > ${moment}`;
  const marks = [
    `INSERT INTO deleted_ids (project_id, id_hash, deleted_at)
     SELECT {project_id:UInt32}, sipHash64(distinct_id), ${moment} FROM ${from}`,
    `INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version, is_deleted)
     SELECT project_id, distinct_id, '', merged_at, created_at, {version:UInt64}, 1
     FROM merged_ids FINAL
     WHERE ${arrived}`,
  ];
  const rows = [
    ...(keep_person ? [] : [`seen WHERE ${own}`, `person_props WHERE ${own}`]),
    ...(delete_events
      ? [
          `event_rows WHERE ${arrived}`,
          `session_facts WHERE project_id = {project_id:UInt32}
             AND substring(first_seen, 9) IN (SELECT distinct_id FROM ${from})`,
          `ingestion_warnings WHERE ${own} AND timestamp <= ${moment}`,
        ]
      : []),
    ...(delete_recordings ? [`snapshot_chunks WHERE ${arrived}`, `session_recording_days WHERE ${own}`] : []),
  ];
  return [
    ...(keep_person ? [] : marks),
    ...rows.map((which) => `DELETE FROM ${which}`),
    // Of the rows deleted above some were of events that stay.
    ...(keep_person ? [] : [`INSERT INTO event_feed (${fed}) SELECT ${fed} FROM event_rows WHERE ${later}`]),
    ...(delete_events ? [sessionsOfStored(later)] : []),
  ];
}
