// `sluice move`: the rows of both embedded stores go to empty remote ones. ClickHouse's first, then Postgres's in one
// transaction: until it is committed, the remote stores have no accounts, and the embedded ones are unchanged.

import { resolve } from "node:path";
import { readKnownStores } from "../capture/capture_journal.ts";
import { UserError } from "../core/fault.ts";
import { mirrorMerges } from "../persons/mirror_store.ts";
import { readPostgresId, writeClickHouseId } from "../storage/identity.ts";
import { migrate } from "../storage/migrate.ts";
import { reserve } from "../storage/postgres/postgres.ts";
import { attachStores, openStores, type Stores } from "../storage/stores.ts";
import { checkPositionals, readArguments } from "./args.ts";
import { openBackupLog } from "./backup.ts";
import { listPartTables } from "./backup/stores/clickhouse_parts_store.ts";
import { checkNoRows, copyTable, withoutViews } from "./backup/stores/clickhouse_rows_store.ts";
import * as postgresRows from "./backup/stores/postgres_rows_store.ts";
import { checkEmbedded } from "./backup/write_backup.ts";
import type { CliContext, Command } from "./command.ts";

export const moveCommand: Command = {
  name: "move",
  summary: "copy everything of the embedded stores to your own Postgres and ClickHouse",
  help: `usage: bun run sluice move

Copies everything from the embedded stores under DATA_DIR to the stores that DATABASE_URL and CLICKHOUSE_URL name,
which must be empty. The server must be stopped. Pending events stay in the journal: the next start, with
the same DATA_DIR and URLs, stores them in the new ClickHouse. The embedded stores are left as they are;
repeat an interrupted move with an empty ClickHouse database.

  DATABASE_URL=postgres://… CLICKHOUSE_URL=http://… SECRET_KEY="$(cat data/secret.key)" bun run sluice move`,
  run,
};

/** @throws UserError with the remedy. */
async function run(args: string[], { config, print }: CliContext): Promise<number> {
  checkPositionals(readArguments(args, []), 0);
  if (config.databaseUrl === undefined || config.clickhouseUrl === undefined) {
    throw new UserError("set DATABASE_URL and CLICKHOUSE_URL to the stores to move to");
  }
  const log = openBackupLog(config);
  const dataDir = resolve(config.dataDir);
  checkEmbedded(dataDir);
  const known = readKnownStores(dataDir);
  // Owns the folder, so that no server runs on it meanwhile.
  await using from = await openStores({ dataDir, known, log, requireReachable: true });
  await migrate(from, { known, log, alone: true, exact: true });
  await using to = await attachStores({ ...config, dataDir, log, requireReachable: true });
  await migrate(to, { log, exact: true });
  const rows = await copyAll(from, to);
  print(`moved ${rows.toLocaleString("en")} rows of ClickHouse, and all of Postgres`);
  return 0;
}

/** @returns how many rows ClickHouse received. */
async function copyAll(from: Stores, to: Stores): Promise<number> {
  const tables = (await listPartTables(from.clickhouse)).map(({ name }) => name);
  if ((await postgresRows.countAccounts(to.sql)) > 0) {
    throw new UserError("the Postgres of DATABASE_URL has accounts already; name an empty database");
  }
  await checkNoRows(to.clickhouse, tables);
  let rows = 0;
  await withoutViews(to.clickhouse, async () => {
    for (const table of tables) rows += await copyTable(table, from.clickhouse, to.clickhouse);
  });
  await mirrorMerges(from.sql, to.clickhouse);
  // Before Postgres has it: a server on half a move is refused.
  await writeClickHouseId(to.clickhouse, await readPostgresId(from.sql));
  using connection = await reserve(from.sql);
  await postgresRows.beginSnapshot(connection);
  const names = await postgresRows.listRowTables(from.sql);
  const copied = (async function* () {
    for (const table of names) yield { table, chunks: postgresRows.copyOut(connection, table) };
  })();
  await postgresRows.copyIn(to.sql, copied, await postgresRows.readSequences(from.sql));
  await postgresRows.endSnapshot(connection);
  return rows;
}
