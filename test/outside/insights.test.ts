// Insights and their lists: assertions of PostHog's test_insight.py; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";

let app: RunningApp;
let project = 1;
beforeAll(async () => {
  app = await startApp();
}, startMsMax);
afterAll(cleanUp, startMsMax);

const trends = {
  kind: "InsightVizNode",
  source: { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "visit" }] },
};
const table = {
  kind: "DataTableNode",
  source: { kind: "HogQLQuery", query: "select event from events" },
};
const path = () => `/api/projects/${project}/insights/`;
const create = async (fields: object = {}): Promise<Answer> =>
  await ask(app, "POST", path(), { query: trends, ...fields });
const make = async (fields: object = {}): Promise<Record<string, unknown>> => (await create(fields)).body;
const change = async (id: unknown, fields: object): Promise<Answer> =>
  await ask(app, "PATCH", `${path()}${String(id)}/`, fields);
const list = async (search: string) => {
  const { status, body } = await ask(app, "GET", `${path()}?${search}`);
  return status === 200 ? (body["results"] as Record<string, unknown>[]) : status;
};
const listNames = async (search: string) => {
  const rows = await list(search);
  return typeof rows === "number" ? rows : rows.map((row) => row["name"]);
};
/** A project of its own, for lists. */
const openProject = async () => {
  project = (await ask(app, "POST", "/api/projects/", { name: "p" })).body["id"] as number;
};

// test_created_updated_and_last_modified.
test("who likes an insight does not modify it, who describes it does", async () => {
  const made = await make({ name: "test" });
  expect(made["created_by"]).toEqual(made["last_modified_by"] as never);
  expect(made["last_modified_at"]).toBe(made["created_at"]);
  const liked = (await change(made["id"], { favorited: true })).body;
  expect([liked["favorited"], liked["last_modified_at"]]).toEqual([true, made["last_modified_at"]]);
  expect(Date.parse(liked["updated_at"] as string)).toBeGreaterThan(Date.parse(made["updated_at"] as string));
  const described = (await change(made["id"], { description: "Lorem" })).body;
  expect(described["last_modified_at"]).not.toBe(made["last_modified_at"]);
});

// test_get_insight_by_short_id, test_retrieve_insight_by_id_or_short_id, …_unknown_short_id_returns_404.
test("an insight is found by its short id, in lists and in paths", async () => {
  await openProject();
  const made = await make({ name: "one" });
  await make({ name: "another" });
  expect(made["short_id"]).toMatch(/^[0-9A-Za-z_-]{8}$/);
  expect(await listNames(`short_id=${String(made["short_id"])}`)).toEqual(["one"]);
  expect((await ask(app, "GET", `${path()}${String(made["short_id"])}/?refresh=false`)).body["id"]).toBe(
    made["id"],
  );
  expect((await ask(app, "GET", `${path()}notthere/`)).status).toBe(404);
  expect((await ask(app, "GET", `${path()}99999999999/`)).status).toBe(404);
});

// test_basic_results.
test.each([
  "id short_id name derived_name favorited filters query dashboards dashboard_tiles description",
  "last_refresh refreshing saved updated_at created_by created_at last_modified_at tags",
])("a basic list has %s", async (names) => {
  const rows = (await list("basic=true")) as Record<string, unknown>[];
  for (const name of names.split(" ")) expect([name, name in rows[0]!]).toEqual([name, true]);
});

// test_saved_filter_returns_saved_or_on_visible_dashboard, test_dashboard_items_history_saved.
test("saved ones are those that are saved or on a dashboard", async () => {
  await openProject();
  const board = (await ask(app, "POST", `/api/projects/${project}/dashboards/`, { name: "d" })).body["id"];
  await make({ name: "saved", saved: true });
  await make({ name: "shown", saved: false, dashboards: [board] });
  await make({ name: "draft", saved: false });
  expect(await listNames("saved=true&order=name")).toEqual(["saved", "shown"]);
  expect(await listNames("saved=true&user=true&order=name")).toEqual(["saved", "shown"]);
});

