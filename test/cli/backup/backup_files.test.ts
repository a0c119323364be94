// The files of a backup: what is listed is what was written, and a restore finds what is not as it was.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  checkFiles,
  copyFile,
  FileList,
  filesBelow,
  listedFiles,
  listName,
  piecesOf,
} from "../../../src/cli/backup/backup_files.ts";
import { backupLimits } from "../../../src/cli/backup/limits.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";

afterAll(cleanUp);

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text));
}

/** A backup of three files, one of them by another's hand. */
async function makeBackup() {
  const folder = makeFolder();
  const list = new FileList(folder);
  await list.write("rows/a.json", pieces("one", "two"));
  const source = join(makeFolder(), "source");
  writeFileSync(source, "three");
  await list.copy(source, "journal/b.segment");
  mkdirSync(join(folder, "data/x"), { recursive: true });
  writeFileSync(join(folder, "data/x/c.bin"), "four");
  await list.addBelow("data");
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
  expect(paths).toEqual(["rows/a.json", "journal/b.segment", "data/x/c.bin"]);
  expect(await Array.fromAsync(listedFiles(folder, "data/"), ({ path }) => path)).toEqual(["data/x/c.bin"]);
  await checkFiles(folder, totals);
});

test("files are the owner's only, and none is written over", async () => {
  const { folder } = await makeBackup();
  expect(statSync(join(folder, "rows/a.json")).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, listName)).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, "rows")).mode & 0o777).toBe(0o700);
  await expect(copyFile(join(folder, listName), join(folder, "rows/a.json"))).rejects.toThrow("EEXIST");
});

test("what is not as it was written is named", async () => {
  for (const [damage, said] of [
    [(at: string) => rmSync(at), "rows/a.json is missing"],
    [(at: string) => writeFileSync(at, "onetwo!"), "rows/a.json is not as it was written"],
    [(at: string) => writeFileSync(at, "onetwO"), "rows/a.json is not as it was written"],
  ] as const) {
    const { folder, totals } = await makeBackup();
    damage(join(folder, "rows/a.json"));
    await expect(checkFiles(folder, totals)).rejects.toThrow(said);
  }
  const { folder, totals } = await makeBackup();
  const lines = readFileSync(join(folder, listName), "latin1").split("\n");
  writeFileSync(join(folder, listName), lines.slice(1).join("\n"));
  await expect(checkFiles(folder, totals)).rejects.toThrow("its list of files is not the one");
  rmSync(join(folder, listName));
  await expect(checkFiles(folder, totals)).rejects.toThrow("its list of files is not the one");
});

test("no path leads out of the backup, neither into a list nor out of one", async () => {
  const folder = makeFolder();
  const list = new FileList(folder);
  for (const path of ["../a", "/a", "a//b", "a/./b", "a/..", "a b", "a\nb", "", "ä"]) {
    await expect(list.add(path, { bytes: 1, sum: "0".repeat(64) })).rejects.toThrow("unusual characters");
    writeFileSync(join(folder, listName), `${"0".repeat(64)}  ${path.replace("\n", "")}/../x\n`);
    await expect(Array.fromAsync(listedFiles(folder))).rejects.toThrow("damaged");
  }
});

test("a file is read in pieces, whole, whatever its length", async () => {
  const path = join(makeFolder(), "file");
  for (const length of [0, 1, backupLimits.pieceBytes, backupLimits.pieceBytes + 1]) {
    const bytes = new Uint8Array(length).map((_, i) => i % 251);
    writeFileSync(path, bytes);
    // Each piece lies in the memory of the one before.
    const read = await Array.fromAsync(piecesOf(path), (piece) => piece.slice());
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
    expect(Math.max(0, ...read.map((piece) => piece.length))).toBeLessThanOrEqual(backupLimits.pieceBytes);
  }
});

test("files below a folder are those of all folders in it, without links; a folder that is not there has none", async () => {
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
  for (let i = 0; i < count; i++) await list.add(`f${i}`, { bytes: 1, sum: "0".repeat(64) });
  const totals = await list.end();
  expect(totals).toMatchObject({ files: count, bytes: count });
  let listed = 0;
  for await (const { path } of listedFiles(folder)) expect(path).toBe(`f${listed++}`);
  expect(listed).toBe(count);
  const bytes = readFileSync(join(folder, listName));
  expect(new Bun.CryptoHasher("sha256").update(bytes).digest("hex")).toBe(totals.sum);
});
