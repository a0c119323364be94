// The values that a property of persons has now, as ClickHouse has them.

import type { ProjectReads } from "../../storage/clickhouse/query_options.ts";
import { frequentValues } from "../../storage/events/frequent_values.ts";
import { currentValues } from "../listing/current_store.ts";

export function listPersonValues(reads: ProjectReads, key: string, search: string | undefined) {
  const values = `SELECT current AS value FROM (${currentValues("key = {key:String}")})`;
  return frequentValues(reads, { values, params: { key }, search });
}
