// Which persons are on a page, and how many there are, as ClickHouse has them.

import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { queryOptions } from "../../storage/clickhouse/query_options.ts";

/** Properties that a search looks at. */
const searchedKeys = ["email", "Email", "name", "Name", "username", "Username"];

const holds = (text: string) => `positionCaseInsensitiveUTF8(${text}, {search:String}) > 0`;

/**
 * Main ids of persons with a distinct id, e-mail address or name that contains the text. Stored rows are searched
 * first, and only their keys are folded to current values: folding all takes ten times as long.
 */
const found = `(SELECT if(m.main_id = '', c.distinct_id, m.main_id) AS main
  FROM (
    SELECT distinct_id FROM seen
    WHERE project_id = {project_id:UInt32} AND ${holds("distinct_id")}
    UNION ALL
    SELECT distinct_id FROM (
      SELECT distinct_id, max(w).4 AS value FROM person_props
      WHERE project_id = {project_id:UInt32} AND key IN {keys:Array(String)} AND distinct_id IN (
        SELECT distinct_id FROM person_props
        WHERE project_id = {project_id:UInt32} AND key IN {keys:Array(String)} AND ${holds("JSONExtractString(w.4)")}
      )
      GROUP BY distinct_id, key, kind
    ) WHERE ${holds("JSONExtractString(value)")}
  ) AS c
  LEFT ANY JOIN (
    SELECT distinct_id, main_id FROM merged_ids FINAL WHERE project_id = {project_id:UInt32}
  ) AS m ON c.distinct_id = m.distinct_id)`;

/** Main ids: distinct ids that were seen and are not merged into another. */
const mains = `SELECT distinct_id FROM seen
  WHERE project_id = {project_id:UInt32} AND distinct_id NOT IN (
    SELECT distinct_id FROM merged_ids FINAL WHERE project_id = {project_id:UInt32} AND main_id != distinct_id
  )`;

interface Page {
  limit: number;
  offset: number;
}

/** The number of persons of a project. */
export async function countPersons(clickhouse: ClickHouse, project_id: number): Promise<number> {
  const rows = await clickhouse.query<{ count: string }>(
    `SELECT count() AS count FROM (${mains} GROUP BY distinct_id)`,
    { project_id },
    queryOptions,
  );
  return Number(rows[0]?.count ?? 0);
}

/** The main ids on a page, sorted. */
export async function listMainIds(clickhouse: ClickHouse, project_id: number, page: Page): Promise<string[]> {
  const rows = await clickhouse.query<{ distinct_id: string }>(
    `${mains} GROUP BY distinct_id ORDER BY distinct_id LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { project_id, limit: page.limit, offset: page.offset },
    { ...queryOptions, settings: { ...queryOptions.settings, optimize_aggregation_in_order: 1 } },
  );
  return rows.map(({ distinct_id }) => distinct_id);
}

/** A page of the main ids of persons that match the search, sorted, and how many match. */
export async function searchMainIds(
  clickhouse: ClickHouse,
  project_id: number,
  search: string,
  page: Page,
): Promise<{ count: number; mains: string[] }> {
  const [answer] = await clickhouse.query<{ count: string; mains: string[] }>(
    `SELECT count() AS count, arraySlice(groupArray(distinct_id), {offset:UInt64} + 1, {limit:UInt64}) AS mains
     FROM (${mains} AND distinct_id IN ${found} GROUP BY distinct_id ORDER BY distinct_id)`,
    { project_id, search, keys: searchedKeys, limit: page.limit, offset: page.offset },
    queryOptions,
  );
  return { count: Number(answer?.count ?? 0), mains: answer?.mains ?? [] };
}
