// Stickiness, lifecycles, paths and sites with the numbers of PostHog's test_stickiness_query_runner.py,
// test_lifecycle_query_runner.py, test_paths_query_runner_ee.py, test_web_overview.py and test_web_stats_table.py, on data
// of our own. Each row names its test, or what it asks for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { PathLink, TrendLine } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Happening, makeProject, type PeerProject } from "../support/journeys.ts";
import { rested } from "../support/server.ts";

let app: RunningApp;
let habits: PeerProject;
let lives: PeerProject;
let walks: PeerProject;
let site: PeerProject;

const noon = (day: number) => `2020-01-${String(day).padStart(2, "0")}T12:00:00Z`;
const came = (who: string, event: string, days: readonly number[], properties: object = {}): Happening[] =>
  days.map((day) => [who, event, noon(day), { ...properties, $set: { name: who } }]);
const walk = (who: string, urls: string, minute = 1): Happening[] =>
  urls.split(" ").map((url, i) => {
    const at = new Date(Date.UTC(2021, 4, 1) + (i + minute) * 60_000).toISOString();
    return url.startsWith("/") ? [who, "$pageview", at, { $current_url: url }] : [who, url, at];
  });
const visit = (who: string, at: string, pages: string, properties: object = {}): Happening[] => {
  const $session_id = Bun.randomUUIDv7("hex", Date.parse(at));
  return pages.split(" ").map((page, i) => {
    const moment = new Date(Date.parse(at) + i * 1000).toISOString();
    const event = page.startsWith("/") ? "$pageview" : page;
    return [
      who,
      event,
      moment,
      {
        $session_id,
        ...(event === "$pageview" && { $pathname: page, $current_url: `https://e.com${page}` }),
        ...properties,
      },
    ];
  });
};

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const organization = { $groups: { organization: "org:1" } };
  habits = await makeProject(
    app,
    [
      ...came("p1", "$pageview", [11, 12, 13, 14, 15, 16, 17, 18, 19], {
        $browser: "Chrome",
        prop: 10,
        ...organization,
      }),
      ...came("p1", "$pageleave", [11, 12, 13]),
      ...came("p2", "$pageview", [11, 13, 15, 17, 19], { $browser: "Firefox", prop: 10 }),
      ...came("q1", "often", [11, 11, 13, 13, 15, 15, 17, 17, 17, 19]),
      ...came("q2", "often", [12, 12, 13, 13, 19]),
    ],
    { test_account_filters: [{ key: "$browser", type: "event", value: "Chrome", operator: "exact" }] },
  );
  // test_lifecycle_query_runner.py: p1 on 11, 12, 13, 15, 17, 19; p2 on 9 and 12; p3 on 12; p4 on 15.
  lives = await makeProject(app, [
    ...came("p1", "$pageview", [11, 12, 13, 15, 17, 19], { $os: "Mac" }),
    ...came("p2", "$pageview", [9, 12], { $os: "Linux" }),
    ...came("p3", "$pageview", [12], { $os: "Mac" }),
    ...came("p4", "$pageview", [15], { $os: "Linux" }),
    ...came("p2", "other", [10]),
  ]);
  walks = await makeProject(app, [
    ...[1, 2, 3, 4, 5].flatMap((i) => walk(`a${i}`, "/1 /2 /3 /4 /5 /about /after")),
    ...walk("b2", "/2 /a /x /about"),
    ...walk("b3", "/2 /b /x /about"),
    ...walk("c1", "one two three four", 10),
    ...walk("c2", "one two three", 10),
    ...walk("c3", "one two", 10),
    ...walk("d1", "/bar/1/foo /3", 20),
    ...walk("d2", "/bar/2/foo /3", 20),
  ]);
  site = await makeProject(app, [
    ...visit("p1", "2023-12-02T12:00:00Z", "/a /b /c", {
      utm_source: "google",
      $browser: "Chrome",
      $device_type: "Desktop",
    }),
    ...visit("p2", "2023-12-02T13:00:00Z", "/a /a /b /c", {
      $browser: "Safari",
      $device_type: "Mobile",
      $geoip_country_code: "DE",
    }),
    ...visit("p3", "2023-12-02T14:00:00Z", "/a", {
      $browser: "Chrome",
      $device_type: "Desktop",
      $geoip_country_code: "US",
    }),
    ...visit("p1", "2023-12-10T12:00:00Z", "/c bought", {
      utm_source: "google",
      $browser: "Chrome",
      $device_type: "Desktop",
    }),
    ["p4", "$pageview", "2023-12-02T15:00:00Z", { $pathname: "/none", $browser: "Opera" }],
  ]);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const series = (event: string | null, more: object = {}) => ({ series: [{ event, ...more }] });
