// Backups in a bucket: written beside captures, restored elsewhere, cut off at any moment, and refused when hostile.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { summedJson } from "../../../src/core/json/summed_json.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { readEvents } from "../../support/events.ts";
import { makeFolder } from "../../support/folder.ts";
import { s3Error, s3Key, s3Secret, type S3Server, startS3 } from "../../support/s3.ts";
import {
  type Environment,
  get,
  metric,
  rested,
  runSluice,
  type Server,
  spawnSluice,
  startServer,
  storesOf,
  until,
} from "../../support/server.ts";
import { fillProject, shownBy } from "../../support/shown.ts";

afterAll(cleanUp);

const bucket = "backups";
let s3: S3Server;
let server: Server;

beforeAll(async () => {
  s3 = await startS3(bucket);
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  await fillProject(server, "kept");
  await rested(server);
});
beforeEach(() => {
  s3.answer = undefined;
});

const access = (): Environment => ({
  AWS_ACCESS_KEY_ID: s3Key,
  AWS_SECRET_ACCESS_KEY: s3Secret,
  AWS_ENDPOINT_URL: s3.url,
});

const backUp = (dataDir: string, ...args: string[]) =>
  runSluice(["backup", ...args], { DATA_DIR: dataDir, ...access() });

/** Restores into a new folder, which is returned. */
async function restore(address: string): Promise<string> {
  const dataDir = join(makeFolder(), "restored");
  const ran = await runSluice(["restore", address], { DATA_DIR: dataDir, ...access() });
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  expect(readdirSync(dataDir).filter((name) => name.startsWith("restoring"))).toEqual([]);
  return dataDir;
}

/** The one line with which a restore into a new folder is refused, which has nothing afterwards. */
async function refusal(address: string, environment: Environment = access()): Promise<string> {
  const dataDir = join(makeFolder(), "refused");
  const ran = await runSluice(["restore", address], { DATA_DIR: dataDir, ...environment });
  expect(ran).toMatchObject({ exitCode: 1, stdout: "" });
  const left = existsSync(dataDir) ? readdirSync(dataDir) : [];
  expect(left.filter((name) => name !== "lock" && name !== "owner")).toEqual([]);
  return ran.stderr.trimEnd();
}

test("a backup of a running server is written to a bucket, and its restore shows the same", async () => {
  const first = await startServer({ FLUSH_INTERVAL_MS: "3600000" });
  await fillProject(first, "late");
  // It is noted once an hour.
  await until(async () => {
    const listed = (await (await get(first, "/api/personal_api_keys/")).json()) as { results: object[] };
    return !JSON.stringify(listed).includes('"last_used_at":null');
  });
  expect(await metric(first, "sluice_journal_pending_events")).toBeGreaterThan(30);
  s3.requests.length = 0;
  const ran = await backUp(first.dataDir, `s3://${bucket}/all/monday`);
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  expect(ran.stdout).toMatch(/^backed up [\d,]+ files, [\d,]+ MB to s3:\/\/backups\/all\/monday\n$/);
  const written = s3.requests.filter(({ method }) => method === "PUT").map(({ path }) => path);
  expect(written.at(-1)).toBe(`/${bucket}/all/monday/manifest.json`);
  expect(existsSync(join(first.dataDir, "clickhouse/shadow"))).toBe(false);

  expect(await first.end("SIGTERM")).toBe(0);
  const original = await startServer({}, first.dataDir);
  await rested(original);
  const before = await shownBy(original, (await storesOf(original)).clickhouse);
  const restored = await startServer({ FLUSH_INTERVAL_MS: "50" }, await restore(`s3://${bucket}/all/monday`));
  await rested(restored);
  await until(async () => (await readEvents(restored, { distinct_id: "late 1" })).length > 0);
  expect(await shownBy(restored, (await storesOf(restored)).clickhouse)).toEqual(before);

  // The objects as files, as any tool copies them, are a backup of a folder.
  const copy = join(makeFolder(), "copy");
  for (const key of s3.keys(bucket).filter((one) => one.startsWith("all/monday/"))) {
    const path = join(copy, key.slice("all/monday/".length));
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, s3.read(bucket, key));
  }
  const checked = Bun.spawnSync(["sha256sum", "--quiet", "-c", "files"], { cwd: copy });
  expect(checked.exitCode).toBe(0);
  const again = await startServer({ FLUSH_INTERVAL_MS: "50" }, await restore(copy));
  await rested(again);
  expect(await shownBy(again, (await storesOf(again)).clickhouse)).toEqual(before);
});

