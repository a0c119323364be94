// Lines, their breakdowns, formulas, comparisons and persons with the numbers of PostHog's test_trends_query_runner.py,
// test_trends.py and test_trends_actors_query_builder.py, on data of our own. Each row names what it stands for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { noValue, otherValues, type TrendLine } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Happening, makeProject, type PeerProject } from "../support/journeys.ts";

let app: RunningApp;
let usual: PeerProject;

const noon = (day: number) => `2020-01-${String(day).padStart(2, "0")}T12:00:00Z`;
type Visitor = [
  who: string,
  browser: string,
  prop: number,
  on: boolean,
  groups: object,
  views: number[],
  leaves: number[],
];
const visitors: Visitor[] = [
  ["p1", "Chrome", 10, true, { organization: "org:5" }, [11, 12, 13, 15, 17, 19], [11, 12, 13]],
  ["p2", "Firefox", 20, false, { organization: "org:6" }, [9, 12], [13]],
  ["p3", "Edge", 30, true, { organization: "org:7", company: "company:10" }, [12], [13]],
  ["p4", "Safari", 40, false, { organization: "company:10" }, [15], [16]],
];
const groups: [type: string, key: string, properties: object][] = [
  ["organization", "org:5", { name: "Flix", industry: "finance" }],
  ["organization", "org:6", { name: "Box", industry: "technology" }],
  ["organization", "org:7", { name: "Bank", industry: "finance" }],
  ["company", "company:10", { name: "Head", industry: "service", employee_count: "50-249" }],
];

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const described = groups.map(([$group_type, $group_key, $group_set]): Happening => {
    return ["p0", "$groupidentify", "2020-01-01", { $group_type, $group_key, $group_set }];
  });
  const events = visitors.flatMap(([who, $browser, prop, bool_field, $groups, views, leaves]) => {
    const email = who === "p1" ? { email: "test@example.com" } : {};
    const properties = {
      $browser,
      prop,
      bool_field,
      $groups,
      $set: { name: who, score: Number(who[1]), ...email },
    };
    const at =
      (event: string) =>
      (day: number): Happening => [who, event, noon(day), properties];
    return [...views.map(at("$pageview")), ...leaves.map(at("$pageleave"))];
  });
  usual = await makeProject(app, [...described, ...events]);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const view = { event: "$pageview" };
const leave = { event: "$pageleave" };
const days = (date_from: string, date_to?: string) => ({
  dateRange: { date_from, ...(date_to && { date_to }) },
});
const twelve = days("2020-01-09", "2020-01-20");
const five = days("2020-01-15", "2020-01-19");
const trend = (series: object | object[], ...more: object[]): object =>
  Object.assign({ kind: "TrendsQuery", series: [series].flat(), ...twelve }, ...more);
const by = (breakdown: unknown, breakdown_type = "event", more: object = {}) => ({
  breakdownFilter: { breakdown, breakdown_type, ...more },
});
const byAll = (...breakdowns: object[]) => ({ breakdownFilter: { breakdowns } });
const shown = (display: string, more: object = {}) => ({ trendsFilter: { display, ...more } });
const formula = (...formulas: string[]) => ({ trendsFilter: { formulas } });
const compared = (compare_to?: string) => ({
  compareFilter: { compare: true, ...(compare_to && { compare_to }) },
});
const where = (...properties: object[]) => ({ properties });
const is = (key: string, value: unknown, type = "event", operator = "exact", more: object = {}) => ({
  key,
  value,
  type,
  operator,
  ...more,
});

/** What is read of the lines. */
const views: Readonly<Record<string, (line: TrendLine & Record<string, unknown>) => unknown>> = {
  data: ({ data }) => data,
  count: ({ count }) => count,
  days: ({ days }) => days,
  labels: ({ labels }) => labels,
  label: ({ label }) => label,
  number: ({ aggregated_value }) => aggregated_value,
  values: ({ label, count }) => [label, count],
  breakdowns: ({ breakdown_value, count }) => [breakdown_value, count],
  numbers: ({ breakdown_value, aggregated_value }) => [breakdown_value, aggregated_value],
  compared: ({ compare_label, data }) => [compare_label, data],
  comparedNumbers: ({ compare_label, aggregated_value }) => [compare_label, aggregated_value],
  comparedValues: ({ compare_label, breakdown_value, count }) => [compare_label, breakdown_value, count],
  comparedFormulas: ({ compare_label, label, data }) => [compare_label, label, data],
  emptied: ({ data, days, count }) => [data, days, count],
};
type Case = readonly [source: string, query: object, read: keyof typeof views, expected: unknown[]];

