// How persons are asked of ClickHouse: within a time, on one thread.

import { limits } from "../../core/limits.ts";
import type { QueryOptions } from "../../storage/clickhouse/clickhouse.ts";

export const personQueryOptions: QueryOptions = {
  timeoutMs: limits.querySecondsMax * 1000 + limits.engineSaysMsMax,
  settings: { max_execution_time: limits.querySecondsMax, date_time_output_format: "simple", max_threads: 1 },
};
