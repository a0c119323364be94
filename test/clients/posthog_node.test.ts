// posthog-node, as it is published, against a server as it is started.

import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { PostHog } from "posthog-node";
import { cleanUp } from "../support/cleanup.ts";
import { readEvents } from "../support/events.ts";
import { personalKey, projectKey, rested, type Server, startServer } from "../support/server.ts";

afterAll(cleanUp);

let server: Server;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
});

interface Sent {
  path: string;
  encoding: string | undefined;
  status: number;
}

type Options = NonNullable<ConstructorParameters<typeof PostHog>[1]>;

/** A client that notes what it sends and what it complains of, and changes neither. */
function openClient(options: Options) {
  const sent: Sent[] = [];
  const errors: unknown[] = [];
  const client = new PostHog(projectKey, {
    host: server.url,
    fetch: async (url, init) => {
      const response = await fetch(url, init as RequestInit);
      const encoding = new Headers(init.headers as Record<string, string>).get("content-encoding");
      const { pathname } = new URL(url);
      sent.push({ path: pathname, encoding: encoding ?? undefined, status: response.status });
      return response;
    },
    ...options,
  });
  client.on("error", (error: unknown) => errors.push(error));
  return { client, sent, errors };
}

test("captures, identifies, aliases and shuts down; every event is stored once", async () => {
  const { client, sent, errors } = openClient({ flushAt: 7 });
  for (let i = 0; i < 25; i++) {
    client.capture({ distinctId: "buyer", event: "bought", properties: { number: i, name: "Zoë 🚲" } });
  }
  client.identify({ distinctId: "buyer", properties: { plan: "free" } });
  client.alias({ distinctId: "buyer", alias: "buyer@example.com" });
  client.groupIdentify({ groupType: "company", groupKey: "acme", properties: { seats: 3 } });
  client.capture({ distinctId: "buyer", event: "joined", groups: { company: "acme" } });
  await client.shutdown();
  await rested(server);
  expect(errors).toEqual([]);
  expect(
    sent.every(({ path, encoding, status }) => `${path} ${encoding} ${status}` === "/batch/ gzip 200"),
  ).toBe(true);
  const bought = await readEvents(server, { event: "bought" });
  expect(
    bought.map(({ properties }) => properties["number"]).toSorted((a, b) => Number(a) - Number(b)),
  ).toEqual(Array.from({ length: 25 }, (_, i) => i));
  expect(bought.every(({ properties }) => properties["name"] === "Zoë 🚲")).toBe(true);
  expect(bought.every(({ distinct_id }) => distinct_id === "buyer")).toBe(true);
  const [identify] = await readEvents(server, { event: "$identify" });
  expect(identify?.properties["$set"]).toEqual({ plan: "free" });
  const [alias] = await readEvents(server, { event: "$create_alias" });
  expect(alias?.properties["alias"]).toBe("buyer@example.com");
  const [group] = await readEvents(server, { event: "$groupidentify" });
  expect(group?.properties).toMatchObject({
    $group_type: "company",
    $group_key: "acme",
    $group_set: { seats: 3 },
  });
  const [joined] = await readEvents(server, { event: "joined" });
  expect(joined?.properties["$groups"]).toEqual({ company: "acme" });
});

test("without compression it is the same", async () => {
  const { client, sent, errors } = openClient({ disableCompression: true });
  client.capture({ distinctId: "plain", event: "plain", uuid: "01a1fcab-3b45-754f-bdec-9ae12a206131" });
  await client.shutdown();
  await rested(server);
  expect(errors).toEqual([]);
  expect(sent).toEqual([{ path: "/batch/", encoding: undefined, status: 200 }]);
  const events = await readEvents(server, { event: "plain" });
  expect(events.map(({ uuid }) => uuid)).toEqual(["01a1fcab-3b45-754f-bdec-9ae12a206131"]);
});

test("a historical migration goes down its own lane", async () => {
  const { client, errors } = openClient({ historicalMigration: true });
  for (let month = 0; month < 12; month++) {
    client.capture({ distinctId: "old", event: "long ago", timestamp: new Date(Date.UTC(2015, month, 1)) });
  }
  await client.shutdown();
  await rested(server);
  expect(errors).toEqual([]);
  const events = await readEvents(server, { event: "long ago" });
  expect(events.length).toBe(12);
  expect(events.every((event) => event.historical_migration)).toBe(true);
  expect(events.map(({ timestamp }) => timestamp.slice(0, 7)).toSorted()).toEqual(
    Array.from({ length: 12 }, (_, i) => `2015-${String(i + 1).padStart(2, "0")}`),
  );
});

test("flags are asked for from afar and computed here: there are none, and that is no error", async () => {
  const { client, sent, errors } = openClient({ personalApiKey: personalKey });
  await client.reloadFeatureFlags();
  expect(await client.getAllFlags("buyer")).toEqual({});
  await client.shutdown();
  expect(errors).toEqual([]);
  expect(sent.filter(({ status }) => status !== 200)).toEqual([]);
  expect(sent.map(({ path }) => path)).toContain("/flags/definitions");
});

test("a wrong key is told to the application and not retried", async () => {
  const errors: unknown[] = [];
  // What it prints for the developer, once.
  const printed = spyOn(console, "error").mockImplementation(() => {});
  const client = new PostHog("phc_nobodys", { host: server.url });
  client.on("error", (error: unknown) => errors.push(error));
  client.capture({ distinctId: "x", event: "lost" });
  await client.shutdown();
  const text = printed.mock.calls.map((call) => String(call[0])).join("\n");
  printed.mockRestore();
  expect(text).toContain("no project has it");
  expect(errors.length).toBe(1);
  expect(String(errors[0])).toContain("401");
  expect(await readEvents(server, { event: "lost" })).toEqual([]);
});
