// Migrations on a cluster: definitions for every server, and a record of them that any server has.

import { UserError } from "../../core/fault.ts";
import { toReason } from "../../core/log.ts";
import { type ClickHouse, ClickHouseError, type QueryOptions } from "../clickhouse/clickhouse.ts";
import { type Cluster, quoteText } from "../clickhouse/statement.ts";
import { shapeComment } from "./cluster_check.ts";
import { onCluster } from "./definitions.ts";
import { localName, onAll, tables } from "./placement.ts";

/** The statements that carry out this one of sql/clickhouse, in order. */
export function definitionsFor({ cluster }: ClickHouse, statement: string): string[] {
  return cluster ? onCluster(statement, cluster) : [statement];
}

/**
 * Makes the database and the table of migrations, `schemaTable`, on every server, unless they are there: a start must
 * not need all servers.
 * @throws UserError when the cluster cannot define tables.
 */
export async function prepareCluster(
  clickhouse: ClickHouse,
  cluster: Cluster,
  schemaTable: string,
  options: QueryOptions,
): Promise<void> {
  const found = await clickhouse.query(
    "SELECT 1 FROM system.tables WHERE database = {database:String} AND name = 'schema_migrations'",
    { database: cluster.database },
  );
  if (found.length > 0) return;
  const comment = quoteText(await shapeComment(clickhouse, cluster));
  try {
    await clickhouse.createDatabase(onAll(cluster));
    for (const statement of onCluster(`${schemaTable} COMMENT ${comment}`, cluster))
      await clickhouse.command(statement, undefined, options);
  } catch (thrown) {
    throw findKeeperProblem(thrown) ?? thrown;
  }
}

/** A problem of the cluster's keeper, in one line, where a definition failed because of it. */
export function findKeeperProblem(thrown: unknown): UserError | undefined {
  if (!(thrown instanceof ClickHouseError)) return undefined;
  const problem = keeperProblems[thrown.type];
  if (problem === undefined) return undefined;
  const [reason] = toReason(thrown).split("\n");
  return new UserError(`CLICKHOUSE_CLUSTER: ${problem} (${reason})`);
}

const keeperProblems: Readonly<Record<string, string>> = {
  NO_ZOOKEEPER: "ClickHouse has no keeper, which replicas need; set zookeeper in its configuration",
  NO_ELEMENTS_IN_CONFIG:
    "ClickHouse cannot define tables on all servers; set zookeeper and distributed_ddl in its configuration",
  SUPPORT_IS_DISABLED: "this ClickHouse does not define tables on all servers",
  KEEPER_EXCEPTION: "the keeper of ClickHouse does not answer",
};

/**
 * The records of all servers that answer: the one that is read may not have the newest yet. Incomplete where a server
 * lacks tables that others have, as a new replica does: applying all files again creates what is missing.
 */
export async function appliedOnCluster<Row>(clickhouse: ClickHouse, { name, database }: Cluster) {
  const servers = await clickhouse.query<{ names: string[] }>(
    `SELECT groupUniqArrayIf(name, database = {database:String} AND name IN {names:Array(String)}) AS names
     FROM clusterAllReplicas(${quoteText(name)}, system.tables)
     GROUP BY hostName()`,
    { database, names: Object.keys(tables).map(localName) },
    { settings: { skip_unavailable_shards: 1 } },
  );
  const isIncomplete = lacksTables(servers.map(({ names }) => names));
  // A server may lack this table too, but not the one that is read.
  const all = `clusterAllReplicas(${[name, database, "schema_migrations"].map(quoteText).join(", ")})`;
  const recorded = await clickhouse.query<Row>(
    `SELECT DISTINCT version, name, checksum FROM ${isIncomplete ? "schema_migrations" : all}`,
    undefined,
    { settings: { skip_unavailable_shards: 1 } },
  );
  return { recorded, isIncomplete };
}

/** Whether one of the servers, each with the names of its tables, lacks a table of another. */
export function lacksTables(servers: readonly (readonly string[])[]): boolean {
  const known = new Set(servers.flat());
  return servers.some((names) => new Set(names).size < known.size);
}
