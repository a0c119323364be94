// Queries in ClickHouse for the values of session properties.

import type { ProjectReads } from "../storage/clickhouse/query_options.ts";

/** Reading a million sessions takes half a second; a name's values are those of the present. */
const sessionsMax = 1_000_000;

/**
 * Values of the property among the `newest` sessions by their ids, which rise with time in PostHog's SDKs, those of the
 * most sessions first.
 * @param expression the property's expression: see textExpressions.
 * @param part part of the values wanted, in any case; empty for all.
 */
export async function listValues(
  reads: ProjectReads,
  expression: string,
  { part, limit, newest = sessionsMax }: { part: string; limit: number; newest?: number },
) {
  const rows = await reads.query<{ name: string }>(
    `SELECT ${expression} AS name
     FROM sessions
     WHERE project_id = {project_id:UInt32} AND name != ''
       AND session_id >= (
         SELECT min(session_id) FROM (
           SELECT session_id FROM session_facts WHERE project_id = {project_id:UInt32}
           ORDER BY session_id DESC LIMIT {newest:UInt64}
         )
       )
       AND ({part:String} = '' OR positionCaseInsensitiveUTF8(name, {part:String}) > 0)
     GROUP BY name
     ORDER BY count() DESC, name
     LIMIT {limit:UInt64}`,
    { part, limit, newest },
  );
  return rows.map(({ name }) => name);
}
