// The requirements of a cluster, checked at each start: a problem is one line there.

import { UserError } from "../../core/fault.ts";
import type { ClickHouse } from "../clickhouse/clickhouse.ts";
import { type Cluster, quoteText } from "../clickhouse/statement.ts";

/** A row of system.clusters; newer versions have more columns. */
interface ReplicaRow {
  shard_num: number;
  shard_weight: number;
  host_name: string;
  port: number;
  /** 24.8 does not show it. */
  internal_replication?: number;
}

interface FoundMacro {
  host: string;
  macro: string;
  substitution: string;
}

export interface FoundCluster {
  replicas: readonly ReplicaRow[];
  clusters: readonly string[];
  /** Macros of the servers that answered. */
  macros: readonly FoundMacro[];
}

export interface FoundDatabase {
  database: string;
  /** Engine of the database: Atomic, Replicated, Shared. */
  engine: string;
  /** Engine of event_rows; "" when there is none. */
  tableEngine: string;
  /** The comment of schema_migrations. */
  comment: string;
  isCloud: boolean;
}

/**
 * Checks the cluster, or that there is none, before anything is made.
 * @throws UserError in one line; any other error when ClickHouse does not answer.
 */
export async function checkCluster(clickhouse: ClickHouse): Promise<void> {
  const { cluster } = clickhouse;
  const database = await findDatabase(clickhouse);
  const found = cluster && (await findCluster(clickhouse, cluster));
  const problem =
    cluster && found ? findClusterProblem(cluster, found, database) : problemWithoutCluster(database);
  if (problem) throw new UserError(problem);
}

async function findDatabase(clickhouse: ClickHouse): Promise<FoundDatabase> {
  const { database } = clickhouse;
  const [found] = await clickhouse.query<Omit<FoundDatabase, "database" | "isCloud"> & { cloud: string }>(
    `SELECT
       (SELECT any(engine) FROM system.databases WHERE name = {database:String}) AS engine,
       (SELECT any(engine) FROM system.tables WHERE database = {database:String} AND name = 'event_rows')
         AS tableEngine,
       (SELECT any(comment) FROM system.tables WHERE database = {database:String} AND name = 'schema_migrations')
         AS comment,
       (SELECT any(value) FROM system.settings WHERE name = 'cloud_mode') AS cloud`,
    { database },
  );
  const { engine, tableEngine, comment, cloud } = found!;
  return { database, engine, tableEngine, comment, isCloud: cloud === "1" };
}

async function findCluster(clickhouse: ClickHouse, { name }: Cluster): Promise<FoundCluster> {
  const all = await clickhouse.query<ReplicaRow & { cluster: string }>("SELECT * FROM system.clusters");
  const clusters = [...new Set(all.map(({ cluster }) => cluster))];
  if (!clusters.includes(name)) return { replicas: [], clusters, macros: [] };
  const macros = await clickhouse.query<FoundMacro>(
    `SELECT hostName() AS host, macro, substitution FROM clusterAllReplicas(${quoteText(name)}, system.macros)`,
    undefined,
    { settings: { skip_unavailable_shards: 1 } },
  );
  return { replicas: all.filter(({ cluster }) => cluster === name), clusters, macros };
}

/** The numbers and weights of the shards, by which rows are distributed. */
export function shardsText(replicas: readonly ReplicaRow[]): string {
  const shards = new Map(replicas.map((row) => [row.shard_num, row.shard_weight]));
  const sorted = [...shards].toSorted(([value], [other]) => value - other);
  return sorted
    .map(([shard, weight]) => (weight === 1 ? String(shard) : `${shard} (weight ${weight})`))
    .join(", ");
}

const shapeStart = "made for the shards ";

/** The statement that stores the shape as the comment of schema_migrations. */
export async function shapeComment(clickhouse: ClickHouse, cluster: Cluster): Promise<string> {
  return `${shapeStart}${shardsText((await findCluster(clickhouse, cluster)).replicas)}`;
}

/** Finds what is wrong with a cluster, in one line; undefined when nothing is. */
export function findClusterProblem(
  { name }: Cluster,
  { replicas, clusters, macros }: FoundCluster,
  { database, engine, tableEngine, comment, isCloud }: FoundDatabase,
): string | undefined {
  const named = (problem: string): string => `CLICKHOUSE_CLUSTER: ${problem}`;
  if (isCloud) return named("ClickHouse Cloud replicates and divides rows by itself; unset it");
  if (replicas.length === 0) {
    const known = clusters.length > 0 ? `it has ${clusters.join(", ")}` : "it has none";
    return named(`ClickHouse has no cluster ${name} (${known})`);
  }
  if (engine === "Replicated") return named(replicatedDatabase(database));
  if (replicas.some(({ internal_replication: own }) => own === 0)) {
    return named(
      `the cluster ${name} has internal_replication off; set it to true in remote_servers, ` +
        "since tables replicate by themselves",
    );
  }
  const wrong = findMacroProblem(macros);
  if (wrong !== undefined) return named(wrong);
  if (tableEngine !== "" && tableEngine !== "Distributed") {
    return named(
      `the database ${database} was made without it; name another one in CLICKHOUSE_URL, or unset it`,
    );
  }
  const shape = shardsText(replicas);
  const before = comment.startsWith(shapeStart) ? comment.slice(shapeStart.length) : shape;
  if (before === shape) return undefined;
  return named(
    `the cluster ${name} has the shards ${shape}, and the tables of ${database} were made for ${before}: ` +
      "new rows would lie apart from those they belong to; docs/scaling.md has the way to another database",
  );
}

function findMacroProblem(macros: readonly FoundMacro[]): string | undefined {
  const hosts = new Map<string, Map<string, string>>();
  for (const { host, macro, substitution } of macros)
    hosts.set(host, (hosts.get(host) ?? new Map<string, string>()).set(macro, substitution));
  const owners = new Map<string, string>();
  if (hosts.size === 0) return "its servers have no macros shard and replica";
  for (const [host, hostMacros] of hosts) {
    const missing = ["shard", "replica"].filter((macro) => !hostMacros.has(macro));
    if (missing.length > 0) return `the server ${host} has no macro ${missing.join(" and ")}`;
    const position = `shard ${hostMacros.get("shard")}, replica ${hostMacros.get("replica")}`;
    const other = owners.get(position);
    if (other !== undefined) return `the servers ${other} and ${host} have the same macros (${position})`;
    owners.set(position, host);
  }
  return undefined;
}

/** Finds what is wrong with a ClickHouse used without a cluster, in one line; undefined when nothing is. */
export function problemWithoutCluster(found: FoundDatabase): string | undefined {
  const { database, engine, tableEngine, isCloud } = found;
  if (tableEngine === "Distributed")
    return `CLICKHOUSE_URL: the tables of ${database} were made for a cluster; set CLICKHOUSE_CLUSTER to its name`;
  if (engine === "Replicated" && !isCloud) return `CLICKHOUSE_URL: ${replicatedDatabase(database)}`;
  return undefined;
}

function replicatedDatabase(database: string): string {
  return (
    `the database ${database} has the engine Replicated, which replicates definitions and not rows; ` +
    "name one of the engine Atomic, and set CLICKHOUSE_CLUSTER"
  );
}
