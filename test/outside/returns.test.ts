// Retention by breakdown, by windows of 24 hours, in brackets, with sums, and groups as what is counted, with the numbers
// of PostHog's test_retention_query_runner.py, test_funnel.py and test_lifecycle_query_runner.py. Each test names the one
// that it stands for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { FunnelStep, RetentionCohort, TrendLine } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Happening, makeProject, type PeerProject } from "../support/journeys.ts";
import { until } from "../support/server.ts";

let app: RunningApp;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
}, startMsMax);
afterAll(cleanUp, startMsMax);

/** PostHog's days of retention tests: counted from 10 June 2020, at five by default. */
const at = (day: number, hour = 5, month = 0): string =>
  new Date(Date.UTC(2020, 5 + month, 10 + day, hour)).toISOString();

/** Events of a person on these days. */
const on = (who: string, days: number[], properties: object = {}, event = "$pageview"): Happening[] =>
  days.map((day) => [who, event, at(day), properties]);

const page = { id: "$pageview", type: "events" };
const signup = { id: "$user_signed_up", type: "events" };

interface Asked {
  from?: string;
  to: string;
  filter: object;
  more?: object;
}

const ask = ({ from, to, filter, more = {} }: Asked): object => ({
  kind: "RetentionQuery",
  dateRange: { ...(from && { date_from: from }), date_to: to },
  retentionFilter: { period: "Day", targetEntity: page, returningEntity: page, ...filter },
  ...more,
});

const retention = (project: PeerProject, asked: Asked) => project.results<RetentionCohort>(ask(asked));

/** The counts of the rows of each value, as wide as the widest; of none under "all". */
function countsOf(cohorts: readonly RetentionCohort[]): Record<string, number[][]> {
  const columns = Math.max(...cohorts.map(({ values }) => values.length));
  const values = Map.groupBy(cohorts, ({ breakdown_value: value = "all" }) => value);
  const readRow = (row: RetentionCohort) =>
    Array.from({ length: columns }, (_, i) => row.values[i]?.count ?? 0);
  return Object.fromEntries([...values].map(([value, rows]) => [value, rows.map(readRow)]));
}

/** Rows of as many columns: those that are not named have nobody. */
const padded = (rows: number[][], columns: number, count = rows.length): number[][] =>
  Array.from({ length: count }, (_, i) => Array.from({ length: columns }, (__, j) => rows[i]?.[j] ?? 0));

const by = (breakdown: string, breakdown_type: string, more: object = {}) => ({
  breakdownFilter: { breakdown, breakdown_type, ...more },
});

// test_retention_first_time_ever_basic, test_retention_first_time_ever_with_properties.
test("rows of retention go from date_from to date_to, with all columns", async () => {
  const project = await makeProject(app, [
    ...on("person1", [0, 1, 3, 5]),
    ...on("person1", [1], {}, "$user_signed_up"),
    ...on("person2", [1], {}, "$user_signed_up"),
    ...on("person2", [2, 4]),
    ...on("person3", [2, 4, 6]),
    ...on("person3", [3], {}, "$user_signed_up"),
    ...on("person4", [-1, 3]),
    ...on("person4", [2], {}, "$user_signed_up"),
    ...on("person5", [3], {}, "$user_signed_up"),
    ...on("person5", [4, 5]),
  ]);
  const filter = {
    totalIntervals: 7,
    retentionType: "retention_first_ever_occurrence",
    targetEntity: signup,
  };
  const cohorts = await retention(project, { from: at(0), to: at(7), filter });
  expect(cohorts.map(({ label }) => label)).toEqual(Array.from({ length: 8 }, (_, i) => `Day ${i}`));
  expect(cohorts.map(({ values }) => values.length)).toEqual(Array.from({ length: 8 }, () => 7));
  const triangle = await retention(project, { to: at(7), filter });
  expect(triangle.map(({ values }) => values.length)).toEqual([7, 6, 5, 4, 3, 2, 1]);
  expect(countsOf(cohorts)).toEqual({
    all: padded([[], [2, 1, 1, 1, 1], [1, 1], [2, 2, 1, 1]], 7, 8),
  });
  // Fewer columns than rows, and rows of a week that are relative.
  const three = await retention(project, {
    from: at(1),
    to: at(3),
    filter: { ...filter, totalIntervals: 2 },
  });
  expect(countsOf(three)).toEqual({
    all: [
      [2, 1],
      [1, 1],
      [2, 0],
    ],
  });
});

