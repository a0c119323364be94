// The client of a cluster: the same as any other, which sends every statement as the cluster needs it.

import type { ClickHouse, QueryOptions } from "../clickhouse/clickhouse.ts";
import { clickhouseLimits } from "../clickhouse/limits.ts";
import { clusterLimits } from "./limits.ts";
import type { Cluster } from "./placement.ts";
import {
  commandOnCluster,
  type ListedDeletion,
  listedDeletionOf,
  listedText,
  listedValues,
  readOnCluster,
} from "./statements.ts";

/**
 * Of each shard the first replica in the cluster's configuration that answers is written and read, whichever server was
 * asked: so a row that was stored is read at once. A shard that is away is an error, never a shorter answer. Tables of
 * several shards inside IN and JOIN are read once and sent to the shards.
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

/** What asks whether something is stored sees only what a quorum has, where inserts wait for one by one. */
const readingBack = { ...reading, select_sequential_consistency: 1 } as const;

export function openClusterClient(clickhouse: ClickHouse, cluster: Cluster): ClickHouse {
  const readOptions = (options: QueryOptions = {}): QueryOptions => ({
    ...options,
    settings: { ...(options.kind === "flush" ? readingBack : reading), ...options.settings },
  });
  const asRead = (text: string): string => readOnCluster(text, cluster);
  const command: ClickHouse["command"] = (text, params, options = {}) => {
    const { timeoutMs = clickhouseLimits.statementMsMax, settings } = options;
    // A definition, or a deletion, is answered when all servers have carried it out.
    const waiting = {
      distributed_ddl_task_timeout: Math.ceil(timeoutMs / 1000),
      distributed_ddl_output_mode: "throw",
    };
    const all = { ...options, settings: { ...writing, ...waiting, ...settings } };
    return clickhouse.command(commandOnCluster(text, params, cluster), params, all);
  };
  const client: ClickHouse = {
    ...clickhouse,
    cluster,
    query: (text, params, options) => clickhouse.query(asRead(text), params, readOptions(options)),
    bytes: (text, params, options) => clickhouse.bytes(asRead(text), params, readOptions(options)),
    stream: (text, params, options) => clickhouse.stream(asRead(text), params, readOptions(options)),
    command: async (text, params, options) => {
      const listed = listedDeletionOf(text, cluster);
      if (!listed) return command(text, params, options);
      await deleteListed(listed, { query: client.query, command }, params, options);
    },
    insertNative: (table, body, options = {}) =>
      clickhouse.insertNative(table, body, { ...options, settings: { ...writing, ...options.settings } }),
    insertDerived: (insert, body, options = {}) =>
      clickhouse.insertDerived(insert, body, { ...options, settings: { ...writing, ...options.settings } }),
  };
  return client;
}

/**
 * Deletes the rows with values of a list, in portions that fit an entry of the keeper, of those values only that a
 * replica has. A portion is queued; those queued are carried out in one pass over a part, when the last is waited for.
 */
async function deleteListed(
  { select, withValues }: ListedDeletion,
  { query, command }: Pick<ClickHouse, "query" | "command">,
  params: Record<string, unknown> = {},
  options: QueryOptions = {},
): Promise<void> {
  const { listedRowsMax, listedBytesMax, queuedDeletionsMax } = clusterLimits;
  for (;;) {
    const rows = await query<{ listed: string }>(select, { ...params, listed_rows: listedRowsMax }, options);
    const values = rows.map(({ listed }) => listed);
    const texts = [...portions(values, listedBytesMax)].map(listedText);
    for (const [i, text] of texts.entries()) {
      const waits = i === texts.length - 1 || (i + 1) % queuedDeletionsMax === 0;
      const settings = { ...options.settings, lightweight_deletes_sync: waits ? 2 : 0 };
      await command(withValues, { ...params, [listedValues]: text }, { ...options, settings });
    }
    // What was deleted is not found again.
    if (rows.length < listedRowsMax) return;
  }
}

/** Values in portions of at most so many bytes of a statement's text, each of one at least. */
export function* portions(values: readonly string[], bytesMax: number): Generator<string[], void> {
  let portion: string[] = [];
  let bytes = 0;
  for (const value of values) {
    const size = textBytes(value);
    if (portion.length > 0 && bytes + size > bytesMax) {
      yield portion;
      [portion, bytes] = [[], 0];
    }
    portion.push(value);
    bytes += size;
  }
  if (portion.length > 0) yield portion;
}

/** What a value takes in the text of a statement: escaped, before an escaped NUL. */
function textBytes(value: string): number {
  return Buffer.byteLength(value) + (value.match(escapedPattern)?.length ?? 0) + 2;
}

/** Control characters among them. */
const escapedPattern = /[\\'\p{Cc}]/gu;
