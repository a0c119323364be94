// Groups read back from ClickHouse, in the order of their types and keys. Never makes one: `$groupidentify` does.

import { limits } from "../core/limits.ts";
import type { ClickHouse, QueryOptions } from "../storage/clickhouse.ts";
import { conditionsOf } from "../storage/conditions.ts";

export interface Group {
  group_type: string;
  group_key: string;
  /** JSON text of an object. */
  properties: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC. */
  created_at: string;
}

const queryOptions: QueryOptions = {
  timeoutMs: (limits.querySecondsMax + 5) * 1000,
  settings: { max_execution_time: limits.querySecondsMax, date_time_output_format: "simple", max_threads: 1 },
};

export interface GroupFilter {
  group_type?: string | undefined;
  group_key?: string | undefined;
}

/** Groups of types that the project has. */
function matching(project_id: number, filter: GroupFilter) {
  const { where, params } = conditionsOf(project_id, { ...filter }, {});
  const known = "group_type IN (SELECT group_type FROM group_types WHERE project_id = {project_id:UInt32})";
  const keys = `SELECT group_type, group_key FROM groups_seen WHERE ${where} AND ${known}
    GROUP BY group_type, group_key`;
  return { keys, params };
}

/** How many groups match. */
export async function countGroups(
  clickhouse: ClickHouse,
  project_id: number,
  filter: GroupFilter,
): Promise<number> {
  const { keys, params } = matching(project_id, filter);
  const rows = await clickhouse.query<{ count: string }>(
    `SELECT count() AS count FROM (${keys})`,
    params,
    queryOptions,
  );
  return Number(rows[0]?.count ?? 0);
}

/** The page of groups that match. */
export async function listGroups(
  clickhouse: ClickHouse,
  project_id: number,
  filter: GroupFilter,
  page: { limit: number; offset: number },
): Promise<Group[]> {
  const { keys: all, params } = matching(project_id, filter);
  const keys = await clickhouse.query<{ group_type: string; group_key: string }>(
    `${all} ORDER BY group_type, group_key LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { ...params, ...page },
    { ...queryOptions, settings: { ...queryOptions.settings, optimize_aggregation_in_order: 1 } },
  );
  if (keys.length === 0) return [];
  // The view folds the properties of these keys alone.
  return await clickhouse.query<Group>(
    `SELECT group_type, group_key, properties, created_at FROM groups
     WHERE project_id = {project_id:UInt32}
       AND group_type IN {types:Array(String)} AND group_key IN {keys:Array(String)}
       AND (group_type, group_key) IN (SELECT arrayJoin(arrayZip({types:Array(String)}, {keys:Array(String)})))
     ORDER BY group_type, group_key`,
    { project_id, types: keys.map((one) => one.group_type), keys: keys.map((one) => one.group_key) },
    queryOptions,
  );
}
