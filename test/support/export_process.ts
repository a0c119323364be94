// Stores with a few events, and export workers within the test's own process: at a moment that stands still, over
// rows that came in the hour before it.

import { type Addresses, openAddresses } from "../../src/access/address.ts";
import { openSecrets } from "../../src/access/secret.ts";
import { bootstrap } from "../../src/accounts/prepare.ts";
import type { RunServices } from "../../src/batch_exports/runs/run.ts";
import { ExportWorker } from "../../src/batch_exports/runs/worker.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { later } from "./cleanup.ts";
import { endedRuns, type MadeExport, makeBackfill, makeExport, type SeenRun } from "./exports.ts";
import { makeStoresFolder } from "./made_stores.ts";
import { openTestParser } from "./sql_parser.ts";
import { openTestStores } from "./stores.ts";

const hour = 3_600_000;
export const noon = Date.parse("2030-05-05T12:00:00Z");

export interface ExportProcess {
  stores: Stores;
  dataDir: string;
  /** A worker that has started; closed with the test file. */
  open(options?: Partial<RunServices>): ExportWorker;
  /** A backfill of the hour before noon has begun. */
  begin(made: MadeExport): Promise<string>;
  /** Resolves to the run once it has ended. */
  exported(made: MadeExport): Promise<SeenRun>;
  /** Adds events that arrived within that hour; `sql` is the text of their properties, over `number`. */
  arrive(rows: number, sql?: string): Promise<void>;
}

/** Stores with one project and three events. */
export async function openExportProcess(): Promise<ExportProcess> {
  const dataDir = await makeStoresFolder();
  const stores = await openTestStores(dataDir);
  const made = { bootstrapProjectApiKey: undefined, bootstrapPersonalApiKey: undefined };
  await bootstrap(stores.sql, { ...made, bootstrapEmail: undefined });
  const addresses: Addresses = openAddresses({ allowPrivate: true });
  const { parse } = openTestParser();
  let batch = 1;
  const test: ExportProcess = {
    stores,
    dataDir,
    open: (options = {}) => {
      const worker = new ExportWorker({
        sql: stores.sql,
        clickhouse: stores.clickhouse,
        secrets: openSecrets({ dataDir }),
        addresses,
        exportFileDir: undefined,
        parse,
        counts: { ended: () => {}, rows: () => {}, seconds: () => {} },
        clock: { now: () => noon, elapsed: () => performance.now() },
        log: silentLog,
        ...options,
      });
      worker.start();
      later(() => worker.close());
      return worker;
    },
    begin: async (input) => {
      const id = await makeExport(stores, { dataDir }, { ...input, paused: true });
      await makeBackfill(stores, id, "hour", { start: new Date(noon - hour), end: new Date(noon) });
      return id;
    },
    exported: async (input) => {
      const [run] = await endedRuns(stores, await test.begin(input));
      return run!;
    },
    arrive: async (rows, sql = "'{}'") => {
      await stores.clickhouse.command(
        `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row)
         SELECT generateUUIDv4(), 1, 'e', 'd', ${sql}, toDateTime64('2030-01-01 00:00:00', 6, 'UTC'),
           fromUnixTimestamp64Milli({moment:Int64}, 'UTC'), {batch:UInt64}, number FROM numbers({rows:UInt64})`,
        { moment: noon - 1, batch: batch++, rows },
      );
    },
  };
  await test.arrive(3);
  return test;
}
