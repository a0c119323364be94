// Data folders of every released version, as their servers left them (test/support/make_released_folder.ts): this
// version opens each, reads all that is in it, writes, and goes on. What only a newer one can open stays as it is.

import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { readReleased } from "../../support/make_released_folder.ts";
import { post, projectKey, rested, runSluice, startServer } from "../../support/server.ts";

afterAll(cleanUp);

const released = resolve(import.meta.dir, "../../fixtures/released");
const versions = readdirSync(released).flatMap((name) => name.match(/^(.*)\.tar\.zst$/)?.[1] ?? []);

async function unpacked(version: string): Promise<string> {
  const folder = makeFolder();
  // Files from an archive belong to whoever unpacks them; the server gives Postgres its own.
  await Bun.$`tar --zstd --no-same-owner -xf ${join(released, `${version}.tar.zst`)} -C ${folder}`.quiet();
  chmodSync(folder, 0o700);
  return folder;
}

test("there is a folder of every version that was released, and of the one to be", () => {
  expect(versions).toContain("0.1.0");
});

for (const version of versions) {
  test(`a data folder of ${version} opens, says what it said, and goes on`, async () => {
    const folder = await unpacked(version);
    const said = JSON.parse(readFileSync(join(released, `${version}.json`), "utf8")) as Record<
      string,
      unknown
    >;
    const first = await startServer({}, folder);
    await rested(first);
    expect(await readReleased(first)).toMatchObject(said);
    const event = { api_key: projectKey, event: "new", distinct_id: "zoe" };
    expect((await post(first, "/capture/", event)).status).toBe(200);
    expect(await first.end("SIGTERM")).toBe(0);
    const second = await startServer({}, folder);
    await rested(second);
    const events = (await readReleased(second))["/api/projects/1/events/?limit=1000"] as {
      rows: { event: string }[];
    };
    const before = said["/api/projects/1/events/?limit=1000"] as { rows: object[] };
    expect(events.rows).toHaveLength(before.rows.length + 1);
    expect(events.rows.map((row) => row.event)).toContain("new");
    await second.end("SIGTERM");
  });
}

/** Every file of a folder by a hash of its bytes. */
function hashesOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
  const hash = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
  return Object.fromEntries(files.map((name) => [name, hash(name)]));
}

test("a folder that a newer version brought forward is refused in one line, and nothing in it is written", async () => {
  const folder = await unpacked("0.1.0");
  const mark = join(folder, "version.json");
  writeFileSync(mark, '{"version":"7.0.0","postgres":900,"clickhouse":12}\n');
  const before = hashesOf(folder);
  for (const command of ["serve", "migrate"]) {
    const { exitCode, stderr } = await runSluice([command], { DATA_DIR: folder, PORT: "0" });
    expect([exitCode, stderr.trim()]).toEqual([
      1,
      `sluice ${command}: DATA_DIR ${folder} was upgraded by version 7.0.0, newer than this program (0.1.0); ` +
        "run that one, or restore a backup from before: DATA_DIR=NEW bun run sluice restore BACKUP",
    ]);
  }
  expect(hashesOf(folder)).toEqual(before);
  // One that this version can go on beside, and one that cannot be read, refuse nothing: the stores say it themselves.
  for (const text of ['{"version":"7.0.0","postgres":1,"clickhouse":1}', "damaged"]) {
    writeFileSync(mark, text);
    const server = await startServer({}, folder);
    await server.end("SIGTERM");
    expect(readFileSync(mark, "utf8")).toStartWith('{"version":"0.1.0"');
  }
});

test("a check lists what would be applied, and changes nothing; where no server ever started it makes nothing", async () => {
  const folder = await unpacked("0.1.0");
  const check = () => runSluice(["migrate", "--check"], { DATA_DIR: folder });
  const server = await startServer({}, folder);
  expect(await check()).toMatchObject({ exitCode: 0, stdout: "nothing to apply\n" });
  await server.end("SIGTERM");
  const empty = join(makeFolder(), "none");
  const { exitCode, stderr } = await runSluice(["migrate", "--check"], { DATA_DIR: empty });
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("no server has ever started on DATA_DIR")]);
  expect(() => statSync(empty)).toThrow("ENOENT");
});
