// Owners, primary properties and tags of definitions, what types of groups are called, tables at paths of their own and
// orders of dashboards: assertions of PostHog's test_event_definition.py, test_clickhouse_groups.py, test_person.py,
// test_insight.py, test_query.py and test_dashboard.py.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey, until } from "../support/server.ts";

let app: RunningApp;
const home = "/api/projects/1/";
const named = ["rated_app", "installed_app", "purchase"];

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const events = named.map((event) => ({ event, properties: { plan: "free", $set: { foo: 1, bar: 2 } } }));
  const groups = ["organization", "playlist"].map(($group_type) => ({
    event: "$groupidentify",
    properties: { $group_type, $group_key: "g", $group_set: { size: 1 } },
  }));
  const batch = [...events, ...groups].map((event) => ({
    ...event,
    distinct_id: "p",
    timestamp: "2024-03-05T10:00:00Z",
  }));
  expect((await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "")).status).toBe(200);
  await until(async () => (await list("groups_types/")).length === 2);
  await until(async () => (await list("event_definitions/?names=purchase")).length === 1);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const get = (path: string) => ask(app, "GET", home + path);
async function list(path: string): Promise<Record<string, unknown>[]> {
  const { text, body } = await get(path);
  return (text.startsWith("[") ? JSON.parse(text) : body["results"]) as Record<string, unknown>[];
}
const listNames = async (path: string) => (await list(path)).map(({ name }) => name);
const readId = async (name: string) => String((await list(`event_definitions/?names=${name}`))[0]!["id"]);
const change = async (name: string, fields: object) =>
  await ask(app, "PATCH", `${home}event_definitions/${await readId(name)}/`, fields);

// test_search_results_ordered_by_name_length, test_search_keeps_explicit_ordering,
// test_whitespace_search_does_not_change_default_ordering.
test.each([
  ["search=app", ["rated_app", "installed_app"]],
  ["search=APP", ["rated_app", "installed_app"]],
  ["search=app&ordering=name", ["installed_app", "rated_app"]],
])("of a search the shortest names are first: %s", async (query, names) => {
  expect(await listNames(`event_definitions/?${query}`)).toEqual(names);
});

test("a blank search keeps the usual order", async () => {
  const all = await listNames("event_definitions/");
  expect(await listNames("event_definitions/?search=%20%20")).toEqual(all);
});

test("an owner is a member, and nobody again", async () => {
  const { id } = (await ask(app, "GET", "/api/users/@me/")).body;
  const owned = await change("purchase", { owner: id });
  expect([owned.status, (owned.body["owner"] as { id: number }).id]).toEqual([200, id as number]);
  const [listed] = await list("event_definitions/?names=purchase");
  expect((listed!["owner"] as { id: number }).id).toBe(id as number);
  expect((await change("purchase", { owner: null })).body["owner"]).toBeNull();
});

test("an owner who is no member is refused", async () => {
  const { status, body } = await change("purchase", { owner: 98765 });
  expect([status, body["code"], body["attr"]]).toEqual([400, "does_not_exist", "owner"]);
});

// test_update_event_definition_primary_property, test_clear_…, test_primary_properties_endpoint_….
test("primary properties are listed by the names of their events", async () => {
  await change("purchase", { primary_property: "order_id" });
  await change("rated_app", { primary_property: "app_id" });
  const all = async (query = "") =>
    (await get(`event_definitions/primary_properties/${query}`)).body["primary_properties"];
  expect(await all()).toEqual({ purchase: "order_id", rated_app: "app_id" });
  expect(await all("?names=purchase&names=missing")).toEqual({ purchase: "order_id" });
  expect((await change("rated_app", { primary_property: null })).body["primary_property"]).toBeNull();
  expect(await all()).toEqual({ purchase: "order_id" });
  expect(await all("?names=rated_app")).toEqual({});
});

