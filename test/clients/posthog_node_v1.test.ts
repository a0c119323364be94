// posthog-node in its v1 mode, as it is published, against a server as it is started.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { PostHog } from "posthog-node";
import { cleanUp } from "../support/cleanup.ts";
import { readEvents } from "../support/events.ts";
import { metric, projectKey, rested, type Server, startServer } from "../support/server.ts";

afterAll(cleanUp);

let server: Server;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
});

interface Sent {
  path: string;
  status: number;
  attempt: string | null;
  answer: string;
}

type Options = NonNullable<ConstructorParameters<typeof PostHog>[1]>;

/** A client in v1 mode, which only the environment chooses, that notes what it is answered and complains of. */
function openClient(options: Options = {}, key = projectKey) {
  const sent: Sent[] = [];
  const errors: unknown[] = [];
  process.env["POSTHOG_CAPTURE_MODE"] = "v1";
  const client = new PostHog(key, {
    host: server.url,
    fetch: async (url, init) => {
      const response = await fetch(url, init as RequestInit);
      const attempt = new Headers(init.headers as Record<string, string>).get("posthog-attempt");
      const { pathname } = new URL(url);
      sent.push({ path: pathname, status: response.status, attempt, answer: await response.clone().text() });
      return response;
    },
    ...options,
  });
  delete process.env["POSTHOG_CAPTURE_MODE"];
  client.on("error", (error: unknown) => errors.push(error));
  return { client, sent, errors };
}

const path = "/i/v1/analytics/events";

test("captures, identifies, aliases and shuts down; every event is stored once, and answered ok", async () => {
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
  expect(new Set(sent.map((one) => `${one.path} ${one.status} ${one.attempt}`))).toEqual(
    new Set([`${path} 200 1`]),
  );
  const bought = await readEvents(server, { event: "bought" });
  expect(
    bought.map(({ properties }) => properties["number"]).toSorted((a, b) => Number(a) - Number(b)),
  ).toEqual(Array.from({ length: 25 }, (_, i) => i));
  // The SDK names itself in a header only.
  expect(bought[0]?.properties).toMatchObject({
    $lib: "posthog-node",
    $lib_version: client.getLibraryVersion(),
  });
  const [identify] = await readEvents(server, { event: "$identify" });
  expect(identify?.properties["$set"]).toEqual({ plan: "free" });
  const [alias] = await readEvents(server, { event: "$create_alias" });
  expect(alias?.properties["alias"]).toBe("buyer@example.com");
  const [joined] = await readEvents(server, { event: "joined" });
  expect(joined?.properties["$groups"]).toEqual({ company: "acme" });
  const results = Object.assign(
    {},
    ...sent.map((one) => (JSON.parse(one.answer) as { results: object }).results),
  );
  for (const { uuid } of [...bought, identify!, alias!, joined!])
    expect(results[uuid]).toEqual({ result: "ok" });
});

test("what the SDK takes out of the properties is back in them", async () => {
  const { client, errors } = openClient({ disableCompression: true });
  const uuid = "01a1fcab-3b45-754f-bdec-9ae12a206131";
  client.capture({
    distinctId: "visitor",
    event: "seen",
    uuid,
    properties: { $session_id: "s1", $window_id: "w1", $process_person_profile: false, kept: [1, "two"] },
  });
  await client.shutdown();
  await rested(server);
  expect(errors).toEqual([]);
  const [seen] = await readEvents(server, { event: "seen" });
  expect(seen?.uuid).toBe(uuid);
  expect(seen?.properties).toMatchObject({
    $session_id: "s1",
    $window_id: "w1",
    $process_person_profile: false,
    kept: [1, "two"],
  });
});

test("a historical migration goes down its own lane", async () => {
  const { client, errors } = openClient({ historicalMigration: true });
  const timestamp = new Date(Date.UTC(2015, 1, 1));
  client.capture({ distinctId: "old", event: "long ago", timestamp });
  await client.shutdown();
  await rested(server);
  expect(errors).toEqual([]);
  const [event] = await readEvents(server, { event: "long ago" });
  expect([event?.historical_migration, new Date(event?.timestamp ?? 0).getTime()]).toEqual([
    true,
    timestamp.getTime(),
  ]);
});

test("an event that is not taken is told to the application by its uuid, and the others are stored", async () => {
  const { client, errors, sent } = openClient();
  const ignored = await metric(server, 'sluice_events_ignored_total{reason="invalid_alias"}');
  const uuid = "01a1fcab-3b45-754f-bdec-9ae12a206132";
  client.capture({ distinctId: "d", event: "$create_alias", uuid, properties: { alias: 7 } });
  client.capture({ distinctId: "d", event: "beside it" });
  await client.shutdown();
  await rested(server);
  expect(sent.length).toBe(1);
  expect(errors).toEqual([
    expect.objectContaining({ drops: [{ uuid, details: "invalid_alias" }], retryExhausted: [] }),
  ]);
  expect(await metric(server, 'sluice_events_ignored_total{reason="invalid_alias"}')).toBe(ignored + 1);
  expect((await readEvents(server, { event: "beside it" })).length).toBe(1);
});

test("a wrong key is told to the application and not retried", async () => {
  const { client, errors, sent } = openClient({}, "phc_nobodys");
  client.capture({ distinctId: "x", event: "lost" });
  await client.shutdown();
  expect(sent.map(({ status }) => status)).toEqual([401]);
  expect(String(errors[0])).toContain("invalid_api_token");
});
