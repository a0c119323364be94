// A backup in a bucket: written without a copy on the disk, and fetched for a restore.

import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../../core/fault.ts";
import type { BackupBucket } from "./backup_bucket.ts";
import { backupParts, listName, manifestName, readChunks, writeSummed } from "./backup_files.ts";
import { checkList, listedFiles, partPath, refuseForeign, type WrittenParts } from "./file_list.ts";
import { backupLimits } from "./limits.ts";
import { type Manifest, noBackup, parseManifest } from "./manifest.ts";
import { findObject, type SharedBucket } from "./shared_files.ts";
import type { BackupTarget } from "./target.ts";

/**
 * @param folder one that does not exist, for files that cannot be written to the bucket directly.
 * @param shared of an incremental backup.
 */
export function bucketTarget(bucket: BackupBucket, folder: string, shared?: SharedBucket): BackupTarget {
  // Reused for every object: buffers that wait for the garbage collector would add up.
  const memory = new Uint8Array(backupLimits.objectBytes);
  const write = async function* (
    file: string,
    chunks: AsyncIterable<Uint8Array>,
    sharing?: SharedBucket,
  ): WrittenParts {
    let number = 0;
    for await (const bytes of cutPortions(chunks, memory)) {
      const path = partPath(file, number++);
      const sum = Bun.SHA256.hash(bytes, "hex");
      await (sharing ? sharing.put(sum, bytes) : bucket.put(path, bytes));
      yield [path, { bytes: bytes.length, sum }];
    }
  };
  return {
    folder,
    write: (file, chunks) => write(file, chunks),
    copy: (file, from) => write(file, readChunks(from), shared),
    get reusedBytes() {
      return shared?.reusedBytes ?? 0;
    },
    begin: async () => {
      if (await bucket.hasAny())
        throw new UserError(`${bucket.name} is not empty; a backup needs an address of its own`);
      await mkdir(folder, { recursive: true, mode: 0o700 });
    },
    adopt: async function* (file) {
      yield* write(file, readChunks(join(folder, file)));
      await rm(join(folder, file));
    },
    finish: async (manifest) => {
      const list = await readFile(join(folder, listName));
      if (list.length > backupLimits.listBytesMax)
        throw new UserError("there are more files than a backup in a bucket can have; back up into a folder");
      await bucket.put(listName, list);
      await bucket.put(manifestName, Buffer.from(manifest));
    },
    discard: () => bucket.remove(backupParts),
  };
}

/** The bytes in portions that fill `memory`, the last one shorter; an empty one when there are none. */
async function* cutPortions(chunks: AsyncIterable<Uint8Array>, memory: Uint8Array) {
  let [length, count] = [0, 0];
  for await (const chunk of chunks) {
    for (let done = 0; done < chunk.length;) {
      if (length === memory.length) {
        yield memory;
        [length, count] = [0, count + 1];
      }
      const part = chunk.subarray(done, done + memory.length - length);
      memory.set(part, length);
      length += part.length;
      done += part.length;
    }
  }
  if (length > 0 || count === 0) yield memory.subarray(0, length);
}

/** @throws UserError when there is no backup, or one that cannot be restored. */
export async function fetchManifest(bucket: BackupBucket, version: string): Promise<Manifest> {
  const bytes = await bucket.get(manifestName, backupLimits.manifestBytesMax);
  if (!bytes) throw noBackup(bucket.name, await bucket.hasAny());
  return parseManifest(Buffer.from(bytes).toString(), bucket.name, version);
}

/**
 * Fetches the files into a folder that does not exist, each part of a long one as a file of its own. Names come from
 * the list, and are checked; other objects are not read.
 * @throws UserError for what is missing, damaged, not the backup's, or more than the manifest says.
 */
export async function fetchFiles(
  bucket: BackupBucket,
  { files, shared }: Manifest,
  folder: string,
): Promise<void> {
  const list = await bucket.get(listName, backupLimits.listBytesMax);
  if (!list) throw new UserError(`${bucket.name} is damaged: ${listName} is missing`);
  await writeSummed([list], join(folder, listName));
  await checkList(folder, files, bucket.name);
  await refuseForeign(folder, bucket.paths(), bucket.name);
  let bytesLeft = files.bytes;
  for await (const listed of listedFiles(folder, "", bucket.name)) {
    const { path, sum } = listed;
    const found = findObject(bucket, listed, shared);
    const bytes = await found.bucket.get(found.path, Math.min(bytesLeft, backupLimits.objectBytes), (got) => {
      // Retried.
      if (Bun.SHA256.hash(got, "hex") !== sum) throw new Error("it is not as it was written");
    });
    if (!bytes) throw new UserError(`${bucket.name} is damaged: ${path} is missing`);
    bytesLeft -= bytes.length;
    await writeSummed([bytes], join(folder, path));
  }
}
