// SQL over HTTP: answered as PostHog does, within the project, the key's scopes and the bounds.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { storesOf } from "../../support/server.ts";
import { storeEvents } from "../naive.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
const noon = Date.UTC(2024, 2, 30, 12);

beforeAll(async () => {
  app = await startApp();
  const stores = await storesOf(app);
  const own = Array.from({ length: 40 }, (_, i) => ({
    uuid: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
    event: i % 2 === 0 ? "seen" : "bought",
    distinct_id: `user ${i % 4}`,
    at: noon + i * 60_000,
    properties: { plan: i % 3 === 0 ? "pro" : "free", price: i },
  }));
  await storeEvents(stores, 1, own);
  const secret = own.map((one) => ({
    ...one,
    uuid: one.uuid.replace(/^0/, "2"),
    event: "secret",
    properties: { plan: "secret", price: 1_000_000 },
  }));
  await storeEvents(stores, 2, secret);
}, startMsMax);

function run(query: string, more: object = {}, body: object = {}): Promise<Answer> {
  const whole = { query: { kind: "HogQLQuery", query, ...more }, ...body };
  return ask({ url: app.url } as never, "POST", "/api/projects/1/query/", whole);
}

test("a query is answered in PostHog's shape", async () => {
  const { status, body } = await run(
    "select event, count() as c, sum(properties.price) from events group by event order by event",
  );
  expect([status, body["detail"]]).toEqual([200, undefined]);
  expect(body["results"]).toEqual([
    ["bought", 20, 400],
    ["seen", 20, 380],
  ]);
  expect(body["columns"]).toEqual(["event", "c", "sum(properties.price)"]);
  expect(body["types"]).toEqual([
    ["event", expect.stringContaining("String")],
    ["c", "UInt64"],
    ["sum(properties.price)", expect.stringContaining("Float64")],
  ]);
  expect(body).toMatchObject({ hasMore: false, limit: 100, offset: 0, error: null, is_cached: false });
  expect(body["clickhouse"]).toContain("project_id = {project_id:UInt32}");
  const timings = body["timings"] as { k: string; t: number }[];
  expect(timings.map(({ k }) => k)).toEqual(["./parse", "./compile", "./check", "./execute", "."]);
  const [total, ...steps] = timings.map(({ t }) => t).toReversed();
  expect(steps.every((t) => t >= 0)).toBe(true);
  expect(total).toBeCloseTo(steps.reduce((sum, t) => sum + t));
});

test("numbers keep all their digits, alone and in an insight, and moments have the project's offset", async () => {
  const query = "select 9007199254740993 as n, [cityHash64('a')] as h, min(timestamp) as at from events";
  await ask({ url: app.url } as never, "PATCH", "/api/projects/1/", { timezone: "Europe/Berlin" });
  const row = '[[9007199254740993,[2603192927274642682],"2024-03-30T13:00:00.000000+01:00"]]';
  const { text, body } = await run(query);
  expect(text).toContain(`"results":${row}`);
  expect(body["types"]).toEqual([
    ["n", "UInt64"],
    ["h", "Array(UInt64)"],
    ["at", "DateTime64(6, 'Europe/Berlin')"],
  ]);
  const insight = { query: { kind: "HogQLQuery", query } };
  const saved = await ask({ url: app.url } as never, "POST", "/api/projects/1/insights/", insight);
  const read = await ask({ url: app.url } as never, "GET", `/api/projects/1/insights/${saved.body["id"]}/`);
  expect(read.text).toContain(`"result":${row}`);
  await ask({ url: app.url } as never, "PATCH", "/api/projects/1/", { timezone: "UTC" });
});

test("a person was last seen at the time of its last event", async () => {
  const { body } = await run("select distinct_ids, last_seen_at from persons order by last_seen_at");
  expect((body["results"] as unknown[][])[3]).toEqual([["user 3"], "2024-03-30T12:39:00.000000Z"]);
  const { body: joined } = await run("select max(person.last_seen_at) from events where event = 'seen'");
  expect(joined["results"]).toEqual([["2024-03-30T12:38:00.000000Z"]]);
});