const sticky = (...more: object[]): object =>
  Object.assign(
    {
      kind: "StickinessQuery",
      ...series("$pageview"),
      dateRange: { date_from: "2020-01-11", date_to: "2020-01-20" },
    },
    ...more,
  );
const days = (date_from: string, date_to: string) => ({ dateRange: { date_from, date_to } });
const criteria = (operator: string, value: number) => ({
  stickinessFilter: { stickinessCriteria: { operator, value } },
});
const chrome = { key: "$browser", type: "event", value: "Chrome", operator: "exact" };
const both = [0, 0, 0, 0, 1, 0, 0, 0, 1, 0];
const one = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const often = (...more: object[]) => sticky(series("often"), days("2020-01-12", "2020-01-20"), ...more);

test.each([
  ["test_interval_day", sticky(), [both]],
  ["test_property_filtering", sticky({ properties: [chrome] }), [one]],
  [
    "test_property_filtering_hogql",
    sticky({ properties: [{ type: "hogql", key: "properties.$browser == 'Chrome'" }] }),
    [one],
  ],
  ["test_event_filtering", sticky(series("$pageview", { properties: [chrome] })), [one]],
  [
    "test_any_event",
    sticky(series(null), { properties: [{ type: "hogql", key: "event != 'often'" }] }),
    [both],
  ],
  ["test_interval_week", sticky({ interval: "week" }), [[0, 0, 2]]],
  ["test_interval_month", sticky({ interval: "month" }), [[2]]],
  ["test_filter_test_accounts", sticky({ filterTestAccounts: true }), [one]],
  [
    "test_group_aggregations",
    sticky(series("$pageview", { math: "unique_group", math_group_type_index: 0 })),
    [one],
  ],
  [
    "test_hogql_aggregations",
    sticky(series("$pageview", { math: "hogql", math_hogql: "e.properties.prop" })),
    [one],
  ],
  ["test_criteria", often(criteria("gte", 2)), [[0, 1, 1, 0, 0, 0, 0, 0, 0]]],
  ["test_criteria", often(criteria("lte", 1)), [[2, 0, 0, 0, 0, 0, 0, 0, 0]]],
  [
    "test_criteria",
    often(days("2020-01-11", "2020-01-20"), criteria("exact", 2)),
    [[0, 1, 1, 0, 0, 0, 0, 0, 0, 0]],
  ],
  [
    "test_compare_to",
    sticky(days("2020-01-12", "2020-01-20"), { compareFilter: { compare: true, compare_to: "-1d" } }),
    [
      [0, 0, 0, 1, 0, 0, 0, 1, 0],
      [0, 0, 0, 0, 1, 0, 0, 0, 1],
    ],
  ],
  [
    "two series",
    sticky({ series: [{ event: "$pageview" }, { event: "$pageleave" }] }),
    [both, [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]],
  ],
  [
    "test_interval_hour",
    sticky(days("2020-01-11T11:00:00", "2020-01-11T13:00:00"), { interval: "hour" }),
    [[2, 0, 0]],
  ],
  [
    "test_cumulative_stickiness",
    sticky(days("2020-01-11", "2020-01-13"), { stickinessFilter: { computedAs: "cumulative" } }),
    [[2, 2, 1]],
  ],
  ["no event", sticky(series("nothing")), [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]],
])("the days of stickiness: %s", async (_, query, expected) => {
  expect((await habits.results<TrendLine>(query)).map(({ data }) => data)).toEqual(expected);
});

