// Where an archive lies: beside the backups of its database, in a folder or a bucket.

import { dirname, resolve } from "node:path";
import { BackupBucket, type BucketAccess, readBucketAddress } from "../backup_bucket.ts";
import { type BackupCollection, bucketCollection, folderCollection } from "../backup_collection.ts";
import { backupLimits } from "../limits.ts";
import type { SharedFiles } from "../shared_files.ts";
import { bundleName, readBundleTime } from "./bundle.ts";

export class ArchivePlace {
  readonly #collection: BackupCollection;
  readonly #name: string;
  readonly #files: SharedFiles;

  constructor(collection: BackupCollection, database: string) {
    this.#collection = collection;
    this.#name = `sluice-archive-${database.slice(0, 8)}`;
    this.#files = collection.shared(this.#name);
  }

  /** @param at ms since 1970. @returns the bundle's name. */
  async put(at: number, packed: Uint8Array): Promise<string> {
    const name = bundleName(at, packed);
    await this.#files.write(name, packed);
    return name;
  }

  /** Undefined for one that is not as it was written. */
  async get(name: string): Promise<Uint8Array | undefined> {
    const packed = await this.#collection.read(this.#name, name, backupLimits.bundleBytesMax);
    return packed && name.endsWith(Bun.SHA256.hash(packed, "hex")) ? packed : undefined;
  }

  /** The bundles that were made from this time (ms) on, from the oldest. */
  async list(since: number): Promise<string[]> {
    const names = await Array.fromAsync(this.#files.paths());
    return names.filter((name) => (readBundleTime(name) ?? -1) >= since).toSorted();
  }

  /** Removes the bundles that were made before this time (ms). */
  async removeBefore(until: number): Promise<void> {
    for await (const name of this.#files.paths()) {
      if ((readBundleTime(name, true) ?? until) < until) await this.#files.remove(name);
    }
  }
}

/** The archive beside a backup. */
export function archiveBeside(source: string, access: BucketAccess, database: string): ArchivePlace {
  const address = readBucketAddress(source);
  const collection = address
    ? bucketCollection(new BackupBucket(address, access).beside(""), "")
    : folderCollection(dirname(resolve(source)));
  return new ArchivePlace(collection, database);
}
