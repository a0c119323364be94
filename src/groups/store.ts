// Groups read back from ClickHouse; `$groupidentify` makes them.

import { checkFits, cutBlocks, type Page } from "../http/pages/page.ts";
import { type QueryOptions, unlessTooBig } from "../storage/clickhouse/clickhouse.ts";
import {
  orderedOptions,
  type ProjectReads,
  queryOptions,
  wholePageOptions,
} from "../storage/clickhouse/query_options.ts";
import { buildConditions } from "../storage/events/conditions.ts";
import { frequentValues, valueText } from "../storage/events/frequent_values.ts";

/** Names of properties listed for one type of groups, the most frequent ones. */
const propertyNamesMax = 1000;

export interface Group {
  group_type: string;
  group_key: string;
  /** JSON text of an object. */
  properties: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC. */
  created_at: string;
}

export interface GroupFilter {
  types: readonly string[];
  group_key?: string | undefined;
  /** Only groups whose key contains this text. */
  key_part?: string | undefined;
  /** Only groups whose key, or a value of whose properties, contains this text. */
  search?: string | undefined;
  /** The newest groups first; otherwise by type and key. */
  newestFirst: boolean;
}

const contains = (text: string, part: string) => `positionCaseInsensitiveUTF8(${text}, {${part}:String}) > 0`;

/** Stored values are searched first, and only their keys are folded to current values. */
const withValue = `(group_type, group_key) IN (
  SELECT group_type, group_key FROM (
    SELECT group_type, group_key, max(w).4 AS value FROM group_props
    WHERE project_id = {project_id:UInt32} AND group_type IN {types:Array(String)}
      AND (group_type, group_key, key) IN (
        SELECT group_type, group_key, key FROM group_props
        WHERE project_id = {project_id:UInt32} AND group_type IN {types:Array(String)}
          AND ${contains(valueText("w.4"), "search")}
      )
    GROUP BY group_type, group_key, key
  ) WHERE ${contains(valueText("value"), "search")}
)`;

/** The keys of groups that match, of group types that the project has. */
function matching(project_id: number, { types, key_part, search, group_key }: GroupFilter) {
  const { where, params } = buildConditions(project_id, { group_key }, {});
  const clauses = [
    where,
    "group_type IN {types:Array(String)}",
    "group_type IN (SELECT group_type FROM group_types WHERE project_id = {project_id:UInt32})",
    ...(key_part === undefined ? [] : [contains("group_key", "key_part")]),
    ...(search === undefined ? [] : [`(${contains("group_key", "search")} OR ${withValue})`]),
  ];
  const keys = `SELECT group_type, group_key FROM groups_seen WHERE ${clauses.join(" AND ")}
    GROUP BY group_type, group_key`;
  const texts = { ...(key_part !== undefined && { key_part }), ...(search !== undefined && { search }) };
  return { keys, params: { ...params, types, ...texts } };
}

export async function countGroups(reads: ProjectReads, filter: GroupFilter): Promise<number> {
  const { keys, params } = matching(reads.project_id, filter);
  const rows = await reads.query<{ count: string }>(`SELECT count() AS count FROM (${keys})`, params);
  return Number(rows[0]?.count ?? 0);
}

type GroupKey = Pick<Group, "group_type" | "group_key">;

/** The keys on a page of groups that match, in the order of the list. */
export async function listGroupKeys(reads: ProjectReads, filter: GroupFilter, { limit, offset }: Page) {
  const { keys: all, params } = matching(reads.project_id, filter);
  return await reads.query<GroupKey>(
    `${all} ORDER BY ${filter.newestFirst ? "min(first) DESC, " : ""}group_type, group_key
     LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { ...params, limit, offset },
    filter.newestFirst ? queryOptions : orderedOptions,
  );
}

/**
 * These groups, in the order of their keys: in one block when they are small, in several when they are large.
 * @throws Fault with attr `limit` when their properties exceed httpLimits.pageBytesMax.
 */
export async function* groupBlocks(reads: ProjectReads, keys: readonly GroupKey[]) {
  if (keys.length === 0) return;
  const { clickhouse, project_id } = reads;
  const whole = await unlessTooBig(readGroups(reads, keys, wholePageOptions));
  if (whole) yield whole;
  else {
    yield* clickhouse.longReads.withPermit(project_id, async function* () {
      const bytes = await keptBytes(reads, keys);
      const readSize = (key: GroupKey) => bytes.get(nameGroup(key)) ?? 0;
      checkFits(keys.map(readSize));
      for (const block of cutBlocks(keys, readSize)) yield await readGroups(reads, block);
    });
  }
}

function nameGroup({ group_type, group_key }: GroupKey): string {
  return JSON.stringify([group_type, group_key]);
}

const ofKeys = `project_id = {project_id:UInt32}
  AND group_type IN {types:Array(String)} AND group_key IN {keys:Array(String)}
  AND (group_type, group_key) IN (SELECT arrayJoin(arrayZip({types:Array(String)}, {keys:Array(String)})))`;

function keyParams(keys: readonly GroupKey[]): Record<string, unknown> {
  return { types: keys.map((key) => key.group_type), keys: keys.map((key) => key.group_key) };
}

/** The view folds the properties of these groups only. */
async function readGroups(reads: ProjectReads, keys: readonly GroupKey[], options?: QueryOptions) {
  const rows = await reads.query<Group>(
    `SELECT group_type, group_key, properties, created_at FROM groups WHERE ${ofKeys}`,
    keyParams(keys),
    options,
  );
  const found = new Map(rows.map((row) => [nameGroup(row), row]));
  return keys.flatMap((key) => found.get(nameGroup(key)) ?? []);
}

/** Bytes of stored properties of each group, by nameGroup(). Rows that are not merged yet count separately. */
async function keptBytes(reads: ProjectReads, keys: readonly GroupKey[]): Promise<Map<string, number>> {
  const rows = await reads.query<GroupKey & { bytes: string }>(
    `SELECT group_type, group_key, sum(length(w.4) + length(key)) AS bytes FROM group_props WHERE ${ofKeys}
     GROUP BY group_type, group_key`,
    keyParams(keys),
  );
  return new Map(rows.map((row) => [nameGroup(row), Number(row.bytes)]));
}

/** Names of properties by type, the most frequent ones first. */
export async function listGroupProperties(reads: ProjectReads, types: readonly string[]) {
  const rows = await reads.query<{ group_type: string; name: string; count: string }>(
    `SELECT group_type, toString(key) AS name, count() AS count FROM (
       SELECT group_type, group_key, key FROM group_props
       WHERE project_id = {project_id:UInt32} AND group_type IN {types:Array(String)}
       GROUP BY group_type, group_key, key
     )
     GROUP BY group_type, name ORDER BY group_type, count DESC, name LIMIT {names:UInt64} BY group_type`,
    { types, names: propertyNamesMax },
  );
  const found = Map.groupBy(rows, ({ group_type }) => group_type);
  const listCounts = (type: string) =>
    (found.get(type) ?? []).map(({ name, count }) => ({ name, count: Number(count) }));
  return new Map(types.map((type) => [type, listCounts(type)]));
}

/** The most frequent values of a property of one type's groups; with `search` only those that contain this text. */
export function listGroupValues(reads: ProjectReads, group_type: string, key: string, search?: string) {
  const values = `SELECT max(w).4 AS value FROM group_props
    WHERE project_id = {project_id:UInt32} AND group_type = {group_type:String} AND key = {key:String}
    GROUP BY group_key`;
  return frequentValues(reads, { values, params: { group_type, key }, search });
}
