// Queries in ClickHouse for ingestion warnings, newest first. Capture writes them.

import type { Page } from "../http/pages/page.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { queryOptions } from "../storage/clickhouse/query_options.ts";
import { buildConditions, type Conditions } from "../storage/events/conditions.ts";

/** Absent fields do not filter. `after` and `before` are `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, both exclusive. */
type WarningFilter = { project_id: number } & {
  [Name in "type" | "event" | "distinct_id" | "after" | "before"]?: string | undefined;
};

/** `timestamp` is `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, `details` JSON text. */
export type StoredWarning = Record<
  "type" | "event" | "distinct_id" | "timestamp" | "count" | "details",
  string
>;

/** `rows` counts stored warnings, `count` their events. */
export type TypeCount = Record<"type" | "rows" | "count" | "first_seen" | "last_seen", string>;

/** The types that match, the most frequent first. */
export async function countWarnings(clickhouse: ClickHouse, filter: WarningFilter): Promise<TypeCount[]> {
  const { where, params } = conditions(filter);
  return await clickhouse.query<TypeCount>(
    `SELECT type, toUInt64(count()) AS rows, toUInt64(sum(ingestion_warnings.count)) AS count,
       min(timestamp) AS first_seen, max(timestamp) AS last_seen
     FROM ingestion_warnings WHERE ${where}
     GROUP BY type ORDER BY count DESC, type`,
    params,
    queryOptions,
  );
}

export async function listWarnings(clickhouse: ClickHouse, filter: WarningFilter, { limit, offset }: Page) {
  const { where, params } = conditions(filter);
  return await clickhouse.query<StoredWarning>(
    `SELECT type, event, distinct_id, timestamp, count, details
     FROM ingestion_warnings WHERE ${where}
     ORDER BY timestamp DESC, _batch DESC, _row DESC
     LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { ...params, limit, offset },
    queryOptions,
  );
}

function conditions({ project_id, type, event, distinct_id, after, before }: WarningFilter): Conditions {
  return buildConditions(project_id, { type, event, distinct_id }, { after, before });
}
