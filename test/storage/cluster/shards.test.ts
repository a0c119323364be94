// What a cluster does with rows, over two shards that are engines of their own.

import { afterAll } from "bun:test";
import { silentLog as log } from "../../../src/core/log.ts";
import { migrate } from "../../../src/storage/migrate.ts";
import { openStores } from "../../../src/storage/stores.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { clusterName } from "../../support/cluster.ts";
import { makeStoresFolder } from "../../support/made_stores.ts";
import { startShards } from "../../support/shards.ts";
import { clusterDataPath } from "./data_path.ts";

afterAll(cleanUp);

clusterDataPath(async () => {
  const { url, nativeUrl } = await startShards(2);
  const dataDir = await makeStoresFolder(["postgres"]);
  const remote = { clickhouseUrl: url, clickhouseCluster: clusterName };
  const stores = await openStores({ dataDir, ...remote, requireReachable: true, log });
  later(() => stores.close());
  await migrate(stores, { log });
  return { clickhouse: stores.clickhouse, nativeUrl };
});
