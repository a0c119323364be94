// Names of tables in statements that change rows, and of system tables, on one machine or on a cluster.

import { quoteName, quoteText } from "../clickhouse/statement.ts";
import { type Cluster, localEnding, localName } from "./placement.ts";

/** Names for statements, besides the tables and views that they read and insert into. */
export type Tables = ReturnType<typeof clusterTables>;

export const ownTables: Tables = { onAll: "", local: quoteName, system: (name) => `system.${name}` };

export function clusterTables(cluster: Cluster) {
  const all = quoteText(cluster.name);
  const table = `* REPLACE (replaceRegexpOne(table, '${localEnding}$', '') AS table)`;
  const system = {
    parts: `(SELECT ${table} FROM cluster(${all}, system.parts))`,
    mutations: `(SELECT ${table} FROM clusterAllReplicas(${all}, system.mutations))`,
    // The fullest server bounds what can be rewritten.
    disks: `(SELECT min(free) AS free_space FROM (SELECT hostName() AS host, max(free_space) AS free
      FROM clusterAllReplicas(${all}, system.disks) GROUP BY host))`,
  };
  return {
    /** Appended to the subject of a statement that all servers run; empty on one machine. */
    onAll: onAll(cluster),
    /** The table that holds the rows of this one, on all servers: for DELETE, ALTER, ATTACH, DETACH. */
    local: (name: string) => `${quoteName(localName(name))}${onAll(cluster)}`,
    /** A system table of all servers that hold the rows, with the names of tables that statements know. */
    system: (name: "disks" | "mutations" | "parts") => system[name],
  };
}

export function onAll({ name }: Cluster): string {
  return ` ON CLUSTER ${quoteText(name)}`;
}
