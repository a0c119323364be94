// A backup: what DATA_DIR and the two embedded stores hold, while a server may run. The journal is copied first, then
// the stores: an event that was acknowledged before is in one of them, and recovery tells those that are in both.

import { existsSync, readdirSync } from "node:fs";
import { mkdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { captureSetup } from "../../capture/capture_journal.ts";
import { copyJournal } from "../../capture/journal/journal_copy.ts";
import type { Clock } from "../../core/clock.ts";
import { UserError } from "../../core/fault.ts";
import { readVersion } from "../../core/version.ts";
import { appliedMigrations } from "../../storage/migrate.ts";
import type { Uses } from "../../storage/services.ts";
import { attachStores, type Stores } from "../../storage/stores.ts";
import { copyFile, FileList, filesBelow, syncTree } from "./backup_files.ts";
import { freeze, frozenParts, listPartTables, thaw } from "./clickhouse_parts_store.ts";
import { backupLimits } from "./limits.ts";
import { backupManifestText, type Manifest, manifestName } from "./manifest.ts";
import {
  beginSnapshot,
  copyOut,
  endSnapshot,
  type HeldConnection,
  listRowTables,
  lockBackups,
  readSequences,
} from "./postgres_rows_store.ts";

export interface BackupOptions extends Uses<"clock" | "log"> {
  dataDir: string;
  /** The backup's folder: new, or empty. */
  target: string;
}

/** @throws UserError with the remedy. A backup that failed or was killed leaves no manifest. */
export async function writeBackup({ dataDir, target, clock, log }: BackupOptions): Promise<Manifest> {
  const [from, to] = [resolve(dataDir), resolve(target)];
  checkPlaces(from, to);
  const stores = await attachStores({ dataDir: from, log, requireReachable: true });
  try {
    const connection = await stores.sql.reserve();
    try {
      await lockBackups(connection);
      return await write({ dataDir: from, stores, connection, clock }, to);
    } finally {
      connection.release();
    }
  } finally {
    await stores.close();
  }
}

/** @throws UserError when there are no embedded stores. */
export function checkEmbedded(dataDir: string): void {
  if (!existsSync(join(dataDir, "postgres", "PG_VERSION")) || !existsSync(join(dataDir, "clickhouse"))) {
    throw new UserError(
      `DATA_DIR ${dataDir} has no embedded stores: no server has ever started on it without URLs`,
    );
  }
}

function checkPlaces(dataDir: string, target: string): void {
  checkEmbedded(dataDir);
  if (`${target}${sep}`.startsWith(`${dataDir}${sep}`))
    throw new UserError(`the backup must not be within DATA_DIR ${dataDir}`);
  if (existsSync(target) && readdirSync(target).length > 0)
    throw new UserError(`${target} is not empty; a backup needs a folder of its own`);
}

interface Source {
  dataDir: string;
  stores: Stores;
  connection: HeldConnection;
  clock: Clock;
}

/** Writes into a folder beside the target, which is renamed when all is durable. */
async function write(source: Source, target: string): Promise<Manifest> {
  const partial = `${target}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true, mode: 0o700 });
  await thaw(source.dataDir);
  try {
    const manifest = await fill(source, partial);
    await syncTree(partial);
    await writeFile(join(partial, manifestName), backupManifestText(manifest), { mode: 0o600, flush: true });
    await syncTree(partial);
    if (existsSync(target)) await rmdir(target);
    await rename(partial, target);
    await syncTree(target);
    return manifest;
  } catch (thrown) {
    await rm(partial, { recursive: true, force: true });
    throw thrown;
  } finally {
    await thaw(source.dataDir);
  }
}

async function fill(source: Source, folder: string): Promise<Manifest> {
  const { dataDir, stores, connection, clock } = source;
  const { sql, clickhouse } = stores;
  const begun_at = new Date(clock.now()).toISOString();
  const list = new FileList(folder);
  await copyData(dataDir, join(folder, "data"));
  await beginSnapshot(connection);
  const tables = await listPartTables(clickhouse);
  await freeze(clickhouse, tables);
  for (const table of await listRowTables(sql)) {
    await list.write(`postgres/${table}`, copyOut(connection, table));
  }
  await endSnapshot(connection);
  const sequences = await readSequences(sql);
  const postgres = await appliedMigrations(stores, "postgres");
  const applied = await appliedMigrations(stores, "clickhouse");
  await list.addBelow("data");
  for (const table of tables) {
    for (const { part, path } of await frozenParts(dataDir, table)) {
      const place = `clickhouse/${table.name}/${part}`;
      for await (const name of filesBelow(path)) await list.copy(join(path, name), `${place}/${name}`);
    }
  }
  const files = await list.end();
  return { version: readVersion(), begun_at, postgres, clickhouse: applied, sequences, files };
}

/**
 * What is kept outside of the stores. Refused rows are copied before the journals, to which they may return, and after
 * them, since rows may come from there.
 */
async function copyData(dataDir: string, target: string): Promise<void> {
  await copyNew(dataDir, target, "quarantine");
  for (const own of ["", ...workerFolders(dataDir)]) {
    const folder = join(dataDir, own, "journal");
    if (!existsSync(folder)) continue;
    await copyJournal({
      setup: captureSetup,
      folder,
      target: join(target, own, "journal"),
      copy: copyFile,
      attemptsMax: backupLimits.segmentCopiesMax,
    });
  }
  await copyNew(dataDir, target, "quarantine");
  await copyNew(dataDir, target, "secret.key");
}

function workerFolders(dataDir: string): string[] {
  const folder = join(dataDir, "workers");
  return existsSync(folder) ? readdirSync(folder).map((name) => join("workers", name)) : [];
}

/** Copies a file, or those of a folder, but for those that were copied before and those that go meanwhile. */
async function copyNew(dataDir: string, target: string, name: string): Promise<void> {
  const from = join(dataDir, name);
  const isFolder =
    existsSync(from) &&
    readdirSync(dirname(from), { withFileTypes: true }).some(
      (entry) => entry.name === basename(from) && entry.isDirectory(),
    );
  const names = isFolder ? readdirSync(from).map((one) => join(name, one)) : existsSync(from) ? [name] : [];
  for (const one of names) {
    const to = join(target, one);
    if (existsSync(to) || one.endsWith(".part")) continue;
    await copyFile(join(dataDir, one), to).catch(async (thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== "ENOENT") throw thrown;
      await rm(to, { force: true });
    });
  }
}
