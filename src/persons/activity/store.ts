// What was done to persons through the API: who, when, and to whom. Changes have a table, deletions are read from their
// orders.

import type { User } from "../../http/fields/user.ts";
import type { Postgres, PostgresFragment } from "../../storage/postgres/postgres.ts";
import { userJson } from "../../storage/postgres/rows.ts";
import { personLimits } from "../limits.ts";

/** What the table keeps; deletions have other words. */
export type PersonChange = "updated" | "delete_property" | "split_person";

interface ChangeMade {
  project_id: number;
  person_id: string;
  activity: PersonChange;
  user_id: number;
  key_id: string;
  at: Date;
}

/** Keeps the newest `activityRowsMax` of a project. */
export async function recordChange(sql: Postgres, change: ChangeMade): Promise<void> {
  const { project_id, person_id, activity, user_id, key_id, at } = change;
  await sql`
    INSERT INTO person_activity (project_id, person_id, activity, user_id, key_id, created_at)
    VALUES (${project_id}, ${person_id}, ${activity}, ${user_id}, ${key_id}, ${at})`;
  await sql`
    DELETE FROM person_activity
    WHERE project_id = ${project_id} AND id <= (
      SELECT id FROM person_activity WHERE project_id = ${project_id}
      ORDER BY id DESC LIMIT 1 OFFSET ${personLimits.activityRowsMax}
    )`;
}

export interface ActivityRow {
  id: string;
  person_id: string;
  activity: PersonChange | "deleted" | "deleted_events" | "deleted_recordings";
  created_at: Date;
  /** Of a deletion: whether nothing is left, and no journal can bring anything back. */
  is_erased: boolean | null;
  user: User | null;
}

/** A page of what was done to the persons of a project, or to one of them, the newest first. */
export async function listActivity(
  sql: Postgres,
  project_id: number,
  person_id: string | undefined,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ count: number; rows: ActivityRow[] }> {
  const own = sql`project_id = ${project_id} ${person_id === undefined ? sql`` : sql`AND person_id = ${person_id}`}`;
  const all = activities(sql, own);
  const [counted] = await sql<{ count: number }[]>`SELECT count(*)::integer AS count FROM (${all}) AS a`;
  const rows = await sql<ActivityRow[]>`
    SELECT a.id, a.person_id, a.activity, a.created_at, a.is_erased, ${userJson(sql, "u")} AS user
    FROM (SELECT * FROM (${all}) AS one ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}) AS a
    LEFT JOIN users u ON u.id = a.user_id
    ORDER BY a.created_at DESC, a.id DESC`;
  return { count: counted?.count ?? 0, rows };
}

function activities(sql: Postgres, own: PostgresFragment): PostgresFragment {
  return sql`
    SELECT 'change-' || id AS id, person_id, activity, user_id, created_at, NULL::boolean AS is_erased
    FROM person_activity WHERE ${own}
    UNION ALL
    SELECT 'deletion-' || id, person_id,
      CASE WHEN NOT keep_person THEN 'deleted' WHEN delete_events THEN 'deleted_events' ELSE 'deleted_recordings' END,
      user_id, to_timestamp(ordered_at / 1e6), finished_at IS NOT NULL
    FROM person_deletion_orders WHERE ${own}`;
}
