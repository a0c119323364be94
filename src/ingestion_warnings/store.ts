// Ingestion warnings read back from ClickHouse, newest first. Never writes any: capture does.

import { limits } from "../core/limits.ts";
import type { ClickHouse, QueryOptions } from "../storage/clickhouse/clickhouse.ts";
import { type Conditions, conditionsOf } from "../storage/events/conditions.ts";

/**
 * Which warnings: absent fields do not filter. Moments as `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, both
 * exclusive.
 */
export interface WarningFilter {
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
  /** Rows, and the events they stand for. */
  rows: string;
  count: string;
  first_seen: string;
  last_seen: string;
}

const queryOptions: QueryOptions = {
  timeoutMs: limits.querySecondsMax * 1000 + limits.engineSaysMsMax,
  // One thread: a reader who waits a little longer costs capture nothing, all cores at once would.
  settings: { max_execution_time: limits.querySecondsMax, date_time_output_format: "simple", max_threads: 1 },
};

/** Every type that matches, the most frequent first. */
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
  return conditionsOf(project_id, { type, event, distinct_id }, { after, before });
}
