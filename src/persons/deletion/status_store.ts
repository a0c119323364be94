// How far deletions of persons with their events are, read back from their orders.

import { toIso } from "../../http/fields/field_time.ts";
import type { Page } from "../../http/pages/page.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { countedPage } from "../../storage/postgres/rows.ts";

interface OrderRow {
  person_uuid: string;
  created_at: Date;
  finished_at: Date | null;
}

/** A page of a project's deletions, newest first. Absent fields do not filter. */
export async function listDeletionOrders(
  sql: Postgres,
  project_id: number,
  filter: { person_uuid?: string | undefined; status?: "pending" | "completed" | "all" | undefined },
  page: Page,
) {
  const { person_uuid = null, status = "all" } = filter;
  return await countedPage(sql, {
    columns: sql`person_id AS person_uuid, to_timestamp(ordered_at / 1e6) AS created_at, finished_at`,
    from: sql`
      FROM person_deletion_orders WHERE project_id = ${project_id} AND delete_events
      AND (${person_uuid}::uuid IS NULL OR person_id = ${person_uuid})
      AND (${status} = 'all' OR (finished_at IS NOT NULL) = (${status} = 'completed'))`,
    order: sql`id DESC`,
    page,
    show: ({ person_uuid: uuid, created_at, finished_at }: OrderRow) => ({
      person_uuid: uuid,
      created_at: toIso(created_at),
      status: finished_at ? ("completed" as const) : ("pending" as const),
      delete_verified_at: finished_at && toIso(finished_at),
    }),
  });
}
