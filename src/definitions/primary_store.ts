// The property that tells events of one name apart, as people chose it.

import type { Postgres } from "../storage/postgres/postgres.ts";

/** The primary properties of events, by the ids of their definitions. */
export async function readPrimaryProperties(sql: Postgres, project_id: number) {
  const rows = await sql<{ id: string; primary_property: string }[]>`
    SELECT id, primary_property FROM definition_notes
    WHERE project_id = ${project_id} AND primary_property IS NOT NULL`;
  return new Map(rows.map(({ id, primary_property }) => [id, primary_property]));
}