const life = (...more: object[]): object =>
  Object.assign(
    {
      kind: "LifecycleQuery",
      ...series("$pageview"),
      dateRange: { date_from: "2020-01-12", date_to: "2020-01-19" },
    },
    ...more,
  );
const os = (value: string) => ({ key: "$os", type: "event", value, operator: "exact" });
const whole = {
  new: [1, 0, 0, 1, 0, 0, 0, 0],
  returning: [1, 1, 0, 0, 0, 0, 0, 0],
  resurrecting: [1, 0, 0, 1, 0, 1, 0, 1],
  dormant: [0, -2, -1, 0, -2, 0, -1, 0],
};
const none = [0, 0, 0, 0, 0, 0, 0, 0];

// test_lifecycle_query_part_range, test_lifecycle_trend and its like.
test.each([
  ["part of a range", life(), whole],
  [
    "with a property",
    life({ properties: [os("Mac")] }),
    {
      new: [1, 0, 0, 0, 0, 0, 0, 0],
      returning: [1, 1, 0, 0, 0, 0, 0, 0],
      resurrecting: [0, 0, 0, 1, 0, 1, 0, 1],
      dormant: [0, -1, -1, 0, -1, 0, -1, 0],
    },
  ],
  [
    "with a property of the series",
    life(series("$pageview", { properties: [os("Linux")] })),
    {
      new: [0, 0, 0, 1, 0, 0, 0, 0],
      returning: none,
      resurrecting: [1, 0, 0, 0, 0, 0, 0, 0],
      dormant: [0, -1, 0, 0, -1, 0, 0, 0],
    },
  ],
  [
    "of a person",
    life({ properties: [{ key: "name", type: "person", value: ["p1"], operator: "exact" }] }),
    {
      new: none,
      returning: [1, 1, 0, 0, 0, 0, 0, 0],
      resurrecting: [0, 0, 0, 1, 0, 1, 0, 1],
      dormant: [0, 0, -1, 0, -1, 0, -1, 0],
    },
  ],
  [
    "by weeks",
    life({ interval: "week" }, days("2020-01-05", "2020-01-25")),
    { new: [2, 2, 0], returning: [0, 2, 1], resurrecting: [0, 0, 0], dormant: [0, 0, -3] },
  ],
  [
    "by months",
    life({ interval: "month" }, days("2020-01-01", "2020-02-29")),
    { new: [4, 0], returning: [0, 0], resurrecting: [0, 0], dormant: [0, -4] },
  ],
  [
    "all events",
    life(series(null), days("2020-01-09", "2020-01-11")),
    { new: [1, 0, 1], returning: [0, 1, 0], resurrecting: [0, 0, 0], dormant: [0, 0, -1] },
  ],
  ["two toggled", life({ lifecycleFilter: { toggledLifecycles: ["new", "dormant"] } }), whole],
])("the lives of %s", async (_, query, expected) => {
  const lines = await lives.results<TrendLine & { status: string }>(query);
  expect(Object.fromEntries(lines.map(({ status, data }) => [status, data]))).toEqual(expected);
});

test.each([
  ["new", "2020-01-12", ["p3"]],
  ["returning", "2020-01-12", ["p1"]],
  ["resurrecting", "2020-01-12", ["p2"]],
  ["dormant", "2020-01-13", ["p2", "p3"]],
  ["returning", "2020-01-13", ["p1"]],
  ["dormant", "2020-01-16", ["p1", "p4"]],
  ["resurrecting", "2020-01-19", ["p1"]],
])("the %s persons of %s", async (status, day, expected) => {
  const source = { kind: "InsightActorsQuery", source: life(), day, status };
  const rows = await lives.results<[string]>({ kind: "ActorsQuery", select: ["properties.name"], source });
  expect(rows.map(([name]) => name).toSorted()).toEqual(expected);
});

