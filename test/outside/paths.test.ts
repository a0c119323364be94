// Paths as strangers expect them: the links of PostHog's test_paths_query_runner.py and …_ee.py, and the public threads
// that each test names.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { PathLink } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { made, openProject, type Project } from "../support/projects.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
}, startMsMax);
afterAll(cleanUp, startMsMax);

const view = (who: string, $current_url: string, timestamp: string) =>
  made("$pageview", who, timestamp, { $current_url });
/** A person's pages, one a minute. */
const walk = (who: string, urls: string) =>
  urls.split(" ").map((url, i) => view(who, url, `2021-05-01T00:0${i + 1}:00Z`));
const first = (time: string) => `2012-01-01T${time}Z`;
const range = { date_from: "2012-01-01", date_to: "2021-05-07" };
const pathsOf = (pathsFilter: object = {}, more: object = {}) => ({
  kind: "PathsQuery",
  dateRange: range,
  pathsFilter,
  ...more,
});
/** Links with their persons, and the minutes they took. */
async function links(project: Project, ...query: Parameters<typeof pathsOf>) {
  const rows = await project.query<PathLink>(pathsOf(...query));
  return rows.map(({ source, target, value, average_conversion_time: ms }) => [
    source,
    target,
    value,
    ms! / 60_000,
  ]);
}
const withoutTimes = (rows: unknown[][]) => rows.map((row) => row.slice(0, 3));
async function countPersons(project: Project, pathsFilter: object): Promise<number> {
  const source = { kind: "InsightActorsQuery", source: pathsOf(pathsFilter) };
  return (await project.query({ kind: "ActorsQuery", select: ["id"], source })).length;
}

test("links are counted by visits, of all ids of a person, within the span", async () => {
  const at = (minute: number) => `2012-01-14T03:${minute}:34Z`;
  const project = await openProject(app, "urls", [
    made("$identify", "p2a", "2011-12-01T00:00:00Z", { $anon_distinct_id: "p2b" }),
    made("set", "p1", "2011-12-01T00:00:00Z", { $set: { email: "test@posthog.com" } }),
    view("p1", "/", at(21)),
    view("p1", "/about", at(28)),
    view("p2a", "/", at(21)),
    view("p2b", "/pricing", at(28)),
    view("p2a", "/about", at(29)),
    view("p3", "/pricing", at(21)),
    view("p3", "/", at(28)),
    view("p4", "/", at(21)),
    view("p4", "/pricing", at(28)),
  ]);
  const four = [
    ["1_/", "2_/pricing", 2],
    ["1_/", "2_/about", 1],
    ["1_/pricing", "2_/", 1],
    ["2_/pricing", "3_/about", 1],
  ];
  const counted = async (...query: Parameters<typeof pathsOf>) =>
    withoutTimes(await links(project, ...query));
  expect(await counted()).toEqual(four);
  const nothing = {
    includeEventTypes: [],
    excludeEvents: null,
    pathGroupings: [],
    startPoint: "",
    stepLimit: null,
  };
  expect(await counted(nothing)).toEqual(four);
  expect(await counted({}, { dateRange: { date_from: "2012-01-20", date_to: "2012-01-25" } })).toEqual([]);
  expect(await counted({ edgeLimit: 1 })).toEqual([four[0]!]);
  expect(await counted({ minEdgeWeight: 2 })).toEqual([four[0]!]);
  expect(await counted({ maxEdgeWeight: 1 })).toEqual(four.slice(1, 3));
  const filter = { key: "email", type: "person", operator: "not_icontains", value: "posthog.com" };
  expect(await counted({}, { properties: [filter] })).toHaveLength(3);
});

test("steps have their limit, their times and their persons", async () => {
  const times = ["03:21:34", "03:22:34", "03:24:34", "03:27:34"];
  const project = await openProject(app, "times", [
    ...["/1", "/2", "/3", "/4"].map((url, i) => view("a", url, first(times[i]!))),
    ...["/1", "/2", "/3"].map((url, i) => view("b", url, first(["03:21:34", "03:23:34", "03:27:34"][i]!))),
  ]);
  const all = [
    ["1_/1", "2_/2", 2, 1.5],
    ["2_/2", "3_/3", 2, 3],
    ["3_/3", "4_/4", 1, 3],
  ];
  for (const stepLimit of [2, 3, 4])
    expect(await links(project, { stepLimit })).toEqual(all.slice(0, stepLimit - 1));
  expect(await countPersons(project, { pathStartKey: "2_/2", pathEndKey: "3_/3" })).toBe(2);
  expect(await countPersons(project, { pathStartKey: "3_/3", pathEndKey: "4_/4" })).toBe(1);
  expect(await countPersons(project, { pathEndKey: "3_/3" })).toBe(2);
  expect(await countPersons(project, { pathStartKey: "1_/1" })).toBe(2);
});

