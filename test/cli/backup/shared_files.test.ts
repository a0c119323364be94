// Files that incremental backups share: whatever is added, removed, cut short and expired, every kept backup is whole,
// and no file stays that none of them needs.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { BackupBucket } from "../../../src/cli/backup/backup_bucket.ts";
import {
  type BackupCollection,
  backupName,
  bucketCollection,
  folderCollection,
  listSharers,
  removeOlder,
  removeUnneeded,
} from "../../../src/cli/backup/backup_collection.ts";
import { FileList } from "../../../src/cli/backup/file_list.ts";
import { backupManifestText, checkFiles, parseAnyManifest } from "../../../src/cli/backup/manifest.ts";
import { sharedName } from "../../../src/cli/backup/shared_files.ts";
import { readVersion } from "../../../src/core/version.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { s3Key, s3Secret, startS3 } from "../../support/s3.ts";

afterAll(cleanUp);

const database = "0123abcd-0000-4000-8000-000000000000";
const shared = sharedName(database);
const nameAt = (at: number) => backupName(Date.UTC(2026, 10, 1) + at * 1000, database);

interface Place {
  collection: BackupCollection;
  staging?: string;
  /** Their paths and contents below the place. */
  read(): ReadonlyMap<string, Uint8Array>;
  put(path: string, bytes: Uint8Array): Promise<void>;
}

function inFolder(): Place {
  const folder = makeFolder();
  const files = () =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return {
    collection: folderCollection(folder),
    read: () =>
      new Map(
        files()
          .map((entry) => join(entry.parentPath, entry.name))
          .map((path) => [path.slice(folder.length + 1), readFileSync(path)]),
      ),
    put: (path, bytes) => Promise.resolve(writeFileSync(join(folder, path), bytes)),
  };
}

let places = 0;
const s3 = await startS3("backups");

function inBucket(): Place {
  const prefix = `place${places++}`;
  const settings = {
    accessKeyId: s3Key,
    secretAccessKey: s3Secret,
    sessionToken: undefined,
    region: "us-east-1",
    endpoint: s3.url,
  };
  const bucket = new BackupBucket({ bucket: "backups", prefix }, settings);
  const staging = join(makeFolder(), "staging");
  const keys = () => s3.keys("backups").filter((key) => key.startsWith(`${prefix}/`));
  return {
    collection: bucketCollection(bucket, staging),
    staging,
    read: () => new Map(keys().map((key) => [key.slice(prefix.length + 1), s3.read("backups", key)])),
    put: (path, bytes) => bucket.put(path, bytes),
  };
}

/** Makes a backup of these parts, or ends after some of them as one that is killed does. */
async function makeBackup(
  { collection, staging }: Place,
  name: string,
  parts: ReadonlyMap<string, string>,
  { isFull = false, killedAfter = Number.POSITIVE_INFINITY } = {},
): Promise<number> {
  if (staging !== undefined) rmSync(staging, { recursive: true, force: true });
  const source = makeFolder();
  const target = isFull ? collection.target(name) : collection.target(name, shared);
  await target.begin();
  const list = new FileList(target.folder);
  let count = 0;
  for (const [part, text] of parts) {
    if (count++ >= killedAfter) return 0;
    const from = join(source, part);
    writeFileSync(from, text);
    const file = `clickhouse/event_rows/${part}/data.bin`;
    await list.add(file, target.copy(file, from));
  }
  const rows = (async function* () {
    yield await Promise.resolve(Buffer.from(name));
  })();
  await list.add("postgres/a", target.write("postgres/a", rows));
  const files = await list.end();
  if (killedAfter === parts.size) return 0;
  const about = { version: readVersion(), begun_at: "", postgres: [], clickhouse: [], sequences: {} };
  await target.finish(backupManifestText({ ...about, files, ...(!isFull && { shared }) }));
  return target.reusedBytes;
}

/** Copies the place to a folder, as any tool may, and checks every backup there; its names. */
async function checkAll(place: Place): Promise<string[]> {
  const copy = makeFolder();
  for (const [path, bytes] of place.read()) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    writeFileSync(join(copy, path), bytes);
  }
  const names = readdirSync(copy).filter((name) => readdirSync(join(copy, name)).includes("manifest.json"));
  for (const name of names) {
    const folder = join(copy, name);
    const text = readFileSync(join(folder, "manifest.json"), "utf8");
    await checkFiles(folder, parseAnyManifest(text, name));
  }
  return names.toSorted();
}

