// A ClickHouse that takes events and refuses to derive their sessions holds up nothing else.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import {
  metric,
  post,
  projectKey,
  type StartedServer,
  startServer,
  storesOf,
  until,
} from "../support/server.ts";
import { startFront, storesStartMsMax, type TestFront } from "../support/stores.ts";

afterAll(cleanUp);

let front: TestFront;
let server: StartedServer;

beforeAll(async () => {
  front = await startFront();
  server = await startServer({ CLICKHOUSE_URL: front.url });
}, storesStartMsMax);

const deriving = "INSERT INTO session_facts";

async function capture(session: string): Promise<void> {
  const batch = Array.from({ length: 10 }, (_, i) => ({
    event: "e",
    distinct_id: `${session} ${i}`,
    properties: { $session_id: session },
  }));
  expect((await post(server, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
}

const storedUntil = async (): Promise<number> => {
  const reply = await fetch(`${server.url}/_stored`);
  return Date.parse(((await reply.json()) as { stored_until: string }).stored_until);
};

async function sessions(): Promise<string[]> {
  const { clickhouse } = await storesOf({ dataDir: server.dataDir, remote: { clickhouseUrl: front.url } });
  const rows = await clickhouse.query<{ session_id: string }>(
    "SELECT session_id FROM sessions ORDER BY session_id",
  );
  return rows.map(({ session_id }) => session_id);
}

test("events are stored, reported and waited for as ever, and readiness and a metric say what waits", async () => {
  await front.fault({ kind: "fail_before", match: deriving, times: 1e9, code: 497, type: "ACCESS_DENIED" });
  for (const session of ["first", "second"]) {
    await capture(session);
    const answered = Date.now();
    await until(async () => (await storedUntil()) > answered);
  }
  await until(async () => (await metric(server, "sluice_sessions_backlog_batches")) === 2);
  await until(async () => (await metric(server, "sluice_sessions_pending_events")) === 0);
  const readiness = await fetch(`${server.url}/_readiness`);
  expect(readiness.status).toBe(200);
  expect(await readiness.text()).toContain('"amiss":"sessions of 2 batches are not derived"');
  const { body } = await ask(server, "GET", "/api/projects/1/events/");
  expect(body["count"]).toBe(20);
});

test("a server whose store answers nothing of it ends by itself, and the next one derives what waited", async () => {
  await front.clear();
  await front.fault({ kind: "hang", match: deriving, times: 1e9 });
  await capture("third");
  expect(await server.end("SIGTERM")).toBe(0);
  await front.clear();
  server = await startServer({ CLICKHOUSE_URL: front.url }, server.dataDir);
  await until(async () => (await metric(server, "sluice_sessions_backlog_batches")) === 0);
  await until(async () => (await metric(server, "sluice_sessions_pending_events")) === 0);
  await until(async () => (await sessions()).length === 3);
  expect(await sessions()).toEqual(["first", "second", "third"]);
});
