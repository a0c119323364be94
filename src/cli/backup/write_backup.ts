// A backup of DATA_DIR and the two embedded stores, while a server may run. The journal is copied first, then the
// stores: an event that was acknowledged before is in one of them, and recovery detects those that are in both.

import { existsSync, lstatSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { captureSetup } from "../../capture/capture_journal.ts";
import { copyJournal } from "../../capture/journal/journal_copy.ts";
import { leftBehind } from "../../capture/workers/worker_pool.ts";
import type { Clock } from "../../core/clock.ts";
import { UserError } from "../../core/fault.ts";
import { toReason } from "../../core/log.ts";
import { readVersion } from "../../core/version.ts";
import { recordBackupOutcome } from "../../storage/backup_outcomes.ts";
import { readPostgresId } from "../../storage/identity.ts";
import { appliedMigrations } from "../../storage/migrate.ts";
import { reserve } from "../../storage/postgres/postgres.ts";
import type { Uses } from "../../storage/services.ts";
import { attachStores, type Stores } from "../../storage/stores.ts";
import { BackupBucket, type BucketAccess, readBucketAddress } from "./backup_bucket.ts";
import * as collections from "./backup_collection.ts";
import { copyFile, filesBelow, readChunks } from "./backup_files.ts";
import { freeze, frozenParts, listPartTables, stagingFolder, thaw } from "./clickhouse_parts_store.ts";
import { FileList } from "./file_list.ts";
import { backupLimits } from "./limits.ts";
import * as postgresRows from "./postgres_rows_store.ts";
import { backupManifestText, type BackupTarget, type Manifest } from "./target.ts";

export interface BackupOptions extends Uses<"clock" | "log"> {
  dataDir: string;
  /** A folder, or `s3://bucket/prefix`: of the backup, which must be new or empty; with `kept`, of several. */
  target: string;
  /** How many backups of this database stay there, this one included; undefined: none is removed. */
  kept?: number;
  bucketAccess: BucketAccess;
}

/**
 * A backup that failed or was killed leaves no manifest.
 * @returns its manifest, its folder or address, and how many older ones were removed.
 * @throws UserError with the remedy.
 */
export async function writeBackup(options: BackupOptions) {
  const dataDir = resolve(options.dataDir);
  checkEmbedded(dataDir);
  let isDone = false;
  // Rows stored since it began are not in it.
  const recordDone = ({ begun_at }: Manifest) => {
    recordBackupOutcome(dataDir, "done", Date.parse(begun_at));
    isDone = true;
  };
  try {
    return await writeTo(dataDir, recordDone, options);
  } catch (thrown) {
    if (!isDone) recordBackupOutcome(dataDir, "failed", options.clock.now());
    throw thrown;
  }
}

type WriteDone = (manifest: Manifest) => void;

async function writeTo(
  dataDir: string,
  recordDone: WriteDone,
  { target, kept, clock, log, bucketAccess }: BackupOptions,
) {
  const collection = openCollection(dataDir, target, bucketAccess);
  await using stores = await attachStores({ dataDir, log, requireReachable: true });
  using connection = await reserve(stores.sql);
  await postgresRows.lockBackups(connection);
  const id = await readPostgresId(connection);
  if (id === undefined) throw new UserError("the database has no identity: start the server on it first");
  const name = kept === undefined ? "" : collections.backupName(clock.now(), id);
  const manifest = await write({ dataDir, stores, connection, clock }, collection.target(name));
  recordDone(manifest);
  const location = name === "" ? target : `${target.replace(/\/$/, "")}/${name}`;
  if (kept === undefined) return { manifest, location, removed: 0 };
  const removed = await collections.removeOlder(collection, name, kept).catch((thrown: unknown) => {
    throw new UserError(`${location} is complete, but older ones could not be removed: ${toReason(thrown)}`);
  });
  return { manifest, location, removed };
}

function openCollection(dataDir: string, target: string, settings: BucketAccess) {
  const address = readBucketAddress(target);
  if (address)
    return collections.bucketCollection(new BackupBucket(address, settings), stagingFolder(dataDir));
  const folder = resolve(target);
  if (`${folder}${sep}`.startsWith(`${dataDir}${sep}`))
    throw new UserError(`the backup must not be within DATA_DIR ${dataDir}`);
  return collections.folderCollection(folder);
}

/** @throws UserError when there are no embedded stores. */
export function checkEmbedded(dataDir: string): void {
  if (!existsSync(join(dataDir, "postgres", "PG_VERSION")) || !existsSync(join(dataDir, "clickhouse"))) {
    throw new UserError(
      `DATA_DIR ${dataDir} has no embedded stores: no server has ever started on it without URLs`,
    );
  }
}

interface Source {
  dataDir: string;
  stores: Stores;
  connection: postgresRows.HeldConnection;
  clock: Clock;
}

async function write(source: Source, target: BackupTarget): Promise<Manifest> {
  await thaw(source.dataDir);
  await target.begin();
  try {
    const manifest = await fill(source, target);
    await target.finish(backupManifestText(manifest));
    return manifest;
  } catch (thrown) {
    // The failure itself is reported.
    await target.discard().catch(() => {});
    throw thrown;
  } finally {
    await thaw(source.dataDir);
  }
}

async function fill(source: Source, target: BackupTarget): Promise<Manifest> {
  const { dataDir, stores, connection, clock } = source;
  const { sql, clickhouse } = stores;
  const begun_at = new Date(clock.now()).toISOString();
  const list = new FileList(target.folder);
  const data = join(target.folder, "data");
  await copyData(dataDir, data);
  await postgresRows.beginSnapshot(connection);
  const tables = await listPartTables(clickhouse);
  await freeze(clickhouse, tables);
  for (const table of await postgresRows.listRowTables(sql)) {
    const file = `postgres/${table}`;
    await list.add(file, target.write(file, postgresRows.copyOut(connection, table)));
  }
  await postgresRows.endSnapshot(connection);
  const sequences = await postgresRows.readSequences(sql);
  const postgres = await appliedMigrations(stores, "postgres");
  const applied = await appliedMigrations(stores, "clickhouse");
  for await (const name of filesBelow(data)) await list.add(`data/${name}`, target.adopt(`data/${name}`));
  for (const table of tables) {
    for (const { part, path } of await frozenParts(dataDir, table)) {
      for await (const name of filesBelow(path)) {
        const file = `clickhouse/${table.name}/${part}/${name}`;
        await list.add(file, target.write(file, readChunks(join(path, name))));
      }
    }
  }
  const files = await list.end();
  return { version: readVersion(), begun_at, postgres, clickhouse: applied, sequences, files };
}

/**
 * The data outside of the stores. Refused rows are copied before the journals, to which they may return, and after
 * them, since rows may have come from there.
 */
async function copyData(dataDir: string, target: string): Promise<void> {
  await copyNew(dataDir, target, "quarantine");
  for (const ownDir of [dataDir, ...leftBehind(dataDir, 1)]) {
    const folder = join(ownDir, "journal");
    if (!existsSync(folder)) continue;
    await copyJournal({
      setup: captureSetup,
      folder,
      target: join(target, relative(dataDir, folder)),
      copy: copyFile,
      attemptsMax: backupLimits.segmentCopiesMax,
    });
  }
  await copyNew(dataDir, target, "quarantine");
  await copyNew(dataDir, target, "secret.key");
}

/** Copies a file, or those of a folder, except those copied before and those removed meanwhile. */
async function copyNew(dataDir: string, target: string, name: string): Promise<void> {
  const from = join(dataDir, name);
  const isFolder = lstatSync(from, { throwIfNoEntry: false })?.isDirectory();
  const names = isFolder ? readdirSync(from).map((text) => join(name, text)) : existsSync(from) ? [name] : [];
  for (const text of names) {
    const to = join(target, text);
    if (existsSync(to) || text.endsWith(".part")) continue;
    await copyFile(join(dataDir, text), to).catch(async (thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== "ENOENT") throw thrown;
      await rm(to, { force: true });
    });
  }
}
