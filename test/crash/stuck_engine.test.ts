// An embedded engine that hangs inside a statement, or as a whole, while events arrive.

import { expect, test } from "bun:test";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import {
  type ClickHouse,
  type ClickHouseError,
  openClickHouse,
} from "../../src/storage/clickhouse/clickhouse.ts";
import { EngineWatch, noTrouble } from "../../src/storage/engine_watch.ts";
import { cleanUpEach, later } from "../support/cleanup.ts";
import {
  metric,
  post,
  projectKey,
  rested,
  type StartedServer,
  startServer,
  storesOf,
  until,
} from "../support/server.ts";
import { openMadeStores, startFront } from "../support/stores.ts";
import { enginePid, hangStatement } from "../support/stuck_engine.ts";

cleanUpEach();

/** Sends events without a pause until it is told to stop; resolves to how many were acknowledged. */
function sendSteadily(server: StartedServer, event: string) {
  let isOver = false;
  const statuses = new Set<number>();
  const sending = (async () => {
    let acknowledged = 0;
    for (; !isOver; await Bun.sleep(50)) {
      const batch = Array.from({ length: 20 }, () => ({
        event,
        distinct_id: "d",
        uuid: crypto.randomUUID(),
      }));
      const { status } = await post(server, "/batch/", { api_key: projectKey, batch });
      statuses.add(status);
      if (status === 200) acknowledged += batch.length;
    }
    return acknowledged;
  })();
  return { statuses, stop: () => ((isOver = true), sending) };
}

async function countStored(clickhouse: ClickHouse, event: string): Promise<{ rows: number; ids: number }> {
  const [found] = await clickhouse.query<{ rows: string; ids: string }>(
    "SELECT count() AS rows, uniqExact(uuid) AS ids FROM event_rows WHERE event = {event:String}",
    { event },
  );
  return { rows: Number(found!.rows), ids: Number(found!.ids) };
}

/** Resolves when the server has restarted its engine, to what readiness said of it meanwhile. */
async function restarted(server: StartedServer): Promise<string[]> {
  const seen = new Set<string>();
  await until(async () => {
    expect((await fetch(`${server.url}/_readiness/capture`)).status).toBe(200);
    for (const line of (await (await fetch(`${server.url}/_readiness`)).text()).trim().split("\n")) {
      const { part, error } = JSON.parse(line) as { part: string; error?: string };
      if (part === "clickhouse") seen.add(error ?? "ok");
    }
    return (await metric(server, "sluice_engine_restarts_total")) > 0;
  });
  await until(async () => (await fetch(`${server.url}/_readiness`)).status === 200);
  return [...seen];
}

const ways: [how: string, workers: string, hang: (server: StartedServer) => Promise<void>][] = [
  [
    "of two workers is frozen as a whole",
    "2",
    async (server) => void process.kill(enginePid(server), "SIGSTOP"),
  ],
  ["hangs inside a statement", "1", ({ dataDir }) => hangStatement(dataDir)],
];

for (const [how, workers, hang] of ways) {
  test(`an engine that ${how} is restarted once, captures go on, and each event is stored once`, async () => {
    const server = await startServer({ FLUSH_INTERVAL_MS: "50", WORKERS: workers });
    const sender = sendSteadily(server, "steady");
    await until(async () => (await metric(server, 'sluice_events_stored_total{lane="live"}')) > 0);
    const before = enginePid(server);
    await hang(server);
    expect(await restarted(server)).toContain("TIMEOUT");
    const acknowledged = await sender.stop();
    await rested(server);
    expect([...sender.statuses]).toEqual([200]);
    expect(await countStored((await storesOf(server)).clickhouse, "steady")).toEqual({
      rows: acknowledged,
      ids: acknowledged,
    });
    expect(enginePid(server)).not.toBe(before);
    expect(await metric(server, "sluice_engine_restarts_total")).toBe(1);
    expect(server.logged()).toMatch(/"the embedded ClickHouse is restarted","reason":"a (flush|statement) /);
  });
}

test("a server whose engine hangs ends in time, and its next start stores what was acknowledged", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  const sender = sendSteadily(server, "steady");
  await until(async () => (await metric(server, 'sluice_events_stored_total{lane="live"}')) > 0);
  await hangStatement(server.dataDir);
  await until(async () => (await fetch(`${server.url}/_readiness`)).status === 503);
  const acknowledged = await sender.stop();
  expect(await server.end("SIGTERM")).toBe(0);
  expect(server.logged()).not.toContain("the stop was cut short");
  const next = await startServer({}, server.dataDir);
  await rested(next);
  expect(await countStored((await storesOf(next)).clickhouse, "steady")).toEqual({
    rows: acknowledged,
    ids: acknowledged,
  });
});

test("a statement whose kill the engine does not see outlives its limit, until the engine is restarted", async () => {
  const stores = await openMadeStores();
  const { engine, clickhouse } = stores;
  const readTrouble = async () => noTrouble;
  const watch = new EngineWatch({ ...stores, engine, readTrouble, clock: systemClock, log: silentLog });
  const before = engine!.pid;
  // One block of one row, which takes a minute or more.
  const endless =
    "SELECT arraySum(arrayMap(x -> position(repeat('a', 1000000), toString(x)), range(200000)))";
  const reading = clickhouse.query(endless, {}, { timeoutMs: 7000, settings: { max_execution_time: 1 } });
  expect(await reading.catch((thrown: unknown) => (thrown as ClickHouseError).type)).toBe("TIMEOUT");
  await until(async () => {
    await watch.poll();
    return watch.restarts > 0;
  });
  await until(async () => engine!.pid !== undefined && engine!.pid !== before);
  expect(await clickhouse.query("SELECT 1 AS n")).toEqual([{ n: 1 }]);
  await until(async () => clickhouse.running.overdueMs === 0);
});

test("a remote engine that hangs is reported, its events are stored once when it answers again", async () => {
  const front = await startFront();
  const server = await startServer({
    CLICKHOUSE_URL: front.url,
    SECRET_KEY: "a key that is long enough 0123456789",
  });
  const sender = sendSteadily(server, "steady");
  await until(async () => (await metric(server, 'sluice_events_stored_total{lane="live"}')) > 0);
  await front.fault({ kind: "hang", times: 1_000_000, match: "INSERT INTO event_rows" });
  const readiness = async () => {
    const lines = (await (await fetch(`${server.url}/_readiness`)).text()).trim().split("\n");
    return lines.map((line) => JSON.parse(line) as object);
  };
  await until(async () => JSON.stringify(await readiness()).includes("FLUSH"));
  expect((await readiness())[2]).toEqual({ part: "clickhouse", ok: false, error: "FLUSH_HUNG" });
  expect((await fetch(`${server.url}/_readiness/capture`)).status).toBe(200);
  expect(server.logged()).toContain('"hindrance":"it is not embedded"');
  await front.clear();
  const acknowledged = await sender.stop();
  await rested(server);
  expect(await (await fetch(`${server.url}/_readiness`)).status).toBe(200);
  const clickhouse = openClickHouse(front.url);
  later(() => clickhouse.close());
  expect(await countStored(clickhouse, "steady")).toEqual({ rows: acknowledged, ids: acknowledged });
  expect(await metric(server, "sluice_engine_restarts_total")).toBe(0);
});
