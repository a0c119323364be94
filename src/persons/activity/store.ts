// Changes of persons through the API: who changed which person, and when. Changes have a table, deletions are read from
// their orders.

import type { Access } from "../../access/gate.ts";
import type { Page } from "../../http/pages/page.ts";
import type { Postgres, PostgresFragment } from "../../storage/postgres/postgres.ts";
import { countedPage, userJson } from "../../storage/postgres/rows.ts";
import { ownPersonId } from "../identity.ts";
import { personLimits } from "../limits.ts";
import type { PersonActivity } from "../model.ts";

/** The activities in the table; deletions have others. */
export type PersonChange = "updated" | "delete_property" | "split_person";

export interface Changed {
  access: Access;
  project_id: number;
  main_id: string;
}

/** Keeps the newest `activityRowsMax` of a project. `now` is in milliseconds. */
export async function recordChange(sql: Postgres, changed: Changed, activity: PersonChange, now: number) {
  const { access, project_id, main_id } = changed;
  const person_id = ownPersonId(project_id, main_id);
  await sql`
    INSERT INTO person_activity (project_id, person_id, activity, user_id, key_id, created_at)
    VALUES (${project_id}, ${person_id}, ${activity}, ${access.user.id}, ${access.key.id}, ${new Date(now)})`;
  await sql`
    DELETE FROM person_activity
    WHERE project_id = ${project_id} AND id <= (
      SELECT id FROM person_activity WHERE project_id = ${project_id}
      ORDER BY id DESC LIMIT 1 OFFSET ${personLimits.activityRowsMax}
    )`;
}

export interface ActivityRow extends Pick<PersonActivity, "id" | "activity" | "user"> {
  person_id: string;
  created_at: Date;
  /** Whether nothing is left of a deletion, and no journal can restore anything. */
  is_erased: boolean | null;
}

/** A page of the changes of a project's persons, or of one person, newest first. */
export async function listActivity(sql: Postgres, project_id: number, uuid: string | undefined, page: Page) {
  const where = sql`project_id = ${project_id} ${uuid === undefined ? sql`` : sql`AND person_id = ${uuid}`}`;
  return await countedPage(sql, {
    columns: sql`a.id, a.person_id, a.activity, a.created_at, a.is_erased, ${userJson(sql, "u")} AS user`,
    from: sql`FROM (${activities(sql, where)}) AS a LEFT JOIN users u ON u.id = a.user_id`,
    order: sql`a.created_at DESC, a.id DESC`,
    page,
    show: (row: ActivityRow) => row,
  });
}

function activities(sql: Postgres, where: PostgresFragment): PostgresFragment {
  return sql`
    SELECT 'change-' || id AS id, person_id, activity, user_id, created_at, NULL::boolean AS is_erased
    FROM person_activity WHERE ${where}
    UNION ALL
    SELECT 'deletion-' || id, person_id,
      CASE WHEN NOT keep_person THEN 'deleted' WHEN delete_events THEN 'deleted_events' ELSE 'deleted_recordings' END,
      user_id, to_timestamp(ordered_at / 1e6), finished_at IS NOT NULL
    FROM person_deletion_orders WHERE ${where}`;
}