const usualData = [1, 0, 1, 3, 1, 0, 2, 0, 1, 0, 1, 0];
const trends: Case[] = [
  ["test_trends_label", trend(view), "label", ["$pageview"]],
  ["test_trends_count", trend([view, leave]), "count", [10, 6]],
  ["test_trends_aggregation_total", trend({ ...view, math: "total" }), "data", [usualData]],
  ["test_trends_aggregation_dau", trend({ ...view, math: "dau" }), "data", [usualData]],
  [
    "test_trends_aggregation_wau",
    trend({ ...view, math: "weekly_active" }),
    "data",
    [[1, 1, 2, 3, 3, 3, 4, 4, 4, 4, 2, 2]],
  ],
  [
    "test_trends_aggregation_mau_long_interval",
    trend({ ...view, math: "monthly_active" }, days("2019-12-31", "2020-02-01"), { interval: "month" }),
    "data",
    [[0, 4, 0]],
  ],
  [
    "test_trends_aggregation_monthly_active_groups_long_interval",
    trend({ ...view, math: "monthly_active", math_group_type_index: 0 }, days("2019-12-31", "2020-02-01"), {
      interval: "month",
    }),
    "data",
    [[0, 4, 0]],
  ],
  ["unique groups", trend({ ...view, math: "unique_group", math_group_type_index: 0 }), "data", [usualData]],
  [
    "unique groups of another type",
    trend({ ...view, math: "unique_group", math_group_type_index: 1 }),
    "data",
    [[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]],
  ],
  [
    "min",
    trend({ ...view, math: "min", math_property: "prop" }),
    "data",
    [[20, 0, 10, 10, 10, 0, 10, 0, 10, 0, 10, 0]],
  ],
  [
    "max",
    trend({ ...view, math: "max", math_property: "prop" }),
    "data",
    [[20, 0, 10, 30, 10, 0, 40, 0, 10, 0, 10, 0]],
  ],
  [
    "median",
    trend({ ...view, math: "median", math_property: "prop" }),
    "data",
    [[20, 0, 10, 20, 10, 0, 25, 0, 10, 0, 10, 0]],
  ],
  [
    "p90",
    trend({ ...view, math: "p90", math_property: "prop" }),
    "data",
    [[20, 0, 10, 28, 10, 0, 37, 0, 10, 0, 10, 0]],
  ],
  [
    "test_trends_aggregation_per_actor_max",
    trend({ ...view, math: "max_count_per_actor" }),
    "data",
    [[1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0]],
  ],
  [
    "avg_count_per_actor as a number",
    trend({ ...view, math: "avg_count_per_actor" }, shown("BoldNumber")),
    "number",
    [2.5],
  ],
  [
    "median_count_per_actor as a number",
    trend({ ...view, math: "median_count_per_actor" }, shown("BoldNumber")),
    "number",
    [1.5],
  ],
  ["test_trends_display_aggregate", trend(view, shown("BoldNumber")), "number", [10]],
  ["test_trends_display_aggregate", trend(view, shown("BoldNumber")), "emptied", [[[], [], 0]]],
  [
    "test_trends_display_aggregate_interval",
    trend(view, shown("BoldNumber"), { interval: "month" }),
    "number",
    [10],
  ],
  ["a pie by events", trend([view, leave], shown("ActionsPie")), "number", [10, 6]],
  [
    "test_trends_labels_hour",
    trend(view, days("2020-01-09", "2020-01-09T00:00:00"), { interval: "hour" }),
    "labels",
    [["9-Jan 00:00"]],
  ],
  [
    "labels of minutes",
    trend(view, days("2020-01-09T12:00:00", "2020-01-09T12:02:00"), { interval: "minute" }),
    "labels",
    [["9-Jan 12:00", "9-Jan 12:01", "9-Jan 12:02"]],
  ],
  [
    "days of hours",
    trend(view, days("2020-01-09T11:00:00", "2020-01-09T13:00:00"), { interval: "hour" }),
    "days",
    [["2020-01-09 11:00:00", "2020-01-09 12:00:00", "2020-01-09 13:00:00"]],
  ],
  [
    "labels of months",
    trend(view, days("2019-12-31", "2020-02-01"), { interval: "month" }),
    "labels",
    [["Dec 2019", "Jan 2020", "Feb 2020"]],
  ],
  [
    "days of weeks",
    trend(view, days("2020-01-09", "2020-01-20"), { interval: "week" }),
    "days",
    [["2020-01-05", "2020-01-12", "2020-01-19"]],
  ],
  [
    "smoothed",
    trend(view, { trendsFilter: { smoothingIntervals: 3 } }),
    "data",
    [[1, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 0]],
  ],
  ["all events", trend({ event: null }), "values", [["All events", 16]]],
  ["test_filter_events_by_property", trend(view, where(is("$browser", "Chrome"))), "count", [6]],
  ["a filter of the series", trend({ ...view, ...where(is("$browser", ["Chrome", "Edge"])) }), "count", [7]],
  [
    "both",
    trend({ ...view, ...where(is("bool_field", "true")) }, where(is("$browser", "Edge"))),
    "count",
    [1],
  ],
  [
    "a person's property",
    trend(view, where(is("email", "example.com", "person", "icontains"))),
    "count",
    [6],
  ],
  [
    "a person without a property",
    trend(view, where(is("email", "is_not_set", "person", "is_not_set"))),
    "count",
    [4],
  ],
  [
    "a group's property",
    trend(view, where(is("industry", "finance", "group", "exact", { group_type_index: 0 }))),
    "count",
    [7],
  ],
  [
    "HogQL",
    trend(view, where({ type: "hogql", key: "properties.prop > 15 and properties.prop < 35" })),
    "count",
    [3],
  ],
  ["numbers", trend(view, where(is("prop", 20, "event", "gt"))), "count", [2]],
  [
    "filters of groups",
    trend(view, {
      properties: {
        type: "OR",
        values: [
          { type: "AND", values: [is("$browser", "Chrome"), is("prop", 10)] },
          { type: "AND", values: [is("$browser", "Edge")] },
        ],
      },
    }),
    "count",
    [7],
  ],
  [
    "test_trends_event_metadata_filter_group",
    trend(view, where(is("$group_0", "org:5", "event_metadata"))),
    "count",
    [6],
  ],
  ["not that group", trend(view, where(is("$group_0", "org:5", "event_metadata", "is_not"))), "count", [4]],
  [
    "an event's own columns",
    trend(
      { event: null },
      where(
        is("distinct_id", ["p2", "p3"], "event_metadata"),
        is("event", "leave", "event_metadata", "icontains"),
      ),
    ),
    "count",
    [2],
  ],
  [
    "its moment",
    trend(view, where(is("timestamp", "2020-01-15", "event_metadata", "is_date_after"))),
    "count",
    [4],
  ],
  [
    "test_trends_math_first_time_for_user_date_ranges",
    trend({ ...view, math: "first_time_for_user", ...where(is("$browser", "Chrome")) }),
    "count",
    [1],
  ],
  [
    "test_trends_aggregation_property_avg_person_property",
    trend({ ...view, math: "max", math_property: "score", math_property_type: "person_properties" }, five),
    "data",
    [[4, 0, 1, 0, 1]],
  ],
];

