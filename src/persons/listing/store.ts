// Which persons are on a page, and how many there are, as ClickHouse has them.

import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { personQueryOptions } from "../reading/query_options.ts";

/** Keys by which people look for a person. */
const searchedKeys = ["email", "Email", "name", "Name", "username", "Username"];

const holds = (text: string) => `positionCaseInsensitiveUTF8(${text}, {search:String}) > 0`;

/**
 * Ids or their current e-mail addresses and names that hold the text, by the main ids of their persons. Looked for in
 * every stored row first, and of what is found so in what it is now: folding all takes ten times as long.
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

/** Ids that are persons of their own, or main ids. */
const mains = `SELECT distinct_id FROM seen
  WHERE project_id = {project_id:UInt32} AND distinct_id NOT IN (
    SELECT distinct_id FROM merged_ids FINAL WHERE project_id = {project_id:UInt32} AND main_id != distinct_id
  )`;

interface Page {
  limit: number;
  offset: number;
}

/** How many persons there are. */
export async function countPersons(clickhouse: ClickHouse, project_id: number): Promise<number> {
  const rows = await clickhouse.query<{ count: string }>(
    `SELECT count() AS count FROM (${mains} GROUP BY distinct_id)`,
    { project_id },
    personQueryOptions,
  );
  return Number(rows[0]?.count ?? 0);
}

/** The main ids on a page, in their own order. */
export async function listMainIds(clickhouse: ClickHouse, project_id: number, page: Page): Promise<string[]> {
  const rows = await clickhouse.query<{ distinct_id: string }>(
    `${mains} GROUP BY distinct_id ORDER BY distinct_id LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { project_id, limit: page.limit, offset: page.offset },
    { ...personQueryOptions, settings: { ...personQueryOptions.settings, optimize_aggregation_in_order: 1 } },
  );
  return rows.map(({ distinct_id }) => distinct_id);
}

/** The same of persons with an id, an e-mail address or a name that holds the text, and how many those are. */
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
    personQueryOptions,
  );
  return { count: Number(answer?.count ?? 0), mains: answer?.mains ?? [] };
}