// test_get_favorited_insight_items, test_get_insight_items.
test("favorites of oneself are listed", async () => {
  await openProject();
  await make({ name: "liked", favorited: true });
  await make({ name: "other" });
  expect(await listNames("favorited=true&user=true")).toEqual(["liked"]);
  expect(await listNames("user=true&order=name")).toEqual(["liked", "other"]);
});

// test_search_filter_does_not_duplicate_insights_with_multiple_matching_tags.
test("an insight with three tags of the word is listed once", async () => {
  await openProject();
  await make({ name: "needle", tags: ["needle-a", "needle-b", "needle-c"] });
  expect(await listNames("search=needle")).toEqual(["needle"]);
});

// test_list_filter_by_search_relevance.
test.each([
  [["Ad Sales", "Email Sales", "Sales", "Sales Funnel", "Weekly Sales", "Unrelated"], "Sales", "Sales"],
  [["Marketing funnel", "Engineering metrics"], "Marke", "Marketing funnel"],
  [["Revenue by region", "Engineering metrics"], "revenue", "Revenue by region"],
  [["Revenue by region", "Engineering metrics"], "REVENUE", "Revenue by region"],
  [["experimentation overview", "Totally unrelated"], "ment", "experimentation overview"],
])("of %j, %s finds first %s", async (names, search, first) => {
  await openProject();
  for (const name of names) await make({ name });
  const found = (await listNames(`search=${search}`)) as string[];
  expect(found[0]).toBe(first);
  expect(found).not.toContain(names.at(-1)!);
});

// test_list_filter_by_search_matches_derived_name, …_matches_description_with_lower_rank_than_name.
test("names are found before descriptions, and names that were derived", async () => {
  await openProject();
  await make({ name: "revenue" });
  await make({ name: "Q4 review", description: "Quarterly revenue breakdown" });
  await make({ name: null, derived_name: "Signup conversion" });
  expect(await listNames("search=revenue")).toEqual(["revenue", "Q4 review"]);
  expect(await listNames("search=signup")).toEqual([null]);
});

// test_list_filter_by_search_blank_returns_all, …_pathological_input_does_not_500.
test.each([
  ["%20%20", 1],
  ["", 1],
  ["%26%7C!", 0],
  ["%27%3B%20DROP%20TABLE--", 0],
])("a search for %p finds %i", async (search, count) => {
  await openProject();
  await make({ name: "Alpha" });
  expect((await list(`search=${search}`)) as object[]).toHaveLength(count);
});

// test_list_filter_by_search_enforces_length_cap.
test.each([
  [200, 200],
  [201, 400],
  [10_000, 400],
])("a search of %i letters is a %i", async (length, status) => {
  expect((await ask(app, "GET", `${path()}?search=${"a".repeat(length)}`)).status).toBe(status);
});

// test_list_filter_by_search_explicit_order_overrides_relevance.
test("an order that is named counts before what fits best", async () => {
  await openProject();
  await make({ name: "revenue" });
  await make({ name: "revenue trends" });
  expect(await listNames("search=revenue&order=-id")).toEqual(["revenue trends", "revenue"]);
});

// test_listing_insights_shows_legacy_and_hogql_ones.
test("insights are listed by the kind of their query", async () => {
  await openProject();
  await make({ name: "sql", query: table });
  await make({ name: "trends" });
  expect(await listNames("insight=TRENDS")).toEqual(["trends"]);
  expect(await listNames("insight=SQL")).toEqual(["sql"]);
  expect(await listNames("insight=FUNNELS")).toEqual([]);
});

// test_can_list_insights_by_which_dashboards_they_are_in.
test("insights of all named dashboards are listed", async () => {
  await openProject();
  const boards: unknown[] = [];
  for (const name of ["a", "b"])
    boards.push((await ask(app, "POST", `/api/projects/${project}/dashboards/`, { name })).body["id"]);
  await make({ name: "one", dashboards: [boards[0]] });
  const two = await make({ name: "two", dashboards: boards });
  await make({ name: "three" });
  expect(await listNames(`dashboards=[${String(boards[0])}]&order=name`)).toEqual(["one", "two"]);
  expect(await listNames(`dashboards=${encodeURIComponent(`[${boards.join(", ")}]`)}`)).toEqual(["two"]);
  await change(two["id"], { dashboards: [] });
  expect(await listNames(`dashboards=[${String(boards[0])}]`)).toEqual(["one"]);
});

