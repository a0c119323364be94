// A server of two workers, as its users see it: one server.

import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { readConnection } from "../../../src/storage/embedded/connection.ts";
import { cleanUpEach } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { sendRaw } from "../../support/raw.ts";
import { storesMode } from "../../support/remote_clickhouse.ts";
import {
  get,
  metric,
  personalKey,
  post,
  projectKey,
  rested,
  runSluice,
  type Server,
  startServer,
  storesOf,
  until,
} from "../../support/server.ts";
import { isAlive, postAnew, serving, waitingIn, workersOf } from "../../support/workers.ts";

cleanUpEach();

const two = { WORKERS: "2" };

/** For tests that only ask it. */
let usual: Server;
beforeAll(async () => {
  usual = await startServer(two);
  await serving(usual, 2);
});

/** Sends one event a connection until both journals have taken some; resolves to how many. */
async function sendToBoth(server: Server, event: string): Promise<number> {
  for (let sent = 0; ; sent++) {
    const took = [`${server.dataDir}/journal`, `${server.dataDir}/workers/2/journal`].map(waitingIn);
    if (took.every((names) => names.length > 0)) return sent;
    const body = { api_key: projectKey, event, distinct_id: `d${sent}` };
    expect((await postAnew(server, "/capture/", body)).status).toBe(200);
  }
}

async function countOf(server: Server, event: string): Promise<number> {
  const reply = await get(server, `/api/projects/1/events/?event=${encodeURIComponent(event)}&limit=1`);
  return ((await reply.json()) as { count: number }).count;
}

test("both workers take events, and whichever is asked tells of all of them", async () => {
  const server = await startServer({ ...two, FLUSH_INTERVAL_MS: "2000" });
  await serving(server, 2);
  const sent = await sendToBoth(server, "spread");
  const ignored = { api_key: projectKey, batch: Array.from({ length: 10 }, () => ({ distinct_id: "d" })) };
  for (let i = 0; i < 10; i++) expect((await postAnew(server, "/batch/", ignored)).status).toBe(200);
  for (let i = 0; i < 10; i++) {
    const text = await (await fetch(`${server.url}/metrics`, { headers: { connection: "close" } })).text();
    expect(text).toContain(`\nsluice_events_received_total ${sent + 100}\n`);
    expect(text).toContain(`\nsluice_events_accepted_total{lane="live"} ${sent}\n`);
    expect(text).toContain('\nsluice_events_ignored_total{reason="missing_event_name"} 100\n');
    expect(text).toContain(`\nsluice_capture_seconds_count ${sent + 10}\n`);
  }
  for (let i = 0; i < 6; i++) {
    const reply = await fetch(`${server.url}/_readiness`, { headers: { connection: "close" } });
    expect([reply.status, (await reply.text()).split("\n").length]).toEqual([200, 4]);
  }
  await rested(server);
  expect(await metric(server, 'sluice_events_stored_total{lane="live"}')).toBe(sent);
  expect(await countOf(server, "spread")).toBe(sent);
  const { clickhouse, sql } = await storesOf(server);
  const journals = await clickhouse.query<{ journal: number }>(
    "SELECT DISTINCT bitAnd(bitShiftRight(_batch, 11), 4095) AS journal FROM event_rows",
  );
  const known = (await sql<{ id: number }[]>`SELECT id FROM journals`).map(({ id }) => id);
  expect(journals.map(({ journal }) => Number(journal)).toSorted()).toEqual(known.toSorted());
  expect(known.length).toBe(2);
});

