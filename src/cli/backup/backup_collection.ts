// Several backups, each under its own name, in a folder or below a prefix of a bucket. The newest are kept. A backup's
// name contains its database's, so that servers may share a collection; other files in it are never removed.

import { existsSync } from "node:fs";
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { BackupBucket } from "./backup_bucket.ts";
import { backupParts, manifestName } from "./backup_files.ts";
import { bucketTarget } from "./bucket_target.ts";
import { type BackupTarget, folderTarget, partialEnding, removeParts } from "./target.ts";

export interface BackupCollection {
  target(name: string): BackupTarget;
  /** The names of the folders in it; one that is no backup, or an incomplete one, may appear twice. */
  names(): AsyncIterable<string>;
  /** Whether it has a manifest. */
  isWhole(name: string): Promise<boolean>;
  /** Removes a backup, complete or not; other files in its folder stay. */
  remove(name: string): Promise<void>;
}

export function folderCollection(folder: string): BackupCollection {
  return {
    target: (name) => folderTarget(join(folder, name)),
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
    target: (name) => bucketTarget(bucket.below(name), staging),
    names: () => bucket.folders(),
    isWhole: (name) => bucket.below(name).has(manifestName),
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
