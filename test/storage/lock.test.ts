import { afterAll, expect, test } from "bun:test";
import { chmodSync, existsSync, lchownSync, mkdirSync, statSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { ownDataDir, ownsDataDir, readOwner } from "../../src/storage/lock.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";

afterAll(cleanUp);

const module = resolve(import.meta.dir, "../../src/storage/lock.ts");

/** Another process that owns the folder until it is killed. */
async function ownElsewhere(folder: string) {
  const script = `import { ownDataDir } from ${JSON.stringify(module)};
    ownDataDir(${JSON.stringify(folder)}); console.log("owned"); setInterval(() => {}, 1000);`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stdin: "ignore" });
  const end = async () => {
    child.kill("SIGKILL");
    await child.exited;
  };
  later(end);
  await child.stdout.getReader().read();
  return { pid: child.pid, end };
}

test("a folder that another process owns is refused by name and process, until that process is killed", async () => {
  const folder = join(makeFolder(), "made on the way");
  const other = await ownElsewhere(folder);
  expect(() => ownDataDir(folder)).toThrow(`DATA_DIR ${folder} is in use by process ${other.pid}`);
  expect(ownsDataDir(folder)).toBe(false);
  await other.end();
  ownDataDir(folder).release();
});

test("parts of one process own a folder together, and the last one frees it", () => {
  const folder = makeFolder();
  const first = ownDataDir(folder);
  const second = ownDataDir(`${folder}/.`);
  expect(readOwner(folder).pid).toBe(process.pid);
  first.release();
  first.release();
  expect(ownsDataDir(folder)).toBe(true);
  second.release();
  expect(ownsDataDir(folder)).toBe(false);
});

test("what an earlier owner said about its stores is gone", async () => {
  const folder = makeFolder();
  await Bun.write(join(folder, "connection.json"), JSON.stringify({ pid: process.pid }));
  ownDataDir(folder).release();
  expect(existsSync(join(folder, "connection.json"))).toBe(false);
});

test("a folder that cannot be made is one clear line", () => {
  expect(() => ownDataDir("/proc/nowhere")).toThrow(/^DATA_DIR \/proc\/nowhere cannot be used: /);
});

test("folders of an existing folder are closed to others, whatever its own mode", () => {
  const folder = makeFolder();
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "clickhouse"));
  chmodSync(join(folder, "clickhouse"), 0o755);
  ownDataDir(folder).release();
  expect([folder, join(folder, "clickhouse")].map((path) => statSync(path).mode & 0o777)).toEqual([
    0o755, 0o700,
  ]);
});

// Only root can give a file to another user.
test.skipIf(process.getuid?.() !== 0)(
  "what another user has put into a folder that others may write is refused, and nothing behind it is changed",
  () => {
    for (const name of ["postgres", "journal", "quarantine", "secret.key", "clickhouse"]) {
      const [folder, target] = [makeFolder(), makeFolder()];
      chmodSync(target, 0o755);
      symlinkSync(target, join(folder, name));
      lchownSync(join(folder, name), 12_345, 12_345);
      for (const mode of [0o777, 0o770]) {
        chmodSync(folder, mode);
        expect(() => ownDataDir(folder)).toThrow(
          `${join(folder, name)} belongs to another user of this machine`,
        );
      }
      expect([statSync(target).mode & 0o777, statSync(target).uid]).toEqual([0o755, 0]);
      // The operator's own link, as to another disk, works.
      lchownSync(join(folder, name), 0, 0);
      ownDataDir(folder).release();
    }
  },
);
