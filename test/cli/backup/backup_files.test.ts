// The files of a backup: what is listed is what was written, and a restore finds what is not as it was.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyFile, filesBelow, listName, readChunks } from "../../../src/cli/backup/backup_files.ts";
import { FileList, listedFiles, type WrittenParts } from "../../../src/cli/backup/file_list.ts";
import { backupLimits } from "../../../src/cli/backup/limits.ts";
import { checkFiles } from "../../../src/cli/backup/manifest.ts";
import { folderTarget } from "../../../src/cli/backup/target.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";

afterAll(cleanUp);

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text));
}

async function* written(path: string): WrittenParts {
  yield await Promise.resolve([path, { bytes: 1, sum: "0".repeat(64) }]);
}

/** A backup of three files, one of them by another's hand. */
async function makeBackup() {
  const target = folderTarget(join(makeFolder(), "backup"));
  await target.begin();
  const { folder } = target;
  const list = new FileList(folder);
  await list.add("postgres/a", target.write("postgres/a", chunks("one", "two")));
  const source = join(makeFolder(), "source");
  writeFileSync(source, "three");
  await list.add("clickhouse/b/all_1/b.bin", target.write("clickhouse/b/all_1/b.bin", readChunks(source)));
  mkdirSync(join(folder, "data/journal"), { recursive: true });
  writeFileSync(join(folder, "data/journal/c.segment"), "four");
  await list.add("data/journal/c.segment", target.adopt("data/journal/c.segment"));
  return { folder, totals: await list.end() };
}

test("the list is what sha256sum reads, and its sum is the backup's", async () => {
  const { folder, totals } = await makeBackup();
  const list = readFileSync(join(folder, listName));
  expect(totals).toEqual({
    files: 3,
    bytes: "onetwothreefour".length,
    sum: new Bun.CryptoHasher("sha256").update(list).digest("hex"),
  });
  const check = Bun.spawnSync(["sha256sum", "--strict", "--quiet", "-c", listName], { cwd: folder });
  expect([check.exitCode, check.stderr.toString()]).toEqual([0, ""]);
  const paths = await Array.fromAsync(listedFiles(folder), ({ path }) => path);
  expect(paths).toEqual(["postgres/a", "clickhouse/b/all_1/b.bin", "data/journal/c.segment"]);
  const below = await Array.fromAsync(listedFiles(folder, "data/"), ({ path }) => path);
  expect(below).toEqual(["data/journal/c.segment"]);
  await checkFiles(folder, { files: totals });
});

test("files are the owner's only, and none is written over", async () => {
  const { folder } = await makeBackup();
  expect(statSync(join(folder, "postgres/a")).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, listName)).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, "postgres")).mode & 0o777).toBe(0o700);
  await expect(copyFile(join(folder, listName), join(folder, "postgres/a"))).rejects.toThrow("EEXIST");
});

test("what is not as it was written is named", async () => {
  for (const [damage, said] of [
    [(at: string) => rmSync(at), "postgres/a is missing"],
    [(at: string) => writeFileSync(at, "onetwo!"), "postgres/a is not as it was written"],
    [(at: string) => writeFileSync(at, "onetwO"), "postgres/a is not as it was written"],
  ] as const) {
    const { folder, totals } = await makeBackup();
    damage(join(folder, "postgres/a"));
    await expect(checkFiles(folder, { files: totals })).rejects.toThrow(said);
  }
  const { folder, totals } = await makeBackup();
  const lines = readFileSync(join(folder, listName), "latin1").split("\n");
  writeFileSync(join(folder, listName), lines.slice(1).join("\n"));
  await expect(checkFiles(folder, { files: totals })).rejects.toThrow("its list of files is not the one");
  rmSync(join(folder, listName));
  await expect(checkFiles(folder, { files: totals })).rejects.toThrow("its list of files is not the one");
});