test("what is no event is answered as by one process, whichever has the connection", async () => {
  const server = usual;
  const ask = async (path: string, init: RequestInit = {}) => {
    const replies = new Set<string>();
    for (let i = 0; i < 12; i++) {
      const headers = { ...init.headers, connection: "close", host: "events.example.org" };
      const reply = await fetch(`${server.url}${path}`, { ...init, headers });
      const shown = Object.fromEntries(
        [...reply.headers].filter(([name]) => name !== "date" && name !== "x-request-id"),
      );
      replies.add(JSON.stringify([reply.status, shown, await reply.text()]));
    }
    expect([...replies]).toEqual([[...replies][0]!]);
    return JSON.parse([...replies][0]!) as [status: number, headers: Record<string, string>, text: string];
  };
  const authorization = `Bearer ${personalKey}`;
  for (let i = 0; i < 3; i++) {
    expect(
      (await post(server, "/capture/", { api_key: projectKey, event: "e", distinct_id: `d${i}` })).status,
    ).toBe(200);
  }
  await rested(server);
  const [, , page] = await ask("/api/projects/1/events/?limit=2", { headers: { authorization } });
  expect(page).toContain('"next":"http://events.example.org/api/projects/1/events/?limit=2&offset=2"');
  expect((await ask("/api/projects/1/events/"))[0]).toBe(401);
  expect((await ask("/no/such/path"))[0]).toBe(404);
  expect((await ask("/capture/", { method: "PUT", body: "{}" }))[0]).toBe(405);
  expect((await ask("/capture/", { method: "POST", body: "{" }))[0]).toBe(400);
  expect((await ask("/static/array.js"))[2].length).toBeGreaterThan(10_000);
  expect((await ask(`/array/${projectKey}/config`))[0]).toBe(200);
  expect((await ask("/api/projects/1/events/", { method: "OPTIONS" }))[0]).toBeLessThan(405);
  expect((await ask("/_health", { method: "HEAD" }))[0]).toBe(200);
  const long = JSON.stringify({ name: "x".repeat(2_000_000) });
  const init = {
    method: "PATCH",
    body: long,
    headers: { authorization, "content-type": "application/json" },
  };
  expect((await ask("/api/projects/1/", init))[0]).toBe(413);
});

test("whatever name a request has for the server, or none, every worker answers alike", async () => {
  const server = usual;
  const authorization = `Authorization: Bearer ${personalKey}`;
  const event = JSON.stringify({ api_key: projectKey, event: "e", distinct_id: "d" });
  const alike = async (status: number, head: string[], body = "") => {
    const replies = await Promise.all(Array.from({ length: 12 }, () => sendRaw(server.url, head, body)));
    expect([head, new Set(replies.map((reply) => reply.status))]).toEqual([head, new Set([status])]);
    return replies[0]!.text;
  };
  await alike(200, ["GET /_health HTTP/1.1", "Host: db"]);
  await alike(200, ["POST /capture/?beacon=0 HTTP/1.1", "Host: s"], event);
  await alike(200, ["POST /capture/?beacon=0 HTTP/1.0"], event);
  await alike(200, ["GET /_readiness HTTP/1.0"]);
  await alike(404, ["GET /api/nothing/?x=/capture/ HTTP/1.0"]);
  await alike(200, ["GET /api/projects/?limit=1 HTTP/1.1", "Host: s:80", authorization]);
  for (const host of ["[", "a:b"]) {
    const text = await alike(400, ["GET /api/projects/ HTTP/1.1", `Host: ${host}`, authorization]);
    expect(text).toContain("The Host header names no host.");
  }
});

test("a key that was just made works on every worker, and CAPTURE_ACK=stored holds on each", async () => {
  const server = await startServer({ ...two, CAPTURE_ACK: "stored", FLUSH_INTERVAL_MS: "100" });
  await serving(server, 2);
  const headers = { authorization: `Bearer ${personalKey}` };
  const made = await post(server, "/api/projects/", { name: "Another" }, headers);
  const { id, api_token } = (await made.json()) as { id: number; api_token: string };
  for (let i = 1; i <= 12; i++) {
    const body = { api_key: api_token, event: "stored", distinct_id: `d${i}` };
    expect((await postAnew(server, "/capture/", body)).status).toBe(200);
    const reply = await get(server, `/api/projects/${id}/events/?limit=1`);
    expect(((await reply.json()) as { count: number }).count).toBe(i);
  }
});

test("a stop is heard by all: in-flight events are stored, nobody is left, and the next start finds nothing", async () => {
  const server = await startServer({ ...two, FLUSH_INTERVAL_MS: "60000" });
  await serving(server, 2);
  const sent = await sendToBoth(server, "last words");
  const family = [server.pid, ...workersOf(server)];
  expect(family.length).toBe(2);
  // Who stops a service tells every process of it.
  for (const pid of workersOf(server)) process.kill(pid, "SIGTERM");
  expect(await server.end("SIGTERM")).toBe(0);
  expect(family.filter(isAlive)).toEqual([]);
  const next = await startServer({ WORKERS: "1" }, server.dataDir);
  expect(await metric(next, "sluice_journal_pending_events")).toBe(0);
  expect(await countOf(next, "last words")).toBe(sent);
});

