// Files that the incremental backups of a database share. They lie beside the backups, each named after its SHA-256, so
// that one which is there need not be written again.

import { existsSync, statSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { UserError } from "../../core/fault.ts";
import type { BackupBucket } from "./backup_bucket.ts";
import {
  copyFile,
  filesBelow,
  summed,
  syncOne,
  syncTree,
  writeSummed,
  type Written,
} from "./backup_files.ts";

/** The name of the folder, beside the backups, of the files that those of a database share. */
export function sharedName(database: string): string {
  return `sluice-files-${database.slice(0, 8)}`;
}

export function isSharedName(text: unknown): boolean {
  return typeof text === "string" && /^sluice-files-[0-9a-f]{8}$/.test(text);
}

/** A file of a backup's list. */
interface Named {
  path: string;
  sum: string;
}

/** ClickHouse's files are never changed; the others are new in every backup. */
const sharedBelow = "clickhouse/";

/** The path of a file below the folder of shared ones; undefined for one that is the backup's own. */
export function sharedPath({ path, sum }: Named, shared: string | undefined): string | undefined {
  return shared !== undefined && path.startsWith(sharedBelow) ? toPath(sum) : undefined;
}

function toPath(sum: string): string {
  return `${sum.slice(0, 2)}/${sum}`;
}

/** The path of a listed file of the backup in this folder. @param shared the manifest's. */
export function findFile(folder: string, named: Named, shared: string | undefined): string {
  const path = sharedPath(named, shared);
  return path === undefined ? join(folder, named.path) : join(dirname(folder), shared!, path);
}

/** The object of a listed file of the backup at this address. @param shared the manifest's. */
export function findObject(bucket: BackupBucket, named: Named, shared: string | undefined) {
  const path = sharedPath(named, shared);
  return path === undefined ? { bucket, path: named.path } : { bucket: bucket.beside(shared!), path };
}

/** The hashes of shared files in the text of a list. */
export function* sharedSums(list: string): Generator<string> {
  for (const [, sum] of list.matchAll(/^([0-9a-f]{64}) {2}clickhouse\//gm)) yield sum!;
}

const pathShape = /^([0-9a-f]{2})\/(\1[0-9a-f]{62})(\.partial)?$/;

/** The hash of a shared file; empty for half a file of a backup that was killed; undefined for anything else. */
export function readSharedPath(path: string): string | undefined {
  const [, , sum, partial] = pathShape.exec(path) ?? [];
  return partial === undefined ? sum : "";
}

export interface SharedFiles {
  /** Bytes of added files that were there. */
  readonly reusedBytes: number;
  /** Writes a file of this name, whole or not at all. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** The paths of all files. */
  paths(): AsyncIterable<string>;
  remove(path: string): Promise<void>;
}

export class SharedFolder implements SharedFiles {
  reusedBytes = 0;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** A file of another length was damaged, and is replaced. @throws UserError for one that changes meanwhile. */
  async add(from: string): Promise<Written> {
    const written = await summed(from);
    const to = join(this.#folder, toPath(written.sum));
    if (statSync(to, { throwIfNoEntry: false })?.size === written.bytes) {
      this.reusedBytes += written.bytes;
      return written;
    }
    await rm(`${to}.partial`, { force: true });
    const { sum } = await copyFile(from, `${to}.partial`);
    if (sum !== written.sum) throw new UserError(`${from} was changed while it was copied`);
    await rename(`${to}.partial`, to);
    return written;
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    const partial = join(this.#folder, `${name}.partial`);
    try {
      await writeSummed([bytes], partial);
      await rename(partial, join(this.#folder, name));
    } catch (thrown) {
      await rm(partial, { force: true });
      throw thrown;
    }
    for (const folder of [this.#folder, dirname(this.#folder)]) await syncOne(folder);
  }

  /** Makes the names of all files durable, those of a backup that was killed too. */
  async sync(): Promise<void> {
    if (existsSync(this.#folder)) await syncTree(this.#folder);
  }

  paths(): AsyncIterable<string> {
    return filesBelow(this.#folder);
  }

  async remove(path: string): Promise<void> {
    await rm(join(this.#folder, path), { force: true });
  }
}

export class SharedBucket implements SharedFiles {
  reusedBytes = 0;
  readonly #bucket: BackupBucket;

  constructor(bucket: BackupBucket) {
    this.#bucket = bucket;
  }

  async put(sum: string, bytes: Uint8Array): Promise<void> {
    if ((await this.#bucket.size(toPath(sum))) === bytes.length) this.reusedBytes += bytes.length;
    else await this.#bucket.put(toPath(sum), bytes);
  }

  write(name: string, bytes: Uint8Array): Promise<void> {
    return this.#bucket.put(name, bytes);
  }

  paths(): AsyncIterable<string> {
    return this.#bucket.paths();
  }

  remove(path: string): Promise<void> {
    return this.#bucket.delete(path);
  }
}
