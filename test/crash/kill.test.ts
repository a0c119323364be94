// kill -9 in the middle of load: what was acknowledged is stored, and nothing twice.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cleanUpEach } from "../support/cleanup.ts";
import { killsOf } from "../support/kills.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { metric, post, projectKey, rested, type Server, startServer, storesOf } from "../support/server.ts";

cleanUpEach();

const kills = killsOf(3);

/** Sends until the server is gone; adds the uuids of answered batches to `acknowledged`, of all to `sent`. */
async function load(
  server: Server,
  historical: boolean,
  sent: Set<string>,
  acknowledged: Set<string>,
): Promise<void> {
  for (let batch = 0; ; batch++) {
    const uuids = Array.from({ length: 50 }, () => crypto.randomUUID());
    for (const uuid of uuids) sent.add(uuid);
    const events = uuids.map((uuid, i) => ({
      event: "kept",
      distinct_id: `d${i}`,
      uuid,
      timestamp: new Date(Date.UTC(2020 + ((batch + i) % 5), 3)).toISOString(),
      properties: { batch, $session_id: `${historical} ${batch}`, filler: "x".repeat(200) },
    }));
    try {
      const body = { api_key: projectKey, historical_migration: historical, batch: events };
      const reply = await post(server, "/batch/", body);
      if (reply.status === 200) for (const uuid of uuids) acknowledged.add(uuid);
      await reply.arrayBuffer();
    } catch {
      return;
    }
  }
}

test(
  "acknowledged events are stored once through kills at any moment",
  async () => {
    const dataDir = await makeStoresFolder();
    const sent = new Set<string>();
    const acknowledged = new Set<string>();
    for (let round = 0; round < kills; round++) {
      const server = await startServer({ FLUSH_INTERVAL_MS: "50" }, dataDir);
      // A kill tears what nobody was told of: that is no damage.
      expect(await metric(server, "sluice_journal_damaged_total")).toBe(0);
      const loads = [load(server, false, sent, acknowledged), load(server, true, sent, acknowledged)];
      // Somewhere within the first flushes, at another moment every round.
      const goal = acknowledged.size + 300 + (round % 4) * 450;
      while (acknowledged.size < goal) await Bun.sleep(1);
      await server.end("SIGKILL");
      await Promise.all(loads);
    }
    const server = await startServer({}, dataDir);
    await rested(server);
    expect(await metric(server, "sluice_journal_damaged_total")).toBe(0);
    const { clickhouse } = await storesOf(server);
    const rows = await clickhouse.query<{ uuid: string }>("SELECT uuid FROM events");
    const stored = rows.map((row) => row.uuid);

    const found = new Set(stored);
    expect(found.size).toBe(stored.length);
    expect([...acknowledged].filter((uuid) => !found.has(uuid))).toEqual([]);
    expect(stored.filter((uuid) => !sent.has(uuid))).toEqual([]);
    // Each session knows all of its events, though some were stored by a process that died before it derived them.
    const derived = "SELECT session_id AS session, event_count AS events FROM sessions ORDER BY session";
    const counted = `SELECT JSONExtractString(properties, '$session_id') AS session, count() AS events
       FROM events GROUP BY session ORDER BY session`;
    expect(await clickhouse.query(derived)).toEqual(await clickhouse.query(counted));
    expect(await server.end("SIGTERM")).toBe(0);
  },
  300_000 + kills * 60_000,
);

test("what a disk damaged while the server was away is counted and kept aside, and the rest is stored", async () => {
  const dataDir = await makeStoresFolder();
  let server = await startServer({ FLUSH_INTERVAL_MS: "3600000" }, dataDir);
  for (let place = 0; place < 3; place++) {
    const event = { api_key: projectKey, event: "kept", distinct_id: `d${place}` };
    expect((await post(server, "/capture/", event)).status).toBe(200);
  }
  await server.end("SIGKILL");
  const folder = `${dataDir}/journal`;
  // The oldest: behind it is the file that was made for the next segment.
  const [name] = readdirSync(folder)
    .filter((one) => one.startsWith("live-") && one.endsWith(".segment"))
    .toSorted() as [string];
  const bytes = readFileSync(`${folder}/${name}`);
  bytes[bytes.length - 3]! ^= 1;
  writeFileSync(`${folder}/${name}`, bytes);

  server = await startServer({}, dataDir);
  expect(await metric(server, "sluice_journal_damaged_total")).toBe(1);
  expect(await metric(server, "sluice_journal_lost_rows_total")).toBe(1);
  expect(await metric(server, "sluice_journal_damaged_bytes_total")).toBeGreaterThan(100);
  await rested(server);
  const { clickhouse } = await storesOf(server);
  const rows = await clickhouse.query<{ id: string }>("SELECT distinct_id AS id FROM events ORDER BY id");
  expect(rows.map(({ id }) => id)).toEqual(["d0", "d1"]);
  expect(readFileSync(`${folder}/${name}.damaged`).equals(bytes)).toBe(true);
  expect(await server.end("SIGTERM")).toBe(0);
});
