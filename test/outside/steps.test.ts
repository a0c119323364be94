// Funnels and retention with the numbers of PostHog's test_funnel.py, test_funnel_strict.py, test_funnel_unordered.py,
// breakdown_cases.py, test_funnel_time_to_convert.py and test_retention_query_runner.py. Each row names its test.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type FunnelStep, noValue, type RetentionCohort } from "../../src/query/result.ts";
import { trimCohorts } from "../../src/query/results/figures.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Happening, makeProject, type PeerProject } from "../support/journeys.ts";

let app: RunningApp;
let project: PeerProject;
let sequence = 0;

/** Journeys below a name of their own: each event of theirs begins with it, and each person. */
const journeys: Happening[] = [];
function journey(
  group: string,
  person: string,
  ...steps: [event: string, at: string, properties?: object][]
): void {
  for (const [event, at, properties = {}] of steps) {
    const day = at.length > 2 ? at : `2020-01-${at}`;
    journeys.push([
      `${group} ${person}`,
      `${group} ${event}`,
      day,
      { ...properties, $set: { name: person } },
    ]);
  }
}
/** Steps a minute apart. */
const minutes = (...events: (string | [string, object])[]): [string, string, object][] =>
  events.map((step) => {
    const [event, properties] = typeof step === "string" ? [step, {}] : step;
    const at = new Date(Date.UTC(2020, 0, 5) + 60_000 * sequence++).toISOString();
    return [event, at, properties];
  });

// test_funnel_events, test_funnel_with_messed_up_order, test_funnel_skipped_step.
journey("buy", "signed", ...minutes("sign up"));
journey("buy", "paid", ...minutes("sign up", "pay"));
journey("buy", "watched", ...minutes("sign up", "pay", "movie"));
journey("buy", "movie", ...minutes("movie"));
journey("buy", "wrong", ...minutes("pay", "sign up", "movie"));
// test_funnel_with_matching_properties.
const a = { url: "a" };
const b = { url: "b" };
journey("url", "p1", ...minutes("in"));
journey("url", "p2", ...minutes("in", ["page", a]));
journey("url", "p3", ...minutes("in", ["page", a], ["other", a], ["page", b]));
journey("url", "p4", ...minutes("in", ["page", a], ["page", b], ["page", b], "other"));
journey("url", "p5", ...minutes("in", ["page", a], "other", ["page", b], ["page", a], ["page", b]));
// test_funnel_conversion_window, its seconds.
for (let i = 0; i < 5; i++) {
  const two = i < 2 ? "2020-01-02" : "2020-01-10";
  journey("window", `u${i}`, ["one", "01"], ["two", two]);
  if (i === 0) journey("month", "late", ["one", "01"], ["two", "2020-01-31 20:00:00"]);
  if (i === 0) journey("month", "too late", ["one", "01"], ["two", "2020-02-01 00:00:01"]);
  journey("seconds", `u${i}`, ["one", "01"], ["two", `2020-01-01 00:00:${i < 2 ? "10" : "20"}`]);
}
// funnel_udf.py orders values by their last step, then those before it, and cuts there.
for (let i = 0; i < 10; i++) journey("rank", `a${i}`, ...minutes(["open", { plan: "A" }]));
for (let i = 0; i < 2; i++)
  journey("rank", `b${i}`, ...minutes(["open", { plan: "B" }], ["buy", { plan: "B" }]));
for (let i = 0; i < 3; i++)
  journey("rank", `c${i}`, ...minutes(["open", { plan: "C" }], ...(i === 0 ? ["buy"] : [])));