// PostHog/posthog#732, #6085: repeated pages, and a pause that ends a visit.
test("a page again is no step, and a pause of half an hour begins a path", async () => {
  const again = await openProject(app, "again", [
    view("f", "/1", first("03:21:34")),
    view("f", "/1", first("03:21:54")),
    view("f", "/2", first("03:22:34")),
    view("f", "/2/", first("03:22:54")),
    view("f", "/3", first("03:24:54")),

    view("g", "/1", first("03:21:34")),
    view("g", "/2/", first("03:23:34")),
    view("g", "/3", first("03:27:34")),
  ]);
  expect(await links(again)).toEqual([
    ["1_/1", "2_/2", 2, 1.5],
    ["2_/2", "3_/3", 2, 3],
  ]);
  const days = ["2012-01-01T03:21:34Z", "2012-01-01T03:22:34Z", "2012-01-01T03:24:34Z"];
  const next = ["2012-01-02T03:21:54Z", "2012-01-02T03:22:54Z", "2012-01-02T03:26:54Z"];
  const visits = [days, next].flatMap((at) => ["/1", "/2/", "/3"].map((url, i) => view("h", url, at[i]!)));
  expect(await links(await openProject(app, "visits", visits))).toEqual([
    ["1_/1", "2_/2", 2, 1],
    ["2_/2", "3_/3", 2, 3],
  ]);
});

// PostHog/posthog#25034, #12837: ends of paths.
test("a path begins and ends where it is asked to, with or without a slash", async () => {
  const project = await openProject(app, "ends", [
    ...walk("p1", "/1 /2 /3/ /4/ /5 /about /after/"),
    ...walk("p2", "/5 /about"),
    ...walk("p3", "/3/ /4 /about/ /after"),
  ]);
  const ends = [
    ["1_/2", "2_/3", 1],
    ["1_/3", "2_/4", 1],
    ["1_/5", "2_/about", 1],
    ["2_/3", "3_/4", 1],
    ["2_/4", "3_/about", 1],
    ["3_/4", "4_/5", 1],
    ["4_/5", "5_/about", 1],
  ];
  for (const endPoint of ["/about", "/about/"])
    expect(withoutTimes(await links(project, { endPoint }))).toEqual(ends);
  expect(await links(project, { startPoint: "/5", endPoint: "/about" })).toEqual([
    ["1_/5", "2_/about", 2, 1],
  ]);
  const long = { startPoint: "/2", endPoint: "/about", stepLimit: 4 };
  expect(await links(project, long)).toEqual([
    ["1_/2", "2_/3", 1, 1],
    ["2_/3", "3_...", 1, 1],
    ["3_...", "4_/5", 1, 1],
    ["4_/5", "5_/about", 1, 1],
  ]);
  expect(await countPersons(project, { ...long, pathStartKey: "3_...", pathEndKey: "4_/5" })).toBe(1);
  const starts = await openProject(app, "starts", [
    ...walk("p1", "/ /about/"),
    ...walk("p2", "/ /pricing/ /about"),
    ...walk("p3", "/pricing / /about/"),
    ...walk("p4", "/ /pricing/"),
    ...walk("p5", "/pricing /about /pricing/ /help"),
  ]);
  for (const startPoint of ["/pricing", "/pricing/"])
    expect(withoutTimes(await links(starts, { startPoint }))).toEqual([
      ["1_/pricing", "2_/about", 2],
      ["1_/pricing", "2_/", 1],
      ["2_/", "3_/about", 1],
      ["2_/about", "3_/pricing", 1],
      ["3_/pricing", "4_/help", 1],
    ]);
  expect(withoutTimes(await links(starts, { startPoint: "/" }))).toEqual([
    ["1_/", "2_/about", 2],
    ["1_/", "2_/pricing", 2],
    ["2_/pricing", "3_/about", 1],
  ]);
});

