// The client of a cluster: the same as any other, with the settings and the names of tables that the cluster needs.

import { type ClickHouse, type QueryOptions, withOptions } from "../clickhouse/clickhouse.ts";
import { clickhouseLimits } from "../clickhouse/limits.ts";
import type { Cluster } from "../clickhouse/statement.ts";
import { clusterTables } from "./placement.ts";

/**
 * Every server writes to and reads from the first replica of each shard that answers, in the order of the cluster's
 * configuration: so a stored row is readable at once. An unavailable shard is an error, never a shorter answer. Tables
 * of several shards inside IN and JOIN are read once and sent to the shards.
 */
const reading = {
  load_balancing: "in_order",
  prefer_localhost_replica: 0,
  skip_unavailable_shards: 0,
  distributed_product_mode: "global",
} as const;

/** An INSERT is answered when every shard has stored its rows; those that it selects go where they belong. */
const writing = {
  ...reading,
  distributed_foreground_insert: 1,
  parallel_distributed_insert_select: 0,
} as const;

/** Statements that check whether rows are stored see only what a quorum has, where inserts wait for one by one. */
const readingBack = { ...reading, select_sequential_consistency: 1 } as const;

export function openClusterClient(clickhouse: ClickHouse, cluster: Cluster): ClickHouse {
  const add = (settings: QueryOptions["settings"], options: QueryOptions = {}): QueryOptions => ({
    ...options,
    settings: { ...settings, ...options.settings },
  });
  // A definition, or a deletion, is answered when all servers have carried it out.
  const carryOut = ({ timeoutMs = clickhouseLimits.statementMsMax, ...options }: QueryOptions = {}) => {
    const distributed_ddl_task_timeout = Math.ceil(timeoutMs / 1000);
    const waiting = { distributed_ddl_task_timeout, distributed_ddl_output_mode: "throw" };
    return add({ ...writing, ...waiting }, { ...options, timeoutMs });
  };
  const client = withOptions(
    clickhouse,
    (options) => add(options?.kind === "flush" ? readingBack : reading, options),
    (options) => add(writing, options),
    carryOut,
  );
  return { ...client, cluster, tables: clusterTables(cluster) };
}
