// The properties that a project's groups have, and their values, as ClickHouse has them.

import { type FrequentValue, frequentValues } from "../storage/events/frequent_values.ts";
import type { ProjectReads } from "../storage/clickhouse/query_options.ts";
import { groupLimits } from "./limits.ts";

interface StoredCount {
  name: string;
  count: string;
}

/** Names of properties by type, the most frequent ones first. */
export async function listGroupProperties(
  reads: ProjectReads,
  types: readonly string[],
): Promise<Map<string, FrequentValue[]>> {
  const rows = await reads.query<StoredCount & { group_type: string }>(
    `SELECT group_type, toString(key) AS name, count() AS count FROM (
       SELECT group_type, group_key, key FROM group_props
       WHERE project_id = {project_id:UInt32} AND group_type IN {types:Array(String)}
       GROUP BY group_type, group_key, key
     )
     GROUP BY group_type, name ORDER BY group_type, count DESC, name LIMIT {names:UInt64} BY group_type`,
    { types, names: groupLimits.propertyNamesMax },
  );
  const found = Map.groupBy(rows, ({ group_type }) => group_type);
  return new Map(types.map((type) => [type, (found.get(type) ?? []).map(countOf)]));
}

/** The most frequent values of a property of one type's groups; with `search` only those that contain this text. */
export function listGroupValues(
  reads: ProjectReads,
  { group_type, key, search }: { group_type: string; key: string; search: string | undefined },
): Promise<FrequentValue[]> {
  const values = `SELECT max(w).4 AS value FROM group_props
    WHERE project_id = {project_id:UInt32} AND group_type = {group_type:String} AND key = {key:String}
    GROUP BY group_key`;
  return frequentValues(reads, { values, params: { group_type, key }, search });
}

function countOf({ name, count }: StoredCount): FrequentValue {
  return { name, count: Number(count) };
}
