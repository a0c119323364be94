// Incremental backups of a server: each is restored equal, a kill harms none, and damage names all that it harms.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cleanUp, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { s3Key, s3Secret, type S3Server, startS3 } from "../../support/s3.ts";
import {
  rested,
  runSluice,
  type Server,
  spawnSluice,
  startServer,
  storesOf,
  until,
} from "../../support/server.ts";
import { fillProject } from "../../support/shown.ts";

afterAll(cleanUp);

const bucket = "backups";
let s3: S3Server;
let server: Server;
let folder: string;

beforeAll(async () => {
  s3 = await startS3(bucket);
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  folder = makeFolder();
});
beforeEach(() => {
  s3.answer = undefined;
});

const access = () => ({
  AWS_ACCESS_KEY_ID: s3Key,
  AWS_SECRET_ACCESS_KEY: s3Secret,
  AWS_ENDPOINT_URL: s3.url,
});
const run = (...args: string[]) => runSluice(args, { DATA_DIR: server.dataDir, ...access() });
const toTime = (at: number) => new Date(at).toISOString().replace(/[:-]|\.\d+/g, "");

/** The name of a backup that was made in this place now. */
async function backUp(place: string, ...args: string[]): Promise<{ name: string; printed: string }> {
  // Names have seconds.
  const before = toTime(Date.now());
  await until(async () => toTime(Date.now()) > before);
  const ran = await run("backup", place, "--keep", "9", ...args);
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  return { name: / to .*\/(sluice-\S+)\n/.exec(ran.stdout)![1]!, printed: ran.stdout };
}

/** A hash of everything that events and persons have. */
async function hashOf(of: Server): Promise<unknown> {
  const { clickhouse } = await storesOf(of);
  return await clickhouse.query(
    `SELECT (SELECT (count(), sum(cityHash64(*))) FROM event_rows FINAL) AS rows,
       (SELECT (count(), sum(cityHash64(*))) FROM events) AS events,
       (SELECT (count(), sum(cityHash64(project_id, person_id, properties))) FROM persons) AS persons,
       (SELECT (count(), sum(cityHash64(distinct_id, person_id))) FROM person_distinct_ids) AS ids,
       (SELECT count() FROM session_recordings) AS recordings`,
  );
}

async function restoredHash(address: string): Promise<unknown> {
  const dataDir = join(makeFolder(), "restored");
  const ran = await runSluice(["restore", address], { DATA_DIR: dataDir, ...access() });
  expect([ran.exitCode, ran.stderr]).toEqual([0, expect.any(String)]);
  const restored = await startServer({ FLUSH_INTERVAL_MS: "50" }, dataDir);
  await rested(restored);
  const hash = await hashOf(restored);
  await (restored as Awaited<ReturnType<typeof startServer>>).end("SIGKILL");
  return hash;
}

/** The shared files of a place. */
function sharedIn(place: string): string[] {
  const paths = place.startsWith("s3:")
    ? s3.keys(bucket).map((key) => `s3://${bucket}/${key}`)
    : readdirSync(place, { recursive: true, encoding: "utf8" }).map((path) => join(place, path));
  return paths
    .filter((path) => path.startsWith(`${place}/sluice-files-`) && /\/\w{64}$/.test(path))
    .toSorted();
}

const megabytesNew = (printed: string) => Number(/, (\d+) MB of them new, /.exec(printed)![1]);

for (const [kind, isFolder] of [
  ["a folder", true],
  ["a bucket", false],
] as const) {
  test(`each of several in ${kind} is restored equal by hash, deletions and a full one among them`, async () => {
    const place = isFolder ? folder : `s3://${bucket}/all`;
    const made: { address: string; hash: unknown }[] = [];
    const { clickhouse } = await storesOf(server);
    // Long rows: what is new shows.
    await clickhouse.command(
      `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
       SELECT generateUUIDv4(), 1, 'long', toString(number), randomString(1000), '2020-01-01', now() - 86400
       FROM numbers(10000)`,
      {},
      { timeoutMs: 300_000 },
    );
    for (const name of isFolder ? ["one", "two", "three"] : ["four", "six"]) {
      await fillProject(server, name);
      await rested(server);
      if (name === "three") await clickhouse.command("DELETE FROM event_rows WHERE distinct_id = 'one 1'");
      const hash = await hashOf(server);
      const before = sharedIn(place);
      const own = await backUp(place, ...(name === "two" ? [] : ["--incremental"]));
      made.push({ address: `${place}/${own.name}`, hash });
      if (before.length === 0) expect(megabytesNew(own.printed)).toBeGreaterThan(9);
      else if (name === "two") expect(sharedIn(place)).toEqual(before);
      else expect(sharedIn(place).length).toBeGreaterThan(before.length);
    }
    expect(Bun.deepEquals(made[0]!.hash, made.at(-1)!.hash)).toBe(false);
    for (const { address, hash } of made) {
      expect([address, await restoredHash(address)]).toEqual([address, hash]);
    }
    expect(await run("backup", "verify", made[0]!.address)).toMatchObject({ exitCode: 0, stderr: "" });
    // What is there is not written again.
    const again = await backUp(place, "--incremental");
    expect(megabytesNew(again.printed)).toBeLessThan(9);
  });
}