// test_funnel_exclusion_no_end_event, test_funnel_exclusions_with_actions and between other steps.
journey("out", "clean", ["one", "2020-01-01 01:00:00"], ["two", "2020-01-01 02:00:00"]);
journey(
  "out",
  "left",
  ["one", "2020-01-01 03:00:00"],
  ["x", "2020-01-01 03:30:00"],
  ["two", "2020-01-01 04:00:00"],
);
journey(
  "out",
  "before",
  ["x", "2020-01-01 04:30:00"],
  ["one", "2020-01-01 05:00:00"],
  ["two", "2020-01-01 06:00:00"],
);
journey(
  "out",
  "again",
  ["one", "2020-01-01 07:00:00"],
  ["x", "2020-01-01 07:30:00"],
  ["one", "2020-01-01 08:00:00"],
  ["two", "2020-01-01 09:00:00"],
);
journey("out", "only", ["one", "2020-01-01 10:00:00"], ["x", "2020-01-01 10:30:00"]);
// test_first_time_for_user_funnel… of test_funnel.py: an earlier first one, a first one with other properties.
journey("new", "p1", ["in", "02", a], ["buy", "03", b]);
journey("new", "p2", ["in", "2019-12-20", a], ["in", "02", a], ["buy", "03"]);
journey("new", "p3", ["in", "02", b], ["in", "03", a], ["buy", "04", b], ["buy", "05", b]);
journey("new", "p4", ["in", "02", a], ["buy", "2020-01-01"], ["buy", "04", b]);
journey("new", "p5", ["buy", "02"], ["in", "03", a]);
// test_basic_unordered_funnel.
journey("any", "p1", ...minutes("in"));
journey("any", "p2", ...minutes("page", "in"));
journey("any", "p3", ...minutes("in", "page", "other", "view"));
journey("any", "p4", ...minutes("view", "page", "in"));
journey("any", "p5", ...minutes("page", "in", "other", "view"));
journey("any", "p6", ...minutes("other", "view"));
journey("any", "p7", ...minutes("page", "other"));
journey("any", "p8", ...minutes("view", "page"));
// test_funnel_step_breakdown_with_first_touch_attribution and its like.
const browser = ($browser: unknown) => ({ $browser });
journey("touch", "p1", ["sign up", "2020-01-01 12:00:00", browser("Chrome")], ["buy", "2020-01-01 13:00:00"]);
journey("touch", "p2", ["sign up", "2020-01-01 13:00:00"], ["buy", "2020-01-02 13:00:00", browser("Safari")]);
journey("touch", "p3", ["sign up", "2020-01-02 14:00:00", browser("Mac")], ["buy", "2020-01-02 15:00:00"]);
journey(
  "touch",
  "p4",
  ["sign up", "2020-01-02 15:00:00", browser(0)],
  ["buy", "2020-01-02 16:00:00", browser("Alakazam")],
);
journey("touch", "p5", ["sign up", "2020-01-02 15:00:00"], ["buy", "2020-01-02 16:00:00"]);
// test_funnel_step_breakdown_limit.
for (let n = 1; n < 5; n++)
  for (let i = 0; i < n; i++)
    journey(
      "limit",
      `p${n}${i}`,
      ["one", "2020-01-01 12:00:00", { v: String(n) }],
      ["two", "2020-01-01 13:00:00", { v: String(n) }],
    );
journey("limit", "none", ["one", "2020-01-01 12:00:00"], ["two", "2020-01-01 13:00:00"]);
// test_funnel_step_conversion_times.
journey(
  "times",
  "p1",
  ["one", "2020-01-01 12:00:00"],
  ["two", "2020-01-01 13:00:00"],
  ["three", "2020-01-01 15:00:00"],
);
journey("times", "p2", ["one", "2020-01-02 14:00:00"], ["two", "2020-01-02 16:00:00"]);
journey(
  "times",
  "p3",
  ["one", "2020-01-02 14:00:00"],
  ["two", "2020-01-02 16:00:00"],
  ["three", "2020-01-02 17:00:00"],
);
// test_auto_bin_count_single_step.
journey(
  "bins",
  "a",
  ["one", "2020-01-08 18:00:00"],
  ["two", "2020-01-08 19:00:00"],
  ["three", "2020-01-08 21:00:00"],
);
journey("bins", "b", ["one", "2020-01-09 13:00:00"], ["two", "2020-01-09 13:37:00"]);
journey("bins", "c", ["one", "2020-01-11 07:00:00"], ["two", "2020-01-12 06:00:00"]);
// _create_sample_data of test_funnel_trends.py.
for (const who of ["one", "six"]) journey("trend", who, ["one", "01"], ["two", "03"], ["three", "05"]);
for (const who of ["two", "seven"]) journey("trend", who, ["one", "02"], ["two", "04"]);
journey("trend", "three", ["one", "06"]);
journey(
  "trend",
  "five",
  ["one", "2020-01-01 01:00:00"],
  ["two", "2020-01-01 02:00:00"],
  ["three", "2020-01-01 03:00:00"],
);
// The events of test_retention_query_runner.py, by the tenth of June.
const june = (day: number, hour = 5) => new Date(Date.UTC(2020, 5, 10 + day, hour)).toISOString();
const came = (
  group: string,
  person: string,
  event: string,
  ...on: (number | [day: number, properties: object])[]
) =>
  on.forEach((item) => {
    const [day, properties] = Array.isArray(item) ? item : [item, {}];
    journey(group, person, [event, june(day), properties]);
  });