// test_retention_with_breakdown_with_person_properties, test_retention_first_time_ever_with_person_breakdown.
test("retention by a property of persons", async () => {
  const of = (country: string) => ({ $set: { country } });
  const project = await makeProject(app, [
    ...on("person1", [0, 1, 3], of("US")),
    ...on("person3", [0, 2], of("US")),
    ...on("person2", [0, 1, 4], of("UK")),
    ...on("person4", [0, 5], of("Germany")),
  ]);
  const breakdowns = { breakdownFilter: { breakdowns: [{ property: "country", type: "person" }] } };
  const asked = { to: at(5, 0), filter: { totalIntervals: 6 }, more: breakdowns };
  expect(countsOf(await retention(project, asked))).toEqual({
    US: padded([[2, 1, 1, 1], [1, 0, 1], [1], [1]], 6, 6),
    UK: padded([[1, 1, 0, 0, 1], [1, 0, 0, 1], [], [], [1]], 6, 6),
    Germany: padded([[1, 0, 0, 0, 0, 1], [], [], [], [], [1]], 6, 6),
  });
  const actors = await project.results<[string, number[]]>({
    kind: "ActorsQuery",
    select: ["properties.country", "appearances"],
    orderBy: ["length(appearances) DESC"],
    source: { kind: "InsightActorsQuery", interval: 0, breakdown: ["US"], source: ask(asked) },
  });
  expect(actors).toEqual([
    ["US", [0, 1, 3]],
    ["US", [0, 2]],
  ]);
});

// test_retention_first_time_ever_with_event_breakdown, test_retention_first_time_ever_breakdown_does_not_inflate_buckets.
test("first-time retention by a property of events counts each person for the first one", async () => {
  const project = await makeProject(app, [
    ...on("person1", [1, 3, 5], { source: "web" }),
    ...on("person1", [2], { source: "web" }, "$user_signed_up"),
    ...on("person2", [1], { source: "mobile" }, "$user_signed_up"),
    ...on("person2", [2, 4], { source: "mobile" }),
    ...on("person3", [2], { source: "web" }, "$user_signed_up"),
    ...on("person3", [3, 5], { source: "web" }),
    ...on("old", [0], {}, "opened"),
    ...on("old", [2], { source: "web" }, "opened"),
    ...on("new", [2], { source: "web" }, "opened"),
  ]);
  const first = { totalIntervals: 7, retentionType: "retention_first_ever_occurrence" };
  const more = by("source", "event");
  const range = { from: at(0), to: at(7), more };
  const signups = await retention(project, { ...range, filter: { ...first, targetEntity: signup } });
  expect(countsOf(signups)).toEqual({
    web: padded([[], [], [2, 2, 0, 2]], 7, 8),
    mobile: padded([[], [1, 1, 0, 1]], 7, 8),
  });
  const opened = { id: "opened", type: "events" };
  const openings = await retention(project, {
    ...range,
    filter: { ...first, targetEntity: opened, returningEntity: opened },
  });
  expect(countsOf(openings)).toEqual({
    "": padded([[1, 0, 1]], 7, 8),
    web: padded([[], [], [1]], 7, 8),
  });
});

// test_retention_with_breakdown_limit.
test("the values with the most who began have rows of their own, all others together", async () => {
  const people = { Chrome: 3, Safari: 2, Opera: 1, Edge: 1 };
  const project = await makeProject(
    app,
    Object.entries(people).flatMap(([$browser, count]) =>
      Array.from({ length: count }, (_, i) => on(`${$browser}-${i}`, [0, 1], { $browser })).flat(),
    ),
  );
  const cohorts = await retention(project, {
    to: at(1),
    filter: { totalIntervals: 2 },
    more: by("$browser", "event", { breakdown_limit: 2 }),
  });
  expect(Object.entries(countsOf(cohorts))).toEqual([
    [
      "Chrome",
      [
        [3, 3],
        [3, 0],
      ],
    ],
    [
      "Safari",
      [
        [2, 2],
        [2, 0],
      ],
    ],
    [
      "$$_posthog_breakdown_other_$$",
      [
        [2, 2],
        [2, 0],
      ],
    ],
  ]);
});

