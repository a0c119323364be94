// Replies to queries.

import { shownResults } from "../result.ts";
import type { QueryResult } from "../store.ts";
import type { CachedResult } from "./result_cache.ts";

export function resultReply(result: (QueryResult | CachedResult) & { is_cached?: boolean }) {
  const { timezone, date_from, date_to, computed_at, table, is_cached = false } = result;
  return {
    results: shownResults(result),
    result_type: result.type,
    timezone,
    resolved_date_range: { date_from, date_to },
    is_cached,
    last_refresh: computed_at,
    error: null,
    ...table,
    ...(table?.hogql !== undefined && {
      query: table.hogql,
      types: table.columns.map((name, i) => [name, table.types[i]]),
    }),
  };
}
