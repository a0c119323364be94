// `sluice migrate`: applies the migrations to both stores, as the server does at its start.

import { openLog } from "../core/log.ts";
import { migrate } from "../storage/migrate.ts";
import { attachStores } from "../storage/stores.ts";
import { checkPositionals, readArguments } from "./args.ts";
import type { CliContext, Command } from "./command.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "create or update the tables of Postgres and ClickHouse",
  help: `usage: bun run sluice migrate

Applies the missing migrations of sql/postgres and sql/clickhouse in order. Several processes may run it at the
same time: each migration is applied once.

  DATABASE_URL=postgres://… CLICKHOUSE_URL=http://… SECRET_KEY=… bun run sluice migrate`,
  run,
};

async function run(args: string[], { config, print }: CliContext): Promise<number> {
  checkPositionals(readArguments(args, []), 0);
  const log = openLog({ level: config.logLevel, format: config.logFormat });
  const { dataDir, databaseUrl, clickhouseUrl, clickhouseCluster } = config;
  const stores = await attachStores({
    dataDir,
    log,
    requireReachable: true,
    ...(databaseUrl && { databaseUrl }),
    ...(clickhouseUrl && { clickhouseUrl }),
    ...(clickhouseCluster && { clickhouseCluster }),
  });
  try {
    const applied = await migrate(stores, { log });
    print(`applied ${applied.postgres} to Postgres, ${applied.clickhouse} to ClickHouse`);
  } finally {
    await stores.close();
  }
  return 0;
}