came("many", "p1", "some", 0, 1, 2, 3);
came("many", "p2", "some", 0, 1, 2, 3);
came("many", "p3", "some", 5);
came("many", "p1", "page", 5, 6);
came("many", "p2", "page", 5);
came("first", "out", "sign", -5, -1);
came("first", "p1", "sign", -1, 1, 2, 3, 4);
came("first", "p2", "sign", -1);
came("first", "p1", "page", 0, 1, 2, 5, 6);
came("first", "p2", "page", 1, 2, 3, 6);
came("first", "p3", "sign", 0);
came("first", "p3", "page", 1, 3, 4, 5);
came("first", "p4", "sign", 2);
came("first", "p4", "page", 3, 5);
const even = { some: "value" };
came("prop", "p1", "page", [0, even], 1, [2, even], [5, even], 6);
came("prop", "p2", "page", [1, even], 2, [3, even], 6);
came("ever", "p1", "page", 0, 1, 3, 5);
came("ever", "p1", "sign", 1);
came("ever", "p2", "sign", 1);
came("ever", "p2", "page", 2, 4);
came("ever", "p3", "page", 2, 4, 6);
came("ever", "p3", "sign", 3);
came("ever", "p4", "page", -1, 3);
came("ever", "p4", "sign", 2);
came("ever", "p5", "sign", 3);
came("ever", "p5", "page", 4, 5);
const country = (name: string) => ({ $set: { country: name } });
for (const [who, where, days] of [
  ["p1", "US", [0, 1, 3]],
  ["p3", "US", [0, 2]],
  ["p2", "UK", [0, 1, 4]],
  ["p4", "Germany", [0, 5]],
] as const)
  for (const day of days) journeys.push([`land ${who}`, "land page", june(day), country(where)]);

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const filter = [{ key: "name", value: ["paid"], operator: "is_not", type: "person" }];
  project = await makeProject(app, journeys, { test_account_filters: filter });
}, startMsMax);
afterAll(cleanUp, startMsMax);

const step = (event: string, properties?: object[]) => ({ event, ...(properties && { properties }) });
const is = (key: string, value: unknown, more: object = {}) => ({
  key,
  value,
  type: "event",
  operator: "exact",
  ...more,
});
/** A funnel of a group's steps; * is any event. */
function funnel(
  group: string,
  steps: (string | [string, object[]])[],
  funnelsFilter: object = {},
  more: object = {},
) {
  const series = steps.map((item) => {
    const [event, properties] = typeof item === "string" ? [item, undefined] : item;
    return event === "*" ? { event: null } : step(`${group} ${event}`, properties);
  });
  return {
    kind: "FunnelsQuery",
    series,
    dateRange: { date_from: "2020-01-01", date_to: "2020-01-14" },
    funnelsFilter,
    ...more,
  };
}
const out = (event: string, funnelFromStep: number, funnelToStep: number) => ({
  exclusions: [{ kind: "EventsNode", event, funnelFromStep, funnelToStep }],
});
const counts = (steps: readonly FunnelStep[]) => steps.map(({ count }) => count);
const byBrowser = { breakdownFilter: { breakdown: "$browser", breakdown_type: "event" } };

