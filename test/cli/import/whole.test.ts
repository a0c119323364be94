// The import against a real server: every event once, twice in a row, and after a kill.

import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { cleanUpEach } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import {
  projectKey,
  rested,
  runSluice,
  spawnSluice,
  startServer,
  storesOf,
  until,
} from "../../support/server.ts";

cleanUpEach();

const fixture = resolve(import.meta.dir, "../../fixtures/git-history.jsonl.gz");

test("real history is stored once, byte for byte, however often it is imported", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "100" });
  const { clickhouse } = await storesOf(server);
  const lines = gunzipSync(await Bun.file(fixture).bytes())
    .toString()
    .trimEnd()
    .split("\n");
  const sent = lines.map((line) => line.slice(line.indexOf('"properties":') + 13, -1)).toSorted();
  const state = `${makeFolder()}/state`;
  for (let times = 0; times < 2; times++) {
    const ran = await runSluice(["import", fixture, "--host", server.url, "--state", state, "--json"], {});
    expect(ran.exitCode).toBe(0);
    const end = { sent: lines.length, accepted: lines.length, ignored: 0, rejected: 0 };
    expect(JSON.parse(ran.stdout.trim().split("\n").at(-1)!)).toEqual(end);
    // Without a wait here: the command itself ends when they can be read.
    const rows = await clickhouse.query<{ properties: string }>("SELECT properties FROM events");
    expect(rows.map((row) => row.properties).toSorted()).toEqual(sent);
  }
  const [wrong] = await clickhouse.query<{ n: string }>(
    "SELECT countIf(NOT historical_migration) AS n FROM events",
  );
  expect(Number(wrong?.n)).toBe(0);
});

test("an import killed half-way continues where it ended, and equal lines are events of their own", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "100" });
  const folder = makeFolder();
  const file = `${folder}/history.jsonl`;
  const text = gunzipSync(await Bun.file(fixture).bytes()).toString();
  const copies = 400;
  writeFileSync(file, text.repeat(copies));
  const events = text.trimEnd().split("\n").length * copies;
  const args = [
    "import",
    file,
    "--host",
    server.url,
    "--api-key",
    projectKey,
    "--concurrency",
    "1",
    "--json",
  ];
  const killed = spawnSluice(args, {});
  await until(() => Promise.resolve(existsSync(`${file}.sluice-import`) || killed.exitCode !== null));
  killed.kill("SIGKILL");
  await killed.exited;
  expect(existsSync(`${file}.sluice-import`)).toBe(true);
  const ran = await runSluice(args, {});
  expect(ran.exitCode).toBe(0);
  expect(ran.stderr).toContain("were answered before");
  expect(JSON.parse(ran.stdout.trim().split("\n").at(-1)!)).toMatchObject({ sent: events, accepted: events });
  expect(existsSync(`${file}.sluice-import`)).toBe(false);
  await rested(server);
  const { clickhouse } = await storesOf(server);
  const [counted] = await clickhouse.query<{ n: string }>("SELECT count() AS n FROM events");
  expect(Number(counted?.n)).toBe(events);
});
