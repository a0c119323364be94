// Data folders of every released version and of c3da0212, as their servers left them
// (test/support/make_released_folder.ts): this version opens each, reads all that is in it, writes, and goes on. What
// only a newer or an older one can open stays as it is.

import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "../../../src/core/log.ts";
import { olderRemedy } from "../../../src/core/version.ts";
import { appliedMigrations } from "../../../src/storage/migrate.ts";
import { openStores } from "../../../src/storage/stores.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { readReleased } from "../../support/make_released_folder.ts";
import { releasedFolder, unpackReleased } from "../../support/released.ts";
import { post, projectKey, rested, runSluice, startServer } from "../../support/server.ts";

afterAll(cleanUp);

const versions = readdirSync(releasedFolder).flatMap((name) => name.match(/^(.*)\.tar\.zst$/)?.[1] ?? []);

test("there are folders of the oldest commit that is opened and of the first version; those of versions are small", () => {
  expect(versions).toEqual(expect.arrayContaining(["c3da0212", "0.1.0"]));
  for (const version of versions.filter((name) => name.includes(".")))
    expect(statSync(join(releasedFolder, `${version}.tar.zst`)).size).toBeLessThan(300_000);
});

for (const version of versions) {
  test(`a data folder of ${version} opens, says what it said, and goes on`, async () => {
    const folder = await unpackReleased(version);
    const said = JSON.parse(readFileSync(join(releasedFolder, `${version}.json`), "utf8")) as Record<
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

test("a data folder of an older commit is refused in one line that names the commit that opens it, and keeps its tables", async () => {
  const folder = await unpackReleased("c3da0212");
  {
    await using made = await openStores({ dataDir: folder, log: silentLog, requireReachable: true });
    await made.sql`DELETE FROM schema_migrations WHERE version > 18`;
    await made.clickhouse.command("DELETE FROM schema_migrations WHERE version > 12");
  }
  const line = `an older version of this program made the Postgres store (it has 0018_sharing.sql): ${olderRemedy}`;
  for (const command of ["serve", "migrate"]) {
    const { exitCode, stderr } = await runSluice([command], {
      DATA_DIR: folder,
      PORT: "0",
      LOG_LEVEL: "error",
    });
    expect([exitCode, stderr.trim()]).toEqual([1, `sluice ${command}: ${line}`]);
  }
  const { exitCode, stdout } = await runSluice(["doctor"], { DATA_DIR: folder });
  expect([exitCode, stdout]).toEqual([1, expect.stringContaining(olderRemedy)]);
  await using stores = await openStores({ dataDir: folder, log: silentLog, requireReachable: true });
  for (const [store, count] of [
    ["postgres", 18],
    ["clickhouse", 12],
  ] as const)
    expect(await appliedMigrations(stores, store)).toHaveLength(count);
});

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
  const folder = await unpackReleased("c3da0212");
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
  const folder = await unpackReleased("c3da0212");
  const check = () => runSluice(["migrate", "--check"], { DATA_DIR: folder });
  const server = await startServer({}, folder);
  expect(await check()).toMatchObject({ exitCode: 0, stdout: "nothing to apply\n" });
  await server.end("SIGTERM");
  const empty = join(makeFolder(), "none");
  const { exitCode, stderr } = await runSluice(["migrate", "--check"], { DATA_DIR: empty });
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("no server has ever started on DATA_DIR")]);
  expect(() => statSync(empty)).toThrow("ENOENT");
});