/** Steps of which only the first event of the name, or also of the filters, counts. */
const onlyFirst = (math: string, group: string, steps: Parameters<typeof funnel>[1], ...more: object[]) => {
  const query = funnel(group, steps, ...more) as { series: object[] };
  return { ...query, series: [{ ...query.series[0], math }, ...query.series.slice(1)] };
};
const ever = "first_time_for_user";
const ofUrl: Parameters<typeof funnel>[1] = [["in", [is("url", "a")]], "buy"];
const buy = ["sign up", "pay", "movie"];
test.each([
  ["test_funnel_events", funnel("buy", buy), [4, 2, 1]],
  ["test_funnel_with_messed_up_order", funnel("buy", ["sign up", "movie"]), [4, 2]],
  ["test_funnel_skipped_step", funnel("buy", ["sign up", "none", "movie"]), [4, 0, 0]],
  ["test_funnel_filter_test_accounts", funnel("buy", buy, {}, { filterTestAccounts: true }), [3, 1, 1]],
  [
    "test_funnel_with_entity_person_property_filters",
    funnel("buy", [["sign up", [is("name", "is_set", { type: "person", operator: "is_set" })]], "*"]),
    [4, 3],
  ],
  [
    "test_funnel_person_prop",
    funnel("buy", buy, {}, { properties: [is("name", "watched", { type: "person" })] }),
    [1, 1, 1],
  ],
  ["without math", funnel("new", ["in", "buy"]), [5, 4]],
  ["test_first_time_for_user_funnel", onlyFirst(ever, "new", ["in", "buy"]), [4, 3]],
  ["a first time that passes the filters", onlyFirst(ever, "new", ofUrl), [3, 2]],
  ["the first of the filters", onlyFirst("first_time_for_user_with_filters", "new", ofUrl), [4, 3]],
  [
    "a first time in strict order",
    onlyFirst(ever, "new", ["in", "buy"], { funnelOrderType: "strict" }),
    [4, 2],
  ],
  ["without order", onlyFirst(ever, "new", ["in", "in", "buy"], { funnelOrderType: "unordered" }), [5, 5, 1]],
  ["with an exclusion", onlyFirst(ever, "new", ["in", "buy"], out("new none", 0, 1)), [4, 3]],
  [
    "of groups of an expression",
    onlyFirst(ever, "new", ["in", "buy"], { funnelAggregateByHogQL: "distinct_id" }),
    [4, 3],
  ],
  ["by strict order", funnel("buy", buy, { funnelOrderType: "strict" }), [4, 2, 1]],
  ["without order", funnel("buy", buy, { funnelOrderType: "unordered" }), [5, 3, 2]],
  [
    "test_funnel_with_matching_properties",
    funnel("url", [
      "in",
      ["page", [is("url", "a")]],
      ["page", [is("url", "b")]],
      ["page", [is("url", "b")]],
      "page",
    ]),
    [5, 4, 3, 2, 0],
  ],
  [
    "with two conditions",
    funnel("url", ["in", ["page", [is("url", "a"), is("url", "b", { operator: "is_not" })]]]),
    [5, 4],
  ],
  [
    "test_funnel_conversion_window",
    funnel("window", ["one", "two", "three"], { funnelWindowInterval: 7 }),
    [5, 2, 0],
  ],
  [
    "a window of weeks",
    funnel("window", ["one", "two"], { funnelWindowInterval: 1, funnelWindowIntervalUnit: "week" }),
    [5, 2],
  ],
  [
    "a window of months",
    funnel("window", ["one", "two"], { funnelWindowInterval: 1, funnelWindowIntervalUnit: "month" }),
    [5, 5],
  ],
  [
    "a window of 31 days: DATERANGE_MAP of posthog/utils.py",
    funnel(
      "month",
      ["one", "two"],
      { funnelWindowInterval: 1, funnelWindowIntervalUnit: "month" },
      { dateRange: { date_from: "2020-01-01", date_to: "2020-02-02" } },
    ),
    [2, 1],
  ],
  [
    "a window of hours",
    funnel("window", ["one", "two"], { funnelWindowInterval: 24, funnelWindowIntervalUnit: "hour" }),
    [5, 2],
  ],
  [
    "test_funnel_conversion_window_seconds",
    funnel("seconds", ["one", "two", "three"], {
      funnelWindowInterval: 15,
      funnelWindowIntervalUnit: "second",
    }),
    [5, 2, 0],
  ],
  ["test_funnel_exclusion_no_end_event", funnel("out", ["one", "two"], out("out x", 0, 1)), [3, 3]],
  [
    "an exclusion between the last steps",
    funnel("out", ["one", "one", "two"], out("out x", 1, 2)),
    [5, 1, 1],
  ],
  [
    "an exclusion in strict order",
    funnel("out", ["one", "two"], { ...out("out x", 0, 1), funnelOrderType: "strict" }),
    [3, 3],
  ],
  [
    "test_basic_unordered_funnel",
    funnel("any", ["in", "page", "view"], { funnelOrderType: "unordered" }),
    [8, 5, 3],
  ],
  ["test_funnel_step_conversion_times", funnel("times", ["one", "two", "three"]), [3, 3, 2]],
  [
    "all events",
    funnel(
      "times",
      ["*", "times three"],
      {},
      { series: [step("times one"), { event: null }, step("times three")] },
    ),
    [3, 3, 2],
  ],
])("the steps of %s", async (_, query, expected) => {
  expect(counts(await project.results<FunnelStep>(query))).toEqual(expected);
});