test("lines of a lifecycle are named by event and status", async () => {
  const lines = await lives.results<TrendLine & { status: string }>(life());
  expect(lines.map(({ label, status }) => [label, status])).toEqual(
    ["new", "returning", "resurrecting", "dormant"].map((status) => [`$pageview - ${status}`, status]),
  );
});

const paths = (pathsFilter: object, more: object = {}) => ({
  kind: "PathsQuery",
  dateRange: { date_from: "2021-05-01", date_to: "2021-05-03" },
  pathsFilter,
  ...more,
});
const pages = { includeEventTypes: ["$pageview"] };
const customs = { includeEventTypes: ["custom_event"] };

test.each([
  [
    "test_event_ordering",
    paths(customs),
    [
      ["1_one", "2_two", 3],
      ["2_two", "3_three", 2],
      ["3_three", "4_four", 1],
    ],
  ],
  ["stepLimit", paths({ ...customs, stepLimit: 2 }), [["1_one", "2_two", 3]]],
  [
    "edgeLimit",
    paths({ ...customs, edgeLimit: 2 }),
    [
      ["1_one", "2_two", 3],
      ["2_two", "3_three", 2],
    ],
  ],
  [
    "minEdgeWeight",
    paths({ ...customs, minEdgeWeight: 2 }),
    [
      ["1_one", "2_two", 3],
      ["2_two", "3_three", 2],
    ],
  ],
  ["maxEdgeWeight", paths({ ...customs, maxEdgeWeight: 1 }), []],
  [
    "startPoint",
    paths({ ...customs, startPoint: "two" }),
    [
      ["1_two", "2_three", 2],
      ["2_three", "3_four", 1],
    ],
  ],
  [
    "endPoint",
    paths({ ...customs, endPoint: "three" }),
    [
      ["1_one", "2_two", 2],
      ["2_two", "3_three", 2],
    ],
  ],
  [
    "both points",
    paths({ ...customs, startPoint: "one", endPoint: "three" }),
    [
      ["1_one", "2_two", 2],
      ["2_two", "3_three", 2],
    ],
  ],
  [
    "excludeEvents",
    paths({ ...customs, excludeEvents: ["two"] }),
    [
      ["1_one", "2_three", 2],
      ["2_three", "3_four", 1],
    ],
  ],
  [
    "test_start_dropping_orphaned_edges",
    paths({ ...pages, startPoint: "/2", edgeLimit: 6 }),
    [
      ["1_/2", "2_/3", 5],
      ["2_/3", "3_/4", 5],
      ["3_/4", "4_/5", 5],
      ["4_/5", "5_/about", 5],
      ["1_/2", "2_/a", 1],
    ],
  ],
  [
    "test_wildcard_groups_across_people",
    paths({ ...pages, pathGroupings: ["/bar/*/foo"], startPoint: "/bar/*/foo" }),
    [["1_/bar/*/foo", "2_/3", 2]],
  ],
  [
    "with a filter",
    paths(pages, {
      properties: [{ key: "$current_url", value: ["/x", "/about"], operator: "exact", type: "event" }],
    }),
    [["1_/x", "2_/about", 2]],
  ],
  ["other days", paths(pages, { dateRange: { date_from: "2021-06-01", date_to: "2021-06-02" } }), []],
  [
    "excluded pages",
    paths({ ...pages, excludeEvents: ["/a", "/b"], startPoint: "/2", stepLimit: 3, edgeLimit: 10 }),
    [
      ["1_/2", "2_/3", 5],
      ["2_/3", "3_/4", 5],
      ["1_/2", "2_/x", 2],
      ["2_/x", "3_/about", 2],
    ],
  ],
])("the links of %s", async (_, query, expected) => {
  const links = await walks.results<PathLink>(query);
  expect(links.map(({ source, target, value }) => [source, target, value])).toEqual(expected as never);
});

