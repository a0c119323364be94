// Queries in ClickHouse for ingestion warnings, newest first. Capture writes them.

import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { queryOptions } from "../storage/clickhouse/query_options.ts";
import { buildConditions, type Conditions } from "../storage/events/conditions.ts";

/** Absent fields do not filter. `after` and `before` are `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, both exclusive. */
interface WarningFilter {
  project_id: number;
  type?: string | undefined;
  event?: string | undefined;
  distinct_id?: string | undefined;
  after?: string | undefined;
  before?: string | undefined;
}

export interface StoredWarning {
  type: string;
  event: string;
  distinct_id: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC. */
  timestamp: string;
  count: string;
  /** JSON text. */
  details: string;
}

export interface TypeCount {
  type: string;
  /** `rows` counts stored warnings, `count` their events. */
  rows: string;
  count: string;
  first_seen: string;
  last_seen: string;
}

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

export async function listWarnings(
  clickhouse: ClickHouse,
  filter: WarningFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<StoredWarning[]> {
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
