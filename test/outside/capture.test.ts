// Events and files as strangers send them. Each test names the public threads that it stands for; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { projectKey, runSluice, until } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
}, startMsMax);
afterAll(cleanUp, startMsMax);

/** The events as objects, or as JSON text. */
async function send(events: readonly unknown[], verbose = false) {
  const texts = events.map((event) => (typeof event === "string" ? event : JSON.stringify(event)));
  const body = `{"api_key":"${projectKey}","batch":[${texts.join(",")}]}`;
  const sent = await ask(app, "POST", verbose ? "/batch/?verbose=1" : "/batch/", body, "");
  expect(sent.status).toBe(200);
  return sent.body;
}

async function sql(query: string): Promise<unknown[][]> {
  const asked = { query: { kind: "HogQLQuery", query } };
  const { status, body, text } = await ask(app, "POST", "/api/projects/1/query/", asked);
  expect({ status, text: status === 200 ? "" : text }).toEqual({ status: 200, text: "" });
  return body["results"] as unknown[][];
}

async function importRows(rows: readonly unknown[], format: string): Promise<void> {
  const file = `${makeFolder()}/rows.jsonl`;
  await Bun.write(file, rows.map((row) => JSON.stringify(row)).join("\n"));
  const ran = await runSluice(["import", file, "--host", app.url, "--format", format], {});
  expect({ exitCode: ran.exitCode, stderr: ran.exitCode === 0 ? "" : ran.stderr }).toEqual({
    exitCode: 0,
    stderr: "",
  });
}

/** Twelve persons: one that wins by chance passes once in 4,096 times. */
const persons = (name: string): string[] => Array.from({ length: 12 }, (_, i) => `${name}-${i}`);
const moment = "2024-03-01T10:00:00Z";

async function plansOf(name: string): Promise<unknown[]> {
  const rows = await sql(
    `SELECT DISTINCT distinct_id, person.properties.plan FROM events WHERE startsWith(distinct_id, '${name}-')`,
  );
  expect(rows).toHaveLength(12);
  return [...new Set(rows.map(([, plan]) => plan))];
}

// PostHog/posthog.com#15869, PostHog/posthog#6458: properties are set in the order of arrival; equal times occur.
test("of two changes of one moment the later in the batch counts, also with uuids of the client", async () => {
  await send(
    persons("batch").flatMap((distinct_id) =>
      ["free", "pro"].map((plan) => ({
        event: "e",
        distinct_id,
        uuid: crypto.randomUUID(),
        timestamp: moment,
        properties: { $set: { plan }, $set_once: { first: plan } },
      })),
    ),
  );
  expect(await plansOf("batch")).toEqual(["pro"]);
  const firsts = await sql(
    "SELECT DISTINCT person.properties.first FROM events WHERE startsWith(distinct_id, 'batch-')",
  );
  expect(firsts).toEqual([["free"]]);
});

// The same thread: a client that retries sends the first of two changes again.
test("a change that is sent again stays before the one that followed it", async () => {
  const eventOf = (plan: string) => (distinct_id: string) => ({
    event: "e",
    distinct_id,
    uuid: crypto.randomUUID(),
    timestamp: moment,
    properties: { $set: { plan } },
  });
  const first = persons("again").map(eventOf("free"));
  await send(first);
  await send(persons("again").map(eventOf("pro")));
  await send(first);
  expect(await plansOf("again")).toEqual(["pro"]);
});

// PostHog/posthog#37000, moving_from.md: rows of PostHog's batch export whose person_properties differ.
test("of two rows of one moment the later row's person properties count", async () => {
  const rows = persons("rows").flatMap((distinct_id) =>
    ["free", "pro"].map((plan) => ({
      uuid: crypto.randomUUID(),
      event: "e",
      properties: {},
      distinct_id,
      timestamp: "2024-03-01T10:00:00.000000+00:00",
      created_at: "2024-03-01T10:00:01+00:00",
      person_properties: { plan },
    })),
  );
  await importRows(rows, "posthog");
  expect(await plansOf("rows")).toEqual(["pro"]);
});

