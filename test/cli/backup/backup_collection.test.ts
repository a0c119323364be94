// Which backups of a place stay: the newest ones of a database. Nothing else is removed, in a folder and in a bucket.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { BackupBucket } from "../../../src/cli/backup/backup_bucket.ts";
import {
  type BackupCollection,
  backupName,
  bucketCollection,
  folderCollection,
  removeOlder,
} from "../../../src/cli/backup/backup_collection.ts";
import { FileList } from "../../../src/cli/backup/file_list.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { s3Key, s3Secret, startS3 } from "../../support/s3.ts";

afterAll(cleanUp);

const database = "0123abcd-0000-4000-8000-000000000000";
const day = 86_400_000;
const nameOf = (days: number, of = database) => backupName(Date.UTC(2026, 10, 1) + days * day, of);

interface Tried {
  place: BackupCollection;
  /** Puts a file of somebody else's there. */
  put(path: string): Promise<void>;
  /** All paths, sorted. */
  paths(): string[];
}

function inFolder(): Tried {
  const folder = makeFolder();
  return {
    place: folderCollection(folder),
    put: async (path) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), "mine");
    },
    paths: () =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
        .toSorted(),
  };
}

async function inBucket(): Promise<Tried> {
  const s3 = await startS3("backups");
  s3.pageMax = 3;
  const settings = {
    accessKeyId: s3Key,
    secretAccessKey: s3Secret,
    sessionToken: undefined,
    region: "us-east-1",
    endpoint: s3.url,
  };
  const store = new BackupBucket({ bucket: "backups", prefix: "sluice" }, settings);
  return {
    place: bucketCollection(store, join(makeFolder(), "staging")),
    put: (path) => store.put(path, Buffer.from("mine")),
    paths: () => s3.keys("backups").map((key) => key.slice("sluice/".length)),
  };
}

async function* text(chunk: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(chunk));
}

async function makeBackup({ place }: Tried, name: string): Promise<void> {
  const target = place.target(name);
  await target.begin();
  const list = new FileList(target.folder);
  await list.add("postgres/a", target.write("postgres/a", text("rows")));
  await list.end();
  await target.finish("manifest");
  if (target.folder.endsWith("staging")) Bun.spawnSync(["rm", "-r", target.folder]);
}

const filesOf = (name: string) => ["files", "manifest.json", "postgres/a"].map((file) => `${name}/${file}`);

for (const [kind, open] of [
  ["a folder", async () => inFolder()],
  ["a bucket", inBucket],
] as const) {
  test(`in ${kind} the newest backups stay, whatever the order they were made in`, async () => {
    const tried = await open();
    for (const days of [3, 1, 4, 2]) await makeBackup(tried, nameOf(days));
    expect(await removeOlder(tried.place, nameOf(2), 3)).toBe(1);
    expect(tried.paths()).toEqual([2, 3, 4].flatMap((days) => filesOf(nameOf(days))));
    expect(await removeOlder(tried.place, nameOf(2), 3)).toBe(0);
    // Of a clock that was ahead.
    expect(await removeOlder(tried.place, nameOf(2), 1)).toBe(2);
    expect(tried.paths()).toEqual(filesOf(nameOf(2)));
  });

  test(`in ${kind} what is no backup of this database stays`, async () => {
    const tried = await open();
    const other = nameOf(0, "ffffffff-0000-4000-8000-000000000000");
    await makeBackup(tried, other);
    for (const days of [1, 2]) await makeBackup(tried, nameOf(days));
    const mine = [
      "sluice-20260101T000000Z-0123abcd.zip",
      "2026/files",
      `old-${nameOf(0)}/files`,
      `${nameOf(0)}-mine/files`,
      "sluice-20260101T000000Z-0123ABCD/manifest.json",
      "sluice-1-0123abcd/manifest.json",
      `${nameOf(1)}/notes.txt`,
      `${nameOf(1)}/files.mine`,
    ];
    for (const path of mine) await tried.put(path);
    expect(await removeOlder(tried.place, nameOf(2), 1)).toBe(1);
    const left = tried.paths().map((path) => path.replace(".partial/", "/"));
    expect(left.toSorted()).toEqual([...filesOf(other), ...filesOf(nameOf(2)), ...mine].toSorted());
  });

  test(`in ${kind} half a backup is removed, and takes no other's place`, async () => {
    const tried = await open();
    for (const days of [1, 2]) await makeBackup(tried, nameOf(days));
    await tried.put(kind === "a folder" ? `${nameOf(3)}.partial/data/x` : `${nameOf(3)}/data/x`);
    await makeBackup(tried, nameOf(4));
    expect(await removeOlder(tried.place, nameOf(4), 3)).toBe(1);
    expect(tried.paths()).toEqual([1, 2, 4].flatMap((days) => filesOf(nameOf(days))));
  });
}

test("a link in a folder is no backup", async () => {
  const [tried, elsewhere] = [inFolder(), inFolder()];
  await makeBackup(elsewhere, nameOf(1));
  await makeBackup(tried, nameOf(2));
  const folder = dirname(tried.place.target("x").folder);
  symlinkSync(join(dirname(elsewhere.place.target("x").folder), nameOf(1)), join(folder, nameOf(1)));
  expect(await removeOlder(tried.place, nameOf(2), 1)).toBe(0);
  expect(elsewhere.paths()).toEqual(filesOf(nameOf(1)));
});

test("a backup of a bucket is begun where nothing is", async () => {
  const tried = await inBucket();
  await tried.put(`${nameOf(1)}/x`);
  await expect(tried.place.target(nameOf(1)).begin()).rejects.toThrow(
    `s3://backups/sluice/${nameOf(1)} is not empty; a backup needs an address of its own`,
  );
});

test("a file longer than an object is several, in their order", async () => {
  const tried = await inBucket();
  const target = tried.place.target("long");
  const chunk = new Uint8Array(1_000_000);
  const chunks = (async function* () {
    // Each in the memory of the one before, as files are read.
    for (let i = 0; i < 40; i++) yield await Promise.resolve(chunk.fill(i));
  })();
  const written = await Array.fromAsync(target.write("postgres/a", chunks));
  const objects = [16 * 2 ** 20, 16 * 2 ** 20, 40_000_000 - 32 * 2 ** 20];
  expect(written.map(([path, { bytes }]) => [path, bytes])).toEqual([
    ["postgres/a", objects[0]!],
    ["postgres/a@1", objects[1]!],
    ["postgres/a@2", objects[2]!],
  ]);
  const whole = Buffer.concat(Array.from({ length: 40 }, (_, i) => Buffer.alloc(1_000_000, i)));
  const sum = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  const sums = [0, 16 * 2 ** 20, 32 * 2 ** 20].map((at) => sum(whole.subarray(at, at + 16 * 2 ** 20)));
  expect(written.map(([, one]) => one.sum)).toEqual(sums);
});
