// A backup is verified: whole, damaged by name, opened in a scratch folder; and the server's metrics say when it was made.

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { summedJson } from "../../../src/core/json/summed_json.ts";
import { readBackupOutcomes, recordBackupOutcome } from "../../../src/storage/backup_outcomes.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { s3Error, s3Key, s3Secret, type S3Server, startS3 } from "../../support/s3.ts";
import {
  get,
  metric,
  post,
  projectKey,
  rested,
  runSluice,
  type Server,
  startServer,
} from "../../support/server.ts";

afterAll(cleanUp);

let server: Server;
let source: string;
let s3: S3Server;
const address = "s3://backups/one";

const access = () => ({
  AWS_ACCESS_KEY_ID: s3Key,
  AWS_SECRET_ACCESS_KEY: s3Secret,
  AWS_ENDPOINT_URL: s3.url,
});
const run = (...args: string[]) => runSluice(["backup", ...args], { DATA_DIR: server.dataDir, ...access() });
const last = (outcome: string) => metric(server, `sluice_backup_last_${outcome}_timestamp_seconds`);

beforeAll(async () => {
  s3 = await startS3("backups");
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  for (const event of ["one", "two"])
    expect((await post(server, "/capture/", { api_key: projectKey, event, distinct_id: "d" })).status).toBe(
      200,
    );
  await rested(server);
  expect(await (await get(server, "/metrics")).text()).not.toMatch(/^sluice_backup_last/m);
  source = join(makeFolder(), "backup");
  expect((await run(source)).exitCode).toBe(0);
  expect((await run(address)).exitCode).toBe(0);
});

/** A copy with something done to it. */
function copyWith(change: (copy: string) => void): string {
  const copy = join(makeFolder(), "copy");
  cpSync(source, copy, { recursive: true });
  change(copy);
  return copy;
}

test("a whole backup is called whole, opened, and leaves nothing in the scratch folder", async () => {
  for (const place of [source, address]) {
    const scratch = makeFolder();
    const ran = await run("verify", place, "--open", scratch);
    expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
    expect(ran.stdout).toMatch(
      / is whole: \d+ files, \d+ MB, as of .*Z\nopened it: 2 events, 0 recordings, 1 projects\n$/,
    );
    expect(readdirSync(scratch)).toEqual([]);
  }
});

test("all that is damaged is named, nothing is opened, and the exit code is 1", async () => {
  const scratch = makeFolder();
  const copy = copyWith((folder) => {
    writeFileSync(join(folder, "postgres/projects"), "id\n");
    rmSync(join(folder, "data/secret.key"));
    mkdirSync(join(folder, "clickhouse/link"));
    writeFileSync(join(folder, "notes.txt"), "mine");
  });
  const ran = await run("verify", copy, "--open", scratch);
  expect(ran.exitCode).toBe(1);
  expect(ran.stdout).toContain("damaged: postgres/projects is not as it was written\n");
  expect(ran.stdout).toContain("damaged: data/secret.key is missing\n");
  expect(ran.stdout).toContain("has a file that is none of the backup's: ");
  expect(ran.stderr).toContain(`${copy} cannot be restored: 3 of its files are damaged`);
  expect(readdirSync(scratch)).toEqual([]);
});

test("objects that are damaged or missing are named; a bucket that refuses is no damage", async () => {
  expect((await run("s3://backups/two")).exitCode).toBe(0);
  const [wrong, gone] = ["/backups/two/postgres/projects", "/backups/two/data/secret.key"];
  s3.answer = (request) => {
    const { pathname } = new URL(request.url);
    if (request.method !== "GET") return undefined;
    if (pathname === wrong) return new Response("id\n");
    return pathname === gone ? s3Error(404, "NoSuchKey") : undefined;
  };
  const ran = await run("verify", "s3://backups/two");
  expect(ran.exitCode).toBe(1);
  expect(ran.stdout.split("\n").toSorted()).toEqual([
    "",
    "damaged: data/secret.key is missing",
    "damaged: postgres/projects is not as it was written",
  ]);
  s3.answer = () => s3Error(403, "AccessDenied");
  const refused = await run("verify", "s3://backups/two");
  expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
  expect(refused.stderr).toContain("AccessDenied");
  s3.answer = undefined;
});

test("what is no backup, a list that is not the manifest's and wrong sizes are told", async () => {
  expect((await run("verify", makeFolder())).stderr).toContain("is no backup");
  const listed = copyWith((folder) => appendFileSync(join(folder, "files"), "x"));
  expect((await run("verify", listed)).stderr).toContain("its list of files is not the one it was made with");
  const sized = copyWith((folder) => {
    const path = join(folder, "manifest.json");
    const { sum: _, files, ...rest } = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    writeFileSync(path, summedJson({ ...rest, files: { ...(files as object), bytes: 1 } }));
  });
  expect((await run("verify", sized)).stdout).toMatch(
    /^damaged: manifest.json says 1 bytes, and the files have \d+\n$/,
  );
});

test("wrong use is told: a place that was forgotten makes no backup in a folder called verify", async () => {
  expect(await run("verify")).toMatchObject({ exitCode: 2 });
  expect(existsSync("verify")).toBe(false);
  expect(await run("verify", source, "--keep", "3")).toMatchObject({ exitCode: 2 });
  expect(await run(source, "--open", "x")).toMatchObject({ exitCode: 2 });
  const nowhere = await run("verify", source, "--open", join(makeFolder(), "none"));
  expect(nowhere.stderr).toContain("cannot be written to");
});

test("metrics say when the last backup began and when one failed", async () => {
  const { begun_at } = JSON.parse(
    readFileSync(
      join(
        copyWith(() => {}),
        "manifest.json",
      ),
      "utf8",
    ),
  ) as {
    begun_at: string;
  };
  const success = await last("success");
  expect(success).toBeGreaterThanOrEqual(Date.parse(begun_at) / 1000);
  expect((await run(source)).stderr).toContain("is not empty");
  expect(await last("failure")).toBeGreaterThanOrEqual(success);
  expect(await last("success")).toBe(success);
});

test("outcomes that cannot be read or written are none", () => {
  const folder = makeFolder();
  expect(readBackupOutcomes(folder)).toEqual({});
  recordBackupOutcome(folder, "failed", 5);
  recordBackupOutcome(folder, "done", 7);
  expect(readBackupOutcomes(folder)).toEqual({ done: 7, failed: 5 });
  writeFileSync(join(folder, "backups.json"), "{");
  expect(readBackupOutcomes(folder)).toEqual({});
  recordBackupOutcome(join(folder, "none"), "done", 1);
  expect(existsSync(join(folder, "none"))).toBe(false);
});