// PostHog/posthog#2836, #52044: custom events, and what excludeEvents names.
test("steps are of the asked kinds, without the excluded ones", async () => {
  const times = ["03:21:34", "03:22:34", "03:24:34"].map(first);
  const project = await openProject(app, "kinds", [
    ...["/1", "/2/", "/3"].map((url, i) => view("p1", url, times[i]!)),
    ...[1, 2, 3].map((n, i) => made("$screen", "p2", times[i]!, { $screen_name: `/screen${n}` })),
    ...[1, 2, 3].map((n, i) => made(`/custom${n}`, "p3", times[i]!)),
  ]);
  const three = (kind: string) => [
    [`1_/${kind}1`, `2_/${kind}2`, 1, 1],
    [`2_/${kind}2`, `3_/${kind}3`, 1, 2],
  ];
  for (const [type, kind] of [
    ["$pageview", ""],
    ["$screen", "screen"],
    ["custom_event", "custom"],
  ] as const)
    expect(await links(project, { includeEventTypes: [type] })).toEqual(three(kind));
  const excludeEvents = ["/custom1", "/1", "/2", "/3"];
  const includeEventTypes = ["$pageview", "$screen", "custom_event"];
  expect(await links(project, { includeEventTypes, excludeEvents })).toEqual([
    ["1_/custom2", "2_/custom3", 1, 2],
    ["1_/screen1", "2_/screen2", 1, 1],
    ["2_/screen2", "3_/screen3", 1, 2],
  ]);
});

// PostHog/posthog#6111, #25716: a wildcard is excluded, is one step, and is where a path begins or ends.
test("addresses of a wildcard are one step", async () => {
  const urls = { p1: "/2/bar/1/foo", p2: "/bar/2/foo", p3: "/bar/33/foo" };
  const project = await openProject(
    app,
    "wildcards",
    Object.entries(urls).flatMap(([who, url]) => [
      view(who, "/1", first("03:21:34")),
      view(who, url, first("03:22:34")),
      view(who, "/3", first("03:24:34")),
    ]),
  );
  const pathGroupings = ["/bar/*/foo"];
  expect(await links(project, { pathGroupings })).toEqual([
    ["1_/1", "2_/bar/*/foo", 3, 1],
    ["2_/bar/*/foo", "3_/3", 3, 2],
  ]);
  expect(await links(project, { pathGroupings, excludeEvents: pathGroupings })).toEqual([
    ["1_/1", "2_/3", 3, 3],
  ]);
  expect(await links(project, { pathGroupings: ["/x/*"], excludeEvents: pathGroupings })).toHaveLength(6);
  expect(await links(project, { pathGroupings, endPoint: "/bar/*/foo" })).toEqual([
    ["1_/1", "2_/bar/*/foo", 3, 1],
  ]);
  expect(await links(project, { pathGroupings, startPoint: "/bar/*/foo" })).toEqual([
    ["1_/bar/*/foo", "2_/3", 3, 2],
  ]);
  const evil = ["(a+)+", "[aaa|aaaa]+", "1.*", ".*"];
  expect(await links(project, { pathGroupings: evil })).toHaveLength(6);
});

// test_replacements, test_paths_with_hogql_expression… of test_paths_query_runner.py.
test("steps are named by an expression, for the kinds that have no name of their own", async () => {
  const custom = (n: number, a: string) => made(`c${n}`, "p1", first(`03:2${n}:34`), { a });
  const project = await openProject(app, "expressions", [
    custom(1, "!"),
    custom(2, "@"),
    view("p1", "/3", first("03:24:34")),
    made("$leave", "p1", first("03:25:34"), { a: 7 }),
  ]);
  const named = async (expression: string, ...includeEventTypes: string[]) =>
    (await links(project, { includeEventTypes, pathsHogQLExpression: expression })).map(
      ([source, target]) => [source, target],
    );
  const all = (third: string) => [
    ["1_c1!", "2_c2@"],
    ["2_c2@", third],
    [third, "4_$leave7"],
  ];
  const joined = "event || properties.a";
  expect(await named(joined, "hogql")).toEqual(all("3_$pageview"));
  expect(await named(joined)).toEqual(all("3_/3"));
  expect(await named(`${joined} -- as its name`)).toEqual(all("3_/3"));
  expect(await named(joined, "hogql", "custom_event")).toEqual([["1_c1!", "2_c2@"]]);
  expect(await named("length(event)", "hogql", "custom_event")).toEqual([]);
  expect(await named("if(event = 'c1', 1, 2)", "hogql", "custom_event")).toEqual([["1_1", "2_2"]]);
  expect(await named("properties.a", "custom_event")).toEqual([["1_c1", "2_c2"]]);
  expect(await named("", "hogql")).toHaveLength(3);
  const upper = { pathsHogQLExpression: "upper(event)", includeEventTypes: ["hogql"] };
  expect(await countPersons(project, { ...upper, pathStartKey: "1_C1", pathEndKey: "2_C2" })).toBe(1);
  expect(withoutTimes(await links(project, { ...upper, startPoint: "C2", pathGroupings: ["$*"] }))).toEqual([
    ["1_C2", "2_$*", 1],
  ]);
});

