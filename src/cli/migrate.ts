// `sluice migrate`: applies the migrations to both stores, as the server does at its start.

import { resolve } from "node:path";
import { readKnownStores } from "../capture/capture_journal.ts";
import { openLog } from "../core/log.ts";
import { checkIdentity } from "../storage/identity.ts";
import { ownsDataDir } from "../storage/lock.ts";
import { countMigratedRows, migrate, pendingMigrations } from "../storage/migrate.ts";
import { durationEvents, type Migration, type MigrationDuration } from "../storage/migrations/files.ts";
import { attachStores } from "../storage/stores.ts";
import { checkPositionals, readArguments } from "./args.ts";
import type { CliContext, Command } from "./command.ts";
import { formatCount } from "./import/counts.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "create or update the tables of Postgres and ClickHouse",
  help: `usage: bun run sluice migrate [--check]

Applies the missing migrations of sql/postgres and sql/clickhouse in order. Several processes may run it at the
same time: each migration is applied once. Before one that is incompatible with running older servers it waits
until they stop, for ten minutes at most.

  --check  lists what would be applied, how long each takes and whether older servers can capture meanwhile; changes
           nothing

  DATABASE_URL=postgres://… CLICKHOUSE_URL=http://… SECRET_KEY=… bun run sluice migrate`,
  run,
};

async function run(args: string[], { config, print }: CliContext): Promise<number> {
  const words = readArguments(args, [], ["check"]);
  checkPositionals(words, 0);
  const isCheck = words.values["check"] === true;
  const log = openLog({ level: config.logLevel, format: config.logFormat });
  const known = readKnownStores(resolve(config.dataDir));
  const opening = { ...config, known, log };
  await using stores = await attachStores({ ...opening, requireReachable: true, existing: isCheck });
  if (isCheck) {
    await checkIdentity(stores.sql, stores.clickhouse, known);
    const pending = Object.values(await pendingMigrations(stores, log)).flat();
    for (const item of pending) print(checkLine(item, await countMigratedRows(stores.clickhouse, item)));
    if (pending.length === 0) print("nothing to apply");
    return 0;
  }
  // Embedded stores that no server has open.
  const alone = config.databaseUrl === undefined && ownsDataDir(resolve(config.dataDir));
  const applied = await migrate(stores, { known, log, alone });
  print(`applied ${applied.postgres} to Postgres, ${applied.clickhouse} to ClickHouse`);
  return 0;
}

function checkLine({ path, olderGoOn, duration }: Migration, rows: [string, number][]): string {
  const captures = olderGoOn ? "older servers can capture meanwhile" : "older servers must stop for it";
  return `${path}: ${durationText(duration, rows)}; ${captures}`;
}

function durationText({ seconds, isMeasured }: MigrationDuration, tables: [string, number][]): string {
  if (seconds === 0) return "a moment, however many events there are";
  if (tables.length === 0) return "a moment, since its tables are empty here";
  const rows = Math.max(...tables.map(([, count]) => count));
  const here = Math.ceil((seconds * rows) / durationEvents);
  const counts = tables.map(([table, count]) => `${formatCount(count)} rows of ${table}`).join(", ");
  const known = `${seconds} s for ${formatCount(durationEvents)}, ${isMeasured ? "measured" : "estimated"}`;
  return `about ${here} s for ${counts} here (${known})`;
}
