// Statements over rows of persons: how many there are of each value, who they are, and their table in SQL.

import { sqlColumns, type SqlTable } from "../sql/compile/lists/table.ts";
import { sqlTables } from "../sql/compile/lists/tables.ts";
import type { FurtherTables } from "../sql/run.ts";
import type { QueryContext } from "../store.ts";
import type { PersonStatement } from "./figure.ts";

const { columns, ...table } = sqlTables["persons"]!;

/** The name of their table in SQL. */
export const behindName = "persons_behind";

/** The table of these persons: as that of persons, but those without a profile have no created_at. */
export function defineBehind({ text, params, adds }: PersonStatement): FurtherTables {
  const { created_at, last_seen_at } = columns;
  const behind: SqlTable = {
    ...table,
    source: behindName,
    columns: {
      ...columns,
      created_at: { ...created_at!, nullable: true },
      last_seen_at: { ...last_seen_at!, nullable: true },
      ...sqlColumns("uuid", "actor_id=person_id"),
      ...(adds === "appearances" && sqlColumns("array", adds)),
      ...(adds === "event_count" && sqlColumns("number", adds)),
    },
  };
  const addedColumn = adds ? `b.${adds} AS ${adds},` : "";
  const persons =
    adds === "event_count"
      ? `SELECT person_id, sum(events) AS event_count FROM (${text}) GROUP BY person_id`
      : `SELECT DISTINCT person_id${adds ? `, ${adds}` : ""} FROM (${text})`;
  const rows = `WITH
    behind AS (${persons}),
    ${behindName} AS (
      SELECT
        {project_id:UInt32} AS project_id, b.person_id AS person_id, ${addedColumn}
        if(p.project_id = 0, NULL, p.created_at) AS created_at,
        if(p.project_id = 0, NULL, p.last_seen_at) AS last_seen_at,
        p.properties AS properties, p.is_identified AS is_identified, p.distinct_ids AS distinct_ids
      FROM behind AS b LEFT ANY JOIN (
        SELECT project_id, person_id, created_at, last_seen_at, properties, is_identified, distinct_ids FROM persons
        WHERE project_id = {project_id:UInt32} AND person_id GLOBAL IN (SELECT person_id FROM behind)
      ) AS p ON b.person_id = p.person_id)
  `;
  return { tables: { [behindName]: behind }, text: rows, params };
}

export function selectIds(statement: string, index: number): string {
  const ids = `SELECT toUUIDOrNull(toString((tuple(*)).${index + 1})) AS person_id FROM (${statement})`;
  return `SELECT person_id FROM (${ids}) WHERE person_id IS NOT NULL`;
}

/** How many rows there are of each of the values of `columns`. @throws Fault when the query is too heavy. */
export async function personCounts<Row>(
  { run }: QueryContext,
  { text, params }: PersonStatement,
  columns: string,
): Promise<(Row & { persons: string | number })[]> {
  return await run(`SELECT ${columns}, count() AS persons FROM (${text}) GROUP BY ${columns}`, params);
}

/** The persons of the rows for which a condition holds. @param values what the condition has in braces. */
export function personsWhere(
  { text, params }: PersonStatement,
  condition: string,
  values: Record<string, unknown>,
): PersonStatement {
  return { text: `SELECT person_id FROM (${text}) WHERE ${condition}`, params: { ...params, ...values } };
}
