// Lists of events in expressions of SQL, as PostHog's own pages and scripts ask for them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { projectKey, rested } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
const uuidOf = (i: number) => `0190aaaa-0000-7000-8000-00000000000${i}`;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const event = (i: number, name: string, distinct_id: string, properties: object = {}) => ({
    uuid: uuidOf(i),
    event: name,
    distinct_id,
    timestamp: `2024-03-30T12:00:0${i}Z`,
    properties,
  });
  const batch = [
    event(1, "seen", "ann", { $browser: "Firefox", price: 5, $set: { email: "ann@example.com" } }),
    event(2, "seen", "bob", { $browser: "Chrome", price: 12 }),
    event(3, "bought", "ann", { $current_url: "https://shop.example/tea", $set: { name: "Ann" } }),
    event(4, "bought", "bob", { $screen_name: "Cup", price: 7 }),
    event(5, "left", "cid", { $process_person_profile: false }),
  ];
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await fetch(`${app.url}/batch/`, { method: "POST", headers, body })).status).toBe(200);
  await rested(app);
}, startMsMax);

function run(query: object): Promise<Answer> {
  const span = { after: "2024-03-30", before: "2024-03-31" };
  return ask(app, "POST", "/api/projects/1/query/", { query: { kind: "EventsQuery", ...span, ...query } });
}

async function rows(query: object): Promise<unknown[][]> {
  const { status, body } = await run(query);
  expect([status, body["detail"]]).toEqual([200, undefined]);
  return body["results"] as unknown[][];
}

test("the columns of PostHog's own table of events", async () => {
  const select = [
    "*",
    "event",
    "person_display_name -- Person",
    "coalesce(properties.$current_url, properties.$screen_name) -- Url / Screen",
    "properties.$lib",
    "timestamp",
  ];
  const { status, body } = await run({ select, where: ["event = 'bought'"] });
  expect(status).toBe(200);
  expect(body["columns"]).toEqual(select);
  const [bob, ann] = body["results"] as unknown[][];
  expect(body["results"]).toHaveLength(2);
  expect(bob?.[0]).toMatchObject({
    uuid: uuidOf(4),
    event: "bought",
    distinct_id: "bob",
    properties: { price: 7 },
  });
  expect(bob?.[2]).toMatchObject({ display_name: "bob", distinct_id: "bob" });
  expect(bob?.slice(3, 5)).toEqual(["Cup", null]);
  expect(ann?.[2]).toEqual({
    display_name: "ann@example.com",
    distinct_id: "ann",
    id: (ann?.[0] as { person_id?: string } | undefined)?.person_id,
  });
  expect(ann?.[3]).toBe("https://shop.example/tea");
  expect(new Date(ann?.[5] as string).getTime()).toBe(Date.UTC(2024, 2, 30, 12, 0, 3));
});

test("person is an object, and its properties are columns", async () => {
  const found = await rows({
    select: ["person", "person.properties.name"],
    event: "seen",
    orderBy: ["timestamp"],
  });
  expect(found).toHaveLength(2);
  expect(found[0]?.[0]).toMatchObject({
    distinct_id: "ann",
    properties: { email: "ann@example.com", name: "Ann" },
  });
  expect(found[0]?.[1]).toBe("Ann");
  expect(found[1]?.[1]).toBeNull();
});

test("conditions, names, a person and filters combine", async () => {
  const uuids = async (query: object) => (await rows({ select: ["uuid"], ...query })).map(([uuid]) => uuid);
  expect(await uuids({ where: ["properties.price > 6", "event != 'left'"] })).toEqual([uuidOf(4), uuidOf(2)]);
  expect(await uuids({ where: ["distinct_id = 'ann'"], event: "seen" })).toEqual([uuidOf(1)]);
  expect(await uuids({ events: ["left", "bought"] })).toEqual([uuidOf(5), uuidOf(4), uuidOf(3)]);
  const [[person] = []] = await rows({ select: ["person_id"], where: ["distinct_id = 'bob'"] });
  expect(await uuids({ personId: person })).toEqual([uuidOf(4), uuidOf(2)]);
  const properties = [{ key: "$browser", value: "Chrome" }];
  expect(await uuids({ where: ["1 = 1"], properties })).toEqual([uuidOf(2)]);
  expect(await uuids({ where: ["1 = 1"], before: "2024-03-30T12:00:02Z" })).toEqual([uuidOf(1)]);
  expect(await uuids({ where: ["1 = 1"], after: "2024-03-30T12:00:03Z" })).toEqual([uuidOf(5), uuidOf(4)]);
});

test("an order is any expression, and pages follow it", async () => {
  const priced = { select: ["properties.price"], where: ["properties.price is not null"] };
  expect(await rows({ ...priced, orderBy: ["toFloat(properties.price) DESC"] })).toEqual([[12], [7], [5]]);
  const page = await run({ ...priced, orderBy: ["toFloat(properties.price)"], limit: 1, offset: 1 });
  expect(page.body).toMatchObject({ results: [[7]], hasMore: true, limit: 1, offset: 1 });
});

test("beside an aggregate the other columns group, and the largest comes first", async () => {
  const found = await rows({
    select: ["event", "count()", "count(distinct distinct_id)"],
    where: ["event != 'left'"],
  });
  expect(found.toSorted()).toEqual([
    ["bought", 2, 2],
    ["seen", 2, 2],
  ]);
  expect(await rows({ select: ["distinct_id", "count() -- Events"] })).toContainEqual(["cid", 1]);
  expect(await rows({ select: ["count()"] })).toEqual([[5]]);
  const largest = await rows({ select: ["distinct_id", "max(timestamp)"], limit: 1 });
  expect(largest[0]?.[0]).toBe("cid");
});

test("a span of all times is answered, and expressions are bounded together", async () => {
  const span = { after: "-9999y", before: "9999-12-31T23:59:59-12:00" };
  expect(await rows({ select: ["count()"], ...span })).toEqual([[5]]);
  expect(await rows({ select: ["event"], ...span })).toHaveLength(5);
  const long = `event = '${"a".repeat(3900)}'`;
  const { status, body } = await run({ select: ["event"], where: Array(5).fill(long) });
  expect([status, body["code"], body["attr"]]).toEqual([400, "max_length", "query"]);
});

test("what is wrong in an expression is named by its field", async () => {
  const wrong: [object, string][] = [
    [{ select: ["event", "evnt("] }, "query__select__1"],
    [{ select: ["event from events"] }, "query__select__0"],
    [{ select: ["event"], where: ["1 ="] }, "query__where__0"],
    [{ select: ["event"], where: ["1 = 1"], orderBy: ["timestamp sideways"] }, "query__orderBy__0"],
    [{ select: ["evnt"] }, "query"],
    [{ select: ["event"], where: ["sleep(1)"] }, "query"],
    [{ select: ["event"], personId: "ann" }, "query__personId"],
  ];
  for (const [query, attr] of wrong) {
    const { status, body } = await run(query);
    expect([query, status, body["attr"]]).toEqual([query, 400, attr]);
  }
});