test("a start with fewer workers stores what the others' journals hold, and one with more goes on", async () => {
  const waiting = { FLUSH_INTERVAL_MS: "3600000" };
  const first = await startServer({ WORKERS: "2", ...waiting });
  await serving(first, 2);
  let sent = await sendToBoth(first, "kept");
  await first.end("SIGKILL");
  const one = await startServer({ WORKERS: "1" }, first.dataDir);
  await rested(one);
  expect(await countOf(one, "kept")).toBe(sent);
  expect(waitingIn(`${first.dataDir}/workers/2/journal`)).toEqual([]);
  const { sql } = await storesOf(one);
  await until(async () => (await sql`SELECT 1 FROM journals`).length === 1);
  await one.end("SIGKILL");
  const again = await startServer({ WORKERS: "2", FLUSH_INTERVAL_MS: "1000" }, first.dataDir);
  await serving(again, 2);
  sent += await sendToBoth(again, "kept");
  await rested(again);
  expect(await countOf(again, "kept")).toBe(sent);
});

test("rows that ClickHouse refuses are in one quarantine, whoever took them, and come back from it", async () => {
  const server = await startServer({ ...two, FLUSH_INTERVAL_MS: "300" });
  await serving(server, 2);
  const { clickhouse } = await storesOf(server);
  await clickhouse.command(
    `ALTER TABLE ${clickhouse.tables.local("event_rows")} ADD CONSTRAINT no_poison CHECK distinct_id = 'd'`,
  );
  const sent = await sendToBoth(server, "refused");
  await rested(server);
  expect(await metric(server, "sluice_events_quarantined_total")).toBe(sent);
  const environment = { DATA_DIR: server.dataDir };
  const listed = await runSluice(["journal", "list", "--json"], environment);
  expect(listed.stdout.trim().split("\n").length).toBe(sent);
  await clickhouse.command(`ALTER TABLE ${clickhouse.tables.local("event_rows")} DROP CONSTRAINT no_poison`);
  await runSluice(["journal", "retry", "all"], environment);
  await until(async () => (await countOf(server, "refused")) === sent);
});

test("together the journals hold no more than JOURNAL_BYTES_MAX", async () => {
  const server = await startServer({ ...two, JOURNAL_BYTES_MAX: "4194304", FLUSH_INTERVAL_MS: "3600000" });
  await serving(server, 2);
  const properties = { filler: "x".repeat(200_000) };
  const body = { api_key: projectKey, event: "full", distinct_id: "d", properties };
  let accepted = 0;
  for (let refused = 0; refused < 20;) {
    const reply = await postAnew(server, "/capture/", body);
    if (reply.status === 200) accepted++;
    else refused++;
  }
  // A request more for each worker: who is full is known when it is written.
  expect(accepted * 200_000).toBeLessThan(4_194_304 + 2 * 200_000);
  expect(accepted * 200_000).toBeGreaterThan(4_194_304 / 2);
});

test("a server of several workers shares its port with no other one", async () => {
  const server = usual;
  const environment = { PORT: new URL(server.url).port, DATA_DIR: makeFolder(), ...two };
  const { exitCode, stderr } = await runSluice(["serve"], environment);
  expect(exitCode).toBe(1);
  expect(stderr).toContain("it is in use; set PORT to another");
});

// What an operator puts into the environment is in that of the workers as well.
test.skipIf(storesMode !== "embedded")(
  "no password is among a worker's arguments or in its environment",
  async () => {
    const server = usual;
    const [worker] = workersOf(server);
    const { password } = new URL(readConnection(server.dataDir)!.clickhouse_url!);
    for (const name of ["cmdline", "environ"]) {
      expect(readFileSync(`/proc/${worker}/${name}`, "utf8")).not.toContain(password);
    }
  },
);
