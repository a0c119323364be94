import { afterAll } from "bun:test";
import { silentLog as log } from "../../src/core/log.ts";
import { readConnection } from "../../src/storage/embedded/connection.ts";
import { startEmbeddedPostgres } from "../../src/storage/embedded/postgres.ts";
import { openStores } from "../../src/storage/stores.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { openTestStores, startFront } from "../support/stores.ts";
import { storageContract } from "./contract.ts";

afterAll(cleanUp);

storageContract("embedded stores", async () => {
  const folder = makeFolder();
  const stores = await openTestStores(folder);
  return { stores, folder, clickhouseUrl: readConnection(folder)?.clickhouse_url ?? "" };
});

storageContract("remote stores", async () => {
  const folder = makeFolder();
  const postgres = await startEmbeddedPostgres({ dataDir: makeFolder(), log });
  later(() => postgres.stop());
  const front = await startFront();
  const stores = await openStores({
    dataDir: folder,
    databaseUrl: postgres.url,
    clickhouseUrl: front.url,
    requireReachable: true,
    log,
  });
  return { stores, folder, clickhouseUrl: front.url };
});