const breakdowns: Case[] = [
  [
    "test_trends_breakdowns",
    trend(view, by("$browser")),
    "values",
    [
      ["Chrome", 6],
      ["Firefox", 2],
      ["Edge", 1],
      ["Safari", 1],
    ],
  ],
  [
    "test_trends_breakdowns_boolean",
    trend(view, by("bool_field")),
    "breakdowns",
    [
      ["true", 7],
      ["false", 3],
    ],
  ],
  [
    "test_trends_breakdowns_histogram",
    trend(view, by("prop", "event", { breakdown_histogram_bin_count: 4 })),
    "breakdowns",
    [
      ["[10,17.5]", 6],
      ["[17.5,25]", 2],
      ["[25,32.5]", 1],
      ["[32.5,40.01]", 1],
    ],
  ],
  [
    "test_trends_breakdowns_multiple_hogql",
    trend([view, leave], by("properties.$browser", "hogql")),
    "label",
    [
      "$pageview - Chrome",
      "$pageview - Firefox",
      "$pageview - Edge",
      "$pageview - Safari",
      "$pageleave - Chrome",
      "$pageleave - Edge",
      "$pageleave - Firefox",
      "$pageleave - Safari",
    ],
  ],
  [
    "by a person's property",
    trend(view, by("email", "person")),
    "breakdowns",
    [
      ["test@example.com", 6],
      [noValue, 4],
    ],
  ],
  [
    "by a group's property",
    trend(view, by("industry", "group", { breakdown_group_type_index: 0 })),
    "breakdowns",
    [
      ["finance", 7],
      ["technology", 2],
      [noValue, 1],
    ],
  ],
  [
    "test_trends_multiple_event_breakdowns",
    trend(
      view,
      byAll(
        { type: "event", property: "$browser" },
        { type: "event", property: "prop" },
        { type: "event", property: "bool_field" },
      ),
    ),
    "label",
    ["Chrome::10::true", "Firefox::20::false", "Edge::30::true", "Safari::40::false"],
  ],
  [
    "test_trends_event_person_group_breakdowns",
    trend(
      view,
      byAll(
        { type: "event", property: "$browser" },
        { type: "group", group_type_index: 0, property: "industry" },
      ),
    ),
    "breakdowns",
    [
      [["Chrome", "finance"], 6],
      [["Firefox", "technology"], 2],
      [["Edge", "finance"], 1],
      [["Safari", noValue], 1],
    ],
  ],
  [
    "test_trends_event_with_two_group_breakdowns",
    trend(
      view,
      byAll(
        { type: "group", group_type_index: 1, property: "employee_count" },
        { type: "group", group_type_index: 0, property: "industry" },
      ),
    ),
    "breakdowns",
    [
      [["50-249", "finance"], 1],
      [[noValue, "finance"], 6],
      [[noValue, "technology"], 2],
      [[noValue, noValue], 1],
    ],
  ],
  [
    "test_trends_event_and_person_breakdowns",
    trend(view, byAll({ type: "event", property: "$browser" }, { type: "person", property: "name" })),
    "label",
    ["Chrome::p1", "Firefox::p2", "Edge::p3", "Safari::p4"],
  ],
  [
    "test_trends_event_breakdowns_handle_none_histogram_bin_count",
    trend(
      view,
      byAll(
        { property: "prop", histogram_bin_count: 2 },
        { property: "$browser", histogram_bin_count: null },
      ),
    ),
    "breakdowns",
    [
      [["[10,25]", "Chrome"], 6],
      [["[10,25]", "Firefox"], 2],
      [["[25,40.01]", "Edge"], 1],
      [["[25,40.01]", "Safari"], 1],
    ],
  ],
  [
    "test_trends_multiple_breakdowns_hogql_and_numeric_prop",
    trend(
      view,
      byAll({ property: "properties.$browser", type: "hogql" }, { property: "prop", histogram_bin_count: 2 }),
    ),
    "label",
    ["Chrome::[10,25]", "Firefox::[10,25]", "Edge::[25,40.01]", "Safari::[25,40.01]"],
  ],
  [
    "test_trends_event_math_mau_with_breakdowns",
    trend({ ...view, math: "monthly_active" }, days("2020-01-09", "2020-02-10"), by("$browser")),
    "breakdowns",
    [
      ["Firefox", 33],
      ["Chrome", 31],
      ["Edge", 30],
      ["Safari", 27],
    ],
  ],
  [
    "test_trends_breakdown_and_aggregation_query_orchestration",
    trend({ ...view, math: "sum", math_property: "prop" }, by("$browser")),
    "breakdowns",
    [
      ["Chrome", 60],
      ["Firefox", 40],
      ["Safari", 40],
      ["Edge", 30],
    ],
  ],
  [
    "as a bar of values",
    trend(view, by("$browser"), shown("ActionsBarValue")),
    "numbers",
    [
      ["Chrome", 6],
      ["Firefox", 2],
      ["Edge", 1],
      ["Safari", 1],
    ],
  ],
  [
    "as a pie with the others",
    trend(view, by("$browser", "event", { breakdown_limit: 2 }), shown("ActionsPie")),
    "numbers",
    [
      ["Chrome", 6],
      ["Firefox", 2],
      [otherValues, 2],
    ],
  ],
  [
    "without the others",
    trend(view, by("$browser", "event", { breakdown_limit: 2, breakdown_hide_other_aggregation: true })),
    "breakdowns",
    [
      ["Chrome", 6],
      ["Firefox", 2],
    ],
  ],
  [
    "added up",
    trend(
      view,
      by("$browser", "event", { breakdown_limit: 1, breakdown_hide_other_aggregation: true }),
      shown("ActionsLineGraphCumulative"),
    ),
    "data",
    [[0, 0, 1, 2, 3, 3, 4, 4, 5, 5, 6, 6]],
  ],
  [
    "of active persons",
    trend({ ...view, math: "dau" }, by("bool_field"), shown("ActionsTable")),
    "numbers",
    [
      ["false", 2],
      ["true", 2],
    ],
  ],
  [
    "by HogQL of a function",
    trend(view, by("lower(properties.$browser)", "hogql")),
    "breakdowns",
    [
      ["chrome", 6],
      ["firefox", 2],
      ["edge", 1],
      ["safari", 1],
    ],
  ],
  ["by a property that nobody has", trend(view, by("none")), "breakdowns", [[noValue, 10]]],
  ["of no event", trend({ event: "nothing" }, by("$browser")), "breakdowns", []],
];

