// What an operator sees who starts a server on a cluster that cannot serve: one line, and the end.

import { expect, test } from "bun:test";
import { silentLog as log } from "../../../src/core/log.ts";
import { ClickHouseError } from "../../../src/storage/clickhouse/clickhouse.ts";
import { findKeeperProblem } from "../../../src/storage/cluster/cluster_migrations.ts";
import { migrate } from "../../../src/storage/migrate.ts";
import { openStores } from "../../../src/storage/stores.ts";
import { cleanUpEach } from "../../support/cleanup.ts";
import { clusterName, ownShard, startClusterFront } from "../../support/cluster.ts";
import { makeFolder } from "../../support/folder.ts";
import { makeStoresFolder } from "../../support/made_stores.ts";
import { runSluice } from "../../support/server.ts";

cleanUpEach();

/** What a server says that does not start. */
async function refusalOf(url: string, cluster: string = clusterName): Promise<string> {
  const dataDir = await makeStoresFolder(["postgres"]);
  const settings = { DATA_DIR: dataDir, CLICKHOUSE_URL: url, CLICKHOUSE_CLUSTER: cluster };
  const { exitCode, stderr } = await runSluice(["serve"], { PORT: "0", ...settings, LOG_FORMAT: "pretty" });
  expect(exitCode).toBe(1);
  const [line, ...more] = stderr.trimEnd().split("\n");
  expect(more).toEqual([]);
  return line!;
}

test("no cluster of that name", async () => {
  const { url } = await startClusterFront();
  expect(await refusalOf(url, "other")).toBe(
    "sluice serve: CLICKHOUSE_CLUSTER: ClickHouse has no cluster other (it has one)",
  );
});

test("no macros", async () => {
  const { url } = await startClusterFront({ macros: {} });
  expect(await refusalOf(url)).toBe(
    "sluice serve: CLICKHOUSE_CLUSTER: its servers have no macros shard and replica",
  );
});

test("no keeper", async () => {
  const { url } = await startClusterFront({ keeper: "none", replicated: true });
  expect(await refusalOf(url)).toStartWith(
    "sluice serve: CLICKHOUSE_CLUSTER: ClickHouse has no keeper, which replicas need; set zookeeper in its configuration (",
  );
});

test("a keeper that does not answer", async () => {
  const { url } = await startClusterFront({ keeper: "away", replicated: true });
  expect(await refusalOf(url)).toStartWith(
    "sluice serve: CLICKHOUSE_CLUSTER: the keeper of ClickHouse does not answer (",
  );
});

test("other shards than the tables were made for", async () => {
  const dataDir = makeFolder();
  const { url, front } = await startClusterFront({ dataDir });
  const postgres = await makeStoresFolder(["postgres"]);
  const remote = { clickhouseUrl: url, clickhouseCluster: clusterName };
  const stores = await openStores({ dataDir: postgres, ...remote, requireReachable: true, log });
  await migrate(stores, { log });
  await stores.close();
  await front.end();
  const grown = await startClusterFront({ dataDir, shards: ownShard.repeat(2) });
  expect(await refusalOf(grown.url)).toBe(
    "sluice serve: CLICKHOUSE_CLUSTER: the cluster one has the shards 1, 2, and the tables of sluice were made for 1: " +
      "new rows would lie apart from those they belong to; docs/scaling.md has the way to another database",
  );
});

test("what a server without a keeper says to definitions for all servers is one line, too", () => {
  // As a whole ClickHouse says it: the embedded one is never sent such a definition.
  const said = "There is no DistributedDDL configuration in server config\nmore of it";
  const complaint = findKeeperProblem(new ClickHouseError(said, "139", "NO_ELEMENTS_IN_CONFIG"));
  expect(complaint?.message).toContain("set zookeeper and distributed_ddl in its configuration (There is no");
  expect(complaint?.message).not.toContain("\n");
  expect(findKeeperProblem(new ClickHouseError("other", "60", "UNKNOWN_TABLE"))).toBeUndefined();
  expect(findKeeperProblem(new Error("other"))).toBeUndefined();
});
