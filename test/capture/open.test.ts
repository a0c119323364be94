// Acknowledgement modes, refusals by ClickHouse and a full journal, in whole servers.

import { expect, test } from "bun:test";
import { readConnection } from "../../src/storage/embedded/connection.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { settingsOf } from "../support/remote_clickhouse.ts";
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
} from "../support/server.ts";

cleanUpEach();

function batchOf(name: string, count: number, historical = false) {
  const batch = Array.from({ length: count }, (_, i) => ({
    event: name,
    distinct_id: `d${i}`,
    timestamp: new Date(Date.UTC(2023, i % 3, 5)).toISOString(),
    properties: { i },
  }));
  return { api_key: projectKey, historical_migration: historical, batch };
}

test("with CAPTURE_ACK=stored a 200 means that ClickHouse has the events", async () => {
  const server = await startServer({ CAPTURE_ACK: "stored", FLUSH_INTERVAL_MS: "100" });
  for (const historical of [false, true]) {
    const name = `stored ${historical}`;
    expect((await post(server, "/batch/", batchOf(name, 30, historical))).status).toBe(200);
    const reply = await get(server, `/api/projects/1/events/?event=${encodeURIComponent(name)}`);
    expect(((await reply.json()) as { count: number }).count).toBe(30);
  }
});

test("with CAPTURE_ACK=memory events are stored all the same", async () => {
  const server = await startServer({ CAPTURE_ACK: "memory", FLUSH_INTERVAL_MS: "100" });
  expect((await post(server, "/batch/", batchOf("hurried", 30))).status).toBe(200);
  await rested(server);
  const reply = await get(server, "/api/projects/1/events/?event=hurried");
  expect(((await reply.json()) as { count: number }).count).toBe(30);
});

test("events that ClickHouse refuses go to quarantine, the others are stored, and `journal` handles them beside the server", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "100" });
  const { clickhouse } = await storesOf(server);
  await clickhouse.command(
    `ALTER TABLE ${clickhouse.tables.local("event_rows")} ADD CONSTRAINT no_poison CHECK distinct_id != 'poison'`,
  );
  const body = batchOf("mixed", 40, true);
  for (const i of [3, 17]) body.batch[i]!.distinct_id = "poison";
  expect((await post(server, "/batch/", body)).status).toBe(200);
  await rested(server);
  const counted = async () => {
    const rows = await clickhouse.query<{ n: string }>(
      "SELECT count() AS n FROM events WHERE event = 'mixed'",
    );
    return Number(rows[0]?.n);
  };
  expect(await counted()).toBe(38);
  expect(await metric(server, "sluice_events_quarantined_total")).toBe(2);
  const environment = { DATA_DIR: server.dataDir };
  const listed = await runSluice(["journal", "list", "--json"], environment);
  const rows = listed.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: string; reason: string });
  expect(rows.length).toBe(2);
  expect(rows[0]?.reason).toContain("no_poison");
  expect((await runSluice(["journal", "discard", rows[0]!.id], environment)).stdout).toBe(
    "discarded 1 event\n",
  );
  await clickhouse.command(`ALTER TABLE ${clickhouse.tables.local("event_rows")} DROP CONSTRAINT no_poison`);
  expect((await runSluice(["journal", "retry", "all"], environment)).stdout).toBe("returned 1 event\n");
  await until(async () => (await counted()) === 39);
  expect((await runSluice(["journal", "list"], environment)).stdout).toBe("nothing in quarantine\n");
  expect((await runSluice(["journal", "retry", "nothing"], environment)).exitCode).toBe(1);
  expect((await runSluice(["journal", "mend"], environment)).exitCode).toBe(2);
});

test("a full journal answers 503 with Retry-After, loses nothing, and takes events again once ClickHouse has caught up", async () => {
  const server = await startServer({ JOURNAL_BYTES_MAX: "1048576", FLUSH_INTERVAL_MS: "100" });
  const { clickhouse } = await storesOf(server);
  // Out of the way, so that nothing can be flushed.
  await clickhouse.command("RENAME TABLE event_rows TO elsewhere");
  const filler = "x".repeat(100_000);
  let accepted = 0;
  let refused: Response | undefined;
  for (let i = 0; i < 40 && !refused; i++) {
    const reply = await post(server, "/capture/", {
      api_key: projectKey,
      event: "full",
      distinct_id: "d",
      properties: { filler },
    });
    if (reply.status === 200) accepted++;
    else refused = reply;
  }
  expect(refused?.status).toBe(503);
  expect(refused?.headers.get("retry-after")).toBe("5");
  // Nine tenths are one project's; the rest is kept for others.
  expect(await refused?.json()).toMatchObject({ code: "journal_share_exceeded" });
  await clickhouse.command("RENAME TABLE elsewhere TO event_rows");
  await rested(server);
  expect(
    (await post(server, "/capture/", { api_key: projectKey, event: "full", distinct_id: "d" })).status,
  ).toBe(200);
  await rested(server);
  const rows = await clickhouse.query<{ n: string }>("SELECT count() AS n FROM events WHERE event = 'full'");
  expect(Number(rows[0]?.n)).toBe(accepted + 1);
});

test("each journal says in Postgres how far it has come", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  const { sql } = await storesOf(server);
  const sentAt = new Date();
  expect((await post(server, "/batch/", batchOf("marked", 3))).status).toBe(200);
  await until(async () => {
    const [row] = await sql<{ watermark: Date; seen_at: Date }[]>`SELECT watermark, seen_at FROM journals`;
    return row !== undefined && row.watermark > sentAt && row.seen_at > sentAt;
  });
});

test("a process that stops with nothing left holds nobody up, and counts again before it takes anything", async () => {
  const keeper = await startServer();
  const { sql } = await storesOf(keeper);
  const connection = readConnection(keeper.dataDir)!;
  const environment = {
    DATABASE_URL: connection.database_url ?? "",
    CLICKHOUSE_URL: connection.clickhouse_url ?? "",
    ...settingsOf(keeper.remote),
    SECRET_KEY: "a secret that is shared",
  };
  const journals = async () =>
    (await sql<{ id: number }[]>`SELECT id FROM journals ORDER BY id`).map(({ id }) => id);
  const [first] = await journals();
  const dataDir = makeFolder();
  const other = await startServer(environment, dataDir);
  expect((await post(other, "/batch/", batchOf("brief", 3))).status).toBe(200);
  const both = await journals();
  expect(both.length).toBe(2);
  await other.end("SIGTERM");
  expect(await journals()).toEqual([first!]);
  const again = await startServer(environment, dataDir);
  expect(await journals()).toEqual(both);
  await again.end("SIGKILL");
  expect(await journals()).toEqual(both);
});
