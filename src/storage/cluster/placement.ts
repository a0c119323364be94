// Places the rows of each table and view on a cluster, and its name in statements. sql/README.md has the reasons.

import { type Cluster, quoteName, quoteText, type Tables } from "../clickhouse/statement.ts";

/**
 * sharded: each row on one shard, chosen by `by`; the table `t` is a Distributed one over `t_local`. everywhere: every
 * row on every server, for joins that must not query other servers.
 */
export type Placement = { kind: "sharded"; by: string } | { kind: "everywhere" };

/** Events of one distinct id, and everything derived from them, are on one shard. */
const byDistinctId: Placement = { kind: "sharded", by: "cityHash64(project_id, distinct_id)" };
const byGroup: Placement = { kind: "sharded", by: "cityHash64(project_id, group_type, group_key)" };
const byEvent: Placement = { kind: "sharded", by: "cityHash64(project_id, event)" };
const byBatch: Placement = { kind: "sharded", by: "cityHash64(_batch)" };
const everywhere: Placement = { kind: "everywhere" };

export const tables: Readonly<Record<string, Placement>> = {
  event_rows: byDistinctId,
  event_feed: byDistinctId,
  change_feed: byDistinctId,
  seen: byDistinctId,
  person_props: byDistinctId,
  // Groups have events of many distinct ids: their rows are where the events are, and are grouped when they are read.
  groups_seen: byGroup,
  group_props: byGroup,
  // Events of one name lie on many shards, too.
  event_days: byEvent,
  event_properties: byEvent,
  definitions: { kind: "sharded", by: "cityHash64(project_id, name)" },
  session_facts: { kind: "sharded", by: "cityHash64(project_id, session_id)" },
  snapshot_chunks: { kind: "sharded", by: "cityHash64(project_id, sipHash64(session_id))" },
  session_recording_days: { kind: "sharded", by: "cityHash64(project_id, session_hash)" },
  recorded_sessions: { kind: "sharded", by: "cityHash64(project_id, session_hash)" },
  // Nothing deduplicates these, so a batch must be one part: all of it goes to one shard.
  ingestion_warnings: byBatch,
  deleting_ids: { kind: "sharded", by: "cityHash64(distinct_id)" },
  exported_person_rows: { kind: "sharded", by: "cityHash64(distinct_id)" },
  deleted_ids: everywhere,
  deleted_persons: everywhere,
  deleted_recordings: everywhere,
  merged_ids: everywhere,
  group_type_rows: everywhere,
  schema_migrations: everywhere,
  store_identity: everywhere,
};

/**
 * shard: rows that it reads together are on one shard, so each shard answers by itself, as one machine would. server:
 * it joins or groups rows of several shards, on the server that runs the query.
 */
export const views: Readonly<Record<string, "shard" | "server">> = {
  stored_events: "shard",
  events: "shard",
  person_distinct_ids: "shard",
  person_properties: "server",
  persons: "server",
  person_texts: "server",
  person_values: "server",
  group_types: "server",
  groups: "server",
  sessions: "shard",
  session_recordings: "shard",
  exported_persons: "server",
};

export function isSharded(name: string): boolean {
  return tables[name]?.kind === "sharded" || views[name] === "shard";
}

/** The table or view of one shard, for those that have one. */
export function localName(name: string): string {
  return isSharded(name) ? `${name}${localEnding}` : name;
}

export const localEnding = "_local";

/** Whether the rows of a batch go to several shards, so that some of them may be stored and others not. */
export function dividesBatches(table: string): boolean {
  const placement = tables[table];
  return placement?.kind === "sharded" && placement !== byBatch;
}

export function clusterTables(cluster: Cluster): Tables {
  const all = quoteText(cluster.name);
  const table = `* REPLACE (replaceRegexpOne(table, '${localEnding}$', '') AS table)`;
  const system = {
    parts: `(SELECT ${table} FROM cluster(${all}, system.parts))`,
    parts_columns: `(SELECT ${table} FROM cluster(${all}, system.parts_columns))`,
    mutations: `(SELECT ${table} FROM clusterAllReplicas(${all}, system.mutations))`,
    // The fullest server bounds what can be rewritten.
    disks: `(SELECT min(free) AS free_space FROM (SELECT hostName() AS host, max(free_space) AS free
      FROM clusterAllReplicas(${all}, system.disks) GROUP BY host))`,
  };
  return {
    onAll: onAll(cluster),
    local: (name) => `${quoteName(localName(name))}${onAll(cluster)}`,
    system: (name) => system[name],
  };
}

export function onAll({ name }: Cluster): string {
  return ` ON CLUSTER ${quoteText(name)}`;
}