async function listNeeded({ collection }: Place): Promise<string[]> {
  const needed = new Set<string>();
  for await (const { sums } of listSharers(collection, shared)) for (const sum of sums) needed.add(sum);
  return [...needed].map((sum) => `${shared}/${sum.slice(0, 2)}/${sum}`).toSorted();
}

const sharedIn = (place: Place) =>
  [...place.read().keys()].filter((path) => path.startsWith(`${shared}/`)).toSorted();

const step = fc.record({
  added: fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.constantFrom("x", "y", "z")), { maxLength: 3 }),
  removed: fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 2 }),
  kind: fc.constantFrom("incremental", "incremental", "full", "killed"),
  killedAfter: fc.integer({ min: 0, max: 4 }),
  kept: fc.integer({ min: 1, max: 3 }),
});

for (const [kind, open, numRuns] of [
  ["a folder", inFolder, 40],
  ["a bucket", inBucket, 8],
] as const) {
  test(`in ${kind} every kept backup is whole, and only what they need stays`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 7 }), async (steps) => {
        const place = open();
        const parts = new Map<string, string>();
        const made: string[] = [];
        for (const [at, { added, removed, kind: how, killedAfter, kept }] of steps.entries()) {
          for (const [part, text] of added) parts.set(`all_${part}`, text);
          for (const part of removed) parts.delete(`all_${part}`);
          const name = nameAt(at);
          if (how === "killed") {
            await makeBackup(place, name, parts, { killedAfter: Math.min(killedAfter, parts.size) });
            expect(await checkAll(place)).toEqual(made);
            continue;
          }
          await makeBackup(place, name, parts, { isFull: how === "full" });
          made.push(name);
          expect(await checkAll(place)).toEqual(made);
          await removeOlder(place.collection, name, kept);
          made.splice(0, made.length - kept);
          // A kill may come here: the next run removes the rest.
          if (killedAfter === 0) continue;
          await removeUnneeded(place.collection, shared, how === "full" ? undefined : name);
          expect(await checkAll(place)).toEqual(made);
          expect(sharedIn(place)).toEqual(await listNeeded(place));
        }
      }),
      { numRuns },
    );
  });

  test(`in ${kind} a file that is there is not written again, and a shorter one is`, async () => {
    const place = open();
    const parts = new Map([
      ["all_1", "one".repeat(1000)],
      ["all_2", "two"],
    ]);
    expect(await makeBackup(place, nameAt(1), parts)).toBe(0);
    parts.set("all_3", "three");
    expect(await makeBackup(place, nameAt(2), parts)).toBe(3003);
    expect(sharedIn(place)).toHaveLength(3);
    const long = sharedIn(place).find((path) => place.read().get(path)!.length === 3000)!;
    await place.put(long, Buffer.from("cut"));
    await expect(checkAll(place)).rejects.toThrow("all_1/data.bin is not as it was written");
    expect(await makeBackup(place, nameAt(3), parts)).toBe(8);
    expect(await checkAll(place)).toHaveLength(3);
  });

  test(`in ${kind} nothing is removed while nobody knows what a backup needs`, async () => {
    const place = open();
    await makeBackup(place, nameAt(1), new Map([["all_1", "one"]]));
    await makeBackup(place, nameAt(2), new Map([["all_2", "two"]]));
    const list = place.read().get(`${nameAt(1)}/files`)!;
    await place.put(`${nameAt(1)}/files`, list.subarray(1));
    const before = sharedIn(place);
    await place.put(`${shared}/${"0".repeat(64)}`, Buffer.from("mine"));
    await expect(removeUnneeded(place.collection, shared)).rejects.toThrow("is damaged: its list of files");
    await place.put(`${nameAt(1)}/files`, list);
    await expect(removeUnneeded(place.collection, shared, nameAt(3))).rejects.toThrow("nothing is removed");
    expect(await removeUnneeded(place.collection, shared, nameAt(2))).toBe(0);
    await place.collection.remove(nameAt(1));
    expect(await removeUnneeded(place.collection, shared)).toBe(1);
    const left = sharedIn(place);
    expect(left).toHaveLength(2);
    expect(left.filter((path) => !before.includes(path))).toEqual([`${shared}/${"0".repeat(64)}`]);
  });
}
