// A restore: an empty data folder is filled from a backup. While it lasts a marker is in the folder, so that no server
// starts on half of it.

import { existsSync, readdirSync, rmSync } from "node:fs";
import { chmod, copyFile as copyPlain, mkdir, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { UserError } from "../../core/fault.ts";
import type { Log } from "../../core/log.ts";
import { readVersion } from "../../core/version.ts";
import { mirrorMerges } from "../../persons/mirror_store.ts";
import { ownDataDir, refuseHalfRestored, restoringPath } from "../../storage/lock.ts";
import { filesOfMigrations, migrate } from "../../storage/migrate.ts";
import { openStores, type Stores } from "../../storage/stores.ts";
import { checkFiles, copyFile, listedFiles, piecesOf, syncTree } from "./backup_files.ts";
import { attach, deriveSince, detachedFolder, listPartTables } from "./clickhouse_parts_store.ts";
import { backupLimits } from "./limits.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import { copyIn } from "./postgres_rows_store.ts";

export interface RestoreOptions {
  dataDir: string;
  /** The backup's folder. */
  source: string;
  log: Log;
}

/** @throws UserError with the remedy, before anything is written if the backup or the folder is not fit. */
export async function restoreBackup({ dataDir, source, log }: RestoreOptions): Promise<Manifest> {
  const [from, to] = [resolve(source), resolve(dataDir)];
  const manifest = readManifest(from, readVersion());
  checkEmpty(to);
  await checkFiles(from, manifest.files);
  const owning = ownDataDir(to);
  try {
    await writeFile(restoringPath(to), `${from}\n`, { mode: 0o600, flush: true });
    await syncTree(to);
    for await (const { path } of listedFiles(from, "data/")) {
      await copyFile(join(from, path), join(to, path.slice("data/".length)));
    }
    const stores = await openStores({ dataDir: to, log, requireReachable: true });
    try {
      await fillStores({ dataDir: to, source: from, log }, stores, manifest);
    } finally {
      await stores.close();
    }
    await syncTree(to, true);
    rmSync(restoringPath(to));
    await syncTree(to);
    return manifest;
  } finally {
    owning.release();
  }
}

/** What a new volume has by itself, and what a restore makes that was killed before it began. */
const nobodys: ReadonlySet<string> = new Set(["lost+found", "lock", "owner"]);

function checkEmpty(dataDir: string): void {
  if (!existsSync(dataDir)) return;
  refuseHalfRestored(dataDir);
  const [found] = readdirSync(dataDir).filter((name) => !nobodys.has(name));
  if (found !== undefined)
    throw new UserError(`DATA_DIR ${dataDir} is not empty (it has ${found}); restore into a new one`);
}

async function fillStores(
  { dataDir, source, log }: RestoreOptions,
  stores: Stores,
  manifest: Manifest,
): Promise<void> {
  const { sql, clickhouse } = stores;
  const files = join(dataDir, "restoring.sql");
  await migrate(stores, {
    log,
    alone: true,
    postgresDir: await migrationsOf(files, "postgres", manifest),
    clickhouseDir: await migrationsOf(files, "clickhouse", manifest),
  });
  await rm(files, { recursive: true });
  await copyIn(sql, rowsOf(source), manifest.sequences);
  const tables = new Map((await listPartTables(clickhouse)).map((table) => [table.name, table]));
  for await (const { path } of listedFiles(source, "clickhouse/")) {
    const [, name = "", ...rest] = path.split("/");
    const table = tables.get(name);
    if (!table) throw new UserError(`${source} has rows of ${name}, a table that does not exist`);
    await copyFile(join(source, path), join(detachedFolder(dataDir, table), ...rest));
  }
  for (const table of tables.values()) await attach(clickhouse, dataDir, table);
  await mirrorMerges(sql, clickhouse);
  await deriveSince(clickhouse, Date.parse(manifest.begun_at) - backupLimits.derivedAgainMs);
}

/** A folder with the migrations that the backup's stores had: later ones are applied by the next start. */
async function migrationsOf(
  folder: string,
  store: "postgres" | "clickhouse",
  manifest: Manifest,
): Promise<string> {
  const own = join(folder, store);
  await mkdir(own, { recursive: true, mode: 0o700 });
  for (const path of filesOfMigrations(store, manifest[store])) {
    await copyPlain(path, join(own, basename(path)));
    await chmod(join(own, basename(path)), 0o600);
  }
  return own;
}

async function* rowsOf(source: string): AsyncGenerator<{ table: string; pieces: AsyncIterable<Uint8Array> }> {
  for await (const { path } of listedFiles(source, "postgres/")) {
    yield { table: path.slice("postgres/".length), pieces: piecesOf(join(source, path)) };
  }
}