// test_path_cleaning…, PostHog/posthog#8440: rules apply one after the other, before groupings and exclusions.
test("rules clean names of steps in their order", async () => {
  const project = await openProject(app, "rules", [
    ...walk("p1", "/shop/12/ /shop/7/cart /it's/a\\b"),
    ...walk("p2", "/shop/9 /help"),
  ]);
  const cleaned = async (rules: object[], more: object = {}) =>
    withoutTimes(await links(project, { localPathCleaningFilters: rules, ...more }));
  const ids = { regex: String.raw`\/\d+`, alias: "/:id" };
  expect(await cleaned([ids])).toEqual([
    ["1_/shop/:id", "2_/help", 1],
    ["1_/shop/:id", "2_/shop/:id/cart", 1],
    ["2_/shop/:id/cart", "3_/it's/a\\b", 1],
  ]);
  const carts = { alias: "bag", regex: "^/shop/:id/cart$", order: 0 };
  expect(await cleaned([ids, carts])).toContainEqual(["2_bag", "3_/it's/a\\b", 1]);
  expect(await cleaned([carts, ids])).not.toContainEqual(["2_bag", "3_/it's/a\\b", 1]);
  const quotes = { regex: String.raw`'s/(a)\\`, alias: String.raw`'\1\\"` };
  expect(await cleaned([quotes])).toContainEqual(["2_/shop/7/cart", `3_/it'a\\"b`, 1]);
  expect(await cleaned([{ regex: "cart|shop/" }, { alias: "home" }, {}])).toContainEqual([
    "2_/7/",
    "3_/it's/a\\b",
    1,
  ]);
  expect(await cleaned([ids], { excludeEvents: ["/shop/:id"], includeEventTypes: ["$pageview"] })).toEqual([
    ["1_/shop/:id/cart", "2_/it's/a\\b", 1],
  ]);
  expect(await cleaned([ids], { pathGroupings: ["/shop/:id*"], startPoint: "/shop/:id*" })).toContainEqual([
    "1_/shop/:id*",
    "2_/help",
    1,
  ]);
  expect(await countPersons(project, { localPathCleaningFilters: [ids], pathEndKey: "2_/help" })).toBe(1);
  expect(await cleaned(Array(25).fill(ids))).toHaveLength(3);
});

test.each([
  [{ localPathCleaningFilters: [{ regex: "(", alias: "" }] }, /regular expression|not valid|CANNOT/i],
  [{ localPathCleaningFilters: [{ regex: "a", alias: String.raw`\1` }] }, /./],
  [{ localPathCleaningFilters: [{ regex: "((a{30}){30}){30}", alias: "" }] }, /at most 5000 steps/],
  [{ localPathCleaningFilters: Array(26).fill({ regex: "a", alias: "b" }) }, /no more than 25/],
  [{ localPathCleaningFilters: [{ regex: "a".repeat(1001), alias: "b" }] }, /no more than 1000/],
  [{ pathsHogQLExpression: "event) || (distinct_id" }, /not valid HogQL/],
  [{ pathsHogQLExpression: "event /*" }, /./],
  [{ pathsHogQLExpression: "count()" }, /aggregate/],
  [{ pathsHogQLExpression: "no_such" }, /no_such/],
])("a wrong name of steps is refused: %#", async (pathsFilter, message) => {
  const project = await openProject(app, "refusals", walk("p1", "/a /b"));
  const path = `/api/projects/${project.id}/query/`;
  const { status, body } = await ask(app, "POST", path, { query: pathsOf(pathsFilter) });
  expect([status, String(body["detail"])]).toEqual([400, expect.stringMatching(message)]);
});