test("of two lines of one second without uuids the later counts", async () => {
  const rows = persons("lines").flatMap((distinct_id) =>
    ["free", "pro"].map((plan) => ({
      event: "e",
      distinct_id,
      timestamp: moment,
      properties: { $set: { plan } },
    })),
  );
  await importRows(rows, "jsonl");
  expect(await plansOf("lines")).toEqual(["pro"]);
});

// ClickHouse/ClickHouse#102930, #88621, #81132; PostHog/posthog#24847: one integer beyond 64 bits makes all unreadable.
test("a number that neither 64 bits nor a double hold empties no session", async () => {
  const numbers: Record<string, string> = {
    wei: '"wei":1234567890123456789012345',
    unsigned: '"id":18446744073709551616',
    huge: '"ratio":1e400',
    nested: '"tx":{"value":[-1234567890123456789012345]}',
    short: '"id":9007199254740993000',
  };
  await send(
    Object.entries(numbers).map(
      ([name, member]) =>
        `{"event":"$pageview","distinct_id":"n","properties":{"$session_id":"n-${name}","utm_source":"news",${member},` +
        `"$current_url":"https://example.com/${name}"}}`,
    ),
  );
  const read = () =>
    sql(
      "SELECT session_id, $entry_current_url, $entry_utm_source FROM sessions WHERE startsWith(session_id, 'n-')",
    );
  await until(async () => (await read()).length === 5);
  const expected = Object.keys(numbers).map((name) => [`n-${name}`, `https://example.com/${name}`, "news"]);
  expect((await read()).toSorted()).toEqual(expected.toSorted());
});

// PostHog/posthog#15575: one bad event poisons its batch, which SDKs then drop.
test("an event that is nested too deep costs only itself, wherever it is deep", async () => {
  const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const names = ["first", "second"].map((event) => ({ event, distinct_id: "beside" }));
  const bad = [
    `{"event":"bad","distinct_id":"beside","properties":{"a":${deep(200)}}}`,
    `{"event":"bad","distinct_id":"beside","$set":{"a":${deep(200)}}}`,
    `{"other":${deep(20_000)},"event":"bad","distinct_id":"beside"}`,
  ];
  const reply = await send([names[0], ...bad, names[1]], true);
  expect(reply["ignored"]).toEqual([1, 2, 3].map((index) => ({ index, reason: "nested_too_deep" })));
  expect(await sql("SELECT event FROM events WHERE distinct_id = 'beside' ORDER BY event")).toEqual([
    ["first"],
    ["second"],
  ]);
});

// PostHog/posthog#44194, juspay/hyperswitch#4987, ClickHouse/ClickHouse#41967: PostHog reads properties into a map.
test("of a key that comes twice the last counts, wherever it is read", async () => {
  const twice = (value: string, key = '"plan"') => `${key}:"first","x":1,"plan":"${value}"`;
  const events = [
    `{"event":"twice","distinct_id":"t-0","properties":{${twice("last")}}}`,
    `{"event":"twice","distinct_id":"t-1","properties":{${twice("last", '"pl\\u0061n"')}}}`,
    `{"event":"twice","distinct_id":"t-2","properties":{"cart":{"n":1},"plan":"last","cart":{"n":"first","n":"last"}}}`,
    `{"event":"twice","distinct_id":"t-3","properties":{"plan":"last","cart":{"n":"last"},"list":[{"a":1,"a":2}]}}`,
    `{"event":"$pageview","distinct_id":"t-4","properties":{"$session_id":"t","$current_url":"https://a.b/first","plan":"last",
      "$current_url":"https://a.b/last","$set":{${twice("last")}}}}`,
    `{"event":"$identify","distinct_id":"t-5","$set":{${twice("last")}},"properties":{"$anon_distinct_id":"t-6",${twice("last")}}}`,
  ];
  await send(events);
  const rows = await sql(
    "SELECT properties.plan, properties.cart.n, properties FROM events WHERE startsWith(distinct_id, 't-') ORDER BY distinct_id",
  );
  expect(rows.map(([plan]) => plan)).toEqual(Array.from({ length: 6 }, () => "last"));
  expect(rows.map(([, n]) => n)).toEqual([null, null, "last", "last", null, null]);
  expect(String(rows[3]![2])).toContain('[{"a":2}]');
  const filter = JSON.stringify([{ key: "plan", value: "last", operator: "exact", type: "event" }]);
  const found = await ask(
    app,
    "GET",
    `/api/projects/1/events/?event=twice&properties=${encodeURIComponent(filter)}`,
  );
  expect(found.body["results"]).toHaveLength(4);
  const sets = await sql(
    "SELECT DISTINCT person.properties.plan FROM events WHERE distinct_id IN ('t-4', 't-5')",
  );
  expect(sets).toEqual([["last"]]);
  const urls = () => sql("SELECT $entry_current_url FROM sessions WHERE session_id = 't'");
  await until(async () => (await urls()).length === 1);
  expect(await urls()).toEqual([["https://a.b/last"]]);
});

