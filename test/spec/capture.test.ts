// The document's capture part, said as tests over HTTP against a server as it is started.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { cleanUp } from "../support/cleanup.ts";
import {
  get,
  metric,
  post,
  projectKey,
  rested,
  type Server,
  startServer,
  storesOf,
  until,
} from "../support/server.ts";

afterAll(cleanUp);

let server: Server;

beforeAll(async () => {
  server = await startServer({ BODY_BYTES_MAX: "20971520" });
});

let names = 0;

/** An event name no other test uses. */
function newName(): string {
  return `event ${++names}`;
}

interface ReadEvent {
  uuid: string;
  event: string;
  distinct_id: string;
  timestamp: string;
  properties: unknown;
}

async function stored(name: string): Promise<ReadEvent[]> {
  await rested(server);
  const reply = await get(server, `/api/projects/1/events/?event=${encodeURIComponent(name)}`);
  return ((await reply.json()) as { results: ReadEvent[] }).results;
}

test("takes a single event, a batch and an array, on every path, with and without a slash", async () => {
  const name = newName();
  const event = { event: name, distinct_id: "d" };
  const bodies = [
    { api_key: projectKey, ...event },
    { api_key: projectKey, batch: [event] },
    [{ ...event, properties: { token: projectKey } }],
  ];
  let sent = 0;
  for (const path of ["/capture", "/batch", "/e", "/track", "/engage", "/i/v0/e", "/i/v0/ai/batch"]) {
    for (const slash of ["", "/"]) {
      for (const body of bodies) {
        const reply = await post(server, path + slash, body);
        expect([reply.status, await reply.json()]).toEqual([200, { status: "Ok" }]);
        sent++;
      }
    }
  }
  const events = await stored(name);
  expect(events.length).toBe(sent);
  expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(sent);
});

test("answers 200 and ignores an event without a name, without a distinct id, or with an empty one; the rest is kept", async () => {
  const name = newName();
  const before = await metric(server, "sluice_events_received_total");
  const batch = [
    { distinct_id: "d" },
    { event: name },
    { event: name, distinct_id: "" },
    { event: name, distinct_id: "kept" },
    { event: name, properties: { distinct_id: "kept too" } },
  ];
  const reply = await post(server, "/batch/?verbose=1", { api_key: projectKey, batch });
  expect(reply.status).toBe(200);
  expect(await reply.json()).toEqual({
    status: "Ok",
    accepted: 2,
    ignored: [
      { index: 0, reason: "missing_event_name" },
      { index: 1, reason: "missing_distinct_id" },
      { index: 2, reason: "empty_distinct_id" },
    ],
    ignored_by_reason: { missing_event_name: 1, missing_distinct_id: 1, empty_distinct_id: 1 },
    warnings: [],
    warnings_by_reason: {},
  });
  expect((await stored(name)).map((event) => event.distinct_id).toSorted()).toEqual(["kept", "kept too"]);
  expect(await metric(server, "sluice_events_received_total")).toBe(before + 5);
});

test("refuses a body that is no JSON or has no event with 400, and a missing, unknown or personal key with 401", async () => {
  const event = { event: "e", distinct_id: "d" };
  const cases: [unknown, number, string][] = [
    ["", 400, "no_data"],
    ["{", 400, "invalid_payload"],
    ["7", 400, "invalid_payload"],
    [{ api_key: projectKey, batch: [] }, 400, "invalid_payload"],
    [{ batch: [event] }, 401, "missing_api_key"],
    [event, 401, "missing_api_key"],
    [{ api_key: "phc_nobody_has_this_key", batch: [event] }, 401, "invalid_api_key"],
    [{ api_key: "phx_personal", batch: [event] }, 401, "invalid_api_key"],
    [
      [
        { ...event, api_key: "a" },
        { ...event, api_key: "b" },
      ],
      401,
      "invalid_api_key",
    ],
  ];
  for (const [body, status, code] of cases) {
    const reply = await post(server, "/batch/", body);
    const problem = (await reply.json()) as Record<string, unknown>;
    expect([reply.status, problem["code"]]).toEqual([status, code]);
    expect(Object.keys(problem)).toEqual(["type", "code", "detail", "attr"]);
  }
});

test("a body of 20 MB or more is refused with 413, chunked or not, and the connection lives on", async () => {
  const big = new Uint8Array(20_971_520).fill(0x20);
  expect((await post(server, "/batch/", big)).status).toBe(413);
  const chunked = new ReadableStream({
    start: (controller) => {
      for (let i = 0; i < 21; i++) controller.enqueue(new Uint8Array(1_000_000).fill(0x20));
      controller.close();
    },
  });
  const reply = await fetch(`${server.url}/batch/`, { method: "POST", body: chunked });
  expect([reply.status, ((await reply.json()) as { code: string }).code]).toEqual([413, "payload_too_large"]);
  const name = newName();
  const just = JSON.stringify({ api_key: projectKey, event: name, distinct_id: "d" });
  const padded = just + " ".repeat(20_971_519 - just.length);
  expect((await post(server, "/batch/", padded)).status).toBe(200);
  expect((await stored(name)).length).toBe(1);
});

