import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { silentLog as log } from "../../../src/core/log.ts";
import { attachStores, type Stores } from "../../../src/storage/stores.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { clusterName } from "../../support/cluster.ts";
import type { ServerFault } from "../../support/failing_chdb_server.ts";
import { killsOf } from "../../support/kills.ts";
import { get, post, projectKey, rested, type StartedServer, startServer } from "../../support/server.ts";
import { type Shards, startShards } from "../../support/shards.ts";
import { askClickHouse } from "../../support/stores.ts";

afterAll(cleanUp);

let cluster: Shards;
let server: StartedServer;
let stores: Stores;
/** The uuids of acknowledged events. */
const acknowledged = new Set<string>();

beforeAll(async () => {
  cluster = await startShards(2);
  const environment = { CLICKHOUSE_URL: cluster.url, CLICKHOUSE_CLUSTER: clusterName };
  server = await startServer({ ...environment, FLUSH_INTERVAL_MS: "50" });
  const remote = { clickhouseUrl: cluster.url, clickhouseCluster: clusterName };
  stores = await attachStores({ dataDir: server.dataDir, ...remote, log });
  later(() => stores.close());
});

beforeEach(() => Promise.all(cluster.shards.map(({ front }) => front.clear())));

/** Events of nine distinct ids, so that both shards get some. */
async function send(count = 45): Promise<void> {
  const batch = Array.from({ length: count }, (_, i) => ({
    uuid: crypto.randomUUID(),
    event: "seen",
    distinct_id: `id${i % 9}`,
    properties: { $session_id: "s", $set: { last: i } },
  }));
  const reply = await post(server, "/batch/", { api_key: projectKey, batch });
  expect(reply.status).toBe(200);
  for (const { uuid } of batch) acknowledged.add(uuid);
}

/** Every acknowledged event is read, and none of them twice. */
async function expectAllOnce(): Promise<void> {
  await rested(server);
  const events = await stores.clickhouse.query<{ uuid: string }>("SELECT uuid FROM events");
  expect(events.map(({ uuid }) => uuid).toSorted()).toEqual([...acknowledged].toSorted());
  const derived = `SELECT (SELECT count() FROM persons) AS persons, (SELECT sum(event_count) FROM sessions) AS counted`;
  expect(await stores.clickhouse.query<object>(derived)).toEqual([
    { persons: "9", counted: String(acknowledged.size) },
  ]);
}

/** Rows as a shard holds them, those that a merge has not collapsed yet included. */
async function heldBy(shard: number): Promise<number> {
  const { url } = cluster.shards[shard]!.front;
  const reply = await askClickHouse(
    url,
    { database: "sluice" },
    { body: "SELECT count() FROM event_rows_local" },
  );
  return Number(await reply.text());
}

const insertion = { match: "INSERT INTO event_rows_local", type: "NETWORK_ERROR", code: 210 };
const kinds = ["fail_before", "fail_after", "drop_before", "drop_reply"] as const;

test("events are divided over the shards, and each is read once", async () => {
  await send();
  await expectAllOnce();
  const held = [await heldBy(0), await heldBy(1)];
  expect(held.every((rows) => rows > 0)).toBe(true);
  expect(held[0]! + held[1]!).toBe(acknowledged.size);
});

for (const kind of kinds) {
  test(`a batch that one shard stored, and the other one's INSERT ends by ${kind}, is read once`, async () => {
    const { front } = cluster.shards[1]!;
    const before = await front.struck();
    await front.fault({ ...insertion, kind });
    await send();
    await expectAllOnce();
    expect(await front.struck()).toBe(before + 1);
  });
}

test("a batch that no shard answered for is read once", async () => {
  for (const { front } of cluster.shards) await front.fault({ ...insertion, kind: "drop_before" });
  await send();
  await expectAllOnce();
  for (const { front } of cluster.shards) await front.fault({ ...insertion, kind: "drop_reply" });
  await send();
  await expectAllOnce();
});

test("a batch that all shards stored is not sent again when its answer is lost", async () => {
  const held = (await heldBy(0)) + (await heldBy(1));
  cluster.loseAnswers(1);
  await send();
  await expectAllOnce();
  expect((await heldBy(0)) + (await heldBy(1))).toBe(held + 45);
});

test("while a shard is unavailable captures continue, reads fail, and readiness names it; then each event is read once", async () => {
  const [, second] = cluster.shards;
  await second!.lose();
  await send();
  await expect(stores.clickhouse.query("SELECT count() FROM events")).rejects.toThrow();
  const read = await get(server, "/api/projects/1/events/");
  expect(read.status).toBeGreaterThanOrEqual(500);
  const ready = await fetch(`${server.url}/_readiness`);
  expect(ready.status).toBe(503);
  expect(await ready.text()).toContain("SHARD_2_AWAY");
  await send();
  await second!.recover();
  await expectAllOnce();
  expect((await fetch(`${server.url}/_readiness`)).status).toBe(200);
});

let seed = 11;
function below(count: number): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * count);
}

test("whatever fails on either shard, and however often, each event is read once", async () => {
  const statements = ["INSERT INTO event_rows_local", "INSERT INTO", "SELECT", ""];
  for (let round = 0; round < killsOf(6); round++) {
    for (let faults = below(4); faults > 0; faults--) {
      const fault: Partial<ServerFault> = { match: statements[below(4)]!, times: 1 + below(2) };
      await cluster.shards[below(2)]!.front.fault({ ...insertion, ...fault, kind: kinds[below(4)]! });
    }
    cluster.loseAnswers(below(3));
    await send(1 + below(60));
    if (below(3) === 0) await rested(server);
  }
  for (const { front } of cluster.shards) await front.clear();
  await expectAllOnce();
});
