// posthog-node, as it is published, against a server as it is started.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { PostHog } from "posthog-node";
import { cleanUp } from "../support/cleanup.ts";
import { type Server, get, projectKey, rested, startServer } from "../support/server.ts";

afterAll(cleanUp);

let server: Server;

beforeAll(async () => {
  server = await startServer();
}, 60_000);

interface ReadEvent {
  uuid: string;
  event: string;
  distinct_id: string;
  properties: Record<string, unknown>;
  historical_migration: boolean;
}

async function readEvents(query: string): Promise<ReadEvent[]> {
  const reply = await get(server, `/api/projects/1/events/?${query}`);
  expect(reply.status).toBe(200);
  return ((await reply.json()) as { results: ReadEvent[] }).results;
}

test("captures, identifies, aliases and shuts down; every event is stored once", async () => {
  const errors: unknown[] = [];
  const client = new PostHog(projectKey, { host: server.url, flushAt: 7 });
  client.on("error", (error: unknown) => errors.push(error));
  for (let i = 0; i < 25; i++) {
    client.capture({ distinctId: "buyer", event: "bought", properties: { number: i, name: "Zoë 🚲" } });
  }
  client.identify({ distinctId: "buyer", properties: { plan: "free" } });
  client.alias({ distinctId: "buyer", alias: "buyer@example.com" });
  client.groupIdentify({ groupType: "company", groupKey: "acme", properties: { seats: 3 } });
  await client.shutdown();
  await rested(server);
  expect(errors).toEqual([]);
  const bought = await readEvents("event=bought&limit=100");
  expect(
    bought.map(({ properties }) => properties["number"]).toSorted((a, b) => Number(a) - Number(b)),
  ).toEqual(Array.from({ length: 25 }, (_, i) => i));
  expect(bought.every(({ properties }) => properties["name"] === "Zoë 🚲")).toBe(true);
  expect(bought.every(({ distinct_id }) => distinct_id === "buyer")).toBe(true);
  expect((await readEvents("event=$identify"))[0]?.properties["$set"]).toEqual({ plan: "free" });
  expect((await readEvents("event=$create_alias"))[0]?.properties["alias"]).toBe("buyer@example.com");
  expect((await readEvents("event=$groupidentify")).length).toBe(1);
}, 60_000);

test("a historical migration goes down its own lane", async () => {
  const client = new PostHog(projectKey, { host: server.url, historicalMigration: true });
  for (let month = 0; month < 12; month++) {
    client.capture({ distinctId: "old", event: "long ago", timestamp: new Date(Date.UTC(2015, month, 1)) });
  }
  await client.shutdown();
  await rested(server);
  const events = await readEvents("event=long%20ago");
  expect(events.length).toBe(12);
  expect(events.every((event) => event.historical_migration)).toBe(true);
}, 60_000);
