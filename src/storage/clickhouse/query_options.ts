// Options of queries that answer requests for management pages.

import { limits } from "../../core/limits.ts";
import type { ClickHouse, QueryOptions } from "./clickhouse.ts";
import { clickhouseLimits } from "./limits.ts";
import { inWrittenOrder } from "./read.ts";

export const queryOptions: QueryOptions = {
  // The engine's own limit is reached first, with a reason; this timeout is for an engine that does not answer.
  timeoutMs: limits.querySecondsMax * 1000 + limits.engineSaysMsMax,
  work: { secondsMax: clickhouseLimits.pageCpuSecondsMax },
  // One thread: all cores for a page would slow capture down.
  settings: { max_execution_time: limits.querySecondsMax, date_time_output_format: "simple", max_threads: 1 },
};

/** These options, with further settings. */
export function withSettings(settings: QueryOptions["settings"], options = queryOptions): QueryOptions {
  return { ...options, settings: { ...options.settings, ...settings } };
}

/** Options of a page with a client's filters, which are computed for rows of its own project. */
export const filteredOptions = withSettings(inWrittenOrder);

/** Options of a page in the order of its table's key: aggregation needs little memory. */
export const orderedOptions = withSettings({ optimize_aggregation_in_order: 1 });

/** Options of a page read in one query; isTooBig() recognizes the error when it exceeds these bounds. */
export const wholePageOptions = withSettings({
  max_memory_usage: limits.readSmallBytesMax,
  max_result_bytes: limits.pageWholeBytesMax,
});

export interface ProjectReads {
  readonly clickhouse: ClickHouse;
  readonly project_id: number;
  /** Variant of ClickHouse.query() with queryOptions; `project_id` is a parameter of every statement. */
  query<Row>(text: string, params?: Record<string, unknown>, options?: QueryOptions): Promise<Row[]>;
}

export function toReads(clickhouse: ClickHouse, project_id: number): ProjectReads {
  return {
    clickhouse,
    project_id,
    query: (text, params, options = queryOptions) =>
      clickhouse.query(text, { project_id, ...params }, options),
  };
}