// test_retention_24h_window_with_properties_on_events, …_with_week_interval, …_with_minimum_occurrences, …_rejects_cumulative.
test("windows of 24 hours begin with each person's first event", async () => {
  const hour = (who: string, day: number, hours: number, premium = "true"): Happening => [
    who,
    "$pageview",
    at(day, hours),
    { premium },
  ];
  const project = await makeProject(app, [
    hour("person1", 0, 14),
    hour("person1", 1, 13),
    hour("person1", 1, 15, "false"),
    hour("person3", 0, 12),
    hour("person3", 1, 13),
    hour("person3", 1, 14),
    hour("person4", 0, 14),
    hour("person4", 6, 14),
    hour("person4", 8, 14),
  ]);
  const premium = { ...page, properties: [{ key: "premium", value: "true", type: "event" }] };
  const days = { totalIntervals: 3, timeWindowMode: "24_hour_windows" };
  const first = async (filter: object) => {
    const [row] = await retention(project, { from: at(0), to: at(20), filter: { ...days, ...filter } });
    return row!.values.map(({ count }) => count);
  };
  expect(await first({})).toEqual([3, 2, 0]);
  expect(await first({ targetEntity: premium, returningEntity: premium })).toEqual([3, 1, 0]);
  expect(await first({ minimumOccurrences: 2 })).toEqual([3, 1, 0]);
  expect(await first({ period: "Week" })).toEqual([3, 1, 0]);
  const { status } = await project.query(ask({ to: at(20), filter: { ...days, cumulative: true } }));
  expect(status).toBe(400);
});

// test_custom_brackets_day_period, …_single_day_bracket_label, …_with_person_breakdown.
test("brackets of one's own take several intervals together", async () => {
  const project = await makeProject(app, [
    ...on("p1", [0, 1, 5, 16], { $set: { country: "USA" } }),
    ...on("p2", [0, 4, 10], { $set: { country: "USA" } }),
    ...on("p3", [0], { $set: { country: "Canada" } }),
  ]);
  const first = async (retentionCustomBrackets: number[], more: object = {}) => {
    const filter = { totalIntervals: 21, retentionCustomBrackets };
    const cohorts = await retention(project, { to: at(20), filter, more });
    return cohorts.filter(({ label }) => label === "Day 0").map(({ values }) => values);
  };
  const [row] = await first([4, 10, 3]);
  expect(row!.map(({ label }) => label)).toEqual(["Day 0", "Day 1-4", "Day 5-14", "Day 15-17"]);
  expect(row!.map(({ count }) => count)).toEqual([3, 2, 2, 1]);
  const [single] = await first([1, 2]);
  expect(single!.map(({ label }) => label)).toEqual(["Day 0", "Day 1", "Day 2-3"]);
  expect(single!.map(({ count }) => count)).toEqual([3, 1, 0]);
  const broken = await first([4, 6], by("country", "person"));
  expect(broken.map((values) => values.map(({ count }) => count))).toEqual([
    [2, 2, 2],
    [1, 0, 0],
  ]);
});

// test_retention_aggregation_*: sums of events and persons, averages, and returns within the first interval.
test("sums and averages of a property are of those who are counted", async () => {
  const project = await makeProject(app, [
    ["user1", "signed_up", at(0, 10), { revenue: 0, $set: { account: 100 } }],
    ["user1", "purchased", at(0, 12), { revenue: 50 }],
    ["user2", "signed_up", at(0, 10), { $set: { account: 10 } }],
    ["user2", "purchased", at(0, 9), { revenue: 7 }],
    ["user2", "purchased", at(0, 11), { revenue: 30 }],
    ["user2", "purchased", at(2, 11), { revenue: 4 }],
    ...on("user1", [0, 1], { revenue: 5 }),
    ...on("user2", [0, 1], { revenue: 3 }),
  ]);
  const amounts = async (filter: object) => {
    const shown = { totalIntervals: 3, aggregationProperty: "revenue", ...filter };
    const [row] = await retention(project, { from: at(0, 0), to: at(6), filter: shown });
    return row!.values.map((cell) => [cell.count, cell.aggregation_value]);
  };
  const bought = {
    targetEntity: { id: "signed_up", type: "events" },
    returningEntity: { id: "purchased", type: "events" },
  };
  expect(await amounts({ ...bought, aggregationType: "avg" })).toEqual([
    [2, 40],
    [0, 0],
    [1, 4],
  ]);
  expect(await amounts({ ...bought, aggregationType: "sum" })).toEqual([
    [2, 80],
    [0, 0],
    [1, 4],
  ]);
  expect(await amounts({ aggregationType: "sum" })).toEqual([
    [2, 8],
    [2, 8],
    [0, 0],
  ]);
  const ofPersons = { aggregationProperty: "account", aggregationPropertyType: "person" };
  expect(await amounts({ aggregationType: "sum", ...ofPersons })).toEqual([
    [2, 110],
    [2, 110],
    [0, 0],
  ]);
  expect(await amounts({ aggregationType: "avg", ...ofPersons })).toEqual([
    [2, 55],
    [2, 55],
    [0, 0],
  ]);
  expect(await amounts({ aggregationType: "count" })).toEqual([
    [2, undefined],
    [2, undefined],
    [0, undefined],
  ]);
});