test("no path leads out of the backup, neither into a list nor out of one", async () => {
  const folder = makeFolder();
  const list = new FileList(folder);
  const names = ["../a", "/a", "a//b", "a/./b", "a/..", "a b", "a\nb", "", "ä"];
  const others = ["a", "data/a", "data/postgres/PG_VERSION", "data/restoring", "data/workers/../journal/a"];
  for (const path of [...names.flatMap((name) => [name, `clickhouse/seen/${name}`]), ...others]) {
    if (path === "clickhouse/seen/a") continue;
    await expect(list.add(path, written(path))).rejects.toThrow("unusual characters");
    writeFileSync(join(folder, listName), `${"0".repeat(64)}  ${path.replace("\n", "")}/../x\n`);
    await expect(Array.fromAsync(listedFiles(folder))).rejects.toThrow("damaged");
  }
});

test("parts of a file follow each other, and no file has the name of a part", async () => {
  const folder = makeFolder();
  const list = new FileList(folder);
  await expect(list.add("postgres/a@1", written("postgres/a@1"))).rejects.toThrow("unusual characters");
  const listed = async (...paths: string[]) => {
    writeFileSync(join(folder, listName), paths.map((path) => `${"0".repeat(64)}  ${path}\n`).join(""));
    return await Array.fromAsync(listedFiles(folder), ({ file, isFurther }) => [file, isFurther]);
  };
  expect(await listed("postgres/a", "postgres/a@1", "postgres/a@2", "postgres/b")).toEqual([
    ["postgres/a", false],
    ["postgres/a", true],
    ["postgres/a", true],
    ["postgres/b", false],
  ]);
  for (const paths of [
    ["postgres/a@1"],
    ["postgres/a", "postgres/a@2"],
    ["postgres/a", "postgres/a@1", "postgres/a@1"],
    ["postgres/a", "postgres/b", "postgres/a@1"],
    ["postgres/a", "postgres/a@01"],
    ["postgres/a", "postgres/a@0"],
  ]) {
    await expect(listed(...paths)).rejects.toThrow("has a line that names none");
  }
});

test("what is no file is refused, and not waited for", async () => {
  const { folder, totals } = await makeBackup();
  rmSync(join(folder, "postgres/a"));
  expect(Bun.spawnSync(["mkfifo", join(folder, "postgres/a")]).exitCode).toBe(0);
  await expect(checkFiles(folder, { files: totals })).rejects.toThrow("is no file");
  rmSync(join(folder, "postgres/a"));
  symlinkSync("/etc/passwd", join(folder, "postgres/a"));
  await expect(checkFiles(folder, { files: totals })).rejects.toThrow("is no file");
});

test("a file is read in chunks, whole, whatever its length", async () => {
  const path = join(makeFolder(), "file");
  for (const length of [0, 1, backupLimits.chunkBytes, backupLimits.chunkBytes + 1]) {
    const bytes = new Uint8Array(length).map((_, i) => i % 251);
    writeFileSync(path, bytes);
    // Each chunk lies in the memory of the one before.
    const read = await Array.fromAsync(readChunks(path), (chunk) => chunk.slice());
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
    expect(Math.max(0, ...read.map((chunk) => chunk.length))).toBeLessThanOrEqual(backupLimits.chunkBytes);
  }
});

test("files below a folder are those of all folders in it, without links; a folder that does not exist has none", async () => {
  const folder = makeFolder();
  mkdirSync(join(folder, "a/b"), { recursive: true });
  for (const name of ["x", "a/y", "a/b/z"]) writeFileSync(join(folder, name), "");
  symlinkSync("/etc/passwd", join(folder, "link"));
  expect((await Array.fromAsync(filesBelow(folder))).toSorted()).toEqual(["a/b/z", "a/y", "x"]);
  expect(await Array.fromAsync(filesBelow(join(folder, "none")))).toEqual([]);
});

test("a list longer than what is kept in memory has every line", async () => {
  const folder = makeFolder();
  const list = new FileList(folder);
  const count = 2 * backupLimits.linesAtOnce + 1;
  for (let i = 0; i < count; i++) await list.add(`postgres/f${i}`, written(`postgres/f${i}`));
  const totals = await list.end();
  expect(totals).toMatchObject({ files: count, bytes: count });
  let listed = 0;
  for await (const { path } of listedFiles(folder)) expect(path).toBe(`postgres/f${listed++}`);
  expect(listed).toBe(count);
  const bytes = readFileSync(join(folder, listName));
  expect(new Bun.CryptoHasher("sha256").update(bytes).digest("hex")).toBe(totals.sum);
});