// test_insight_items_on_a_dashboard_ignore_deleted_dashboards.
test("a deleted dashboard is no place for an insight", async () => {
  const board = async () =>
    (await ask(app, "POST", `/api/projects/${project}/dashboards/`, { name: "d" })).body["id"];
  const [kept, gone, next] = [await board(), await board(), await board()];
  const { id } = await make({ dashboards: [kept, gone] });
  await ask(app, "PATCH", `/api/projects/${project}/dashboards/${String(gone)}/`, { deleted: true });
  expect((await change(id, { dashboards: [kept, gone, next] })).status).toBe(400);
  const { body } = await ask(app, "GET", `${path()}${String(id)}/?refresh=false`);
  expect([body["dashboards"], (body["dashboard_tiles"] as object[]).length]).toEqual([[kept], 1]);
});

// test_create_insight_with_no_names_logs_no_activity, test_update_insight.
test("an insight needs no name, and has one when it is given", async () => {
  const made = await make();
  expect([made["name"], made["tags"], made["deleted"]]).toEqual([null, [], false]);
  const named = await change(made["id"], { name: "insight new name", tags: ["official", "engineering"] });
  expect([named.status, named.body["name"]]).toEqual([200, "insight new name"]);
  expect((named.body["tags"] as string[]).toSorted()).toEqual(["engineering", "official"]);
  expect((await change(made["id"], { tags: [] })).body["tags"]).toEqual([]);
});

// test_hide_feature_flag_insights_filter: there are none here.
test("a list without insights of feature flags is the list", async () => {
  expect(typeof (await list("saved=true&hide_feature_flag_insights=true"))).not.toBe("number");
});

// test_insight_viewed…, my_last_viewed: https://posthog.com/docs/open-api-spec/insights_my_last_viewed_retrieve.md
test("insights that were viewed are listed, the last one first", async () => {
  await openProject();
  const [a, b] = [await make({ name: "a" }), await make({ name: "b" })];
  for (const id of [a["id"], b["id"], a["id"]])
    expect((await ask(app, "POST", `${path()}viewed/`, { insight_ids: [id] })).status).toBe(201);
  const { status, text } = await ask(app, "GET", `${path()}my_last_viewed/`);
  expect(status).toBe(200);
  expect((JSON.parse(text) as { name: string }[]).map(({ name }) => name)).toEqual(["a", "b"]);
});

// The order of PostHog's console: order=-last_modified_at, order=created_by.
test.each(["-last_modified_at", "created_at", "-name", "-last_viewed_at"])(
  "insights are ordered by %s",
  async (order) => {
    expect(typeof (await list(`order=${order}`))).not.toBe("number");
  },
);

// test_refresh…: refresh=blocking has a result, force_cache none before it was computed.
test("a result is computed where it is requested", async () => {
  const { id } = await make({ name: "fresh" });
  const none = await ask(app, "GET", `${path()}${String(id)}/?refresh=force_cache`);
  expect([none.status, none.body["result"], none.body["last_refresh"]]).toEqual([200, null, null]);
  const now = await ask(app, "GET", `${path()}${String(id)}/?refresh=blocking`);
  expect([now.status, (now.body["result"] as { count: number }[])[0]!.count]).toEqual([200, 0]);
  expect(now.body["is_cached"]).toBe(false);
});

// test_soft_delete_causes_404, test_soft_delete_can_be_reversed_by_patch, test_hard_delete_is_forbidden.
test("a deleted insight is a 404 until it is back", async () => {
  const { id } = await make({ name: "gone" });
  await change(id, { deleted: true });
  expect((await ask(app, "GET", `${path()}${String(id)}/`)).status).toBe(404);
  expect((await change(id, { deleted: false })).body["deleted"]).toBe(false);
});