// PostHog's aggregation_operations.py: the property is multiplied before its aggregate, other math is as without it.
const prop = (math: string, math_multiplier: unknown, more: object = {}) => ({
  ...view,
  math,
  math_property: "prop",
  math_multiplier,
  ...more,
});
const multiplied: Case[] = [
  ["sum", trend(prop("sum", 0.5)), "data", [[10, 0, 5, 30, 5, 0, 25, 0, 5, 0, 5, 0]]],
  ["a number as text, as saved insights have them", trend(prop("sum", "2")), "count", [340]],
  ["by nothing", trend([prop("sum", 0), prop("sum", 1), prop("sum", null)]), "count", [0, 170, 170]],
  ["below zero", trend(prop("min", -1), shown("BoldNumber")), "number", [-40]],
  ["largest", trend(prop("max", -1), shown("BoldNumber")), "number", [-10]],
  ["average", trend(prop("avg", 10), shown("BoldNumber")), "number", [170]],
  ["percentile", trend(prop("median", 2), shown("BoldNumber")), "number", [20]],
  [
    "a property of persons",
    trend(prop("max", 3, { math_property: "score", math_property_type: "person_properties" }), five),
    "data",
    [[12, 0, 3, 0, 3]],
  ],
  [
    "math of no property",
    trend([
      { ...view, math_multiplier: 3 },
      { ...view, math: "dau", math_multiplier: 3 },
      { ...view, math: "hogql", math_hogql: "count()", math_multiplier: 3 },
      prop("avg_count_per_actor", 3),
    ]),
    "count",
    [10, 10, 10, 7],
  ],
  [
    "a formula",
    trend([prop("sum", 2), prop("sum", 3)], shown("BoldNumber", { formulas: ["A+B", "A/B*3"] })),
    "number",
    [850, 2],
  ],
  [
    "ranks of a breakdown",
    trend(prop("sum", -1), by("$browser", "event", { breakdown_limit: 1 })),
    "breakdowns",
    [
      ["Edge", -30],
      [otherValues, -140],
    ],
  ],
];

