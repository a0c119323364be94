// What a network does to uploads, and where an ignored event can be found, against a server as it is started.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { cleanUp } from "../support/cleanup.ts";
import {
  get,
  metric,
  post,
  projectKey,
  rested,
  type Server,
  startServer,
  startWithHistory,
  until,
} from "../support/server.ts";

afterAll(cleanUp);

let server: Server;

beforeAll(async () => {
  server = await startServer({ BODY_BYTES_MAX: "100000", FLUSH_INTERVAL_MS: "50" });
});

const bodyOf = (event: string) => JSON.stringify({ api_key: projectKey, event, distinct_id: "d" });

/** Writes `parts` to a connection of its own, and then gives it up as told. */
async function giveUp(parts: string[], end: "close" | "reset"): Promise<void> {
  const { hostname, port } = new URL(server.url);
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect(Number(port), hostname);
  socket.on("close", () => resolve());
  socket.on("error", () => {});
  for (const part of parts) socket.write(part);
  if (end === "close") socket.end();
  else socket.write("", () => socket.resetAndDestroy());
  await promise;
}

/** Sends `requests` over one connection, each once the one before has its answer; resolves to all that came back. */
function converse(requests: string[]): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const { promise, resolve } = Promise.withResolvers<string>();
  let got = "";
  let sent = 0;
  const socket = connect(Number(port), hostname);
  const next = () => {
    const request = requests[sent++];
    if (request === undefined) socket.end();
    else socket.write(request);
  };
  socket.on("data", (bytes) => {
    got += bytes.toString("latin1");
    // A whole answer ends with its body, an object.
    if (answers(got) === sent && got.endsWith("}")) next();
  });
  socket.on("close", () => resolve(got));
  socket.on("error", () => {});
  next();
  return promise;
}

function answers(text: string): number {
  return text.split("HTTP/1.1 ").length - 1;
}

const head = (headers: string) => `POST /batch/ HTTP/1.1\r\nHost: sluice\r\n${headers}\r\n\r\n`;

async function storedCount(event: string): Promise<number> {
  await rested(server);
  const reply = await get(server, `/api/projects/1/events/?event=${encodeURIComponent(event)}`);
  return ((await reply.json()) as { count: number }).count;
}

test("nothing is kept of an upload that its client gives up, even when what came is a whole body", async () => {
  const body = bodyOf("given up");
  const before = await metric(server, "sluice_events_received_total");
  for (const end of ["close", "reset"] as const) {
    await giveUp([head(`Content-Length: ${body.length + 1}`), body], end);
    await giveUp([head(`Content-Length: 90000`), body], end);
    await giveUp([head("Transfer-Encoding: chunked"), `${body.length.toString(16)}\r\n${body}\r\n`], end);
  }
  // A reset may overtake what was written; a close cannot.
  await until(
    async () => (await metric(server, 'sluice_requests_refused_total{code="upload_timeout"}')) >= 3,
  );
  expect(await storedCount("given up")).toBe(0);
  expect(await metric(server, "sluice_events_received_total")).toBe(before);
});

