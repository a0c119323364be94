// A backup of DATA_DIR and the two embedded stores, while a server may run. The journal is copied first, then the
// stores: an event that was acknowledged before is in one of them, and recovery detects those that are in both.

import { existsSync } from "node:fs";
import { join, resolve, sep } from "node:path";
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
import { ArchivePlace } from "./archive/archive_place.ts";
import { BackupBucket, type BucketAccess, readBucketAddress } from "./backup_bucket.ts";
import * as collections from "./backup_collection.ts";
import { filesBelow } from "./backup_files.ts";
import { copyData } from "./data_copy.ts";
import { FileList } from "./file_list.ts";
import { backupLimits } from "./limits.ts";
import { backupManifestText, type Manifest } from "./manifest.ts";
import { sharedName } from "./shared_files.ts";
import { freeze, listPartTables, stagingFolder, thaw } from "./stores/clickhouse_parts_store.ts";
import * as postgresRows from "./stores/postgres_rows_store.ts";
import type { BackupTarget } from "./target.ts";

export interface BackupOptions extends Uses<"clock" | "log"> {
  dataDir: string;
  /** A folder, or `s3://bucket/prefix`: of the backup, which must be new or empty; with `kept`, of several. */
  target: string;
  /** How many backups of this database stay there, this one included; undefined: none is removed. */
  kept?: number;
  /** Whether it shares ClickHouse's files with others of this database, which `kept` allows. */
  isIncremental: boolean;
  bucketAccess: BucketAccess;
}

/**
 * A backup that failed or was killed leaves no manifest.
 * @returns its manifest, its folder or address, the bytes that it found there, and how many older ones were removed.
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
  { target, kept, isIncremental, clock, log, bucketAccess }: BackupOptions,
) {
  const collection = openCollection(dataDir, target, bucketAccess);
  await using stores = await attachStores({ dataDir, log, requireReachable: true });
  using connection = await reserve(stores.sql);
  await postgresRows.lockBackups(connection);
  const id = await readPostgresId(connection);
  if (id === undefined) throw new UserError("the database has no identity: start the server on it first");
  const name = kept === undefined ? "" : collections.backupName(clock.now(), id);
  const shared = sharedName(id);
  const place = isIncremental ? collection.target(name, shared) : collection.target(name);
  const source = { dataDir, stores, connection, clock, ...(isIncremental && { shared }) };
  const manifest = await write(source, place);
  recordDone(manifest);
  const location = name === "" ? target : `${target.replace(/\/$/, "")}/${name}`;
  const { reusedBytes } = place;
  if (kept === undefined) return { manifest, location, reusedBytes, removed: 0 };
  try {
    const removed = await collections.removeOlder(collection, name, kept);
    await collections.removeUnneeded(collection, shared, isIncremental ? name : undefined);
    const oldest = await collections.oldestTime(collection, name);
    await new ArchivePlace(collection, id).removeBefore(oldest - 2 * backupLimits.derivedAgainMs);
    return { manifest, location, reusedBytes, removed };
  } catch (thrown) {
    throw new UserError(`${location} is complete, but older ones could not be removed: ${toReason(thrown)}`);
  }
}

/** The folder of backups, or their address. @throws UserError for one that is neither, or within DATA_DIR. */
export function openCollection(dataDir: string, target: string, settings: BucketAccess) {
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
  shared?: string;
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
  const { dataDir, stores, connection, clock, shared } = source;
  const { sql, clickhouse } = stores;
  const begun_at = new Date(clock.now()).toISOString();
  const list = new FileList(target.folder);
  const data = join(target.folder, "data");
  await copyData(dataDir, data);
  await postgresRows.beginSnapshot(connection);
  const tables = await listPartTables(clickhouse);
  const parts = await freeze(clickhouse, dataDir, tables);
  for (const table of await postgresRows.listRowTables(sql)) {
    const file = `postgres/${table}`;
    await list.add(file, target.write(file, postgresRows.copyOut(connection, table)));
  }
  await postgresRows.endSnapshot(connection);
  const sequences = await postgresRows.readSequences(sql);
  const postgres = await appliedMigrations(stores, "postgres");
  const applied = await appliedMigrations(stores, "clickhouse");
  for await (const name of filesBelow(data)) await list.add(`data/${name}`, target.adopt(`data/${name}`));
  for (const part of parts) {
    for await (const name of filesBelow(part.path)) {
      const file = `clickhouse/${part.name}/${name}`;
      await list.add(file, target.copy(file, join(part.path, name)));
    }
  }
  await postgresRows.checkBackupLock(connection);
  const files = await list.end();
  const own = { version: readVersion(), begun_at, postgres, clickhouse: applied, sequences, files };
  return shared === undefined ? own : { ...own, shared };
}