test.each([
  [
    "test_funnel_step_conversion_times",
    funnel("times", ["one", "two", "three"]),
    [
      [null, null],
      [6000, 7200],
      [5400, 5400],
    ],
  ],
  [
    "test_funnel_times_with_different_conversion_windows",
    funnel("times", ["one", "two"], { funnelWindowInterval: 90, funnelWindowIntervalUnit: "minute" }),
    [
      [null, null],
      [3600, 3600],
    ],
  ],
  [
    "without order",
    funnel("times", ["three", "one", "two"], { funnelOrderType: "unordered" }),
    [
      [null, null],
      [6000, 7200],
      [5400, 5400],
    ],
  ],
])("the times of %s", async (_, query, expected) => {
  const steps = await project.results<FunnelStep>(query);
  expect(steps.map((item) => [item.average_conversion_time, item.median_conversion_time])).toEqual(
    expected as never,
  );
});

const touched = (breakdownAttributionType: string, more: object = {}) =>
  funnel(
    "touch",
    ["sign up", "buy"],
    { funnelWindowInterval: 7, breakdownAttributionType, ...more },
    byBrowser,
  );
const limited = (breakdown_limit: number) =>
  funnel(
    "limit",
    ["one", "two"],
    {},
    { breakdownFilter: { breakdown: "v", breakdown_type: "event", breakdown_limit } },
  );
// The value, and the persons of each step.
test.each([
  [
    "test_funnel_step_breakdown_with_first_touch_attribution",
    touched("first_touch"),
    [
      ["0", 1, 1],
      ["Chrome", 1, 1],
      ["Mac", 1, 1],
      ["Safari", 1, 1],
      ["none", 1, 1],
    ],
  ],
  [
    "test_funnel_step_breakdown_with_last_touch_attribution",
    touched("last_touch"),
    [
      ["Alakazam", 1, 1],
      ["Chrome", 1, 1],
      ["Mac", 1, 1],
      ["Safari", 1, 1],
      ["none", 1, 1],
    ],
  ],
  [
    "test_funnel_step_breakdown_with_step_attribution",
    touched("step", { breakdownAttributionValue: 0 }),
    [
      ["0", 1, 1],
      ["Chrome", 1, 1],
      ["Mac", 1, 1],
      ["none", 2, 2],
    ],
  ],
  [
    "test_funnel_step_breakdown_with_step_one_attribution",
    touched("step", { breakdownAttributionValue: 1 }),
    [
      ["Alakazam", 1, 1],
      ["Safari", 1, 1],
      ["none", 3, 3],
    ],
  ],
  [
    "test_funnel_step_breakdown_limit",
    limited(2),
    [
      ["3", 3, 3],
      ["4", 4, 4],
      ["others", 4, 4],
    ],
  ],
  [
    "test_funnel_step_custom_breakdown_limit_with_nulls_included",
    limited(6),
    [
      ["1", 1, 1],
      ["2", 2, 2],
      ["3", 3, 3],
      ["4", 4, 4],
      ["none", 1, 1],
    ],
  ],
  [
    "by a person's property",
    funnel("buy", buy, {}, { breakdownFilter: { breakdown: "name", breakdown_type: "person" } }),
    [
      ["paid", 1, 1, 0],
      ["signed", 1, 0, 0],
      ["watched", 1, 1, 1],
      ["wrong", 1, 0, 0],
    ],
  ],
  [
    "of a first time",
    onlyFirst(ever, "new", ["in", "buy"], {}, { breakdownFilter: { breakdown: "url" } }),
    [
      ["a", 3, 2],
      ["b", 1, 1],
    ],
  ],
  [
    "in strict order",
    funnel("touch", ["sign up", "buy"], { funnelOrderType: "strict" }, byBrowser),
    [
      ["0", 1, 1],
      ["Chrome", 1, 1],
      ["Mac", 1, 1],
      ["Safari", 1, 1],
      ["none", 1, 1],
    ],
  ],
] as const)("the values of %s", async (_, query, expected) => {
  const found = await project.results<FunnelStep[]>(query);
  const name = ([value = ""]: string[]) =>
    value === noValue ? "none" : value === "Other" ? "others" : value;
  const rows = found.map((steps) => [name([steps[0]!.breakdown ?? ""].flat()), ...counts(steps)]);
  expect(rows.toSorted((x, y) => (String(x[0]) < String(y[0]) ? -1 : 1))).toEqual(
    expected.map((row) => [...row]),
  );
});