// test_bulk_update_tags_with_uuid_ids, …_ignores_event_definitions_in_other_project.
test("tags of several definitions are added, removed and set; unknown ids are skipped", async () => {
  const ids = [await readId("purchase"), await readId("rated_app")];
  const tag = async (action: string, tags: string[], extra: string[] = []) => {
    const body = { ids: [...ids, ...extra], action, tags };
    const answer = await ask(app, "POST", `${home}event_definitions/bulk_update_tags/`, body);
    const { updated, skipped } = answer.body as { updated: { tags: string[] }[]; skipped: { id: string }[] };
    return [answer.status, updated.map((row) => row.tags), skipped.map(({ id }) => id)];
  };
  const unknown = crypto.randomUUID();
  const both = (tags: string[]) => [tags, tags];
  expect(await tag("add", ["pii", "billing"], [unknown])).toEqual([200, both(["pii", "billing"]), [unknown]]);
  expect(await tag("remove", ["pii"])).toEqual([200, both(["billing"]), []]);
  expect(await tag("set", ["revenue"])).toEqual([200, both(["revenue"]), []]);
  expect((await listNames('event_definitions/?tags=["revenue"]')).toSorted()).toEqual([
    "purchase",
    "rated_app",
  ]);
});

// test_update_groups_metadata, test_list_group_types, test_set_default_columns_….
test("types of groups are called what people say, and keep their names", async () => {
  const types = [
    { group_type_index: 0, name_singular: "organization!" },
    { group_type_index: 1, group_type: "rename attempt", name_plural: "playlists" },
  ];
  const { status, text } = await ask(app, "PATCH", `${home}groups_types/update_metadata`, types);
  expect(status).toBe(200);
  const fixed = { default_columns: null, detail_dashboard: null, created_at: null };
  const expected = [
    {
      group_type: "organization",
      group_type_index: 0,
      name_singular: "organization!",
      name_plural: null,
      ...fixed,
    },
    { group_type: "playlist", group_type_index: 1, name_singular: null, name_plural: "playlists", ...fixed },
  ];
  expect(JSON.parse(text)).toEqual(expected);
  expect(await list("groups_types/")).toEqual(expected);
});

test.each([
  [0, 200],
  [4, 404],
])("default columns of the type with index %i: %i", async (group_type_index, status) => {
  const body = { group_type_index, default_columns: ["$group_0"] };
  expect((await ask(app, "PUT", `${home}groups_types/set_default_columns`, body)).status).toBe(status);
});

test("names of a type that does not exist change nothing", async () => {
  const types = [
    { group_type_index: 1, name_plural: "x" },
    { group_type_index: 3, name_plural: "y" },
  ];
  expect((await ask(app, "PATCH", `${home}groups_types/update_metadata`, types)).status).toBe(404);
  expect((await list("groups_types/"))[1]!["name_plural"]).not.toBe("x");
  const nameless = await ask(app, "PATCH", `${home}groups_types/update_metadata`, [{ name_plural: "x" }]);
  expect(nameless.status).toBe(400);
});

// test_person_property delete with its name in the address.
test("a person's property is named in the body or in the address", async () => {
  const [person] = await list("persons/?distinct_id=p");
  const path = `${home}persons/${String(person!["id"])}/delete_property/`;
  expect((await ask(app, "POST", `${path}?$unset=foo`)).status).toBe(201);
  expect((await ask(app, "POST", path, { $unset: "bar" })).status).toBe(201);
  expect((await list("persons/?distinct_id=p"))[0]!["properties"]).toEqual({});
  const { status, body } = await ask(app, "POST", path, {});
  expect([status, body["code"], body["attr"]]).toEqual([400, "required", "$unset"]);
});

// test_person_cohorts: there are none.
test("a person has no cohorts", async () => {
  expect((await get("persons/cohorts/?person_id=1")).body["results"]).toEqual([]);
});

