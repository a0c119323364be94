// Workers are killed alone, with their server, and all at once: what was acknowledged is stored, nothing twice, and
// nobody is left behind.

import { expect, test } from "bun:test";
import { cleanUpEach } from "../support/cleanup.ts";
import { killsOf } from "../support/kills.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { metric, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";
import { isAlive, postAnew, serving, workersOf, workersServing } from "../support/workers.ts";

cleanUpEach();

const kills = killsOf(3);

const two = { WORKERS: "2", FLUSH_INTERVAL_MS: "50" };

interface Load {
  sent: Set<string>;
  acknowledged: Set<string>;
  /** Ends it; resolves when nothing more is sent. */
  end(): Promise<void>;
}

/** Sends on connections of their own until told to end; a connection that breaks is one whose fate is not known. */
function loading(server: Server, sent: Set<string>, acknowledged: Set<string>, historical: boolean): Load {
  let ended = false;
  const running = (async () => {
    for (let batch = 0; !ended; batch++) {
      const uuids = Array.from({ length: 20 }, () => crypto.randomUUID());
      for (const uuid of uuids) sent.add(uuid);
      const events = uuids.map((uuid, i) => ({
        event: i === 0 ? "$identify" : "kept",
        distinct_id: `d${batch}`,
        uuid,
        timestamp: new Date(Date.UTC(2024, (batch + i) % 3, 1)).toISOString(),
        properties: i === 0 ? { $anon_distinct_id: `a${uuid}` } : { filler: "x".repeat(200) },
      }));
      try {
        const body = { api_key: projectKey, historical_migration: historical, batch: events };
        const reply = await postAnew(server, "/batch/", body);
        if (reply.status === 200) for (const uuid of uuids) acknowledged.add(uuid);
        await reply.arrayBuffer();
      } catch {
        await Bun.sleep(1);
      }
    }
  })();
  const end = async () => {
    ended = true;
    await running;
  };
  return { sent, acknowledged, end };
}

async function more(acknowledged: Set<string>, events: number): Promise<void> {
  const goal = acknowledged.size + events;
  await until(() => Promise.resolve(acknowledged.size >= goal));
}

test(
  "acknowledged events are stored once through kills of a worker, of the server, and of all",
  async () => {
    const dataDir = await makeStoresFolder();
    const sent = new Set<string>();
    const acknowledged = new Set<string>();
    for (let round = 0; round < kills; round++) {
      const victim = (["worker", "server", "all"] as const)[round % 3];
      const server = await startServer(two, dataDir);
      await serving(server, 2);
      const loads = [false, true].map((historical) => loading(server, sent, acknowledged, historical));
      await more(acknowledged, 200 + (round % 5) * 130);
      const workers = workersOf(server);
      if (victim === "worker") {
        for (const pid of workers) process.kill(pid, "SIGKILL");
        // The others serve, and it comes back.
        await more(acknowledged, 200);
        await serving(server, 2);
        await more(acknowledged, 200);
      }
      if (victim === "all") for (const pid of workers) process.kill(pid, "SIGKILL");
      const family = [server.pid, ...workersOf(server)];
      await server.end("SIGKILL");
      await Promise.all(loads.map((load) => load.end()));
      await until(() => Promise.resolve(!family.some(isAlive)));
    }
    const server = await startServer({ WORKERS: "1" }, dataDir);
    await rested(server);
    const { clickhouse } = await storesOf(server);
    const rows = await clickhouse.query<{ uuid: string }>("SELECT uuid FROM events");
    const found = new Set(rows.map(({ uuid }) => uuid));
    expect(found.size).toBe(rows.length);
    expect([...acknowledged].filter((uuid) => !found.has(uuid))).toEqual([]);
    expect([...found].filter((uuid) => !sent.has(uuid))).toEqual([]);
    expect(await server.end("SIGTERM")).toBe(0);
  },
  300_000 + kills * 60_000,
);

test("what a worker counted before it was killed stays counted, and its journal's rest is stored by its next life", async () => {
  const server = await startServer({ ...two, FLUSH_INTERVAL_MS: "2000" });
  await serving(server, 2);
  const sent = new Set<string>();
  const acknowledged = new Set<string>();
  const load = loading(server, sent, acknowledged, false);
  await more(acknowledged, 400);
  await load.end();
  const counted = await metric(server, "sluice_events_received_total");
  expect(counted).toBe(sent.size);
  const [worker] = workersOf(server);
  process.kill(worker!, "SIGKILL");
  await until(async () => (await workersServing(server)) === 1 || workersOf(server)[0] !== worker);
  await serving(server, 2);
  expect(await metric(server, "sluice_events_received_total")).toBe(counted);
  await rested(server);
  const { clickhouse } = await storesOf(server);
  const [row] = await clickhouse.query<{ n: string }>("SELECT count() AS n FROM events");
  expect(Number(row?.n)).toBe(sent.size);
});