// funnel_udf.py, get_query(): `order_by`, `use_breakdown_limit`; funnel_trends_udf.py ranks by who began.
test("a funnel's values rank by their last step, and only stored ones are cut", async () => {
  const ranked = async (breakdown: string, breakdown_type: string, breakdown_limit: number) => {
    const breakdownFilter = { breakdown, breakdown_type, breakdown_limit };
    const query = funnel("rank", ["open", "buy"], {}, { breakdownFilter });
    const found = await project.results<FunnelStep[]>(query);
    return found.map((steps) => [...[steps[0]!.breakdown_value ?? ""].flat(), ...counts(steps)]);
  };
  const others = "Other";
  expect(await ranked("plan", "event", 1)).toEqual([
    ["B", 2, 2],
    [others, 13, 1],
  ]);
  const all = [
    ["B", 2, 2],
    ["C", 3, 1],
    ["A", 10, 0],
  ];
  expect(await ranked("plan", "event", 3)).toEqual(all);
  expect(await ranked("properties.plan", "hogql", 1)).toEqual(all);
  const lines = async (breakdown_limit: number) => {
    const breakdownFilter = { breakdown: "plan", breakdown_limit };
    const query = funnel("rank", ["open", "buy"], { funnelVizType: "trends" }, { breakdownFilter });
    const found = await project.results<{ breakdown_value: string[] }>(query);
    return found.map((line) => line.breakdown_value);
  };
  expect(await lines(1)).toEqual([["A"], [others]]);
  // funnel_trends.py, _format_summarized_results(): in the order of the values.
  expect(await lines(2)).toEqual([["A"], ["C"], [others]]);
  expect(await lines(3)).toEqual([["A"], ["B"], ["C"]]);
  const source = funnel(
    "rank",
    ["open", "buy"],
    {},
    { breakdownFilter: { breakdown: "plan", breakdown_limit: 1 } },
  );
  const figure = { funnelStep: 2, funnelStepBreakdown: [others] };
  expect(await names(source, "FunnelsActorsQuery", figure)).toEqual(["c0"]);
});

async function names(source: object, kind: string, more: object): Promise<string[]> {
  const query = { kind: "ActorsQuery", select: ["properties.name"], source: { kind, source, ...more } };
  return (await project.results<[string]>(query)).map(([name]) => name).toSorted();
}

test.each([
  ["those who came", funnel("buy", buy), { funnelStep: 2 }, ["paid", "watched"]],
  ["those who left", funnel("buy", buy), { funnelStep: -3 }, ["paid"]],
  ["in strict order", funnel("buy", buy, { funnelOrderType: "strict" }), { funnelStep: 3 }, ["watched"]],
  [
    "test_basic_unordered_funnel",
    funnel("any", ["in", "page", "view"], { funnelOrderType: "unordered" }),
    { funnelStep: -2 },
    ["p1", "p6", "p7"],
  ],
  [
    "test_basic_unordered_funnel",
    funnel("any", ["in", "page", "view"], { funnelOrderType: "unordered" }),
    { funnelStep: -3 },
    ["p2", "p8"],
  ],
  ["of a value", touched("first_touch"), { funnelStep: 1, funnelStepBreakdown: ["0"] }, ["p4"]],
  [
    "of a value that is no list",
    touched("last_touch"),
    { funnelStep: 2, funnelStepBreakdown: "Alakazam" },
    ["p4"],
  ],
  [
    "of the others",
    limited(3),
    { funnelStep: 1, funnelStepBreakdown: "$$_posthog_breakdown_other_$$" },
    ["none", "p10"],
  ],
  [
    "with an exclusion",
    funnel("out", ["one", "two"], out("out x", 0, 1)),
    { funnelStep: 2 },
    ["again", "before", "clean"],
  ],
  ["of a first time", onlyFirst(ever, "new", ["in", "buy"]), { funnelStep: 2 }, ["p1", "p3", "p4"]],
  [
    "of a trend that converted",
    funnel("trend", ["one", "two", "three"], { funnelVizType: "trends" }),
    { funnelTrendsDropOff: false, funnelTrendsEntrancePeriodStart: "2020-01-01 00:00:00" },
    ["five", "one", "six"],
  ],
  [
    "of a trend that left",
    funnel("trend", ["one", "two", "three"], { funnelVizType: "trends" }),
    { funnelTrendsDropOff: true, funnelTrendsEntrancePeriodStart: "2020-01-02 00:00:00" },
    ["seven", "two"],
  ],
])("the persons of a funnel: %s", async (_, query, more, expected) => {
  expect(await names(query, "FunnelsActorsQuery", more)).toEqual(expected);
});

