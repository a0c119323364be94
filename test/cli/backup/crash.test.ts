// Backups and restores beside captures, and killed at any moment.

import { expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cleanUpEach, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { killsOf } from "../../support/kills.ts";
import {
  metric,
  post,
  projectKey,
  rested,
  runSluice,
  type Server,
  spawnSluice,
  startServer,
  storesOf,
  until,
} from "../../support/server.ts";

cleanUpEach();

const kills = killsOf(3);

/** Sends batches until it is told to stop; adds the uuids of answered ones to `acknowledged`. */
async function load(server: Server, acknowledged: Set<string>, stop: { told: boolean }): Promise<void> {
  for (let batch = 0; !stop.told; batch++) {
    const uuids = Array.from({ length: 40 }, () => crypto.randomUUID());
    const events = uuids.map((uuid, i) => ({
      event: i === 0 ? "$identify" : "kept",
      distinct_id: `d${batch % 50}`,
      uuid,
      timestamp: new Date(Date.UTC(2020 + ((batch + i) % 5), 3)).toISOString(),
      properties: {
        $session_id: `s${batch % 20}`,
        $set: { batch },
        ...(i === 0 && { $anon_distinct_id: `anonymous ${batch}` }),
      },
    }));
    const body = { api_key: projectKey, historical_migration: batch % 2 === 0, batch: events };
    const reply = await post(server, "/batch/", body);
    expect(reply.status).toBe(200);
    await reply.arrayBuffer();
    for (const uuid of uuids) acknowledged.add(uuid);
  }
}

const stored = `SELECT uuid::String AS uuid FROM events`;
/** What is derived from events and merges, worked out from them. */
const derived = `SELECT
    (SELECT countDistinct(distinct_id) FROM events) AS ids,
    (SELECT count() FROM person_distinct_ids WHERE distinct_id IN (SELECT distinct_id FROM events)) AS known_ids,
    (SELECT countDistinct(JSONExtractString(properties, '$session_id')) FROM events) AS sessions_sent,
    (SELECT count() FROM sessions) AS sessions_known,
    (SELECT countDistinct(person_id) FROM events WHERE event = '$identify') AS identified,
    (SELECT count() FROM persons WHERE is_identified) AS persons_identified`;

test("events acknowledged before a backup began are in it, whatever is captured meanwhile", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "20" });
  const acknowledged = new Set<string>();
  const stop = { told: false };
  const loading = load(server, acknowledged, stop);
  await until(async () => acknowledged.size > 2000);
  const before = new Set(acknowledged);
  const target = join(makeFolder(), "backup");
  const ran = await runSluice(["backup", target], { DATA_DIR: server.dataDir });
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  const after = new Set(acknowledged);
  stop.told = true;
  await loading;
  expect(after.size).toBeGreaterThan(before.size);
  await server.end("SIGTERM");
  const dataDir = join(makeFolder(), "restored");
  expect(await runSluice(["restore", target], { DATA_DIR: dataDir })).toMatchObject({
    exitCode: 0,
    stderr: "",
  });
  const restored = await startServer({ FLUSH_INTERVAL_MS: "20" }, dataDir);
  await rested(restored);
  expect(await metric(restored, "sluice_journal_damaged_total")).toBe(0);
  const { clickhouse } = await storesOf(restored);
  const uuids = (await clickhouse.query<{ uuid: string }>(stored)).map(({ uuid }) => uuid);
  expect(new Set(uuids).size).toBe(uuids.length);
  expect([...before].filter((uuid) => !uuids.includes(uuid))).toEqual([]);
  const [row] = await clickhouse.query<Record<string, string>>(derived);
  expect(row!["known_ids"]).toBe(row!["ids"]!);
  expect(row!["sessions_known"]).toBe(row!["sessions_sent"]!);
  expect(row!["persons_identified"]).toBe(row!["identified"]!);
});

