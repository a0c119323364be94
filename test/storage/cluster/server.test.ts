import { afterAll, beforeAll, expect, test } from "bun:test";
import { silentLog as log } from "../../../src/core/log.ts";
import { attachStores, type Stores } from "../../../src/storage/stores.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { type ClusterFront, clusterName, startClusterFront } from "../../support/cluster.ts";
import { post, projectKey, rested, type StartedServer, startServer } from "../../support/server.ts";

afterAll(cleanUp);

let cluster: ClusterFront;
let server: StartedServer;
let stores: Stores;

beforeAll(async () => {
  cluster = await startClusterFront();
  const environment = {
    CLICKHOUSE_URL: cluster.url,
    CLICKHOUSE_CLUSTER: clusterName,
    FLUSH_INTERVAL_MS: "50",
  };
  // The second one reaches the stores by what the first one tells it.
  server = await startServer({ ...environment, WORKERS: "2" });
  stores = await attachStores({
    dataDir: server.dataDir,
    clickhouseUrl: cluster.url,
    clickhouseCluster: clusterName,
    log,
  });
  later(() => stores.close());
});

const events = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({
    event: "seen",
    distinct_id: `id${(from + i) % 9}`,
    properties: { $session_id: "s", $set: { last: from + i } },
  }));

async function send(from: number, to: number): Promise<void> {
  const reply = await post(server, "/batch/", { api_key: projectKey, batch: events(from, to) });
  expect(reply.status).toBe(200);
}

const count = async (from: string): Promise<number> => {
  const [row] = await stores.clickhouse.query<{ n: string }>(`SELECT count() AS n FROM ${from}`);
  return Number(row?.n);
};

test("a server on a cluster stores what it is sent, and is ready", async () => {
  await send(0, 90);
  await rested(server);
  expect([await count("events"), await count("persons"), await count("sessions")]).toEqual([90, 9, 1]);
  const ready = await (await fetch(`${server.url}/_readiness`)).text();
  expect(ready).toContain('{"part":"clickhouse","ok":true}');
});

test("an INSERT that failed on some shards or on its way back is once for every reader", async () => {
  for (const [i, kind] of (["fail_after", "drop_reply", "fail_before"] as const).entries()) {
    await cluster.front.fault({ kind, match: "INSERT INTO event_rows", type: "NETWORK_ERROR", code: 210 });
    await send(90 + i * 30, 120 + i * 30);
    await rested(server);
    expect([await count("events"), await count("persons"), await count("sessions")]).toEqual([
      120 + i * 30,
      9,
      1,
    ]);
  }
  expect(await cluster.front.struck()).toBe(3);
  const [session] = await stores.clickhouse.query<{ event_count: string }>(
    "SELECT event_count FROM sessions",
  );
  expect(session?.event_count).toBe("180");
});

test("while the cluster is unavailable captures continue, and readiness reports it", async () => {
  await cluster.front.fault({ kind: "drop_before", match: "", times: 1_000_000 });
  await send(180, 210);
  const ready = await fetch(`${server.url}/_readiness`);
  expect(ready.status).toBe(503);
  await cluster.front.clear();
  await rested(server);
  expect(await count("events")).toBe(210);
});
