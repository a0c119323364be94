// A restore: an empty data folder is filled from a backup. Until it is complete the folder has a marker, so that no
// server starts on it.

import { existsSync, readdirSync, rmSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { UserError } from "../../core/fault.ts";
import type { Log } from "../../core/log.ts";
import { readVersion } from "../../core/version.ts";
import { mirrorMerges } from "../../persons/mirror_store.ts";
import { readPostgresId, writeClickHouseId } from "../../storage/identity.ts";
import { ownDataDir, refuseHalfRestored, restoringPath } from "../../storage/lock.ts";
import { migrate } from "../../storage/migrate.ts";
import { byStore, readBackupVersion } from "../../storage/migrations/files.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { openStores, type Stores } from "../../storage/stores.ts";
import { BackupBucket, type BucketAccess, readBucketAddress } from "./backup_bucket.ts";
import { copyFile, readChunks, syncTree } from "./backup_files.ts";
import { fetchFiles, fetchManifest } from "./bucket_target.ts";
import { type ListedFile, listedFiles, refuseForeign } from "./file_list.ts";
import { backupLimits } from "./limits.ts";
import { checkFiles, type Manifest, readManifest } from "./manifest.ts";
import { findFile } from "./shared_files.ts";
import { attach, deriveSince, detachedFolder, listPartTables } from "./stores/clickhouse_parts_store.ts";
import { copyIn } from "./stores/postgres_rows_store.ts";

/** @throws UserError with the remedy, before anything is written if the backup or the folder is not fit. */
export async function restoreBackup(options: {
  dataDir: string;
  /** The backup's folder, or its `s3://bucket/prefix`. */
  source: string;
  bucketAccess: BucketAccess;
  /** Adds what came back from the archive that lies beside it. */
  addArchive?: AddArchive;
  log: Log;
}): Promise<Manifest> {
  const { source, addArchive = async () => {}, log } = options;
  const dataDir = resolve(options.dataDir);
  const address = readBucketAddress(source);
  const outside = { dataDir, log, addArchive };
  if (address) return await restoreBucket(new BackupBucket(address, options.bucketAccess), outside);
  const folder = resolve(source);
  const manifest = readManifest(folder, readVersion());
  checkEmpty(dataDir);
  await checkFiles(folder, manifest);
  await refuseForeign(folder);
  const filling = { ...outside, folder, shared: manifest.shared, isSpent: false };
  await withRestoreMarker(dataDir, folder, () => fill(filling, manifest));
  return manifest;
}

/** All files are fetched and checked before the first one is copied to its destination. */
async function restoreBucket(bucket: BackupBucket, outside: Outside): Promise<Manifest> {
  const { dataDir } = outside;
  const manifest = await fetchManifest(bucket, readVersion());
  checkEmpty(dataDir);
  const folder = join(dataDir, "restoring.files");
  await withRestoreMarker(dataDir, bucket.name, async () => {
    try {
      await fetchFiles(bucket, manifest, folder);
    } catch (thrown) {
      await rm(folder, { recursive: true, force: true });
      rmSync(restoringPath(dataDir));
      throw thrown;
    }
    await fill({ ...outside, folder, shared: undefined, isSpent: true }, manifest);
    await rm(folder, { recursive: true });
  });
  return manifest;
}

/** Owns the folder, which has the marker until the work is done. */
async function withRestoreMarker(dataDir: string, source: string, work: () => Promise<void>): Promise<void> {
  using _ = ownDataDir(dataDir);
  await writeFile(restoringPath(dataDir), `${source}\n`, { mode: 0o600, flush: true });
  await syncTree(dataDir);
  await work();
  await syncTree(dataDir, true);
  rmSync(restoringPath(dataDir));
  await syncTree(dataDir);
}

type AddArchive = (sql: Postgres, manifest: Manifest) => Promise<void>;

interface Outside {
  dataDir: string;
  log: Log;
  addArchive: AddArchive;
}

interface Filling extends Outside {
  /** The backup's. */
  folder: string;
  /** Where an incremental backup has shared files; none of what was fetched is. */
  shared: string | undefined;
  /** Whether its files are removed as they are copied: they are on the disk of the copies. */
  isSpent: boolean;
}

async function fill(filling: Filling, manifest: Manifest): Promise<void> {
  const { dataDir, folder, log } = filling;
  for await (const item of listedFiles(folder, "data/")) {
    await copyOne(filling, item, join(dataDir, item.file.slice("data/".length)));
  }
  await using stores = await openStores({ dataDir, log, requireReachable: true });
  await fillStores(filling, stores, manifest);
}

async function copyOne({ folder, shared, isSpent }: Filling, listed: ListedFile, to: string) {
  await copyFile(findFile(folder, listed, shared), to, listed.isFurther);
  if (isSpent) await rm(join(folder, listed.path));
}

/** The files of a new volume, and those of a restore that was killed before it began. */
const ignoredNames: ReadonlySet<string> = new Set(["lost+found", "lock", "owner"]);

function checkEmpty(dataDir: string): void {
  if (!existsSync(dataDir)) return;
  refuseHalfRestored(dataDir);
  const [found] = readdirSync(dataDir).filter((name) => !ignoredNames.has(name));
  if (found !== undefined)
    throw new UserError(
      `DATA_DIR ${dataDir} is not empty (it has ${found}): DATA_DIR=NEW bun run sluice restore BACKUP`,
    );
}

async function fillStores(filling: Filling, stores: Stores, manifest: Manifest): Promise<void> {
  const { dataDir, folder, log } = filling;
  const { sql, clickhouse } = stores;
  const until = byStore((store) => readBackupVersion(store, manifest[store]));
  await migrate(stores, { log, alone: true, until });
  await copyIn(sql, readTables(folder), manifest.sequences);
  await writeClickHouseId(clickhouse, await readPostgresId(sql));
  const tables = new Map((await listPartTables(clickhouse)).map((table) => [table.name, table]));
  for await (const item of listedFiles(folder, "clickhouse/")) {
    const [, name = "", ...rest] = item.file.split("/");
    const table = tables.get(name);
    if (!table) throw new UserError(`${folder} has rows of ${name}, a table that does not exist`);
    await copyOne(filling, item, join(detachedFolder(dataDir, table), ...rest));
  }
  for (const table of tables.values()) await attach(clickhouse, dataDir, table);
  // This version's views derive the rows again.
  await migrate(stores, { log, alone: true });
  await mirrorMerges(sql, clickhouse);
  await deriveSince(clickhouse, Date.parse(manifest.begun_at) - backupLimits.derivedAgainMs);
  await filling.addArchive(sql, manifest);
}

async function* readTables(folder: string) {
  const tables = new Map<string, string[]>();
  for await (const { path, file } of listedFiles(folder, "postgres/")) {
    tables.set(file, [...(tables.get(file) ?? []), join(folder, path)]);
  }
  for (const [file, paths] of tables) yield { table: file.slice("postgres/".length), chunks: inTurn(paths) };
}

async function* inTurn(paths: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const path of paths) yield* readChunks(path);
}
