// The tables of the persons behind a number.

import { sqlTables } from "../sql/compile/lists/tables.ts";
import type { SqlTable } from "../sql/compile/lists/table.ts";
import type { PersonStatement } from "./figure.ts";

const { columns, ...table } = sqlTables["persons"]!;

/** The name of their table in SQL, and in a statement behind behindText(). */
export const behindName = "persons_behind";

/** As the table of persons; whoever has events only has no moment of beginning. */
export const behindTable: SqlTable = {
  ...table,
  source: behindName,
  columns: {
    ...columns,
    created_at: { ...columns["created_at"]!, nullable: true },
    last_seen_at: { ...columns["last_seen_at"]!, nullable: true },
  },
};

/** Stands before a statement that reads the table. */
export function behindText({ text }: PersonStatement): string {
  return `WITH
    behind AS (SELECT DISTINCT person_id FROM (${text})),
    ${behindName} AS (
      SELECT
        {project_id:UInt32} AS project_id, b.person_id AS person_id,
        if(p.project_id = 0, NULL, p.created_at) AS created_at,
        if(p.project_id = 0, NULL, p.last_seen_at) AS last_seen_at,
        p.properties AS properties, p.is_identified AS is_identified, p.distinct_ids AS distinct_ids
      FROM behind AS b LEFT ANY JOIN (
        SELECT project_id, person_id, created_at, last_seen_at, properties, is_identified, distinct_ids FROM persons
        WHERE project_id = {project_id:UInt32} AND person_id GLOBAL IN (SELECT person_id FROM behind)
      ) AS p ON b.person_id = p.person_id)
  `;
}
