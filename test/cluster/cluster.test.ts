// The checks of test/storage/cluster on a real cluster, for example that of compose.cluster.yaml:
//
//   SLUICE_TEST_CLUSTER_URL=http://sluice:sluice@127.0.0.1:8123/sluice bun test test/cluster
//
// SLUICE_TEST_CLUSTER_NAME: its name, "main" unless told. Rows of projects above 1,000,000 are left behind.

import { afterAll, expect, test } from "bun:test";
import { silentLog as log } from "../../src/core/log.ts";
import { checkReplicas } from "../../src/storage/cluster/cluster_health.ts";
import { migrate } from "../../src/storage/migrate.ts";
import { openStores } from "../../src/storage/stores.ts";
import { clusterDataPath } from "../storage/cluster/data_path.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { makeStoresFolder } from "../support/made_stores.ts";

afterAll(cleanUp);

const url = process.env["SLUICE_TEST_CLUSTER_URL"];
const clickhouseCluster = process.env["SLUICE_TEST_CLUSTER_NAME"] ?? "main";

if (url === undefined) {
  test("a real cluster is tried where SLUICE_TEST_CLUSTER_URL names one", () => expect(url).toBeUndefined());
} else {
  clusterDataPath(async () => {
    const dataDir = await makeStoresFolder(["postgres"]);
    const options = { dataDir, clickhouseUrl: url, clickhouseCluster, requireReachable: true, log };
    const stores = await openStores(options);
    later(() => stores.close());
    await migrate(stores, { log });
    expect(await migrate(stores, { log })).toEqual({ postgres: 0, clickhouse: 0 });
    expect(await checkReplicas(stores.clickhouse, stores.clickhouse.cluster!)).toBeUndefined();
    return { clickhouse: stores.clickhouse, nativeUrl: url };
  });
}
