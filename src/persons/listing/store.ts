// Which persons are on a page, and how many there are, as ClickHouse has them.

import type { Page } from "../../http/pages/page.ts";
import { type ProjectReads, queryOptions } from "../../storage/clickhouse/query_options.ts";

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

/** The number of persons of a project. */
export async function countPersons(reads: ProjectReads): Promise<number> {
  const [row] = await reads.query<{ count: string }>(
    `SELECT count() AS count FROM (${mains} GROUP BY distinct_id)`,
  );
  return Number(row?.count ?? 0);
}

/** The main ids on a page, sorted. */
export async function listMainIds(reads: ProjectReads, { limit, offset }: Page): Promise<string[]> {
  const rows = await reads.query<{ distinct_id: string }>(
    `${mains} GROUP BY distinct_id ORDER BY distinct_id LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { limit, offset },
    { ...queryOptions, settings: { ...queryOptions.settings, optimize_aggregation_in_order: 1 } },
  );
  return rows.map(({ distinct_id }) => distinct_id);
}

/** A page of the main ids of persons that match the search, sorted, and how many match. */
export async function searchMainIds(
  reads: ProjectReads,
  search: string,
  { limit, offset }: Page,
): Promise<{ count: number; mains: string[] }> {
  const [answer] = await reads.query<{ count: string; mains: string[] }>(
    `SELECT count() AS count, arraySlice(groupArray(distinct_id), {offset:UInt64} + 1, {limit:UInt64}) AS mains
     FROM (${mains} AND distinct_id IN ${found} GROUP BY distinct_id ORDER BY distinct_id)`,
    { search, keys: searchedKeys, limit, offset },
  );
  return { count: Number(answer?.count ?? 0), mains: answer?.mains ?? [] };
}
