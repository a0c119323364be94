// Several backups, each under its own name, in a folder or below a prefix of a bucket. The newest are kept. A backup's
// name contains its database's, so that servers may share a collection; other files in it are never removed.

import { existsSync, statSync } from "node:fs";
import { readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../../core/fault.ts";
import type { BackupBucket } from "./backup_bucket.ts";
import { backupParts, listName, manifestName } from "./backup_files.ts";
import { bucketTarget } from "./bucket_target.ts";
import { backupLimits } from "./limits.ts";
import { parseAnyManifest } from "./manifest.ts";
import { readSharedPath, SharedBucket, type SharedFiles, SharedFolder, sharedSums } from "./shared_files.ts";
import { type BackupTarget, folderTarget, partialEnding, removeParts } from "./target.ts";

export interface BackupCollection {
  /** @param shared where an incremental one has its files; undefined for a full one. */
  target(name: string, shared?: string): BackupTarget;
  /** The files that its incremental backups share. */
  shared(name: string): SharedFiles;
  /** A file of a backup; undefined when there is none. @throws UserError when it has more bytes. */
  read(name: string, file: string, bytesMax: number): Promise<Uint8Array | undefined>;
  /** The names of the folders in it; one that is no backup, or an incomplete one, may appear twice. */
  names(): AsyncIterable<string>;
  /** Whether it has a manifest. */
  isWhole(name: string): Promise<boolean>;
  /** Removes a backup, complete or not; other files in its folder stay. */
  remove(name: string): Promise<void>;
}

export function folderCollection(folder: string): BackupCollection {
  return {
    target: (name, shared) =>
      folderTarget(join(folder, name), shared ? new SharedFolder(join(folder, shared)) : undefined),
    shared: (name) => new SharedFolder(join(folder, name)),
    read: async (name, file, bytesMax) => {
      const path = join(folder, name, file);
      const stat = statSync(path, { throwIfNoEntry: false });
      if (!stat) return undefined;
      if (!stat.isFile() || stat.size > bytesMax)
        throw new UserError(`${path} is damaged: it is no file of at most ${bytesMax} bytes`);
      return await readFile(path);
    },
    names: async function* () {
      for (const entry of await readdir(folder, { withFileTypes: true })) {
        if (!entry.isDirectory()) continue;
        yield entry.name.endsWith(partialEnding) ? entry.name.slice(0, -partialEnding.length) : entry.name;
      }
    },
    isWhole: async (name) => existsSync(join(folder, name, manifestName)),
    remove: async (name) => {
      const partial = join(folder, name + partialEnding);
      await removeParts(partial);
      // A partly removed backup must not look complete.
      if (existsSync(join(folder, name))) await rename(join(folder, name), partial);
      await removeParts(partial);
    },
  };
}

/** @param staging a folder that does not exist, for files that cannot be written to the bucket directly. */
export function bucketCollection(bucket: BackupBucket, staging: string): BackupCollection {
  return {
    target: (name, shared) =>
      bucketTarget(bucket.below(name), staging, shared ? new SharedBucket(bucket.below(shared)) : undefined),
    shared: (name) => new SharedBucket(bucket.below(name)),
    read: (name, file, bytesMax) => bucket.below(name).get(file, bytesMax),
    names: () => bucket.folders(),
    isWhole: (name) =>
      bucket
        .below(name)
        .size(manifestName)
        .then((size) => size !== undefined),
    remove: (name) => bucket.below(name).remove(backupParts),
  };
}

const nameShape = /^sluice-\d{8}T\d{6}Z-([0-9a-f]{8})$/;

/** The name of a backup of that moment, in ms, and database: names of one database are in the order of time. */
export function backupName(at: number, database: string): string {
  const time = new Date(at).toISOString().replace(/\.\d+|[:-]/g, "");
  return `sluice-${time}-${database.slice(0, 8)}`;
}

/**
 * Removes backups of the database of `newest`, except that one and the `countMax - 1` newest others, and incomplete
 * ones: one backup of a database runs at a time, and `newest` is complete.
 * @returns how many.
 */
export async function removeOlder(collection: BackupCollection, newest: string, countMax: number) {
  const database = nameShape.exec(newest)?.[1];
  const otherBackups = new Set<string>();
  for await (const name of collection.names()) {
    if (name !== newest && nameShape.exec(name)?.[1] === database) otherBackups.add(name);
  }
  let [countLeft, removed] = [countMax - 1, 0];
  for (const name of [...otherBackups].toSorted().toReversed()) {
    if (countLeft > 0 && (await collection.isWhole(name))) {
      countLeft--;
      continue;
    }
    await collection.remove(name);
    removed++;
  }
  return removed;
}

/** When the oldest backup of this one's database began, in ms since 1970: about, as its name has it. */
export async function oldestTime(collection: BackupCollection, own: string): Promise<number> {
  let oldest = own;
  for await (const name of collection.names()) {
    if (nameShape.exec(name)?.[1] === nameShape.exec(own)?.[1] && name < oldest) oldest = name;
  }
  return Date.parse(oldest.replace(/^sluice-(....)(..)(..T..)(..)(..Z).*/, "$1-$2-$3:$4:$5"));
}

/**
 * The backups that share these files, each with their hashes.
 * @throws UserError for one that cannot be read: nobody knows which it needs.
 */
export async function* listSharers(collection: BackupCollection, shared: string) {
  for (const name of new Set(await Array.fromAsync(collection.names()))) {
    const bytes = await collection.read(name, manifestName, backupLimits.manifestBytesMax);
    const text = Buffer.from(bytes ?? []).toString();
    // Others may keep anything here. A backup that was given another name still needs its files.
    if (!bytes || (!nameShape.test(name) && !text.includes(shared))) continue;
    const { files, shared: own } = parseAnyManifest(text, name);
    if (own !== shared) continue;
    const list = await collection.read(name, listName, backupLimits.listBytesMax);
    if (!list || Bun.SHA256.hash(list, "hex") !== files.sum)
      throw new UserError(`${name} is damaged: its list of files is not the one it was made with`);
    yield { name, sums: sharedSums(Buffer.from(list).toString("latin1")) };
  }
}

/**
 * Removes the shared files that no backup needs, of backups that were cut short too.
 * @param newest an incremental one that was just written.
 * @throws UserError as above, and where the collection does not list `newest`.
 */
export async function removeUnneeded(
  collection: BackupCollection,
  shared: string,
  newest?: string,
): Promise<number> {
  const files = collection.shared(shared);
  let needed: Set<number> | undefined;
  let removed = 0;
  for await (const path of files.paths()) {
    const sum = readSharedPath(path);
    if (sum === undefined) continue;
    needed ??= await listNeeded(collection, shared, newest);
    if (needed.has(toNumber(sum))) continue;
    await files.remove(path);
    removed++;
  }
  return removed;
}

async function listNeeded(collection: BackupCollection, shared: string, newest?: string) {
  const needed = new Set<number>();
  const names = new Set<string>();
  for await (const { name, sums } of listSharers(collection, shared)) {
    names.add(name);
    for (const sum of sums) needed.add(toNumber(sum));
  }
  if (newest !== undefined && !names.has(newest))
    throw new UserError(`${newest} is not listed where it was written: nothing is removed`);
  return needed;
}

/** 48 bits of a hash: a set of them takes a quarter of the memory, and two that are equal only keep a file too many. */
function toNumber(sum: string): number {
  return Number.parseInt(sum.slice(0, 12), 16);
}
