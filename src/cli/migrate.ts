// sluice migrate: brings both stores to this version's tables. The server does the same at its start.

import { UserError } from "../core/fault.ts";
import { openLog } from "../core/log.ts";
import { migrate } from "../storage/migrate.ts";
import { attachStores } from "../storage/stores.ts";
import type { CliContext, Command } from "./command.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "bring Postgres and ClickHouse to this version's tables",
  help: `usage: bun run sluice migrate

Applies what is missing of sql/postgres and sql/clickhouse, in order, once, whoever else does the same.

  DATABASE_URL=postgres://… CLICKHOUSE_URL=http://… SECRET_KEY=… bun run sluice migrate`,
  run,
};

async function run(args: string[], { config, print }: CliContext): Promise<number> {
  if (args.length > 0) throw new UserError(`unknown option "${args[0]}"; bun run sluice migrate --help`, 2);
  const log = openLog({ level: config.logLevel, format: config.logFormat });
  const { dataDir, databaseUrl, clickhouseUrl } = config;
  const stores = await attachStores({
    dataDir,
    log,
    requireReachable: true,
    ...(databaseUrl && { databaseUrl }),
    ...(clickhouseUrl && { clickhouseUrl }),
  });
  try {
    const applied = await migrate(stores, { log });
    print(`applied ${applied.postgres} to Postgres, ${applied.clickhouse} to ClickHouse`);
  } finally {
    await stores.close();
  }
  return 0;
}
