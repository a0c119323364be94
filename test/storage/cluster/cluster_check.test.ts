import { expect, test } from "bun:test";
import {
  findClusterProblem,
  type FoundCluster,
  problemWithoutCluster,
  shardsText,
} from "../../../src/storage/cluster/cluster_check.ts";

const cluster = { name: "main", database: "sluice" };

function replica(shard_num: number, host_name: string, more: object = {}) {
  return { shard_num, shard_weight: 1, host_name, port: 9000, internal_replication: 1, ...more };
}

function macrosOf(host: string, shard: string, own: string) {
  return [
    { host, macro: "shard", substitution: shard },
    { host, macro: "replica", substitution: own },
  ];
}

const well: FoundCluster = {
  replicas: [replica(1, "a"), replica(1, "b"), replica(2, "c")],
  clusters: ["default", "main"],
  macros: [...macrosOf("a", "1", "x"), ...macrosOf("b", "1", "y"), ...macrosOf("c", "2", "x")],
};

const empty = { database: "sluice", engine: "Atomic", tableEngine: "", comment: "", isCloud: false };
const made = { ...empty, tableEngine: "Distributed", comment: "made for the shards 1, 2" };

test("a cluster whose servers have macros serves, empty or made before", () => {
  expect(findClusterProblem(cluster, well, empty)).toBeUndefined();
  expect(findClusterProblem(cluster, well, made)).toBeUndefined();
});

test("what is wrong with a cluster is one line", () => {
  const complaint = (found: Partial<FoundCluster>, database: Partial<typeof empty> = {}) =>
    findClusterProblem(cluster, { ...well, ...found }, { ...empty, ...database });
  expect(complaint({ replicas: [] })).toBe(
    "CLICKHOUSE_CLUSTER: ClickHouse has no cluster main (it has default, main)",
  );
  expect(complaint({ replicas: [], clusters: [] })).toContain("(it has none)");
  expect(complaint({ replicas: [replica(1, "a", { internal_replication: 0 })] })).toContain(
    "internal_replication off",
  );
  expect(complaint({ macros: [] })).toContain("no macros shard and replica");
  expect(complaint({ macros: macrosOf("a", "1", "x").slice(1) })).toContain(
    "the server a has no macro shard",
  );
  expect(complaint({ macros: [...macrosOf("a", "1", "x"), ...macrosOf("b", "1", "x")] })).toContain(
    "the servers a and b have the same macros (shard 1, replica x)",
  );
  expect(complaint({}, { engine: "Replicated" })).toContain("has the engine Replicated");
  expect(complaint({}, { isCloud: true })).toContain("unset it");
  expect(complaint({}, { tableEngine: "ReplacingMergeTree" })).toContain("was made without it");
});

test("other shards than the tables were made for are refused", () => {
  const grown = { ...well, replicas: [...well.replicas, replica(3, "d")] };
  expect(findClusterProblem(cluster, grown, made)).toBe(
    "CLICKHOUSE_CLUSTER: the cluster main has the shards 1, 2, 3, and the tables of sluice were made for 1, 2: " +
      "new rows would lie apart from those they belong to; docs/scaling.md has the way to another database",
  );
  const replicas = [replica(1, "a", { shard_weight: 2 }), replica(2, "c")];
  expect(shardsText(replicas)).toBe("1 (weight 2), 2");
  expect(findClusterProblem(cluster, { ...well, replicas }, made)).toContain("the shards 1 (weight 2), 2");
});

test("another replica changes nothing", () => {
  expect(shardsText([...well.replicas, replica(2, "d")])).toBe(shardsText(well.replicas));
});

test("a version that does not show internal_replication is taken at its word", () => {
  const { internal_replication: _, ...older } = replica(1, "a");
  expect(findClusterProblem(cluster, { ...well, replicas: [older] }, empty)).toBeUndefined();
});

test("without the setting, a database of a cluster and one that replicates only names are refused", () => {
  expect(problemWithoutCluster(empty)).toBeUndefined();
  expect(problemWithoutCluster({ ...empty, tableEngine: "ReplacingMergeTree" })).toBeUndefined();
  expect(problemWithoutCluster(made)).toContain("set CLICKHOUSE_CLUSTER to its name");
  expect(problemWithoutCluster({ ...empty, engine: "Replicated" })).toContain(
    "name one of the engine Atomic",
  );
  expect(problemWithoutCluster({ ...empty, engine: "Shared", isCloud: true })).toBeUndefined();
});