const formulas: Case[] = [
  [
    "test_formula",
    trend([view, leave], formula("A+2*B"), days("2020-01-09", "2020-01-19")),
    "data",
    [[1, 0, 3, 5, 7, 0, 2, 2, 1, 0, 1]],
  ],
  ["test_formula", trend([view, leave], formula("A+2*B")), "values", [["Formula (A+2*B)", 22]]],
  [
    "test_multiple_formulas",
    trend([view, leave], formula("A+2*B", "A-B"), days("2020-01-09", "2020-01-19")),
    "data",
    [
      [1, 0, 3, 5, 7, 0, 2, 2, 1, 0, 1],
      [1, 0, 0, 2, -2, 0, 2, -1, 1, 0, 1],
    ],
  ],
  [
    "test_multiple_formulas",
    trend([view, leave], formula("A+2*B", "A-B")),
    "values",
    [
      ["Formula (A+2*B)", 22],
      ["Formula (A-B)", 4],
    ],
  ],
  [
    "test_formula_with_compare",
    trend([view, leave], five, compared(), { trendsFilter: { formula: "A+2*B" } }),
    "compared",
    [
      ["current", [2, 2, 1, 0, 1]],
      ["previous", [0, 3, 5, 7, 0]],
    ],
  ],
  [
    "test_formula_with_compare_to_day",
    trend([view, leave], five, compared("-2d"), { trendsFilter: { formula: "A+2*B" } }),
    "compared",
    [
      ["current", [2, 2, 1, 0, 1]],
      ["previous", [7, 0, 2, 2, 1]],
    ],
  ],
  [
    "test_formula_with_compare_to_week",
    trend([view, leave], five, compared("-1w"), formula("A+2*B")),
    "compared",
    [
      ["current", [2, 2, 1, 0, 1]],
      ["previous", [0, 1, 0, 3, 5]],
    ],
  ],
  [
    "test_formula_with_compare_total_value",
    trend([view, leave], five, compared(), shown("BoldNumber", { formula: "A+2*B" })),
    "comparedNumbers",
    [
      ["current", 6],
      ["previous", 15],
    ],
  ],
  [
    "test_formula_with_compare_to_total_value",
    trend([view, leave], five, compared("-1w"), shown("BoldNumber", { formula: "A+2*B" })),
    "comparedNumbers",
    [
      ["current", 6],
      ["previous", 9],
    ],
  ],
  [
    "test_formula_with_compare_total_value",
    trend([view, leave], five, shown("BoldNumber", { formula: "A+2*B" })),
    "count",
    [0],
  ],
  [
    "test_formula_with_breakdown",
    trend([view, leave], by("$browser"), { trendsFilter: { formula: "A+2*B" } }),
    "breakdowns",
    [
      ["Chrome", 12],
      ["Firefox", 4],
      ["Edge", 3],
      ["Safari", 3],
    ],
  ],
  [
    "test_formula_with_breakdown_and_compare",
    trend([view, leave], five, by("$browser"), compared(), formula("A+2*B")),
    "comparedValues",
    [
      ["current", "Chrome", 3],
      ["current", "Safari", 3],
      ["previous", "Chrome", 9],
      ["previous", "Edge", 3],
      ["previous", "Firefox", 3],
    ],
  ],
  [
    "test_formula_with_breakdown_and_no_data",
    trend([{ event: "x" }, { event: "y" }], by("name", "person"), formula("A+2*B")),
    "data",
    [],
  ],
  [
    "test_formula_with_breakdown_and_no_data",
    trend([view, { event: "y" }], by("email", "person"), formula("A+2*B")),
    "breakdowns",
    [
      ["test@example.com", 6],
      [noValue, 4],
    ],
  ],
  [
    "test_multiple_breakdowns_work_with_formula",
    trend(view, byAll({ property: "$browser", type: "event" }), formula("A*10")),
    "breakdowns",
    [
      [["Chrome"], 60],
      [["Firefox"], 20],
      [["Edge"], 10],
      [["Safari"], 10],
    ],
  ],
  [
    "test_multiple_series_and_multiple_breakdowns_work_with_formula",
    trend(
      [view, view],
      byAll({ property: "$browser" }, { property: "prop", histogram_bin_count: 2 }),
      formula("A/B*100"),
    ),
    "data",
    [
      [0, 0, 100, 100, 100, 0, 100, 0, 100, 0, 100, 0],
      [100, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0],
      [0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0],
      [0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0],
    ],
  ],
  [
    "test_multiple_formulas_with_compare_to_week",
    trend([view, leave], five, compared("-1w"), formula("A+B", "A-B")),
    "comparedFormulas",
    [
      ["current", "Formula (A+B)", [2, 1, 1, 0, 1]],
      ["previous", "Formula (A+B)", [0, 1, 0, 2, 4]],
      ["current", "Formula (A-B)", [2, -1, 1, 0, 1]],
      ["previous", "Formula (A-B)", [0, 1, 0, 0, 2]],
    ],
  ],
  [
    "named formulas",
    trend([view, leave], {
      trendsFilter: { formulaNodes: [{ formula: "A+B", custom_name: "Both" }, { formula: "B+1" }] },
    }),
    "values",
    [
      ["Both", 16],
      ["Formula (B+1)", 18],
    ],
  ],
  [
    "a division by nothing",
    trend([leave, view], formula("A/B*100"), shown("BoldNumber", { formula: "A/B*100" })),
    "number",
    [60],
  ],
  [
    "of active persons as a number",
    trend(
      [
        { ...view, math: "dau" },
        { ...leave, math: "dau" },
      ],
      shown("BoldNumber", { formula: "A+B" }),
    ),
    "number",
    [8],
  ],
  ["in small letters", trend([view, leave], formula("a + b")), "count", [16]],
];