test("a kill at any step leaves the earlier ones whole, and the next one finishes and cleans up", async () => {
  const place = `s3://${bucket}/killed`;
  await fillProject(server, "before");
  await rested(server);
  const { name: first } = await backUp(place, "--incremental");
  const firstFiles = sharedIn(place);
  const steps: [method: string, path: RegExp][] = [
    ["PUT", /postgres\//],
    ["HEAD", /sluice-files-/],
    ["PUT", /sluice-files-/],
    ["PUT", /\/files$/],
    ["PUT", /manifest\.json$/],
    ["DELETE", /sluice-files-/],
  ];
  for (const [at, [stopped, path]] of steps.entries()) {
    await fillProject(server, `killed ${at}`);
    await rested(server);
    let isReached = false;
    let seen = 0;
    s3.answer = ({ method, url }) => {
      if (method !== stopped || !path.test(url) || seen++ < 1) return undefined;
      isReached = true;
      return new Promise<undefined>(() => {});
    };
    if (/files\$|json/.test(path.source)) seen = 1;
    const keep = stopped === "DELETE" ? "1" : "9";
    const child = spawnSluice(["backup", place, "--keep", keep, "--incremental"], {
      DATA_DIR: server.dataDir,
      ...access(),
    });
    later(() => child.kill("SIGKILL"));
    await until(async () => isReached || child.exitCode !== null);
    expect([stopped, path.source, isReached]).toEqual([stopped, path.source, true]);
    child.kill("SIGKILL");
    await child.exited;
    s3.answer = undefined;
    if (stopped !== "DELETE") {
      expect(await run("backup", "verify", `${place}/${first}`)).toMatchObject({ exitCode: 0 });
    }
  }
  const last = await backUp(place, "--incremental");
  expect(await restoredHash(`${place}/${last.name}`)).toEqual(await hashOf(server));
  const ran = await run("backup", place, "--keep", "1", "--incremental");
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  const names = [
    ...new Set(
      s3
        .keys(bucket)
        .filter((key) => key.startsWith("killed/"))
        .map((key) => key.split("/")[1]!),
    ),
  ];
  expect(names).toHaveLength(2);
  const listed = Buffer.from(
    s3.read(bucket, `killed/${names.find((name) => /Z-/.test(name))!}/files`),
  ).toString();
  const needed = new Set([...listed.matchAll(/^(\w{64}) {2}clickhouse/gm)].map(([, sum]) => sum));
  expect(sharedIn(place).map((path) => path.slice(-64))).toEqual([...needed].toSorted() as string[]);
  expect(firstFiles.length).toBeGreaterThan(0);
});

test("a damaged shared file is named with all backups it harms, and is written again when it was removed", async () => {
  const place = makeFolder();
  const [one, two] = [await backUp(place, "--incremental"), await backUp(place, "--incremental")];
  const { name: full } = await backUp(place);
  const shared = sharedIn(place).find((path) => /\/[0-9a-f]{64}$/.test(path))!;
  writeFileSync(shared, "other");
  const ran = await run("backup", "verify", join(place, two.name));
  expect(ran.exitCode).toBe(1);
  const said = ran.stdout.split("\n")[0]!;
  expect(said).toMatch(
    /^damaged: clickhouse\/\S+ \(sluice-files-\w{8}\/\w\w\/\w{64}\) is not as it was written; of /,
  );
  expect(said.split("; of ")[1]!.split(", ").toSorted()).toEqual([one.name, two.name].toSorted());
  const refused = await runSluice(["restore", join(place, one.name)], { DATA_DIR: join(makeFolder(), "x") });
  expect(refused.stderr).toContain("is not as it was written");
  expect(await run("backup", "verify", join(place, full))).toMatchObject({ exitCode: 0 });
  rmSync(shared);
  await backUp(place, "--incremental");
  for (const { name } of [one, two])
    expect(await run("backup", "verify", join(place, name))).toMatchObject({ exitCode: 0 });
});

test("an incremental backup needs a place for several, and verify has no such option", async () => {
  expect(await run("backup", folder, "--incremental")).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("--incremental needs --keep N"),
  });
  expect(await run("backup", "verify", folder, "--incremental")).toMatchObject({ exitCode: 2 });
});
