// The values that a property of persons has now, as ClickHouse has them.

import type { ProjectReads } from "../../storage/clickhouse/query_options.ts";
import { valueText } from "../../storage/events/value_text.ts";
import { personLimits } from "../limits.ts";
import { currentValues } from "../listing/current_store.ts";

/** The most frequent values, each with the number of its persons; with `search` only those that contain this text. */
export async function listPersonValues(
  reads: ProjectReads,
  key: string,
  search: string | undefined,
): Promise<{ name: string; count: number }[]> {
  const rows = await reads.query<{ name: string; count: string }>(
    `SELECT name, count() AS count FROM (
       SELECT substringUTF8(${valueText("current")}, 1, {chars:UInt64}) AS name
       FROM (${currentValues("key = {key:String}")}) WHERE current != 'null'
     )
     ${search === undefined ? "" : "WHERE positionCaseInsensitiveUTF8(name, {search:String}) > 0"}
     GROUP BY name ORDER BY count DESC, name LIMIT {values:UInt64}`,
    {
      key,
      ...(search !== undefined && { search }),
      chars: personLimits.propertyValueCharsMax,
      values: personLimits.propertyValuesMax,
    },
  );
  return rows.map(({ name, count }) => ({ name, count: Number(count) }));
}