test("the newest backups of a place stay, and are whole", async () => {
  const address = `s3://${bucket}/kept`;
  const mine = s3.keys(bucket).length;
  const names = () => [
    ...new Set(
      s3
        .keys(bucket)
        .filter((key) => key.startsWith("kept/"))
        .map((key) => key.split("/")[1]!),
    ),
  ];
  const printed: string[] = [];
  for (let i = 0; i < 3; i++) {
    // Names have seconds.
    const last = names().at(-1);
    await until(async () => !last || last.slice(7, 23) < new Date().toISOString().replace(/[:-]|\.\d+/g, ""));
    const ran = await backUp(server.dataDir, address, "--keep", "2");
    expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
    printed.push(ran.stdout);
  }
  expect(names()).toHaveLength(2);
  expect(printed.map((text) => text.split("\n")[1])).toEqual(["", "", "removed 1 older backup"]);
  expect(printed[2]).toContain(`to ${address}/${names()[1]}`);
  for (const name of names()) {
    const restored = await startServer({}, await restore(`${address}/${name}`));
    expect(await readEvents(restored, { distinct_id: "kept 1" })).not.toEqual([]);
    await restored.end("SIGKILL");
  }
  expect(s3.keys(bucket).length).toBeGreaterThan(mine);
});

test("a backup that is cut off is none, and the next one removes what is left of it", async () => {
  const address = `s3://${bucket}/cut`;
  const below = () => s3.keys(bucket).filter((key) => key.startsWith("cut/"));
  // At the first object, among the tables, and when only the manifest is missing.
  for (const stop of [/postgres\//, /clickhouse\//, /manifest\.json$/]) {
    let reached = false;
    s3.answer = ({ method, url }) => {
      if (method !== "PUT" || !stop.test(url)) return undefined;
      reached = true;
      return new Promise<undefined>(() => {});
    };
    const child = spawnSluice(["backup", address, "--keep", "1"], { DATA_DIR: server.dataDir, ...access() });
    later(() => child.kill("SIGKILL"));
    await until(async () => reached);
    child.kill("SIGKILL");
    await child.exited;
    s3.answer = undefined;
    const names = [...new Set(below().map((key) => key.split("/")[1]!))];
    for (const name of names) {
      expect(await refusal(`${address}/${name}`)).toBe(
        `sluice restore: ${address}/${name} is no backup: it has no manifest.json, which is written last; ` +
          "a backup that was cut short cannot be restored",
      );
    }
  }
  expect(below()).not.toEqual([]);
  const ran = await backUp(server.dataDir, address, "--keep", "1");
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  const names = [...new Set(below().map((key) => key.split("/")[1]!))];
  expect(names).toHaveLength(1);
  await restore(`${address}/${names[0]}`);
});

test("a backup that fails is removed, and says why in one line", async () => {
  s3.answer = ({ method, url }) =>
    method === "PUT" && url.includes("/clickhouse/") ? s3Error(403, "AccessDenied", "not here") : undefined;
  const ran = await backUp(server.dataDir, `s3://${bucket}/failed`);
  expect(ran).toMatchObject({ exitCode: 1, stdout: "" });
  expect(ran.stderr).toMatch(
    /^sluice backup: s3:\/\/backups\/failed\/clickhouse\/\S+: AccessDenied: not here\n$/,
  );
  expect(s3.keys(bucket).filter((key) => key.startsWith("failed/"))).toEqual([]);
  expect(existsSync(join(server.dataDir, "clickhouse/shadow"))).toBe(false);
});

test("what cannot be is refused in one line before anything is written", async () => {
  const target = `s3://${bucket}/refused`;
  const cases: [string[], Environment, number, string][] = [
    [["backup", target], {}, 1, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key for the bucket"],
    [["restore", target], {}, 1, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key for the bucket"],
    [["backup", target], { ...access(), AWS_SECRET_ACCESS_KEY: "wrong" }, 1, "SignatureDoesNotMatch"],
    [["backup", "s3://nowhere/x"], access(), 1, "s3://nowhere/x/: NoSuchBucket: NoSuchBucket"],
    [["backup", "s3://a/b"], access(), 2, "expected s3://bucket/prefix of letters, digits and _ . + -"],
    [["backup", target, "--keep", "0"], access(), 2, "--keep expects a whole number from 1 to 10000"],
    [["backup", target, "--keep", "many"], access(), 2, "--keep expects a whole number from 1 to 10000"],
    [["restore", target, "--keep", "1"], access(), 2, "Unknown option '--keep'"],
    [["restore", target], access(), 1, `${target} is no backup: it has no manifest.json`],
    [
      ["restore", target],
      { ...access(), AWS_ENDPOINT_URL: "s3.example.com" },
      1,
      "AWS_ENDPOINT_URL: expected a URL",
    ],
  ];
  const before = s3.keys(bucket);
  for (const [args, environment, exitCode, said] of cases) {
    const dataDir = args[0] === "backup" ? server.dataDir : join(makeFolder(), "none");
    const ran = await runSluice(args, { DATA_DIR: dataDir, ...environment });
    expect(ran).toMatchObject({ exitCode, stdout: "", stderr: expect.stringContaining(said) });
    if (args[0] === "restore") expect(existsSync(dataDir)).toBe(false);
  }
  expect(s3.keys(bucket)).toEqual(before);
});

interface Changed {
  files?: (lines: string[]) => string[];
  manifest?: (manifest: Record<string, unknown>) => object;
}

/** A server that answers with a backup that somebody has changed, with sums that fit. */
function answerChanged(prefix: string, { files = (lines) => lines, manifest = () => ({}) }: Changed): void {
  const text = (key: string) => Buffer.from(s3.read(bucket, `${prefix}/${key}`)).toString();
  const list = files(text("files").trimEnd().split("\n"))
    .map((line) => `${line}\n`)
    .join("");
  const sum = new Bun.CryptoHasher("sha256").update(list).digest("hex");
  const { sum: _, ...made } = JSON.parse(text("manifest.json")) as Record<string, unknown>;
  const totals = { ...(made["files"] as object), sum };
  const changed = { ...made, files: totals };
  const body = summedJson({ ...changed, ...manifest(changed) });
  s3.answer = ({ method, url }) => {
    if (method !== "GET") return undefined;
    if (url.endsWith("/manifest.json")) return new Response(body);
    return url.endsWith("/files") ? new Response(list) : undefined;
  };
}

test("a hostile backup is refused by the name of what is wrong, and nothing of it stays", async () => {
  const prefix = "hostile/one";
  const address = `s3://${bucket}/${prefix}`;
  expect(await backUp(server.dataDir, address)).toMatchObject({ exitCode: 0, stderr: "" });
  const zeros = "0".repeat(64);
  for (const path of [
    "data/../../../etc/cron.d/x",
    "/etc/cron.d/x",
    "data/postgres/PG_VERSION",
    "data/restoring",
    "data/journal/..",
    "clickhouse/seen/../../../x",
    "data/journal/a\u0000b",
    "postgres/projects@7",
  ]) {
    answerChanged(prefix, { files: (lines) => [...lines, `${zeros}  ${path}`] });
    expect(await refusal(address)).toBe(
      `sluice restore: ${address} is damaged: its list of files has a line that names none`,
    );
  }
  const extra = `${zeros}  postgres/extra`;
  answerChanged(prefix, { files: (lines) => [...lines, extra] });
  expect(await refusal(address)).toBe(`sluice restore: ${address} is damaged: postgres/extra is missing`);
  answerChanged(prefix, { manifest: ({ files }) => ({ files: { ...(files as object), bytes: 1000 } }) });
  expect(await refusal(address)).toMatch(/hostile\/one\/\S+ is longer than \d+ bytes$/);
  answerChanged(prefix, { files: (lines) => [...lines, lines[0]!] });
  expect(await refusal(address)).toMatch(/EEXIST|is longer than/);
  s3.answer = ({ method, url }) =>
    method === "GET" && url.includes("/postgres/projects") ? new Response("[]") : undefined;
  expect(await refusal(address)).toBe(
    `sluice restore: ${address}/postgres/projects: it is not as it was written`,
  );
  s3.answer = ({ method, url }) =>
    method === "GET" && url.endsWith("/manifest.json") ? new Response("x".repeat(2_000_000)) : undefined;
  expect(await refusal(address)).toBe(
    `sluice restore: ${address}/manifest.json is longer than 1048576 bytes`,
  );
  // An object that is none of the backup's is named, and not read. One request lists a thousand objects.
  s3.answer = undefined;
  const client = new Bun.S3Client({
    accessKeyId: s3Key,
    secretAccessKey: s3Secret,
    endpoint: s3.url,
    bucket,
  });
  await client.write(`${prefix}/notes.txt`, "mine");
  s3.requests.length = 0;
  expect(await refusal(address)).toBe(
    `sluice restore: ${address} has a file that is none of the backup's: notes.txt; move it away`,
  );
  expect(s3.requests.filter(({ path }) => path.includes("list-type"))).toHaveLength(1);
  expect(s3.requests.filter(({ path }) => /notes\.txt|postgres/.test(path) && !path.includes("?"))).toEqual(
    [],
  );
  await client.delete(`${prefix}/notes.txt`);
  await restore(address);
});

test("memory does not grow with what is written to a bucket, and columns of several objects come back", async () => {
  const peakOf = async (args: string[], dataDir: string) => {
    const child = spawnSluice(args, { DATA_DIR: dataDir, ...access() });
    expect(await child.exited).toBe(0);
    return child.resourceUsage()!.maxRSS;
  };
  const own = await startServer();
  const small = await peakOf(["backup", `s3://${bucket}/small`], own.dataDir);
  const smallRestore = await peakOf(["restore", `s3://${bucket}/small`], join(makeFolder(), "restored"));
  const { clickhouse } = await storesOf(own);
  await clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
     SELECT generateUUIDv4(), 1, 'long', toString(number), randomString(10000), now(), now() - 86400
     FROM numbers(30000)`,
    {},
    { timeoutMs: 300_000 },
  );
  const large = await peakOf(["backup", `s3://${bucket}/large`], own.dataDir);
  expect(large - small).toBeLessThan(100e6);
  expect(s3.keys(bucket).filter((key) => /^large\/.*@\d+$/.test(key)).length).toBeGreaterThan(10);
  const dataDir = join(makeFolder(), "restored");
  expect((await peakOf(["restore", `s3://${bucket}/large`], dataDir)) - smallRestore).toBeLessThan(150e6);
  const sums = "SELECT count() AS rows, sum(cityHash64(properties)) AS sum FROM event_rows";
  const restored = await storesOf(await startServer({}, dataDir));
  expect(await restored.clickhouse.query(sums)).toEqual(await clickhouse.query(sums));
});
