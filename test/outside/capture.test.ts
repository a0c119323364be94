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
