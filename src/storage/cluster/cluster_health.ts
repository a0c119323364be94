// Finds which servers of a cluster are unavailable, for readiness. A missing replica is reported; a missing shard is an
// error, since nothing can be read or written without it.

import type { ClickHouse } from "../clickhouse/clickhouse.ts";
import { type Cluster, quoteText } from "../clickhouse/statement.ts";
import { clusterLimits } from "./limits.ts";

export interface Replica {
  shard_num: number;
  replica_num: number;
}

export class ShardAway extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`no replica of a shard can be used: ${code}`);
    this.name = "ShardAway";
    this.code = code;
  }
}

/**
 * Resolves to the unavailable replicas, as one code; undefined when there are none.
 * @throws ShardAway when a shard has no other replica; any other error when the server does not answer.
 */
export async function checkReplicas(clickhouse: ClickHouse, cluster: Cluster): Promise<string | undefined> {
  const [replicas, answers] = await Promise.all([
    clickhouse.query<Replica>(
      `SELECT shard_num, replica_num FROM system.clusters WHERE cluster = {name:String}
       ORDER BY shard_num, replica_num`,
      { name: cluster.name },
      { timeoutMs: clusterLimits.checkMsMax },
    ),
    queryAll(clickhouse, cluster),
  ]);
  return findReplicaProblem(replicas, answers);
}

/** The answer of a replica; `place` counts all replicas in their order, from 1. */
interface ReplicaAnswer {
  place: number;
  /** How many of its tables accept no INSERT. */
  readonly: number;
}

function queryAll(clickhouse: ClickHouse, { name, database }: Cluster): Promise<ReplicaAnswer[]> {
  const all = (table: string) => `clusterAllReplicas(${quoteText(name)}, system.${table})`;
  return clickhouse.query<ReplicaAnswer>(
    `SELECT toUInt32(place) AS place, toUInt32(sum(is_readonly)) AS readonly
     FROM (
       SELECT _shard_num AS place, 0 AS is_readonly FROM ${all("one")}
       UNION ALL
       SELECT _shard_num AS place, is_readonly FROM ${all("replicas")} WHERE database = {database:String}
     )
     GROUP BY place`,
    { database },
    {
      timeoutMs: clusterLimits.checkMsMax,
      settings: {
        skip_unavailable_shards: 1,
        connect_timeout_with_failover_ms: clusterLimits.checkConnectMsMax,
        connections_with_failover_max_tries: 1,
      },
    },
  );
}

/** Finds what is missing or read-only among the replicas that answered. @throws ShardAway */
export function findReplicaProblem(replicas: readonly Replica[], answers: readonly ReplicaAnswer[]) {
  const readonly = new Map(answers.map((answer) => [answer.place, answer.readonly]));
  const failing = replicas.flatMap((replica, i) => {
    const problem = findProblem(readonly.get(i + 1));
    return problem ? [{ ...replica, problem }] : [];
  });
  for (const { shard_num, problem } of failing) {
    const sizeIn = (list: readonly Replica[]) => list.filter((item) => item.shard_num === shard_num).length;
    if (sizeIn(failing) === sizeIn(replicas)) throw new ShardAway(`SHARD_${shard_num}_${problem}`);
  }
  if (failing.length === 0) return undefined;
  const named = failing.slice(0, clusterLimits.awayNamedMax);
  const codes = named.map((item) => `SHARD_${item.shard_num}_REPLICA_${item.replica_num}_${item.problem}`);
  const unnamedCount = failing.length - named.length;
  return codes.join(" ") + (unnamedCount > 0 ? ` AND ${unnamedCount} MORE` : "");
}

/** Why a replica cannot be used: it does not answer, or its tables accept no INSERT. */
function findProblem(readonly: number | undefined): "AWAY" | "READONLY" | undefined {
  if (readonly === undefined) return "AWAY";
  return readonly > 0 ? "READONLY" : undefined;
}
