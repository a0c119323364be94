// Deletions, as an archive of the journal has them: a backup that is restored with it deletes the same again, since
// events from before come back.

import { arrayText, type Postgres } from "../../storage/postgres/postgres.ts";
import { personLimits } from "../limits.ts";
import type { DeletionScope } from "./erase_store.ts";

/** A distinct id of a person, with the order to delete it. */
export interface ArchivedId extends DeletionScope {
  /** The order's. */
  id: string;
  project_id: number;
  person_id: string;
  user_id: number;
  key_id: string;
  /** Microseconds since 1970. */
  ordered_at: string;
  distinct_id: string;
}

/** The ids of orders that are still known, without the orders in `sent`: the next ones. */
export async function readOrderedIds(sql: Postgres, sent: ReadonlySet<string>, after?: ArchivedId) {
  return await sql<ArchivedId[]>`
    SELECT o.id::text, project_id, person_id::text, delete_events,
      coalesce(delete_recordings, delete_events) AS delete_recordings, keep_person, user_id, key_id,
      ordered_at::text, distinct_id
    FROM person_deletion_orders o JOIN person_deletion_ids i ON i.deletion_id = o.id
    WHERE o.id <> ALL (${arrayText([...sent])}::text::bigint[])
      AND (o.id, distinct_id) > (${after?.id ?? "0"}::text::bigint, ${after?.distinct_id ?? ""})
    ORDER BY o.id, distinct_id LIMIT ${personLimits.archivedIdsAtOnce}`;
}

/** Deleted projects that are not in `sent`: the newest. */
export async function readGoneProjects(sql: Postgres, sent: ReadonlySet<number>): Promise<number[]> {
  const found = await sql<{ project_id: number }[]>`
    SELECT project_id FROM project_deletions WHERE project_id <> ALL (${arrayText([...sent])}::text::integer[])
    ORDER BY ordered_at DESC LIMIT ${personLimits.archivedIdsAtOnce}`;
  return found.map(({ project_id }) => project_id);
}

/** Forgets the ids of those orders that are finished; returns these. */
export async function forgetArchived(sql: Postgres, sent: ReadonlySet<string>): Promise<string[]> {
  const forgotten = await sql<{ id: string }[]>`
    WITH finished AS (
      SELECT id FROM person_deletion_orders
      WHERE id = ANY (${arrayText([...sent])}::text::bigint[]) AND finished_at IS NOT NULL
    ), forgotten AS (DELETE FROM person_deletion_ids WHERE deletion_id IN (SELECT id FROM finished))
    SELECT id::text FROM finished`;
  return forgotten.map(({ id }) => id);
}

/** Stores orders that are to be carried out, if need be again; they may have other numbers here. */
export async function restoreOrders(sql: Postgres, ids: readonly ArchivedId[]): Promise<void> {
  await sql`
    WITH sent AS (
      SELECT * FROM json_to_recordset(${JSON.stringify(ids)}::text::json) AS i (
        project_id integer, person_id uuid, delete_events boolean, delete_recordings boolean, keep_person boolean,
        user_id integer, key_id text, ordered_at bigint, distinct_id text)
    ), known AS (
      UPDATE person_deletion_orders o SET begun_at = NULL, finished_at = NULL
      WHERE (project_id, person_id, ordered_at) IN (SELECT project_id, person_id, ordered_at FROM sent)
      RETURNING id, project_id, person_id, ordered_at
    ), added AS (
      INSERT INTO person_deletion_orders
        (project_id, person_id, delete_events, delete_recordings, keep_person, user_id, key_id, ordered_at)
      SELECT DISTINCT project_id, person_id, delete_events, delete_recordings, keep_person, user_id, key_id, ordered_at
      FROM sent WHERE (project_id, person_id, ordered_at) NOT IN (SELECT project_id, person_id, ordered_at FROM known)
      RETURNING id, project_id, person_id, ordered_at
    )
    INSERT INTO person_deletion_ids (deletion_id, distinct_id)
    SELECT id, distinct_id FROM sent JOIN (SELECT * FROM known UNION ALL SELECT * FROM added) AS orders
      USING (project_id, person_id, ordered_at)
    ON CONFLICT DO NOTHING`;
}
