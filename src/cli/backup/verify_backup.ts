// Reads a whole backup and names all that is damaged in it; and opens it: restores it into a scratch folder, counts,
// and removes that again.

import { mkdtemp, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { UserError } from "../../core/fault.ts";
import { type Log, toReason } from "../../core/log.ts";
import { readVersion } from "../../core/version.ts";
import { openStores } from "../../storage/stores.ts";
import { BackupBucket, type BucketAccess, readBucketAddress } from "./backup_bucket.ts";
import {
  type BackupCollection,
  bucketCollection,
  folderCollection,
  listSharers,
} from "./backup_collection.ts";
import { listName, summed, writeSummed } from "./backup_files.ts";
import { fetchManifest } from "./bucket_target.ts";
import { checkList, type ListedFile, listedFiles, refuseForeign } from "./file_list.ts";
import { backupLimits } from "./limits.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import { restoreBackup } from "./restore.ts";
import { findFile, findObject, sharedPath } from "./shared_files.ts";
import { countRestoredRows } from "./stores/clickhouse_parts_store.ts";
import { countProjects } from "./stores/postgres_rows_store.ts";

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
    const read = (listed: ListedFile) => readFile(findFile(folder, listed, manifest.shared), listed.sum);
    const beside = folderCollection(dirname(folder));
    return { manifest, damaged: await countDamaged({ folder, manifest, read, beside, report }) };
  }
  const bucket = new BackupBucket(address, bucketAccess);
  const manifest = await fetchManifest(bucket, readVersion());
  return await withinScratch(scratch, async (folder) => {
    const list = await bucket.get(listName, backupLimits.listBytesMax);
    if (!list) throw new UserError(`${bucket.name} is damaged: ${listName} is missing`);
    await writeSummed([list], join(folder, listName));
    await checkList(folder, manifest.files, bucket.name);
    const read = (listed: ListedFile) => {
      const found = findObject(bucket, listed, manifest.shared);
      return readObject(found.bucket, found.path, listed.sum);
    };
    const beside = bucketCollection(bucket.beside(""), folder);
    return { manifest, damaged: await countDamaged({ folder, manifest, read, beside, report, bucket }) };
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

interface Reading extends Pick<Verification, "report"> {
  /** Has the list. */
  folder: string;
  manifest: Manifest;
  read(listed: ListedFile): Promise<FileFinding>;
  /** The backups that may share its files. */
  beside: BackupCollection;
  /** Has the files, where they are in one. */
  bucket?: BackupBucket;
}

async function countDamaged(reading: Reading): Promise<number> {
  const { folder, manifest, read, report, bucket } = reading;
  let [damaged, bytes] = [0, 0];
  const found = (damage: string): void => {
    damaged++;
    report(damage);
  };
  const name = bucket?.name ?? folder;
  const harmful = new Map<string, HarmfulFile>();
  for await (const listed of listedFiles(folder, "", name)) {
    const finding = await read(listed);
    const shared = sharedPath(listed, manifest.shared);
    if (typeof finding !== "string") bytes += finding;
    else if (shared === undefined || harmful.size >= backupLimits.harmfulMax)
      found(`${listed.path} ${finding}`);
    else {
      const damage = `${listed.path} (${manifest.shared!}/${shared}) ${finding}`;
      const { damages } = harmful.getOrInsertComputed(listed.sum, () => ({ damages: [], sharers: [] }));
      damages.push(damage);
    }
  }
  await findHarm(reading, harmful);
  for (const { damages, sharers } of harmful.values()) {
    for (const damage of damages) found(`${damage}; of ${sharers.join(", ")}`);
  }
  const { files } = manifest;
  if (damaged === 0 && bytes !== files.bytes)
    found(`manifest.json says ${files.bytes} bytes, and the files have ${bytes}`);
  await refuseForeign(folder, bucket?.paths(), name).catch((thrown: unknown) => found(toReason(thrown)));
  return damaged;
}

/** A damaged file that backups share. */
interface HarmfulFile {
  damages: string[];
  /** The backups that need it. */
  sharers: string[];
}

async function findHarm({ manifest, beside }: Reading, harmful: ReadonlyMap<string, HarmfulFile>) {
  if (harmful.size === 0) return;
  try {
    for await (const { name, sums } of listSharers(beside, manifest.shared!)) {
      const needed = new Set(sums.filter((sum) => harmful.has(sum)));
      for (const sum of needed) harmful.get(sum)!.sharers.push(name);
    }
  } catch (thrown) {
    for (const { sharers } of harmful.values())
      sharers.push(`others that cannot be told: ${toReason(thrown)}`);
  }
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