const described = (types: Record<string, string[]>): Happening[] =>
  Object.entries(types).flatMap(([$group_type, keys]) =>
    keys.map((key): Happening => [
      "setup",
      "$groupidentify",
      at(-40),
      { $group_type, $group_key: key, $group_set: {} },
    ]),
  );

/** Types of groups follow the events that name them. */
const haveTypes = (project: PeerProject, count: number): Promise<unknown> =>
  until(async () => {
    const text = "select uniq(index) from groups";
    const [row] = await project.results<number[]>({ kind: "HogQLQuery", query: text });
    return row![0] === count;
  });

// test_groups_aggregating, test_groups_in_period.
test("retention counts groups, and no event without one", async () => {
  const org = (organization: string, company?: string) => ({
    $groups: { organization, ...(company && { company }) },
  });
  const project = await makeProject(app, [
    ...described({ organization: ["org:5", "org:6"] }),
    ...described({ company: ["company:1"] }),
    ...on("person1", [0], org("org:5", "company:1")),
    ...on("person1", [1, 7, 14], org("org:5")),
    ...on("person2", [0, 1, 7], org("org:6")),
    ...on("person3", [0]),
    ["person1", "$pageview", at(-6, 5, 1), org("org:5", "company:1")],
    ["person2", "$pageview", at(-6, 5, 1), org("org:6")],
    ["person2", "$pageview", at(1, 5, 1), org("org:6")],
    ["person1", "$pageview", at(1, 5, 1), org("org:5")],
    ["person2", "$pageview", at(15, 5, 1), org("org:6", "company:1")],
  ]);
  await haveTypes(project, 2);
  const weeks = async (aggregation_group_type_index: number) =>
    countsOf(
      await retention(project, {
        to: at(10, 0, 1),
        filter: { period: "Week", totalIntervals: 7 },
        more: { aggregation_group_type_index },
      }),
    );
  const expected = [[2, 2, 1, 2, 2, 0, 1], [2, 1, 2, 2, 0, 1], [1, 1, 1], [2, 2, 0, 1], [2, 0, 1], [], [1]];
  expect(await weeks(0)).toEqual({ all: padded(expected, 7) });
  const ofCompanies = [[1, 0, 0, 1, 0, 0, 1], [], [], [1, 0, 0, 1], [], [], [1]];
  expect(await weeks(1)).toEqual({ all: padded(ofCompanies, 7) });
});

// test_funnel_aggregate_by_groups, test_funnel_aggregation_by_hogql, test_lifecycle of groups.
test("groups, and the values of an expression, go through a funnel and a lifecycle", async () => {
  const org = (organization: string, plan: string) => ({ $groups: { organization }, plan });
  const project = await makeProject(app, [
    ["setup", "$groupidentify", at(0), { $group_type: "organization", $group_key: "org:5", $group_set: {} }],
    ["setup", "$groupidentify", at(1), { $group_type: "organization", $group_key: "org:6", $group_set: {} }],
    ["ann", "$pageview", at(0, 6), org("org:5", "free")],
    ["bob", "bought", at(1, 6), org("org:5", "free")],
    ["bob", "$pageview", at(1, 7), org("org:6", "pro")],
    ["cid", "$pageview", at(1, 8), { plan: "pro" }],
    ["ann", "bought", at(2), { plan: "" }],
    ["dan", "$pageview", at(3), org("org:5", "free")],
  ]);
  await haveTypes(project, 1);
  const funnel = async (more: object, funnelAggregateByHogQL?: string) => {
    const steps = await project.results<FunnelStep>({
      kind: "FunnelsQuery",
      series: [{ event: "$pageview" }, { event: "bought" }],
      dateRange: { date_from: at(0), date_to: at(5) },
      funnelsFilter: { ...(funnelAggregateByHogQL && { funnelAggregateByHogQL }) },
      ...more,
    });
    return steps.map(({ count }) => count);
  };
  expect(await funnel({})).toEqual([4, 1]);
  expect(await funnel({ aggregation_group_type_index: 0 })).toEqual([2, 1]);
  expect(await funnel({}, "properties.plan")).toEqual([2, 1]);
  expect(await funnel({}, "person_id")).toEqual([4, 1]);
  const lines = await project.results<TrendLine>({
    kind: "LifecycleQuery",
    series: [{ event: "$pageview" }],
    dateRange: { date_from: at(0), date_to: at(4) },
    aggregation_group_type_index: 0,
  });
  expect(Object.fromEntries(lines.map(({ status, data }) => [status, data]))).toEqual({
    new: [1, 1, 0, 0, 0],
    returning: [0, 0, 0, 0, 0],
    resurrecting: [0, 0, 0, 1, 0],
    dormant: [0, -1, -1, 0, -1],
  });
});