test.each([
  [{ ...customs, pathStartKey: "2_two" }, 2],
  [{ ...customs, pathEndKey: "2_two" }, 3],
  [{ ...customs, pathStartKey: "2_two", pathEndKey: "3_three" }, 2],
  [{ ...customs, pathStartKey: "4_four" }, 0],
  [{ ...customs, pathDropoffKey: "2_two" }, 1],
  [{ ...customs, pathDropoffKey: "4_four" }, 1],
])("test_person_dropoffs: %j are %d persons", async (filter, count) => {
  const source = { kind: "InsightActorsQuery", source: paths(filter) };
  expect(await walks.results({ kind: "ActorsQuery", select: ["id"], source })).toHaveLength(count);
});

const table = (breakdownBy: string, more: object = {}) => ({
  kind: "WebStatsTableQuery",
  dateRange: { date_from: "2023-12-01", date_to: "2023-12-15" },
  properties: [],
  breakdownBy,
  ...more,
});
const event = (key: string, value: unknown, operator = "exact") => ({
  properties: [{ key, value, operator, type: "event" }],
});
const third = 1 / 3;

test.each([
  [
    "pages",
    table("Page"),
    [
      ["/a", 3, 4],
      ["/c", 2, 3],
      ["/b", 2, 2],
    ],
  ],
  [
    "test_bounce_rate",
    table("Page", { includeBounceRate: true, ...event("$pathname", ["/a", "/b"]) }),
    [
      ["/a", 3, 4, third],
      ["/b", 2, 2, null],
    ],
  ],
  [
    "test_entry_bounce_rate",
    table("InitialPage", { includeBounceRate: true }),
    [
      ["/a", 3, 8, third],
      ["/c", 1, 1, 1],
    ],
  ],
  ["test_limit", table("Page", { limit: 1 }), [["/a", 3, 4]]],
  ["an offset", table("Page", { limit: 1, offset: 1 }), [["/c", 2, 3]]],
  [
    "exits",
    table("ExitPage"),
    [
      ["/c", 2, 8],
      ["/a", 1, 1],
    ],
  ],
  [
    "browsers",
    table("Browser"),
    [
      ["Chrome", 2, 5],
      ["Safari", 1, 4],
    ],
  ],
  [
    "devices",
    table("DeviceType"),
    [
      ["Desktop", 2, 5],
      ["Mobile", 1, 4],
    ],
  ],
  [
    "countries",
    table("Country"),
    [
      ["DE", 1, 4],
      ["US", 1, 1],
    ],
  ],
  [
    "test_null_in_utm_tags",
    table("InitialUTMSource"),
    [
      [null, 2, 5],
      ["google", 1, 4],
    ],
  ],
  [
    "test_is_not_set_filter",
    table("InitialUTMSource", event("utm_source", "is_not_set", "is_not_set")),
    [[null, 2, 5]],
  ],
  ["test_no_session_id", table("InitialChannelType", event("$browser", "Opera")), []],
  [
    "channels",
    table("InitialChannelType"),
    [
      ["Unknown", 2, 5],
      ["Organic Search", 1, 4],
    ],
  ],
  [
    "by views",
    table("Browser", { orderBy: ["Views", "ASC"] }),
    [
      ["Safari", 1, 4],
      ["Chrome", 2, 5],
    ],
  ],
  [
    "fewer days",
    table("Page", { dateRange: { date_from: "2023-12-10", date_to: "2023-12-11" } }),
    [["/c", 1, 1]],
  ],
])("the table of %s", async (_, query, expected) => {
  const rows = await site.results<[string | null, ...[number | null, unknown][]]>(query);
  expect(rows.map(([value, ...cells]) => [value, ...cells.map(([now]) => now)])).toEqual(expected as never);
});

const goal = { conversionGoal: { customEventName: "bought" } };
const overview = (more: object = {}) => ({
  kind: "WebOverviewQuery",
  dateRange: { date_from: "2023-12-01", date_to: "2023-12-15" },
  properties: [],
  ...more,
});

