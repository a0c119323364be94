// kill -9 in the middle of load: what was acknowledged is stored, and nothing twice.

import { afterAll, expect, test } from "bun:test";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { type Server, post, projectKey, rested, startServer, storesOf } from "../support/server.ts";

afterAll(cleanUp, 60_000);

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
      properties: { batch, filler: "x".repeat(200) },
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

test("acknowledged events are stored once through kills at any moment", async () => {
  const dataDir = makeFolder();
  const sent = new Set<string>();
  const acknowledged = new Set<string>();
  for (let round = 0; round < 4; round++) {
    const server = await startServer({ FLUSH_INTERVAL_MS: "50" }, dataDir);
    const loads = [load(server, false, sent, acknowledged), load(server, true, sent, acknowledged)];
    // Somewhere within the first flushes, at another moment every round.
    const goal = acknowledged.size + 300 + round * 450;
    while (acknowledged.size < goal) await Bun.sleep(1);
    await server.end("SIGKILL");
    await Promise.all(loads);
  }
  const server = await startServer({}, dataDir);
  await rested(server);
  const { clickhouse } = await storesOf(server);
  const rows = await clickhouse.query<{ uuid: string }>("SELECT uuid FROM events");
  const stored = rows.map((row) => row.uuid);

  const found = new Set(stored);
  expect(found.size).toBe(stored.length);
  expect([...acknowledged].filter((uuid) => !found.has(uuid))).toEqual([]);
  expect(stored.filter((uuid) => !sent.has(uuid))).toEqual([]);
  expect(await server.end("SIGTERM")).toBe(0);
}, 180_000);
