// Lists of persons and of sessions in expressions of SQL.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { projectKey, rested } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;

const people: Record<string, object> = {
  ann: { email: "ann@example.com", name: "Ann", plan: "pro" },
  bob: { name: "Bob 100%", plan: "free" },
  cid: { plan: "pro", seats: 12 },
};

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const batch = Object.entries(people).flatMap(([distinct_id, $set], i) =>
    [0, 30].map((seconds) => ({
      event: "$pageview",
      distinct_id,
      timestamp: new Date(Date.UTC(2024, 2, 30, 12 + i, 0, seconds)).toISOString(),
      properties: { $set, $session_id: `s-${distinct_id}`, $current_url: `https://a.example/${distinct_id}` },
    })),
  );
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await fetch(`${app.url}/batch/`, { method: "POST", headers, body })).status).toBe(200);
  await rested(app);
}, startMsMax);

function run(query: object): Promise<Answer> {
  return ask(app, "POST", "/api/projects/1/query/", { query });
}

async function rows(query: object): Promise<unknown[][]> {
  const { status, body } = await run(query);
  expect([status, body["detail"]]).toEqual([200, undefined]);
  return body["results"] as unknown[][];
}

const persons = (query: object) => rows({ kind: "ActorsQuery", ...query });
const names = async (query: object) =>
  (await persons({ select: ["distinct_ids"], orderBy: ["created_at"], ...query })).map(
    ([ids]) => (ids as string[])[0],
  );

test("persons are listed newest first, with PostHog's own columns where none are named", async () => {
  const { body } = await run({ kind: "ActorsQuery" });
  expect(body["columns"]).toEqual(["person", "id", "created_at", "person.$delete"]);
  const found = body["results"] as [
    { id: string; distinct_ids: string[]; properties: object },
    string,
    string,
    null,
  ][];
  expect(found.map(([person]) => person.distinct_ids)).toEqual([["cid"], ["bob"], ["ann"]]);
  expect(found.map(([person]) => person.properties)).toEqual([
    people["cid"]!,
    people["bob"]!,
    people["ann"]!,
  ]);
  for (const [person, id, , button] of found) expect([person.id, button]).toEqual([id, null]);
  const [[shown]] = (await persons({ select: ["person_display_name -- Person"], search: "ann@" })) as [
    [object],
  ];
  expect(shown).toMatchObject({ display_name: "ann@example.com" });
});

test("persons are searched, filtered, ordered and counted", async () => {
  expect(await names({ search: "ANN" })).toEqual(["ann"]);
  expect(await names({ search: "100%" })).toEqual(["bob"]);
  expect(await names({ search: "_" })).toEqual([]);
  expect(await names({ search: "ci" })).toEqual(["cid"]);
  expect(await names({ properties: [{ key: "plan", value: "pro", type: "person" }] })).toEqual([
    "ann",
    "cid",
  ]);
  expect(await names({ properties: [{ key: "seats", operator: "gt", value: 3, type: "person" }] })).toEqual([
    "cid",
  ]);
  expect(await names({ orderBy: ["properties.plan", "created_at DESC"], limit: 2 })).toEqual(["bob", "cid"]);
  expect(await names({ limit: 1, offset: 1 })).toEqual(["bob"]);
  const counted = await persons({ select: ["properties.plan", "count()"] });
  expect(counted).toEqual([
    ["pro", 2],
    ["free", 1],
  ]);
});

const span = { after: "2024-03-30", before: "2024-03-31" };
const sessions = (query: object) => rows({ kind: "SessionsQuery", ...span, ...query });

test("sessions are listed newest first, whole or by column, and filtered", async () => {
  expect(await sessions({ select: ["session_id", "$pageview_count"] })).toEqual([
    ["s-cid", 2],
    ["s-bob", 2],
    ["s-ann", 2],
  ]);
  const [[whole]] = (await sessions({ select: ["*"], where: ["$entry_pathname = '/bob'"] })) as [[object]];
  expect(whole).toMatchObject({
    session_id: "s-bob",
    $session_duration: 30,
    $pageview_count: 2,
    $is_bounce: false,
  });
  const [[person]] = (await persons({ select: ["id"], search: "ann" })) as [[string]];
  expect(await sessions({ select: ["session_id"], personId: person })).toEqual([["s-ann"]]);
  expect(await sessions({ select: ["session_id"], before: "2024-03-30T12:30:00Z" })).toEqual([["s-ann"]]);
  expect(await sessions({ select: ["count()", "avg($session_duration)"] })).toEqual([[3, 30]]);
});

test("what is not answered is refused by name", async () => {
  const wrong: [object, string][] = [
    [{ kind: "ActorsQuery", source: { kind: "InsightActorsQuery" } }, "query__source"],
    [{ kind: "ActorsQuery", properties: [{ key: "a", value: 1, type: "event" }] }, "properties"],
    [{ kind: "ActorsQuery", select: ["event"] }, "query"],
    [{ kind: "ActorsQuery", select: ["id, created_at"] }, "query__select__0"],
    [{ kind: "SessionsQuery", select: ["session_id"], properties: [{ key: "a" }] }, "query__properties"],
  ];
  for (const [query, attr] of wrong) {
    const { status, body } = await run(query);
    expect([query, status]).toEqual([query, 400]);
    expect([query, String(body["attr"])]).toEqual([
      query,
      expect.stringContaining(attr) as unknown as string,
    ]);
  }
});