test("a backup that is killed is none, and the next one takes its place", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "20" });
  const acknowledged = new Set<string>();
  const stop = { told: false };
  const loading = load(server, acknowledged, stop);
  await until(async () => acknowledged.size > 400);
  stop.told = true;
  await loading;
  await rested(server);
  const target = join(makeFolder(), "backup");
  const partial = `${target}.partial`;
  // At another part of the work each time.
  const signs = ["data", "postgres", "clickhouse", "files", "clickhouse/seen", "clickhouse/event_rows"];
  for (let round = 0; round < kills; round++) {
    const child = spawnSluice(["backup", target], { DATA_DIR: server.dataDir });
    later(() => child.kill("SIGKILL"));
    const sign = join(partial, signs[round % signs.length]!);
    while (!existsSync(sign) && child.exitCode === null) await Bun.sleep(1);
    child.kill("SIGKILL");
    await child.exited;
    // It was quicker than the kill.
    if (child.exitCode === 0) rmSync(target, { recursive: true });
    expect(existsSync(target)).toBe(false);
    if (!existsSync(partial)) continue;
    const dataDir = join(makeFolder(), "restored");
    const refused = await runSluice(["restore", partial], { DATA_DIR: dataDir });
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toBe(
      `sluice restore: ${partial} is no backup: it has no manifest.json, which is written last; ` +
        "a backup that was cut short cannot be restored\n",
    );
    expect(existsSync(dataDir)).toBe(false);
  }
  expect((await runSluice(["backup", target], { DATA_DIR: server.dataDir })).exitCode).toBe(0);
  expect(existsSync(partial)).toBe(false);
  expect(existsSync(join(server.dataDir, "clickhouse/shadow"))).toBe(false);
  expect(existsSync(join(target, "manifest.json"))).toBe(true);
});

test("what a killed backup has frozen is let go by the next start of the server", async () => {
  const server = await startServer();
  await server.end("SIGTERM");
  const frozen = join(server.dataDir, "clickhouse/shadow/sluice_backup");
  mkdirSync(frozen, { recursive: true });
  writeFileSync(join(frozen, "kept.bin"), "room that nobody gets back");
  await startServer({}, server.dataDir);
  expect(existsSync(frozen)).toBe(false);
});

test("half a restore is refused by every start and by the next restore, and a whole one after that serves", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "20" });
  const body = { api_key: projectKey, event: "kept", distinct_id: "d" };
  expect((await post(server, "/capture/", body)).status).toBe(200);
  await rested(server);
  await server.end("SIGTERM");
  const source = join(makeFolder(), "backup");
  expect((await runSluice(["backup", source], { DATA_DIR: server.dataDir })).exitCode).toBe(0);
  // Each time another folder: the stores of a killed restore end a moment after it.
  const signs = ["journal", "postgres", "clickhouse/store"];
  for (let round = 0; round < kills; round++) {
    const dataDir = join(makeFolder(), "restored");
    const child = spawnSluice(["restore", source], { DATA_DIR: dataDir });
    later(() => child.kill("SIGKILL"));
    const sign = join(dataDir, signs[round % signs.length]!);
    while (!existsSync(sign) && child.exitCode === null) await Bun.sleep(1);
    child.kill("SIGKILL");
    await child.exited;
    const half = join(makeFolder(), "half");
    await until(async () => copied(dataDir, half));
    rmSync(dataDir, { recursive: true, force: true });
    if (!existsSync(join(half, "restoring"))) continue;
    for (const command of [["serve"], ["key", "list"], ["migrate"]]) {
      const refused = await runSluice(command, { DATA_DIR: half, PORT: "0" });
      expect(refused.exitCode).toBe(1);
      expect(refused.stderr).toContain(
        `DATA_DIR ${half} has an incomplete restore: empty it, then: bun run sluice restore BACKUP`,
      );
    }
    const again = await runSluice(["restore", source], { DATA_DIR: half });
    expect(again.stderr).toBe(
      `sluice restore: DATA_DIR ${half} has an incomplete restore: empty it, then: bun run sluice restore BACKUP\n`,
    );
  }
  const dataDir = join(makeFolder(), "restored");
  const whole = await runSluice(["restore", source], { DATA_DIR: dataDir });
  expect([whole.exitCode, whole.stderr]).toEqual([0, expect.any(String)]);
  const restored = await startServer({}, dataDir);
  const { clickhouse } = await storesOf(restored);
  expect(await clickhouse.query("SELECT event FROM events")).toEqual([{ event: "kept" }]);
  expect(readdirSync(dataDir).filter((name) => name.startsWith("restoring"))).toEqual([]);
  expect(readFileSync(join(source, "manifest.json"), "utf8")).toContain('"format":1');
});

/** Copies a folder that a dying process may still write to; false when something went away meanwhile. */
function copied(from: string, to: string): boolean {
  try {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true });
    return true;
  } catch {
    return false;
  }
}
