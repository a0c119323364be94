// Queries in ClickHouse for the values of session properties.

import type { ProjectReads } from "../storage/clickhouse/query_options.ts";

/**
 * Values of the property, those of the most sessions first.
 * @param expression the property's expression: see textExpressions.
 * @param part part of the values wanted, in any case; empty for all.
 */
export async function listValues(reads: ProjectReads, expression: string, part: string, limit: number) {
  const rows = await reads.query<{ name: string }>(
    `SELECT ${expression} AS name
     FROM sessions
     WHERE project_id = {project_id:UInt32} AND name != ''
       AND ({part:String} = '' OR positionCaseInsensitiveUTF8(name, {part:String}) > 0)
     GROUP BY name
     ORDER BY count() DESC, name
     LIMIT {limit:UInt64}`,
    { part, limit },
  );
  return rows.map(({ name }) => name);
}
