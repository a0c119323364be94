import { afterAll, expect, test } from "bun:test";
import { storedBatches } from "../../../src/capture/store.ts";
import { silentLog as log } from "../../../src/core/log.ts";
import { migrate } from "../../../src/storage/migrate.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { type ClusterFront, openClusterStores, ownShard } from "../../support/cluster.ts";
import { makeStoresFolder } from "../../support/made_stores.ts";
import { clusterDataPath } from "./data_path.ts";

afterAll(cleanUp);

let cluster: ClusterFront;

clusterDataPath(async () => {
  const stores = await openClusterStores(await makeStoresFolder(["postgres"]));
  await migrate(stores, { log });
  ({ cluster } = stores);
  return { clickhouse: stores.clickhouse, nativeUrl: cluster.front.url };
});

test("deletions named all servers, and held in portions the values that rows had", () => {
  const sent = cluster.everywhere.filter((text) =>
    text.includes("DELETE FROM `event_rows_local` ON CLUSTER 'one' WHERE"),
  );
  expect(sent.length).toBe(2);
  expect(sent.filter((text) => /\bdeleting_ids\b/.test(text))).toEqual([]);
});

test("a shard that is unavailable is an error, never a shorter answer", async () => {
  const lost = await openClusterStores(undefined, {
    shards: ownShard + ownShard.replace("<port>9000</port>", "<port>9</port>"),
  });
  await lost.clickhouse.createDatabase();
  await lost.clickhouse.command("CREATE TABLE some_local (a UInt8) ENGINE = MergeTree ORDER BY a");
  await lost.clickhouse.command(
    "CREATE TABLE some (a UInt8) ENGINE = Distributed('one', 'sluice', 'some_local', a)",
  );
  await expect(lost.clickhouse.query("SELECT count() FROM some")).rejects.toThrow();
  await expect(lost.clickhouse.command("INSERT INTO some SELECT 1")).rejects.toThrow();
});

test("where INSERTs wait for a quorum, what was found is not excluded", async () => {
  const stores = await openClusterStores(await makeStoresFolder(["postgres"]), {
    settings: { insert_quorum: "2" },
  });
  await migrate(stores, { log });
  await stores.clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, timestamp, created_at, _batch, _row)
     SELECT generateUUIDv4(), 1, 'e', 'd', now64(6), now64(6), 61, 0`,
  );
  const batches = [{ id: 61n, rows: 1 }];
  expect(await storedBatches(stores.clickhouse, "event_rows", batches)).toEqual(new Set());
});
