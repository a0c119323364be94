// A move: the rows of both embedded stores go to empty remote ones. ClickHouse's first, then Postgres's in one
// transaction: until it is committed, the remote stores have no accounts, and the embedded ones are unchanged.

import { resolve } from "node:path";
import { readKnownStores } from "../../capture/open_journal.ts";
import { UserError } from "../../core/fault.ts";
import type { Log } from "../../core/log.ts";
import { mirrorMerges } from "../../persons/mirror_store.ts";
import { readPostgresId, writeClickHouseId } from "../../storage/identity.ts";
import { migrate } from "../../storage/migrate.ts";
import { reserve } from "../../storage/postgres/postgres.ts";
import { attachStores, openStores, type Stores } from "../../storage/stores.ts";
import { listPartTables } from "./clickhouse_parts_store.ts";
import { checkNoRows, copyRowsOf, withoutViews } from "./clickhouse_rows_store.ts";
import {
  beginSnapshot,
  copyIn,
  copyOut,
  countAccounts,
  endSnapshot,
  listRowTables,
  readSequences,
} from "./postgres_rows_store.ts";
import { checkEmbedded } from "./write_backup.ts";

export interface MoveOptions {
  dataDir: string;
  databaseUrl: string;
  clickhouseUrl: string;
  clickhouseCluster?: string | undefined;
  log: Log;
}

/**
 * @returns how many rows ClickHouse received.
 * @throws UserError with the remedy.
 */
export async function moveStores(options: MoveOptions): Promise<number> {
  const { dataDir: folder, log, ...remote } = options;
  const dataDir = resolve(folder);
  checkEmbedded(dataDir);
  const known = readKnownStores(dataDir);
  // Owns the folder, so that no server runs on it meanwhile.
  await using from = await openStores({ dataDir, known, log, requireReachable: true });
  await migrate(from, { known, log, alone: true, exact: true });
  await using to = await attachStores({ ...remote, dataDir, log, requireReachable: true });
  await migrate(to, { log, exact: true });
  return await copyAll(from, to);
}

async function copyAll(from: Stores, to: Stores): Promise<number> {
  const tables = (await listPartTables(from.clickhouse)).map(({ name }) => name);
  if ((await countAccounts(to.sql)) > 0) {
    throw new UserError("the Postgres of DATABASE_URL has accounts already; name an empty database");
  }
  await checkNoRows(to.clickhouse, tables);
  let rows = 0;
  await withoutViews(to.clickhouse, async () => {
    for (const table of tables) rows += await copyRowsOf(table, from.clickhouse, to.clickhouse);
  });
  await mirrorMerges(from.sql, to.clickhouse);
  // Before Postgres has it: a server on half a move is refused.
  await writeClickHouseId(to.clickhouse, await readPostgresId(from.sql));
  using connection = await reserve(from.sql);
  await beginSnapshot(connection);
  const names = await listRowTables(from.sql);
  const copied = (async function* () {
    for (const table of names) yield { table, chunks: copyOut(connection, table) };
  })();
  await copyIn(to.sql, copied, await readSequences(from.sql));
  await endSnapshot(connection);
  return rows;
}