// test_csv_export of persons and events, test_insight_trends_csv.
test.each(["persons.csv", "events.csv", "events.csv?limit=1", "persons.csv/?distinct_id=p"])(
  "%s is a table",
  async (path) => {
    const { status, headers, text } = await get(path);
    expect([status, headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8"]);
    expect(text.split("\r\n")[0]).toContain("distinct_id");
  },
);

test("an insight's lines and rows are a table at its path", async () => {
  const make = async (query: object) =>
    (await ask(app, "POST", `${home}insights/`, { query })).body as { id: number; short_id: string };
  const series = [{ kind: "EventsNode", event: "purchase" }];
  const trend = await make({
    kind: "TrendsQuery",
    series,
    dateRange: { date_from: "2024-03-04", date_to: "2024-03-05" },
  });
  const { status, headers, text } = await get(`insights/${trend.id}.csv`);
  expect([status, headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8"]);
  expect(text.split("\r\n").map((line) => line.split(",").length)).toEqual([3, 3, 1]);
  expect(text.split("\r\n")[1]).toBe("purchase,0,1");
  const { short_id } = await make({ kind: "HogQLQuery", query: "select 1 as a, 'x' as b" });
  expect((await get(`insights/${short_id}/?format=csv`)).text).toBe("a,b\r\n1,x\r\n");
  const funnel = await make({ kind: "FunnelsQuery", series: [...series, ...series] });
  expect((await get(`insights/${funnel.id}.csv`)).status).toBe(400);
});

test.each(["BoldNumber", "ActionsPie", "ActionsTable", "WorldMap"])(
  "an insight that shows one number of each series is a table of them: %s",
  async (display) => {
    const series = ["purchase", "rated_app"].map((event) => ({ kind: "EventsNode", event }));
    const query = {
      kind: "TrendsQuery",
      series: display === "WorldMap" ? series.slice(0, 1) : series,
      dateRange: { date_from: "2024-03-04", date_to: "2024-03-05" },
      trendsFilter: { display },
    };
    const { id } = (await ask(app, "POST", `${home}insights/`, { query })).body;
    const rows = query.series.map(({ event }) => `${event},1\r\n`).join("");
    expect((await get(`insights/${id}.csv`)).text).toBe(`series,value\r\n${rows}`);
  },
);

test("a table at a path of its own reads all of its query, question marks too", async () => {
  const list = await get("events.csv?event=what?&limit=1");
  expect([list.status, list.text.split("\r\n").length]).toEqual([200, 2]);
  const { status, body } = await get("events.csv?event=what?&limit=none");
  expect([status, body["attr"]]).toEqual([400, "limit"]);
});

test("a path without a table is refused by name", async () => {
  const { status, body } = await get("annotations.csv");
  expect([status, body["attr"]]).toEqual([400, "format"]);
});

test("dashboards are in the order that is named, and know when they were read", async () => {
  for (const name of ["b", "a"]) await ask(app, "POST", `${home}dashboards/`, { name });
  const [a, b] = await list("dashboards/");
  expect(await listNames("dashboards/?ordering=-name")).toEqual(["b", "a"]);
  expect(await listNames("dashboards/?ordering=created_at")).toEqual(["b", "a"]);
  expect(a!["last_accessed_at"]).toBeNull();
  await get(`dashboards/${String(b!["id"])}/`);
  expect(await listNames("dashboards/?ordering=-last_accessed_at")).toEqual(["b", "a"]);
  expect((await list("dashboards/"))[1]!["last_accessed_at"]).not.toBeNull();
  expect((await get("dashboards/?ordering=color")).status).toBe(400);
});

test("queries sent alike have one cache_key, also in the background", async () => {
  const run = async (query: string, more: object = {}) =>
    (await ask(app, "POST", `${home}query/`, { query: { kind: "HogQLQuery", query }, ...more })).body;
  const { cache_key, query_status, modifiers } = await run("select 1");
  expect([query_status, modifiers]).toEqual([null, null]);
  expect((await run("select 1"))["cache_key"]).toBe(cache_key);
  expect((await run("select 2"))["cache_key"]).not.toBe(cache_key);
  const { id } = (await run("select 1", { refresh: "force_async" }))["query_status"] as { id: string };
  const read = async () =>
    (await get(`query/${id}/`)).body["query_status"] as {
      complete: boolean;
      results: { cache_key: unknown };
    };
  await until(async () => (await read()).complete);
  expect((await read()).results.cache_key).toBe(cache_key);
});