test("the conversions and times of test_funnel_trends.py and test_funnel_time_to_convert.py", async () => {
  const three = ["one", "two", "three"];
  const [trend] = await project.results<{ data: number[]; days: string[] }>(
    funnel(
      "trend",
      three,
      { funnelVizType: "trends", funnelWindowInterval: 7 },
      { dateRange: { date_from: "2020-01-01", date_to: "2020-01-07" } },
    ),
  );
  expect(trend!.data).toEqual([100, 0, 0, 0, 0, 0, 0]);
  const two = funnel(
    "trend",
    three,
    { funnelVizType: "trends", funnelWindowInterval: 7, funnelFromStep: 0, funnelToStep: 1 },
    { dateRange: { date_from: "2020-01-01", date_to: "2020-01-07" } },
  );
  expect((await project.results<{ data: number[] }>(two))[0]!.data).toEqual([100, 100, 0, 0, 0, 0, 0]);
  const times = async (more: object = {}) => {
    const query = funnel("bins", three, {
      funnelVizType: "time_to_convert",
      funnelFromStep: 0,
      funnelToStep: 1,
      funnelWindowInterval: 7,
      ...more,
    });
    return (await project.query(query)).body["results"];
  };
  expect(await times()).toEqual({
    bins: [
      [2220, 2],
      [42510, 0],
      [82800, 1],
    ],
    average_conversion_time: 29_540,
  });
  expect(await times({ binCount: 7 })).toEqual({
    bins: [
      [2220, 2],
      [13732, 0],
      [25244, 0],
      [36756, 0],
      [48268, 0],
      [59780, 0],
      [71292, 1],
      [82804, 0],
    ],
    average_conversion_time: 29_540,
  });
});

test.each([
  { exclusions: [{ kind: "EventsNode", event: "x", funnelFromStep: 1, funnelToStep: 1 }] },
  out("x", 1, 2),
  out("x", 2, 1),
  out("x", 0, 2),
])("test_funnel_exclusions_invalid_params: %j is refused", async (filter) => {
  expect((await project.query(funnel("out", ["one", "two"], filter))).status).toBe(400);
});

const entity = (group: string, event: string, more: object = {}) => ({
  id: `${group} ${event}`,
  type: "events",
  ...more,
});
const retention = (until: number, retentionFilter: object, more: object = {}) => ({
  kind: "RetentionQuery",
  dateRange: { date_to: june(until, 6) },
  retentionFilter: { period: "Day", ...retentionFilter },
  ...more,
});
const pair = (group: string, target: string, returning: string) => ({
  targetEntity: entity(group, target),
  returningEntity: entity(group, returning),
});
const ofGroup = (group: string) => ({ type: "hogql", key: `event like '${group} %'` });
const anyEvent = { id: null, type: "events" };
const firsts = [
  [2, 1, 2, 2, 1, 0, 1],
  [1, 1, 0, 1, 1, 1],
  [0, 0, 0, 0, 0],
  [1, 1, 0, 1],
  [0, 0, 0],
  [0, 0],
  [0],
];

