// Groups read back from ClickHouse, in the order of their types and keys; `$groupidentify` makes them.

import { blocksOf, checkFits } from "../http/pages/page.ts";
import { type ClickHouse, isTooBig, type QueryOptions } from "../storage/clickhouse/clickhouse.ts";
import { queryOptions, wholePageOptions } from "../storage/clickhouse/query_options.ts";
import { conditionsOf } from "../storage/events/conditions.ts";

export interface Group {
  group_type: string;
  group_key: string;
  /** JSON text of an object. */
  properties: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC. */
  created_at: string;
}

interface GroupFilter {
  group_type?: string | undefined;
  group_key?: string | undefined;
}

/** The keys of groups that match, of group types that the project has. */
function matching(project_id: number, filter: GroupFilter) {
  const { where, params } = conditionsOf(project_id, { ...filter }, {});
  const known = "group_type IN (SELECT group_type FROM group_types WHERE project_id = {project_id:UInt32})";
  const keys = `SELECT group_type, group_key FROM groups_seen WHERE ${where} AND ${known}
    GROUP BY group_type, group_key`;
  return { keys, params };
}

/** The number of groups that match. */
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

interface GroupKey {
  group_type: string;
  group_key: string;
}

/** The keys on a page of groups that match, sorted by type and key. */
export async function listGroupKeys(
  clickhouse: ClickHouse,
  project_id: number,
  filter: GroupFilter,
  page: { limit: number; offset: number },
): Promise<GroupKey[]> {
  const { keys: all, params } = matching(project_id, filter);
  return await clickhouse.query<GroupKey>(
    `${all} ORDER BY group_type, group_key LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { ...params, ...page },
    { ...queryOptions, settings: { ...queryOptions.settings, optimize_aggregation_in_order: 1 } },
  );
}

/**
 * These groups, sorted by type and key: in one block when they are small, in several when they are large.
 * @throws Fault with attr `limit` when their properties exceed httpLimits.pageBytesMax.
 */
export async function* groupBlocks(
  clickhouse: ClickHouse,
  project_id: number,
  keys: readonly GroupKey[],
): AsyncGenerator<Group[], void> {
  if (keys.length === 0) return;
  const whole = await readGroups(clickhouse, project_id, keys, wholePageOptions).catch((thrown: unknown) => {
    if (!isTooBig(thrown)) throw thrown;
    return undefined;
  });
  if (whole) {
    yield whole;
    return;
  }
  const bytes = await keptBytes(clickhouse, project_id, keys);
  const sizeOf = (key: GroupKey) => bytes.get(nameOf(key)) ?? 0;
  checkFits(keys.map(sizeOf));
  for (const block of blocksOf(keys, sizeOf))
    yield await readGroups(clickhouse, project_id, block, queryOptions);
}

function nameOf({ group_type, group_key }: GroupKey): string {
  return JSON.stringify([group_type, group_key]);
}

const ofKeys = `project_id = {project_id:UInt32}
  AND group_type IN {types:Array(String)} AND group_key IN {keys:Array(String)}
  AND (group_type, group_key) IN (SELECT arrayJoin(arrayZip({types:Array(String)}, {keys:Array(String)})))`;

function keyParams(project_id: number, keys: readonly GroupKey[]): Record<string, unknown> {
  return { project_id, types: keys.map((one) => one.group_type), keys: keys.map((one) => one.group_key) };
}

/** The view folds the properties of these groups only. */
async function readGroups(
  clickhouse: ClickHouse,
  project_id: number,
  keys: readonly GroupKey[],
  options: QueryOptions,
): Promise<Group[]> {
  return await clickhouse.query<Group>(
    `SELECT group_type, group_key, properties, created_at FROM groups WHERE ${ofKeys}
     ORDER BY group_type, group_key`,
    keyParams(project_id, keys),
    options,
  );
}

/** Bytes of stored properties of each group, by nameOf(). Rows that are not merged yet count separately. */
async function keptBytes(
  clickhouse: ClickHouse,
  project_id: number,
  keys: readonly GroupKey[],
): Promise<Map<string, number>> {
  const rows = await clickhouse.query<GroupKey & { bytes: string }>(
    `SELECT group_type, group_key, sum(length(w.4) + length(key)) AS bytes FROM group_props WHERE ${ofKeys}
     GROUP BY group_type, group_key`,
    keyParams(project_id, keys),
    queryOptions,
  );
  return new Map(rows.map((row) => [nameOf(row), Number(row.bytes)]));
}
