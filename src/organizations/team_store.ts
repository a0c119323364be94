// The projects of organizations, as replies show them.

import { arrayText } from "../storage/postgres/array_text.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { projectJson } from "../storage/postgres/rows.ts";
import type { Organization } from "./model.ts";

/**
 * The projects of organizations, read at once. Asked for each organization, Postgres reads all projects every time if
 * one has nearly all, which took 49 s for a page of 10,000.
 */
export async function teamsOf(
  sql: Postgres,
  organization_ids: readonly string[],
): Promise<Map<string, Organization["teams"]>> {
  const rows = await sql<{ organization_id: string; teams: Organization["teams"] }[]>`
    SELECT p.organization_id, json_agg(${projectJson(sql)} ORDER BY p.id) AS teams
    FROM unnest(${arrayText(organization_ids)}::text::uuid[]) AS own (id)
    JOIN projects p ON p.organization_id = own.id
    GROUP BY p.organization_id`;
  return new Map(rows.map((row) => [row.organization_id, row.teams]));
}

/** The projects of one organization `o`. */
export function ownTeams(sql: Postgres) {
  return sql`(
    SELECT coalesce(json_agg(${projectJson(sql)} ORDER BY p.id), '[]')
    FROM projects p WHERE p.organization_id = o.id)`;
}