// PostHog's events carry $set and $set_once among their properties, wherever they were sent (CONTRACT of events).
test("$set and $set_once beside the properties are members of them, merged with those that are there", async () => {
  const properties = async (id: string) =>
    JSON.parse(
      String((await sql(`SELECT properties FROM events WHERE distinct_id = '${id}'`))[0]![0]),
    ) as unknown;
  const beside = { $set: { plan: "pro" }, $set_once: { first: 1 } };
  const event = "e";
  await send([
    { event, distinct_id: "own-0", properties: { a: 1 }, ...beside },
    { event, distinct_id: "own-1", ...beside },
    { event, distinct_id: "own-2", properties: {}, $set_once: { first: 1 } },
    { event, distinct_id: "own-3", properties: { $set: { plan: "free", age: 3 }, b: 2 }, ...beside },
    { event, distinct_id: "own-4", properties: { a: 1 }, $set: "no object" },
    { event: "$identify", distinct_id: "own-5", properties: { $anon_distinct_id: "own-6" }, ...beside },
  ]);
  expect(await properties("own-0")).toEqual({ a: 1, ...beside });
  expect(await properties("own-1")).toEqual(beside);
  expect(await properties("own-2")).toEqual({ $set_once: { first: 1 } });
  expect(await properties("own-3")).toEqual({ ...beside, $set: { plan: "pro", age: 3 }, b: 2 });
  expect(await properties("own-4")).toEqual({ a: 1 });
  expect(await properties("own-5")).toEqual({ $anon_distinct_id: "own-6", ...beside });
  const sets = await sql("SELECT properties.$set.plan FROM events WHERE distinct_id = 'own-3'");
  expect(sets).toEqual([["pro"]]);
});

// PostHog/posthog.com#12653, PostHog/posthog#37366: identify events are derived from user_id and device_id.
test("Amplitude's events of a device before its sign-in belong to the user, those of the next user do not", async () => {
  const row = (n: number, device_id: string, user_id: string | number | null) => ({
    event_type: `step ${n}`,
    event_time: `2024-02-0${n} 10:00:00.000000`,
    device_id,
    user_id,
    uuid: crypto.randomUUID(),
    event_properties: {},
    user_properties: { plan: `plan ${n}` },
  });
  const rows = [
    row(1, "device-a", null),
    row(2, "device-a", "amp-a"),
    row(3, "device-a", "amp-a"),
    row(4, "device-a", "amp-b"),
    row(5, "device-n", null),
    row(6, "device-n", 90_210),
  ];
  await importRows(rows, "amplitude");
  const ids = async () =>
    (
      await sql(
        "SELECT distinct_id, person_id FROM events WHERE properties.analytics_source = 'amplitude' ORDER BY timestamp, event",
      )
    ).map(([id, person]) => [id, person] as const);
  const personOf = async (id: string) => (await ids()).find(([own]) => own === id)?.[1];
  await until(async () => (await personOf("device-n")) === (await personOf("90210")));
  await until(async () => (await personOf("device-a")) === (await personOf("amp-a")));
  expect(await personOf("amp-b")).not.toBe(await personOf("amp-a"));
  const identified = await sql(
    "SELECT distinct_id FROM events WHERE event = '$identify' AND properties.analytics_source = 'amplitude' ORDER BY distinct_id",
  );
  expect(identified).toEqual([["90210"], ["amp-a"]]);
});