test("values, variables and filters stand where the text names them", async () => {
  const count = async (where: string, more: object) => {
    const { body } = await run(`select count() from events where ${where}`, more);
    return body["results"] ?? body["detail"];
  };
  expect(await count("event = {name}", { values: { name: "seen" } })).toEqual([[20]]);
  const variables = { "0": { variableId: "0", code_name: "plan", value: "pro" } };
  expect(await count("properties.plan = {variables.plan}", { variables })).toEqual([[14]]);
  const properties = [{ key: "plan", value: "pro", operator: "exact", type: "event" }];
  expect(await count("{filters}", { filters: { properties } })).toEqual([[14]]);
  expect(await count("{filters}", { filters: { dateRange: { date_from: "2024-03-31" } } })).toEqual([[0]]);
  expect(await count("{filters}", {})).toEqual([[40]]);
});

test("filters of a text that does not name them are refused, and those that say nothing are not", async () => {
  const text = "select count() from events -- filters";
  const properties = [{ key: "plan", value: "pro", operator: "exact", type: "event" }];
  for (const filters of [{ properties }, { dateRange: { date_from: "-7d" } }, { filterTestAccounts: true }]) {
    const { status, body } = await run(text, { filters });
    expect([status, body["attr"]]).toEqual([400, "query__filters"]);
    expect((await run(text.replace("--", "where { filters } --"), { filters })).status).toBe(200);
  }
  const empty = { properties: [], dateRange: { date_from: "all", date_to: null }, filterTestAccounts: false };
  expect((await run(text, { filters: empty })).status).toBe(200);
});

test("pages have a limit, and say whether there is more", async () => {
  const { body } = await run("select uuid from events order by timestamp limit 5 offset 2");
  expect(body).toMatchObject({ hasMore: true, limit: 5, offset: 2 });
  expect(body["results"]).toHaveLength(5);
});

test("what is wrong is a 400 with its place", async () => {
  const wrong: [string, RegExp][] = [
    ["select evnt from events", /evnt.*event.*Line 1, column 8/],
    ["select 1 from", /not valid HogQL/],
    ["select file('/etc/passwd')", /file/],
    ["select * from system.tables", /system/],
    ["select sleep(3)", /sleep/],
    [`select ${"(".repeat(1000)}1${")".repeat(1000)}`, /nest/],
    ["select event + 1 from events", /type/],
  ];
  for (const [text, detail] of wrong) {
    const { status, body } = await run(text);
    expect([text.slice(0, 40), status, body["attr"], body["detail"]]).toEqual([
      text.slice(0, 40),
      400,
      "query__query",
      expect.stringMatching(detail),
    ]);
  }
});

test("no expression sees another project, not even by failing", async () => {
  const texts = [
    "select count() from events where event = 'secret'",
    "select countIf(event = 'secret'), countIf(properties.plan = 'secret') from events",
    "select count() from events where intDiv(1, if(event = 'secret', 0, 1)) = 1 and event = 'secret'",
    "select count() from events where toInt(if(properties.plan = 'secret', 'x', '1')) = 1 and event = 'secret'",
    "select count() from events e join events f on 1 = 1 where f.event = 'secret'",
  ];
  for (const text of texts) {
    const { status, body } = await run(text);
    const found = JSON.stringify(body["results"] ?? "");
    expect([text, status < 500, /[1-9]/.test(found)]).toEqual([text, true, false]);
  }
});

test("a person's property that PostHog takes from events is named where no person has it, never answered empty", async () => {
  const query =
    "select person.properties.$initial_utm_source as source, count() from events group by source order by 2";
  const { status, body } = await run(query);
  expect([status, body["attr"]]).toEqual([400, "query__query"]);
  expect(body["detail"]).toMatch(
    /^No person of this project has "\$initial_utm_source": .*\(Line 1, column 8\.\)$/,
  );
  expect((await run("select properties.utm_term from persons")).status).toBe(400);
  const { clickhouse } = await storesOf(app);
  await clickhouse.command(
    `INSERT INTO event_feed (uuid, project_id, event, distinct_id, properties, timestamp, created_at, pk, pw, pv)
     SELECT generateUUIDv4(), 1, '$set', 'user 1', '{}', now64(6), now64(6), ['$initial_utm_source'], [1], ['"ad"']`,
  );
  expect((await run(query)).body["results"]).toEqual([
    ["ad", 10],
    [null, 30],
  ]);
});