const comparisons: Case[] = [
  [
    "test_trends_compare",
    trend(view, five, compared()),
    "days",
    [
      ["2020-01-15", "2020-01-16", "2020-01-17", "2020-01-18", "2020-01-19"],
      ["2020-01-10", "2020-01-11", "2020-01-12", "2020-01-13", "2020-01-14"],
    ],
  ],
  [
    "test_trends_compare",
    trend(view, five, compared()),
    "labels",
    [
      ["15-Jan-2020", "16-Jan-2020", "17-Jan-2020", "18-Jan-2020", "19-Jan-2020"],
      ["10-Jan-2020", "11-Jan-2020", "12-Jan-2020", "13-Jan-2020", "14-Jan-2020"],
    ],
  ],
  [
    "test_trends_compare",
    trend(view, five, compared()),
    "compared",
    [
      ["current", [2, 0, 1, 0, 1]],
      ["previous", [0, 1, 3, 1, 0]],
    ],
  ],
  [
    "test_trends_breakdowns_and_compare",
    trend(view, days("2020-01-15", "2020-01-20"), by("$browser"), compared()),
    "comparedValues",
    [
      ["current", "Chrome", 3],
      ["current", "Safari", 1],
      ["previous", "Chrome", 3],
      ["previous", "Firefox", 2],
      ["previous", "Edge", 1],
    ],
  ],
  [
    "as a number",
    trend(view, five, compared(), shown("BoldNumber")),
    "comparedNumbers",
    [
      ["current", 4],
      ["previous", 5],
    ],
  ],
  [
    "to a week before",
    trend(view, five, compared("-1w")),
    "compared",
    [
      ["current", [2, 0, 1, 0, 1]],
      ["previous", [0, 1, 0, 1, 3]],
    ],
  ],
  [
    "to a month before",
    trend(view, days("2020-02-09", "2020-02-13"), compared("-1m")),
    "compared",
    [
      ["current", [0, 0, 0, 0, 0]],
      ["previous", [1, 0, 1, 3, 1]],
    ],
  ],
  [
    "to a year before",
    trend(view, days("2021-01-11", "2021-01-13"), compared("-1y")),
    "compared",
    [
      ["current", [0, 0, 0]],
      ["previous", [1, 3, 1]],
    ],
  ],
  ["off", trend(view, five, { compareFilter: { compare: false } }), "data", [[2, 0, 1, 0, 1]]],
  [
    "added up",
    trend(view, five, compared(), shown("ActionsLineGraphCumulative")),
    "compared",
    [
      ["current", [2, 2, 3, 3, 4]],
      ["previous", [0, 1, 4, 5, 5]],
    ],
  ],
  [
    "of active persons",
    trend({ ...view, math: "dau" }, five, compared()),
    "compared",
    [
      ["current", [2, 0, 1, 0, 1]],
      ["previous", [0, 1, 3, 1, 0]],
    ],
  ],
  [
    "of weeks",
    trend(view, days("2020-01-12", "2020-01-25"), compared(), { interval: "week" }),
    "compared",
    [
      ["current", [7, 1]],
      ["previous", [0, 2]],
    ],
  ],
  [
    "of months",
    trend(view, days("2020-01-01", "2020-01-31"), compared(), { interval: "month" }),
    "count",
    [10, 0],
  ],
  [
    "of two events",
    trend([view, leave], five, compared()),
    "comparedFormulas",
    [
      ["current", "$pageview", [2, 0, 1, 0, 1]],
      ["current", "$pageleave", [0, 1, 0, 0, 0]],
      ["previous", "$pageview", [0, 1, 3, 1, 0]],
      ["previous", "$pageleave", [0, 1, 1, 3, 0]],
    ],
  ],
];