test.each([
  [
    "test_retention_multiple_events",
    retention(6, { totalIntervals: 7, ...pair("many", "some", "page") }),
    [[2, 0, 0, 0, 0, 2, 1], [2, 0, 0, 0, 2, 1], [2, 0, 0, 2, 1], [2, 0, 2, 1], [0, 0, 0], [1, 0], [0]],
  ],
  [
    "test_retention_any_event",
    retention(
      6,
      { totalIntervals: 7, targetEntity: anyEvent, returningEntity: anyEvent },
      { properties: [ofGroup("many")] },
    ),
    [[2, 2, 2, 2, 0, 2, 1], [2, 2, 2, 0, 2, 1], [2, 2, 0, 2, 1], [2, 0, 2, 1], [0, 0, 0], [3, 1], [1]],
  ],
  [
    "test_retention_with_properties",
    retention(
      6,
      { totalIntervals: 7, ...pair("prop", "page", "page") },
      { properties: [is("some", ["value"])] },
    ),
    [[1, 0, 1, 0, 0, 1, 0], [1, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0], [1, 0], [0]],
  ],
  [
    "test_retention_with_properties_on_start_event",
    retention(6, {
      totalIntervals: 7,
      targetEntity: entity("prop", "page", { properties: [is("some", ["value"])] }),
      returningEntity: entity("prop", "page"),
    }),
    [[1, 1, 1, 0, 0, 1, 1], [1, 1, 1, 0, 0, 1], [1, 0, 0, 1, 1], [1, 0, 0, 1], [0, 0, 0], [1, 1], [0]],
  ],
  [
    "test_retention_with_user_properties",
    retention(
      6,
      { totalIntervals: 7, ...pair("prop", "page", "page") },
      { properties: [is("name", ["p1"], { type: "person" })] },
    ),
    [[1, 1, 1, 0, 0, 1, 1], [1, 1, 0, 0, 1, 1], [1, 0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0], [1, 1], [1]],
  ],
  [
    "test_retention_with_first_time_filter",
    retention(6, {
      totalIntervals: 7,
      retentionType: "retention_first_time",
      ...pair("first", "sign", "page"),
    }),
    [[1, 1, 0, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0], [1, 1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0], [0, 0], [0]],
  ],
  [
    "test_first_time_retention",
    retention(5, {
      totalIntervals: 7,
      retentionType: "retention_first_time",
      ...pair("first", "sign", "page"),
    }),
    firsts,
  ],
  [
    "test_first_time_retention_weeks",
    retention(5, {
      totalIntervals: 7,
      period: "Week",
      retentionType: "retention_first_time",
      ...pair("first", "sign", "page"),
    }),
    [[0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0], [4, 4], [0]],
  ],
  [
    "test_retention_first_time_ever_basic",
    retention(7, {
      totalIntervals: 8,
      retentionType: "retention_first_ever_occurrence",
      ...pair("ever", "sign", "page"),
    }),
    [
      [0, 0, 0, 0, 0, 0, 0, 0],
      [2, 1, 1, 1, 1, 0, 0],
      [1, 1, 0, 0, 0, 0],
      [2, 2, 1, 1, 0],
      [0, 0, 0, 0],
      [0, 0, 0],
      [0, 0],
      [0],
    ],
  ],
  [
    "by months",
    retention(5, { totalIntervals: 2, period: "Month", ...pair("many", "some", "page") }),
    [[0, 0], [3]],
  ],
  [
    "cumulative",
    retention(6, { totalIntervals: 7, cumulative: true, ...pair("many", "some", "page") }),
    [[2, 2, 2, 2, 2, 2, 1], [2, 2, 2, 2, 2, 1], [2, 2, 2, 2, 1], [2, 2, 2, 1], [0, 0, 0], [1, 0], [0]],
  ],
  [
    "at least twice",
    retention(6, { totalIntervals: 7, minimumOccurrences: 2, ...pair("many", "some", "page") }),
    [[2, 0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0], [2, 0, 0, 0], [0, 0, 0], [1, 0], [0]],
  ],
  [
    "without test accounts",
    retention(1, { totalIntervals: 2, ...pair("many", "some", "some") }, { filterTestAccounts: true }),
    [[2, 2], [2]],
  ],
] as const)("the table of %s", async (_, query, expected) => {
  const rows = await project.results<RetentionCohort>(query);
  const counts = trimCohorts(rows).map(({ values }) => values.map(({ count }) => count));
  expect(counts).toEqual(expected.map((row) => [...row]));
});

test.each([
  [
    "of a row",
    retention(6, { totalIntervals: 7, ...pair("many", "some", "page") }),
    { interval: 0 },
    ["p1", "p2"],
  ],
  [
    "of a later row",
    retention(6, { totalIntervals: 7, ...pair("many", "some", "page") }),
    { interval: 5 },
    ["p3"],
  ],
  [
    "of a first time",
    retention(5, {
      totalIntervals: 7,
      retentionType: "retention_first_time",
      ...pair("first", "sign", "page"),
    }),
    { interval: 0 },
    ["p1", "p2"],
  ],
])("the persons of a table: %s", async (_, query, more, expected) => {
  const found = await names(query, "InsightActorsQuery", more);
  expect(found).toEqual(expected);
});

test("rows of a table have labels and dates", async () => {
  const rows = await project.results<RetentionCohort>(
    retention(6, { totalIntervals: 3, ...pair("many", "some", "page") }),
  );
  expect(rows.map(({ label, date }) => [label, date])).toEqual([
    ["Day 0", "2020-06-14T00:00:00+00:00"],
    ["Day 1", "2020-06-15T00:00:00+00:00"],
    ["Day 2", "2020-06-16T00:00:00+00:00"],
  ]);
});
