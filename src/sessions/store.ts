// Queries in ClickHouse for the values of session properties.

import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { queryOptions } from "../storage/clickhouse/query_options.ts";

interface ValueFilter {
  project_id: number;
  /** The property's expression: see textExpressions. */
  expression: string;
  /** Part of the values wanted, in any case; empty for all. */
  part: string;
  limit: number;
}

/** Values of the property, those of the most sessions first. */
export async function listValues(
  clickhouse: ClickHouse,
  { project_id, expression, part, limit }: ValueFilter,
): Promise<string[]> {
  const params = { project_id, part, limit };
  const rows = await clickhouse.query<{ name: string }>(
    `SELECT ${expression} AS name
     FROM sessions
     WHERE project_id = {project_id:UInt32} AND name != ''
       AND ({part:String} = '' OR positionCaseInsensitiveUTF8(name, {part:String}) > 0)
     GROUP BY name
     ORDER BY count() DESC, name
     LIMIT {limit:UInt64}`,
    params,
    queryOptions,
  );
  return rows.map(({ name }) => name);
}