test("a connection continues after a body that was too large, announced or chunked", async () => {
  const chunk = "x".repeat(50_000);
  const good = bodyOf("after a refusal");
  const next = `${head(`Content-Length: ${good.length}`)}${good}`;
  const chunked = `${(50_000).toString(16)}\r\n${chunk}\r\n`.repeat(3);
  const got = await converse([
    `${head("Content-Length: 150000")}${chunk}${chunk}${chunk}`,
    next,
    `${head("Transfer-Encoding: chunked")}${chunked}0\r\n\r\n`,
    next,
  ]);
  expect([...got.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual([
    "413",
    "200",
    "413",
    "200",
  ]);
  expect(got).toContain("must be smaller than 100000 bytes; 150000 bytes arrived");
  expect(await storedCount("after a refusal")).toBe(2);
});

test("a body may come in chunks of any size", async () => {
  const body = bodyOf("in chunks");
  const chunks = [...body].map((letter) => `1\r\n${letter}\r\n`).join("");
  const got = await converse([`${head("Transfer-Encoding: chunked")}${chunks}0\r\n\r\n`]);
  expect(got).toStartWith("HTTP/1.1 200");
  expect(await storedCount("in chunks")).toBe(1);
});

interface Warnings {
  types: { type: string; count: number }[];
  results: { type: string; event: string; distinct_id: string; details: Record<string, unknown> }[];
}

async function warningsOf(event: string): Promise<Warnings> {
  const path = `/api/projects/1/ingestion_warnings/?event=${encodeURIComponent(event)}`;
  const reply = await get(server, path);
  expect(reply.status).toBe(200);
  return (await reply.json()) as Warnings;
}

test("an ignored event can be found by its name, and so can one that was altered, across a crash", async () => {
  const event = "where is it";
  const batch = [
    { event },
    { event, distinct_id: "someone", timestamp: "soon" },
    { event, distinct_id: "someone", properties: { a: "\0" } },
  ];
  const reply = await post(server, "/batch/", { api_key: projectKey, batch });
  expect(reply.status).toBe(200);
  // Warnings are in the journal when the answer is sent: a kill loses none.
  await server.end("SIGKILL");
  server = await startServer({ BODY_BYTES_MAX: "100000", FLUSH_INTERVAL_MS: "50" }, server.dataDir);
  await until(async () => (await warningsOf(event)).results.length >= 3);
  await rested(server);
  const { types, results } = await warningsOf(event);
  expect(types.map(({ type, count }) => [type, count]).toSorted()).toEqual([
    ["ignored_invalid_timestamp", 1],
    ["missing_distinct_id", 1],
    ["unstorable_characters_replaced", 1],
  ]);
  const [altered] = results.filter(({ type }) => type === "ignored_invalid_timestamp");
  expect(altered).toMatchObject({ event, distinct_id: "someone", details: { value: '"soon"', index: 1 } });
  const stored = await get(server, `/api/projects/1/events/?event=${encodeURIComponent(event)}`);
  const uuids = ((await stored.json()) as { results: { uuid: string }[] }).results.map(({ uuid }) => uuid);
  expect(uuids).toContain(String(altered?.details["event_uuid"]));
});

test("what was counted but not listed is written down when the server stops", async () => {
  const event = "flood";
  const batch = Array.from({ length: 1000 }, () => ({ event }));
  expect((await post(server, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
  expect(await server.end("SIGTERM")).toBe(0);
  server = await startServer({ BODY_BYTES_MAX: "100000", FLUSH_INTERVAL_MS: "50" }, server.dataDir);
  const reply = await get(server, "/api/projects/1/ingestion_warnings/?type=missing_distinct_id&limit=1000");
  const { types, results } = (await reply.json()) as Warnings;
  expect(types).toEqual([expect.objectContaining({ type: "missing_distinct_id", count: 1001 })]);
  expect(results.length).toBeLessThanOrEqual(103);
});

test("a spike of live events is counted and listed, one of a migration is not; none is held back", async () => {
  const rushed = await startWithHistory({ FLUSH_INTERVAL_MS: "50" });
  const batch = Array.from({ length: 1200 }, () => ({ event: "rush", distinct_id: "d" }));
  const spikes = () => metric(rushed, "sluice_spikes_total");
  // The watch begins when the hour before this start has been read: a body at a time tells when it has.
  expect(
    (await post(rushed, "/batch/", { api_key: projectKey, batch, historical_migration: true })).status,
  ).toBe(200);
  expect(await spikes()).toBe(0);
  let sent = 0;
  for (; (await spikes()) === 0; sent += batch.length) {
    expect((await post(rushed, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
  }
  expect(await spikes()).toBe(1);
  await until(async () => {
    const reply = await get(rushed, "/api/projects/1/ingestion_warnings/?type=spike_detected");
    return ((await reply.json()) as Warnings).results.length === 1;
  });
  await rested(rushed);
  const reply = await get(rushed, "/api/projects/1/events/?event=rush&limit=1");
  expect(((await reply.json()) as { count: number }).count).toBe(sent + batch.length);
});
