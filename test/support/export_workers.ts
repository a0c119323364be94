// Workers of batch exports beside each other on one pair of stores, by a clock that a test moves.

import { beforeAll, beforeEach } from "bun:test";
import { openAddresses } from "../../src/access/address.ts";
import { openSecrets } from "../../src/access/secret.ts";
import { bootstrap } from "../../src/accounts/prepare.ts";
import type { RunServices } from "../../src/batch_exports/runs/run.ts";
import { ExportWorker } from "../../src/batch_exports/runs/worker.ts";
import { type Log, silentLog } from "../../src/core/log.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { later } from "./cleanup.ts";
import { makeStoresFolder } from "./made_stores.ts";
import { noSqlParser } from "./sql_parser.ts";
import { openTestStores, storesStartMsMax } from "./stores.ts";

export const hour = 3_600_000;
export const noon = Date.parse("2030-05-05T12:00:00Z");

export const nowhere = { type: "NoOp", config: {}, interval: "hour" };

/** Refused at once by whoever looks at it. */
export const broken = {
  ...nowhere,
  type: "S3",
  config: {
    bucket_name: "none",
    region: "us-east-1",
    prefix: "{nothing}",
    endpoint_url: "http://127.0.0.1:1",
  },
};

/** The stores are there once the tests of the file begin; each test begins at noon, without exports. */
export async function openExportWorkers() {
  const dataDir = await makeStoresFolder();
  let stores: Stores;
  const workers = {
    dataDir,
    /** In ms since 1970. */
    now: noon,
    get stores() {
      return stores;
    },
    /** A process of its own, as far as runs are concerned; it looks when told to. */
    openProcess: (log: Log = silentLog, able: Partial<RunServices> = {}): ExportWorker => {
      const worker = new ExportWorker({
        sql: stores.sql,
        clickhouse: stores.clickhouse,
        secrets: openSecrets({ dataDir }),
        addresses: openAddresses({ allowPrivate: true }),
        exportFileDir: undefined,
        parse: noSqlParser.parse,
        counts: { ended: () => {}, rows: () => {}, seconds: () => {} },
        clock: { now: () => workers.now, elapsed: () => performance.now() },
        log,
        ...able,
      });
      worker.start();
      later(() => worker.close());
      return worker;
    },
    arrive: async (...moments: number[]): Promise<void> => {
      for (const moment of moments) {
        await stores.clickhouse.command(
          `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row)
           SELECT generateUUIDv4(), 1, 'e', 'd', '{}', toDateTime64('2030-01-01 00:00:00', 6, 'UTC'),
             fromUnixTimestamp64Milli({moment:Int64}, 'UTC'), 1, 1`,
          { moment },
        );
      }
    },
  };
  beforeAll(async () => {
    stores = await openTestStores(dataDir);
    await bootstrap(stores.sql, {
      bootstrapProjectApiKey: undefined,
      bootstrapPersonalApiKey: undefined,
      bootstrapEmail: undefined,
    });
  }, storesStartMsMax);
  beforeEach(async () => {
    await stores.sql`DELETE FROM batch_exports`;
    await stores.sql`DELETE FROM journals`;
    workers.now = noon;
  });
  return workers;
}
