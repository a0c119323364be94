// What a link to an insight or a dashboard shows now, in Postgres.

import type { Postgres } from "../storage/postgres/postgres.ts";
import type { SharedContent } from "../sharing/results.ts";

/** A dashboard's insights and texts; undefined when there is no such dashboard. */
export async function getSharedDashboard(
  sql: Postgres,
  project_id: number,
  id: number,
): Promise<SharedContent | undefined> {
  const [row] = await sql<SharedContent[]>`
    SELECT coalesce(nullif(d.name, ''), 'Dashboard ' || d.id) AS name, coalesce(d.description, '') AS description,
      coalesce((
        SELECT json_agg(
          json_build_object('insight_id', t.insight_id, 'text', t.text_body, 'layouts', t.layouts) ORDER BY t.id)
        FROM dashboard_tiles t LEFT JOIN insights i ON i.id = t.insight_id
        WHERE t.dashboard_id = d.id AND (t.text_body IS NOT NULL OR NOT i.deleted)), '[]') AS tiles
    FROM dashboards d WHERE d.project_id = ${project_id} AND d.id = ${id} AND NOT d.deleted`;
  return row;
}