test.each([
  [
    "all",
    overview(),
    [
      ["visitors", 3],
      ["views", 9],
      ["sessions", 4],
      ["session duration", 1.5],
      ["bounce rate", 50],
    ],
  ],
  [
    "a page",
    overview(event("$pathname", "/b")),
    [
      ["visitors", 2],
      ["views", 2],
      ["sessions", 2],
      ["session duration", 2.5],
      ["bounce rate", 0],
    ],
  ],
  [
    "no data",
    overview({ dateRange: { date_from: "2022-01-01", date_to: "2022-01-02" } }),
    [
      ["visitors", 0],
      ["views", 0],
      ["sessions", 0],
      ["session duration", null],
      ["bounce rate", null],
    ],
  ],
  [
    "test_conversion_goal_one_custom_event_conversion",
    overview(goal),
    [
      ["visitors", 3],
      ["total conversions", 1],
      ["unique conversions", 1],
      ["conversion rate", 100 / 3],
    ],
  ],
])("the overview of %s", async (_, query, expected) => {
  const items = await site.results<{ key: string; value: number | null }>(query);
  expect(items.map(({ key, value }) => [key, value])).toEqual(expected as never);
});

// stats_table.py, _order_by: visitors with a conversion, all conversions, then visitors; an asked column before them.
test("a table with a goal begins with what converts most", async () => {
  const at = "2023-12-02T12:00:00Z";
  const pages = [
    "/many",
    "/many",
    "/many",
    "/some bought",
    "/some bought",
    "/often bought bought",
    "/often",
    "/none",
  ];
  const goals = await makeProject(
    app,
    pages.flatMap((page, i) => visit(`visitor ${i}`, at, page, { $pathname: page.split(" ")[0] })),
  );
  await rested(app);
  const ranked = async (more: object = {}) =>
    (await goals.results<[string]>(table("Page", { ...goal, ...more }))).map(([value]) => value);
  const byGoal = ["/some", "/often", "/many", "/none"];
  expect(await ranked()).toEqual(byGoal);
  expect(await ranked({ orderBy: ["Views", "DESC"] })).toEqual(byGoal);
  expect(await ranked({ orderBy: ["Visitors", "DESC"] })).toEqual(["/many", "/some", "/often", "/none"]);
});

test("test_conversion_goal_one_custom_event_conversion in a table", async () => {
  const { body } = await site.query(table("InitialUTMSource", goal));
  expect([body["columns"], body["results"]]).toEqual([
    ["breakdown_value", "visitors", "total_conversions", "unique_conversions", "conversion_rate"].map(
      (name) => `context.columns.${name}`,
    ),
    [
      ["google", [1, null], [1, null], [1, null], [1, null]],
      [null, [2, null], [0, null], [0, null], [0, null]],
    ],
  ]);
});

// stats_table.py: hours east of UTC, views that have a size, addresses without their query.
test("tables by time zone, viewport and referrer", async () => {
  const at = "2023-12-02T12:00:00Z";
  const views = [
    {
      $timezone_offset: 180,
      $viewport_width: 100,
      $viewport_height: 50,
      $referrer: "https://a.example/b?c#d",
    },
    { $timezone_offset: -330, $viewport_width: 0, $viewport_height: 0, $timezone: "Asia/Kolkata" },
    { $viewport_width: 100, $viewport_height: 50 },
    { $timezone_offset: 0, $viewport_height: 50 },
  ];
  const zones = await makeProject(
    app,
    views.flatMap((more, i) => visit(`zone ${i}`, at, "/", more)),
  );
  await rested(app);
  const rows = async (by: string) =>
    (await zones.results<[unknown, [number]]>(table(by))).map(([value, [visitors]]) => [value, visitors]);
  expect((await rows("Timezone")).toSorted()).toEqual([
    [-3, 1],
    [0, 1],
    [5.5, 1],
  ]);
  expect(await rows("TimezoneName")).toEqual([["Asia/Kolkata", 1]]);
  expect(await rows("Viewport")).toEqual([["100x50", 2]]);
  expect(await rows("InitialReferringURL")).toEqual([["https://a.example/b", 1]]);
});