test.each([...trends, ...breakdowns, ...multiplied, ...formulas, ...comparisons])(
  "%s: %j has the %s",
  async (_, query, read, expected) => {
    const lines = await usual.results<TrendLine & Record<string, unknown>>(query);
    expect(lines.map(views[read]!)).toEqual(expected);
  },
);

/** The names of the persons behind a number. */
async function names(source: object, more: object, kind = "InsightActorsQuery"): Promise<unknown[]> {
  const select = ["properties.name"];
  const query = { kind: "ActorsQuery", select, source: { kind, source, ...more } };
  return (await usual.results<unknown[]>(query)).map(([name]) => name).toSorted();
}

// test_trends_actors_query_builder.py, test_trends_persons.py.
test.each([
  ["of a day", trend(view), { day: "2020-01-12", series: 0 }, ["p1", "p2", "p3"]],
  ["of a moment", trend(view), { day: "2020-01-12T00:00:00Z", series: 0 }, ["p1", "p2", "p3"]],
  ["of a day without any", trend(view), { day: "2020-01-10", series: 0 }, []],
  ["of the second series", trend([view, leave]), { day: "2020-01-16", series: 1 }, ["p4"]],
  ["of a value", trend(view, by("$browser")), { day: "2020-01-12", series: 0, breakdown: "Edge" }, ["p3"]],
  [
    "of no value",
    trend(view, by("email", "person")),
    { day: "2020-01-12", series: 0, breakdown: noValue },
    ["p2", "p3"],
  ],
  [
    "of the others",
    trend(view, by("$browser", "event", { breakdown_limit: 1 })),
    { day: "2020-01-12", series: 0, breakdown: otherValues },
    ["p2", "p3"],
  ],
  [
    "of several values",
    trend(view, byAll({ property: "$browser" }, { property: "prop" })),
    { day: "2020-01-12", series: 0, breakdown: ["Edge", "30"] },
    ["p3"],
  ],
  [
    "of a bin",
    trend(view, by("prop", "event", { breakdown_histogram_bin_count: 4 })),
    { day: "2020-01-12", series: 0, breakdown: "[17.5,25]" },
    ["p2"],
  ],
  ["of a number", trend(view, shown("BoldNumber")), { series: 0 }, ["p1", "p2", "p3", "p4"]],
  [
    "of a value's number",
    trend(view, by("bool_field"), shown("ActionsPie")),
    { series: 0, breakdown: "true" },
    ["p1", "p3"],
  ],
  ["of a week", trend(view, { interval: "week" }), { day: "2020-01-05", series: 0 }, ["p1", "p2"]],
  [
    "of a month",
    trend(view, { interval: "month" }),
    { day: "2020-01-01", series: 0 },
    ["p1", "p2", "p3", "p4"],
  ],
  [
    "of an hour",
    trend(view, days("2020-01-12T00:00:00", "2020-01-12T23:00:00"), { interval: "hour" }),
    { day: "2020-01-12T12:00:00Z", series: 0 },
    ["p1", "p2", "p3"],
  ],
  [
    "of the time before",
    trend(view, five, compared()),
    { day: "2020-01-17", series: 0, compare: "previous" },
    ["p1", "p2", "p3"],
  ],
  ["of now", trend(view, five, compared()), { day: "2020-01-17", series: 0, compare: "current" }, ["p1"]],
  [
    "of a week's active",
    trend({ ...view, math: "weekly_active" }),
    { day: "2020-01-18", series: 0 },
    ["p1", "p2", "p3", "p4"],
  ],
  [
    "of a first time",
    trend({ ...view, math: "first_time_for_user" }),
    { day: "2020-01-12", series: 0 },
    ["p3"],
  ],
  ["with a filter", trend(view, where(is("$browser", "Chrome"))), { day: "2020-01-12", series: 0 }, ["p1"]],
  [
    "whose property is added up",
    trend({ ...view, math: "sum", math_property: "prop" }),
    { day: "2020-01-12", series: 0 },
    ["p1", "p2", "p3"],
  ],
  [
    "by a group's property",
    trend(view, by("industry", "group", { breakdown_group_type_index: 0 })),
    { day: "2020-01-12", series: 0, breakdown: "finance" },
    ["p1", "p3"],
  ],
] as const)("persons %s: %j with %j", async (_, query, more, expected) => {
  expect(await names(query, more)).toEqual([...expected]);
});
