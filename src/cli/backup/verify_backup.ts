// Reads a whole backup and names all that is damaged in it; and opens it: restores it into a scratch folder, counts,
// and removes that again.

import { mkdtemp, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { UserError } from "../../core/fault.ts";
import { type Log, toReason } from "../../core/log.ts";
import { readVersion } from "../../core/version.ts";
import { openStores } from "../../storage/stores.ts";
import { BackupBucket, type BucketAccess, readBucketAddress } from "./backup_bucket.ts";
import { listName, summed, writeSummed } from "./backup_files.ts";
import { fetchManifest } from "./bucket_target.ts";
import { countRestoredRows } from "./clickhouse_parts_store.ts";
import { checkList, listedFiles, refuseForeign } from "./file_list.ts";
import { backupLimits } from "./limits.ts";
import { countProjects } from "./postgres_rows_store.ts";
import { restoreBackup } from "./restore.ts";
import { type Manifest, readManifest } from "./target.ts";

interface Verified {
  manifest: Manifest;
  /** How many files are missing, damaged or none of the backup's; `report` got the name of each. */
  damaged: number;
}

interface Verification {
  /** The backup's folder, or its `s3://bucket/prefix`. */
  source: string;
  bucketAccess: BucketAccess;
  /** An existing folder for what is made and removed meanwhile. */
  scratch: string;
  report(damage: string): void;
}

/** @throws UserError when there is no backup, its manifest or list is damaged, or the bucket does not answer. */
export async function verifyBackup({
  source,
  bucketAccess,
  scratch,
  report,
}: Verification): Promise<Verified> {
  const address = readBucketAddress(source);
  if (!address) {
    const folder = resolve(source);
    const manifest = readManifest(folder, readVersion());
    await checkList(folder, manifest.files);
    const read = (path: string, sum: string) => readFile(join(folder, path), sum);
    return { manifest, damaged: await countDamaged(folder, manifest, read, report) };
  }
  const bucket = new BackupBucket(address, bucketAccess);
  const manifest = await fetchManifest(bucket, readVersion());
  return await withinScratch(scratch, async (folder) => {
    const list = await bucket.get(listName, backupLimits.listBytesMax);
    if (!list) throw new UserError(`${bucket.name} is damaged: ${listName} is missing`);
    await writeSummed([list], join(folder, listName));
    await checkList(folder, manifest.files, bucket.name);
    const read = (path: string, sum: string) => readObject(bucket, path, sum);
    return { manifest, damaged: await countDamaged(folder, manifest, read, report, bucket) };
  });
}

/** A fault of a file as text, or its length in bytes. */
type FileFinding = string | number;

async function readFile(path: string, sum: string): Promise<FileFinding> {
  try {
    const found = await summed(path);
    return found.sum === sum ? found.bytes : "is not as it was written";
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return "is missing";
    return `cannot be read: ${toReason(thrown)}`;
  }
}

async function readObject(bucket: BackupBucket, path: string, sum: string): Promise<FileFinding> {
  let isWrong = false;
  const check = (bytes: Uint8Array): void => {
    isWrong = Bun.SHA256.hash(bytes, "hex") !== sum;
    // Read again: a transfer may have ended early.
    if (isWrong) throw new Error("it is not as it was written");
  };
  try {
    return (await bucket.get(path, backupLimits.objectBytes, check))?.length ?? "is missing";
  } catch (thrown) {
    if (isWrong) return "is not as it was written";
    throw thrown;
  }
}

/** @param folder has the list. @param bucket has the files, where they are in one. */
async function countDamaged(
  folder: string,
  { files }: Manifest,
  read: (path: string, sum: string) => Promise<FileFinding>,
  report: (damage: string) => void,
  bucket?: BackupBucket,
): Promise<number> {
  let [damaged, bytes] = [0, 0];
  const found = (damage: string): void => {
    damaged++;
    report(damage);
  };
  const name = bucket?.name ?? folder;
  for await (const { path, sum } of listedFiles(folder, "", name)) {
    const finding = await read(path, sum);
    if (typeof finding === "string") found(`${path} ${finding}`);
    else bytes += finding;
  }
  if (damaged === 0 && bytes !== files.bytes)
    found(`manifest.json says ${files.bytes} bytes, and the files have ${bytes}`);
  await refuseForeign(folder, bucket?.paths(), name).catch((thrown: unknown) => found(toReason(thrown)));
  return damaged;
}

/** Restores the backup into a folder of its own below `scratch`, and removes it. @throws UserError when it cannot. */
export async function openBackup(options: {
  source: string;
  bucketAccess: BucketAccess;
  scratch: string;
  log: Log;
}) {
  const { source, bucketAccess, log } = options;
  return await withinScratch(options.scratch, async (folder) => {
    const dataDir = join(folder, "data");
    await restoreBackup({ dataDir, source, bucketAccess, log });
    await using stores = await openStores({ dataDir, log, requireReachable: true });
    const counts = await countRestoredRows(stores.clickhouse);
    return { ...counts, projects: await countProjects(stores.sql) };
  });
}

/** Works in a folder that is removed afterwards. */
async function withinScratch<T>(scratch: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(resolve(scratch), "sluice-verify-")).catch((thrown: unknown) => {
    throw new UserError(`${scratch} cannot be written to: ${toReason(thrown)}`);
  });
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