test("inflates gzip, whether a header says so or not", async () => {
  const name = newName();
  const body = new Uint8Array(
    gzipSync(JSON.stringify({ api_key: projectKey, event: name, distinct_id: "d" })),
  );
  expect((await post(server, "/batch/", body, { "content-encoding": "gzip" })).status).toBe(200);
  expect((await post(server, "/e/", body, { "content-type": "text/plain" })).status).toBe(200);
  expect((await stored(name)).length).toBe(2);
});

test("the same event sent again with its uuid is one event", async () => {
  const name = newName();
  const event = {
    event: name,
    distinct_id: "d",
    uuid: crypto.randomUUID(),
    timestamp: "2024-02-03T04:05:06.789+02:00",
  };
  for (let i = 0; i < 3; i++) {
    expect((await post(server, "/batch/", { api_key: projectKey, batch: [event] })).status).toBe(200);
    await rested(server);
  }
  const events = await stored(name);
  expect(events.map(({ uuid, timestamp }) => [uuid, new Date(timestamp).toISOString()])).toEqual([
    [event.uuid, "2024-02-03T02:05:06.789Z"],
  ]);
});

test("30,000 events over 30 years in one body of 18 MB are all stored, their properties byte for byte", async () => {
  const name = newName();
  const sent = new Map<string, string>();
  const items: string[] = [];
  for (let i = 0; i < 30_000; i++) {
    const uuid = crypto.randomUUID();
    const filler = `text ${i} ${"äöü ✓ ".repeat(40)}`;
    const properties = `{"$current_url":"https://example.com/${i}","n":${i}.50,"big":12345678901234567890, "text":${JSON.stringify(filler)}}`;
    const timestamp = new Date(Date.UTC(1994 + (i % 30), i % 12, 1 + (i % 28), i % 24)).toISOString();
    items.push(
      `{"event":"${name}","distinct_id":"user ${i % 500}","uuid":"${uuid}","timestamp":"${timestamp}","properties":${properties}}`,
    );
    sent.set(uuid, properties);
  }
  const body = `{"api_key":"${projectKey}","historical_migration":true,"batch":[${items.join(",")}]}`;
  expect(Buffer.byteLength(body)).toBeGreaterThan(17_000_000);
  const reply = await post(server, "/batch/", body);
  expect(reply.status).toBe(200);
  await rested(server);
  const { clickhouse } = await storesOf(server);
  const rows = await clickhouse.query<{ uuid: string; properties: string }>(
    "SELECT uuid, properties FROM events WHERE event = {name:String}",
    { name },
  );
  expect(rows.length).toBe(30_000);
  expect(rows.filter((row) => sent.get(row.uuid) !== row.properties)).toEqual([]);
  const [parts] = await clickhouse.query<{ years: string; spread: string }>(
    `SELECT uniqExact(toYear(timestamp)) AS years, max(batches) AS spread FROM
       (SELECT timestamp, uniqExact(toYear(timestamp)) OVER (PARTITION BY _batch) AS batches
        FROM event_rows WHERE event = {name:String})`,
    { name },
  );
  expect(Number(parts?.years)).toBe(30);
  expect(Number(parts?.spread)).toBe(1);
});

test("two projects do not see each other's events", async () => {
  const name = newName();
  await post(server, "/capture/", { api_key: projectKey, event: name, distinct_id: "d" });
  await rested(server);
  expect((await get(server, `/api/projects/2/events/?event=${encodeURIComponent(name)}`)).status).toBe(404);
  expect((await get(server, "/api/projects/1/events/", "phx_nobody")).status).toBe(401);
});

test("counts every event's fate: received = accepted + ignored = stored + ignored at rest", async () => {
  await rested(server);
  const value = (name: string) => metric(server, name);
  const accepted =
    (await value(`sluice_events_accepted_total{lane="live"}`)) +
    (await value(`sluice_events_accepted_total{lane="historical"}`));
  const storedRows =
    (await value(`sluice_events_stored_total{lane="live"}`)) +
    (await value(`sluice_events_stored_total{lane="historical"}`));
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const ignored = [...text.matchAll(/^sluice_events_ignored_total\{.*\} (\d+)$/gm)].reduce(
    (sum, m) => sum + Number(m[1]),
    0,
  );
  expect(await value("sluice_events_received_total")).toBe(accepted + ignored);
  expect(storedRows).toBe(accepted);
  // Warnings have their own way to the store: no events, but bytes.
  await until(async () => (await value("sluice_journal_pending_bytes")) === 0);
});
