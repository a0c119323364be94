// A backup that is restored elsewhere shows what the original showed, what waited in its journal included.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../../support/ask.ts";
import { cleanUpEach } from "../../support/cleanup.ts";
import { readEvents } from "../../support/events.ts";
import { makeFolder } from "../../support/folder.ts";
import {
  get,
  metric,
  post,
  projectKey,
  rested,
  runSluice,
  startServer,
  storesOf,
  until,
} from "../../support/server.ts";
import { fillProject, recordFrom, shownBy } from "../../support/shown.ts";
import { postAnew, serving, waitingIn } from "../../support/workers.ts";

cleanUpEach();

const home = "/api/projects/1";
const longWait = { FLUSH_INTERVAL_MS: "3600000" };

async function backUp(dataDir: string): Promise<string> {
  const target = join(makeFolder(), "backup");
  const ran = await runSluice(["backup", target], { DATA_DIR: dataDir });
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  expect(ran.stdout).toMatch(/^backed up [\d,]+ files, [\d,]+ MB to /);
  return target;
}

async function restore(source: string): Promise<string> {
  const dataDir = join(makeFolder(), "restored");
  const ran = await runSluice(["restore", source], { DATA_DIR: dataDir });
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  return dataDir;
}

test("a backup of a running server holds all it shows, and what waits in its journal", async () => {
  const first = await startServer({ FLUSH_INTERVAL_MS: "50" });
  await recordFrom(first);
  const config = {
    bucket_name: "bucket",
    region: "us-east-1",
    aws_access_key_id: "a",
    aws_secret_access_key: "hidden",
  };
  const made = [
    ["batch_exports", { name: "Out", interval: "week", destination: { type: "S3", config } }],
    [
      "insights",
      { name: "Trend", query: { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "seen" }] } },
    ],
    ["dashboards", { name: "All" }],
  ] as const;
  for (const [kind, body] of made) {
    const { status, text } = await ask(first, "POST", `${home}/${kind}/`, body);
    expect([kind, status, status === 201 ? "" : text]).toEqual([kind, 201, ""]);
  }
  const issued = await runSluice(["key", "issue", "--label", "script", "--scopes", "project:read"], {
    DATA_DIR: first.dataDir,
  });
  expect(await first.end("SIGTERM")).toBe(0);
  const server = await startServer(longWait, first.dataDir);
  await fillProject(server, "late");
  await fillProject(server, "moved");
  expect(await metric(server, "sluice_journal_pending_events")).toBeGreaterThan(60);
  const source = await backUp(server.dataDir);
  // The stop flushes.
  expect(await server.end("SIGTERM")).toBe(0);
  const original = await startServer({}, server.dataDir);
  const before = await shownBy(original, (await storesOf(original)).clickhouse);

  const restored = await startServer({ FLUSH_INTERVAL_MS: "50" }, await restore(source));
  await rested(restored);
  await until(async () => (await readEvents(restored, { distinct_id: "moved 1" })).length > 0);
  expect(await shownBy(restored, (await storesOf(restored)).clickhouse)).toEqual(before);
  expect(await metric(restored, "sluice_journal_damaged_total")).toBe(0);
  const own = await get(restored, "/api/projects/", issued.stdout.trim());
  expect(own.status).toBe(200);
  const keyOf = (dataDir: string) => readFileSync(join(dataDir, "secret.key"), "utf8");
  expect(keyOf(restored.dataDir)).toBe(keyOf(server.dataDir));
  // It is a server as any other: merges and events go on.
  await fillProject(restored, "later");
  await rested(restored);
  await until(async () => {
    const listed = await get(restored, `${home}/persons/?distinct_id=later%20anonymous`);
    const { results } = (await listed.json()) as { results: { distinct_ids: string[] }[] };
    return results[0]?.distinct_ids.length === 2;
  });
});

test("a backup of a stopped server holds its journal, those of further workers, and refused rows", async () => {
  const server = await startServer({ ...longWait, WORKERS: "3" });
  await serving(server, 3);
  const folders = ["journal", "workers/2/journal", "workers/3/journal"].map((one) =>
    join(server.dataDir, one),
  );
  let sent = 0;
  await until(async () => {
    const body = { api_key: projectKey, event: "kept", distinct_id: `d${sent}` };
    expect((await postAnew(server, "/capture/", body)).status).toBe(200);
    sent++;
    return folders.every((folder) => waitingIn(folder).length > 0);
  });
  await server.end("SIGKILL");
  await Bun.write(join(server.dataDir, "quarantine", "0000000000000001.segment"), "refused");
  const source = await backUp(server.dataDir);
  const dataDir = await restore(source);
  expect(readdirSync(join(dataDir, "quarantine"))).toEqual(["0000000000000001.segment"]);
  const restored = await startServer({ FLUSH_INTERVAL_MS: "50" }, dataDir);
  await rested(restored);
  await until(async () => (await readEvents(restored, { event: "kept" })).length === sent);
  // The original goes on, too: the two share nothing.
  const original = await startServer({ FLUSH_INTERVAL_MS: "50" }, server.dataDir);
  await rested(original);
  expect((await readEvents(original, { event: "kept" })).length).toBe(sent);
});

test("a backup is for its owner alone, and its list is one that sha256sum checks", async () => {
  const server = await startServer();
  await post(server, "/capture/", { api_key: projectKey, event: "kept", distinct_id: "d" });
  await server.end("SIGTERM");
  const source = await backUp(server.dataDir);
  expect(readdirSync(source).toSorted()).toEqual([
    "clickhouse",
    "data",
    "files",
    "manifest.json",
    "postgres",
  ]);
  for (const name of ["", "files", "manifest.json", "data/secret.key", "postgres/projects"]) {
    expect((statSync(join(source, name)).mode & 0o077).toString(8)).toBe("0");
  }
  expect(readdirSync(join(source, "postgres"))).not.toContain("cookieless_salts");
  const checked = Bun.spawnSync(["sha256sum", "--quiet", "-c", "files"], { cwd: source });
  expect(checked.exitCode).toBe(0);
  const { files } = JSON.parse(readFileSync(join(source, "manifest.json"), "utf8")) as {
    files: { files: number };
  };
  expect(readFileSync(join(source, "files"), "utf8").trim().split("\n").length).toBe(files.files);
});
