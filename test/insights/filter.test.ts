// Every filter of the list of insights: each leaves out what it should, and refuses what it cannot read.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Stores } from "../../src/storage/stores.ts";
import { addUser, startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask as askServer, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { storesOf } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
let stores: Stores;
let [one, two] = [0, 0];
let colleague = 0;

const trend = { kind: "TrendsQuery", series: [{ event: "seen" }] };
const funnel = { kind: "FunnelsQuery", series: [{ event: "a" }, { event: "b" }] };
const rows = { kind: "EventsQuery", select: ["*"] };

function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  return askServer(app as never, method, `/api/projects/1/${path}`, body);
}

async function named(search: string): Promise<(string | null)[]> {
  const { status, body } = await ask("GET", `insights/?${search}`);
  expect([search, status]).toEqual([search, 200]);
  return (body["results"] as { name: string | null }[]).map(({ name }) => name);
}

beforeAll(async () => {
  app = await startApp();
  stores = await storesOf(app);
  const { sql } = stores;
  colleague = await addUser(sql, "colleague@example.com");
  const board = async () => Number((await ask("POST", "dashboards/", { name: "Board" })).body["id"]);
  [one, two] = [await board(), await board()];
  const make = (fields: object) => ask("POST", "insights/", fields);
  await make({
    name: "trend",
    query: { kind: "InsightVizNode", source: trend },
    tags: ["growth"],
    dashboards: [one],
  });
  await make({
    name: "funnel",
    query: funnel,
    tags: ["sales", "q1"],
    favorited: true,
    order: 2,
    dashboards: [one, two],
  });
  await make({ name: "rows", query: { kind: "DataTableNode", source: rows }, saved: false, order: 1 });
  await make({ name: "hidden", query: trend, saved: false, dashboards: [two], description: "of the past" });
  await sql`UPDATE insights SET created_by = ${colleague} WHERE name = 'rows'`;
  await sql`
    UPDATE insights SET created_at = '2024-01-01T00:00:00Z', last_modified_at = '2024-06-01T12:00:00.5Z'
    WHERE name = 'hidden'`;
}, startMsMax);

test("by who made them", async () => {
  expect(await named("user=true")).toEqual(["hidden", "funnel", "trend"]);
  expect(await named("user=false")).toEqual(["rows"]);
  expect(await named(`created_by=${colleague}`)).toEqual(["rows"]);
  expect(await named(`created_by=[${colleague},999]`)).toEqual(["rows"]);
  expect(await named("created_by=[999]")).toEqual([]);
  expect(await named("created_by=[]")).toHaveLength(4);
});

test("by whether they are saved, or on a dashboard", async () => {
  expect(await named("saved=true")).toEqual(["hidden", "funnel", "trend"]);
  expect(await named("saved=0")).toEqual(["hidden", "rows"]);
  expect(await named("favorited=true")).toEqual(["funnel"]);
  expect(await named("favorited=false")).toEqual(["hidden", "rows", "trend"]);
});

test("by the dashboards that show them, all of those named", async () => {
  expect(await named(`dashboards=[${one}]`)).toEqual(["funnel", "trend"]);
  expect(await named(`dashboards=[${one},${two}]`)).toEqual(["funnel"]);
  expect(await named(`dashboard=${two}&dashboards=[${one}]`)).toEqual(["funnel"]);
  expect(await named("dashboards=[999]")).toEqual([]);
});

test("by tags and words", async () => {
  expect(await named('tags=["growth","q1"]')).toEqual(["funnel", "trend"]);
  expect(await named("tags=growth&tags=sales")).toEqual(["funnel", "trend"]);
  expect(await named("tags=none")).toEqual([]);
  expect(await named("search=GROW")).toEqual(["trend"]);
  expect(await named("search=the+past")).toEqual(["hidden"]);
  expect(await named("search=%25")).toEqual([]);
});

test("by the type of their query, whatever is around it", async () => {
  expect(await named("insight=TRENDS")).toEqual(["hidden", "trend"]);
  expect(await named("insight=FUNNELS")).toEqual(["funnel"]);
  expect(await named("insight=JSON")).toEqual(["rows"]);
  for (const none of ["RETENTION", "PATHS", "STICKINESS", "LIFECYCLE", "SQL"])
    expect(await named(`insight=${none}`)).toEqual([]);
});

test("by when they were created and last modified", async () => {
  expect(await named("created_date_from=-1h")).toEqual(["rows", "funnel", "trend"]);
  expect(await named("created_date_to=2024-01-02")).toEqual(["hidden"]);
  // Both ends are exclusive.
  expect(await named("created_date_from=2024-01-01&created_date_to=2024-01-02")).toEqual([]);
  expect(await named("date_from=2024-06-01T12:00:00&date_to=2024-06-01T12:00:01Z")).toEqual(["hidden"]);
  expect(await named("date_from=2024-06-01T12:00:00.5Z&date_to=2024-06-02")).toEqual([]);
  expect(await named("date_from=-1d")).toEqual(["rows", "funnel", "trend"]);
});

test("in the order that is requested", async () => {
  expect(await named("order=name")).toEqual(["funnel", "hidden", "rows", "trend"]);
  expect(await named("order=-name")).toEqual(["trend", "rows", "hidden", "funnel"]);
  expect(await named("order=order")).toEqual(["rows", "funnel", "hidden", "trend"]);
  expect((await named("order=-order")).slice(0, 2)).toEqual(["funnel", "rows"]);
  expect((await named("order=created_at"))[0]).toBe("hidden");
  expect((await named("order=-last_modified_at")).at(-1)).toBe("hidden");
});

test("with results where they are requested, and only on a page as long as a dashboard", async () => {
  const results = async (search: string) => {
    const { body } = await ask("GET", `insights/?search=trend&${search}`);
    return (body["results"] as { result: unknown }[]).map(({ result }) => result);
  };
  for (const mode of ["false", "force_cache"]) expect(await results(`refresh=${mode}`)).toEqual([null]);
  expect(await results("")).toEqual([null]);
  for (const mode of ["true", "blocking", "force_blocking", "async", "lazy_async"])
    expect(await results(`refresh=${mode}`)).toMatchObject([[{ label: "seen" }]]);
  expect((await ask("GET", "insights/?refresh=true&limit=101")).body["attr"]).toBe("limit");
});

test("what cannot be read or is not known is refused by name", async () => {
  const wrong = [
    "created_by=me",
    "created_by=[1",
    'created_by=["x"]',
    `created_by=[${Array.from({ length: 101 }, (_, i) => i + 1).join()}]`,
    "dashboards={}",
    'dashboards=[{"a":1}]',
    "insight=trends",
    "order=query",
    "saved=maybe",
    "user=",
    "tags=[1,{}]",
    "created_date_from=yesterday",
    "last_viewed_date_from=-7d",
    "feature_flag=x",
    "events=[]",
    "refresh=soon",
  ];
  for (const search of wrong) {
    const [status, , , , attr] = problemOf(await ask("GET", `insights/?${search}`));
    expect([search, status, attr]).toEqual([search, 400, search.split("=")[0]!]);
  }
});
