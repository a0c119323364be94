// Trends and funnels with the numbers of PostHog's own tests (test_trends.py, test_funnel_trends.py,
// test_funnel_unordered.py) and of public threads. Each test names the one that it stands for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { FunnelStep, TrendLine } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Happening, makeProject, type PeerProject } from "../support/journeys.ts";

let app: RunningApp;
let signUps: PeerProject;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  signUps = await makeProject(app, [
    ["blabla", "$identify", "2019-12-20", { $anon_distinct_id: "anonymous_id" }],
    ["blabla", "sign up", "2019-12-24", { $some_property: "value", $bool_prop: true }],
    ["blabla", "sign up", "2020-01-01", { $some_property: "value", $bool_prop: false }],
    ["anonymous_id", "sign up", "2020-01-01", { $bool_prop: false }],
    ["blabla", "sign up", "2020-01-01"],
    ["blabla", "sign up", "2020-01-02", { $some_property: "other_value", $some_numerical_prop: 80 }],
    ["blabla", "no events", "2020-01-02"],
  ]);
}, startMsMax);
afterAll(cleanUp, startMsMax);

interface Asked {
  from: string;
  to?: string;
  event?: string;
  series?: object;
  filter?: object;
  more?: object;
}

async function trends(project: PeerProject, { from, to, event = "sign up", series, filter, more }: Asked) {
  return await project.results<TrendLine>({
    kind: "TrendsQuery",
    series: [{ event, ...series }],
    dateRange: { date_from: from, ...(to !== undefined && { date_to: to }) },
    ...(filter && { trendsFilter: filter }),
    ...more,
  });
}

const cumulative = { display: "ActionsLineGraphCumulative" };
const eightDays = { from: "2019-12-28", to: "2020-01-04" };

// test_trends_per_day, test_trends_per_day_48hours, test_trends_per_day_cumulative.
test("events by day, of 48 hours, and added up", async () => {
  const [byDay] = await trends(signUps, eightDays);
  expect([byDay!.label, byDay!.labels[4], byDay!.labels[5]]).toEqual(["sign up", "1-Jan-2020", "2-Jan-2020"]);
  expect(byDay!.data).toEqual([0, 0, 0, 0, 3, 1, 0, 0]);
  const [hours] = await trends(signUps, { from: "2020-01-01T13:00:01Z", to: "2020-01-03T13:00:01Z" });
  expect([hours!.labels[1], hours!.data[1]]).toEqual(["2-Jan-2020", 1]);
  const [added] = await trends(signUps, { ...eightDays, filter: cumulative });
  expect(added!.data).toEqual([0, 0, 0, 0, 3, 4, 4, 4]);
});

// test_trends_breakdown_cumulative, test_trends_single_aggregate_dau.
test("persons added up by a property, and as one number of any interval", async () => {
  const more = { breakdownFilter: { breakdown: "$some_property", breakdown_type: "event" } };
  const lines = await trends(signUps, { ...eightDays, series: { math: "dau" }, filter: cumulative, more });
  expect(Object.fromEntries(lines.map(({ label, data }) => [label, data]))).toEqual({
    value: [0, 0, 0, 0, 1, 1, 1, 1],
    other_value: [0, 0, 0, 0, 0, 1, 1, 1],
    None: [0, 0, 0, 0, 1, 1, 1, 1],
  });
  for (const interval of ["week", "day"]) {
    const number = { series: { math: "dau" }, filter: { display: "ActionsTable" }, more: { interval } };
    expect((await trends(signUps, { ...eightDays, ...number }))[0]!.aggregated_value).toBe(1);
  }
});

// test_trends_breakdown_normalize_url.
test("addresses that differ in the slash at their end are one", async () => {
  const urls = ["first", "first/", "second"].map((page): Happening => {
    return ["blabla", "sign up", "2020-01-02", { $current_url: `http://hogflix/${page}` }];
  });
  const project = await makeProject(app, urls);
  const breakdownFilter = {
    breakdown: "$current_url",
    breakdown_type: "event",
    breakdown_normalize_url: true,
  };
  const lines = await trends(project, { ...eightDays, series: { math: "dau" }, more: { breakdownFilter } });
  expect(lines.map(({ breakdown_value }) => breakdown_value).toSorted()).toEqual([
    "http://hogflix/first",
    "http://hogflix/second",
  ]);
});

// test_trends_single_aggregate_math.
test("a median is of all events, whatever the interval is", async () => {
  const events = [1, 1, 1, 2, 3].map((value): Happening => {
    return ["blabla", "sign up", "2020-01-01 00:06:34", { $math_prop: value }];
  });
  const later = [4, 4].map((value): Happening => {
    return ["blabla", "sign up", "2020-01-02 00:06:34", { $math_prop: value }];
  });
  const project = await makeProject(app, [...events, ...later]);
  for (const interval of ["week", "day"]) {
    const series = { math: "median", math_property: "$math_prop" };
    const filter = { display: "ActionsTable" };
    const [line] = await trends(project, { ...eightDays, series, filter, more: { interval } });
    expect(line!.aggregated_value).toBe(2);
  }
});

// test_trends_groups_per_day, test_trends_groups_per_day_cumulative.
test("groups by day, and added up", async () => {
  const watched = (person: string, at: string, organization?: string): Happening => {
    return [person, "viewed video", at, organization === undefined ? {} : { $groups: { organization } }];
  };
  const project = await makeProject(app, [
    ...["anonymous_id", "blabla", "reeree"].map((person) => watched(person, "2020-01-01 00:06:02", "bouba")),
    watched("tintin", "2020-01-04 23:17:00", "kiki"),
    watched("blabla", "2020-01-05 19:06:34", "bouba"),
    watched("tintin", "2020-01-05 19:06:34"),
    watched("tintin", "2020-01-05 19:06:34", "bouba"),
    watched("tintin", "2020-01-05 19:06:34", "kiki"),
  ]);
  const series = { math: "unique_group", math_group_type_index: 0 };
  const range = { from: "2019-12-30", to: "2020-01-06", event: "viewed video", series };
  const [line] = await trends(project, range);
  expect(line!.data).toEqual([0, 0, 1, 0, 0, 1, 2, 0]);
  const [added] = await trends(project, { ...range, filter: cumulative });
  expect(added!.data).toEqual([0, 0, 1, 1, 1, 2, 2, 2]);
});

// test_week_interval, test_interval_rounding, test_month_interval, test_interval_rounding_monthly.
test("weeks and months of a range are whole", async () => {
  const on = (days: string[]) => days.map((day): Happening => ["person_1", "event_name", day]);
  const weeks = await makeProject(app, on(["2020-11-01", "2020-11-10", "2020-11-11", "2020-11-18"]));
  const event = "event_name";
  const byWeek = async (from: string) =>
    (await trends(weeks, { from, to: "2020-11-24", event, more: { interval: "week" } }))[0]!;
  const whole = await byWeek("2020-10-29");
  expect(whole.data).toEqual([0, 1, 2, 1, 0]);
  expect(whole.days).toEqual(["2020-10-25", "2020-11-01", "2020-11-08", "2020-11-15", "2020-11-22"]);
  // PostHog/posthog#12439: the first week is whole, where PostHog's newest test cuts it with the range.
  const cut = await byWeek("2020-11-04");
  expect(cut.days).toEqual(["2020-11-01", "2020-11-08", "2020-11-15", "2020-11-22"]);
  expect(cut.data).toEqual([1, 2, 1, 0]);
  const months = await makeProject(app, on(["2020-06-02", "2020-07-10", "2020-07-30", "2020-10-18"]));
  const byMonth = async (from: string, to: string) =>
    (await trends(months, { from, to, event, more: { interval: "month" } }))[0]!;
  const year = await byMonth("2020-07-01", "2020-11-24");
  expect(year.data).toEqual([2, 0, 0, 1, 0]);
  expect(year.labels).toEqual(["Jul 2020", "Aug 2020", "Sep 2020", "Oct 2020", "Nov 2020"]);
  const rounded = await byMonth("2020-06-07", "2020-07-30");
  expect([rounded.data, rounded.days]).toEqual([
    [1, 2],
    ["2020-06-01", "2020-07-01"],
  ]);
});

// PostHog/posthog#17216, #21297, #22878, #8165.
test("hours of a day by a property, one number of days, and a formula by a property", async () => {
  const happenings = [1, 5, 5, 23].map((hour): Happening => {
    const at = `2024-03-05T${String(hour).padStart(2, "0")}:30:00Z`;
    return [`p${hour}`, "open", at, { os: hour > 4 ? "mac" : "win" }];
  });
  const buys: Happening[] = [
    ["p5", "buy", "2024-03-05T06:00:00Z", { os: "mac" }],
    ["p5", "open", "2024-02-20T06:00:00Z", { os: "mac" }],
  ];
  const project = await makeProject(app, [...happenings, ...buys]);
  const breakdownFilter = { breakdown: "os", breakdown_type: "event" };
  const range = { from: "2024-03-05", to: "2024-03-05", event: "open" };
  const byHour = await trends(project, { ...range, more: { interval: "hour", breakdownFilter } });
  expect(byHour.map(({ label, count, data }) => [label, count, data.length])).toEqual([
    ["mac", 3, 24],
    ["win", 1, 24],
  ]);
  const filter = { display: "BoldNumber" };
  const [number] = await trends(project, { ...range, filter, more: { interval: "month" } });
  expect(number!.aggregated_value).toBe(4);
  const series = [{ event: "buy" }, { event: "open" }];
  const dateRange = { date_from: "2024-03-05", date_to: "2024-03-05" };
  const trendsFilter = { formula: "A/B" };
  const formula = { kind: "TrendsQuery", series, dateRange, trendsFilter, breakdownFilter };
  const lines = await project.results<TrendLine>(formula);
  const byValue = Object.fromEntries(lines.map(({ breakdown_value, data }) => [breakdown_value, data[0]]));
  expect([Number(byValue["mac"]).toFixed(2), byValue["win"] ?? 0]).toEqual(["0.33", 0]);
});

const [one, two, three] = ["step one", "step two", "step three"] as const;
const steps = [one, two, three].map((event) => ({ event }));

async function rates(project: PeerProject, from: string, to: string, filter: object = {}, more: object = {}) {
  const [line] = await project.results<TrendLine>({
    kind: "FunnelsQuery",
    series: steps,
    dateRange: { date_from: from, date_to: to },
    funnelsFilter: { funnelVizType: "trends", ...filter },
    ...more,
  });
  return { data: line!.data, days: line!.days };
}

// test_no_event_in_period, test_only_one_user_reached_one_step.
test("a funnel's trend of nobody, and of one who stops, has all its days in any zone", async () => {
  const nobody = await makeProject(app, [["user a", "Step one", "2021-06-06 21:00:00"]]);
  const range: [string, string] = ["2021-06-07 00:00:00", "2021-06-13 23:59:59"];
  const empty = await rates(nobody, ...range);
  expect([empty.days[0], empty.data]).toEqual(["2021-06-07", [0, 0, 0, 0, 0, 0, 0]]);
  for (const timezone of ["US/Pacific", "UTC"]) {
    const single = await makeProject(app, [["user a", one, "2021-06-07 19:00:00"]], { timezone });
    expect((await rates(single, ...range)).data).toEqual([0, 0, 0, 0, 0, 0, 0]);
  }
});

// test_week_interval, test_month_interval, test_steps_performed_in_period_but_in_reverse.
test("a funnel's trend by weeks and by months of a zone; steps in reverse convert nobody", async () => {
  const walk = (day: string, order: readonly string[]) =>
    order.map((event, i): Happening => ["user_one", event, `${day} 0${i}:00:00`]);
  const week = await makeProject(app, walk("2021-05-01", [one, two, three]));
  const byWeek = await rates(week, "2021-05-01 00:00:00", "2021-05-07 00:00:00", {}, { interval: "week" });
  expect(byWeek).toEqual({ days: ["2021-04-25", "2021-05-02"], data: [100, 0] });
  const cases = [
    ["US/Pacific", [0, 0, 0, 100, 0, 0, 0]],
    ["UTC", [0, 0, 0, 0, 100, 0, 0]],
  ] as const;
  for (const [timezone, data] of cases) {
    const month = await makeProject(app, walk("2020-05-01", [one, two, three]), { timezone });
    const range: [string, string] = ["2020-01-01 00:00:00", "2020-07-01 00:00:00"];
    expect((await rates(month, ...range, {}, { interval: "month" })).data).toEqual([...data]);
  }
  const back = await makeProject(app, walk("2021-05-01", [three, two, one]));
  expect((await rates(back, "2021-05-01", "2021-05-01")).data).toEqual([0]);
});

const walks: [order: string, ...walks: string[][]][] = [
  ["ordered", [one, two, three], [one, two], [one, two, three]],
  ["unordered", [one, three, two], [two, one], [three, one, two]],
  ["strict", [one, two, three], [one, two, "blah", three], [one, two, three]],
];

// test_one_person_in_multiple_periods_and_windows, the same in an unordered and in a strict funnel.
test.each(walks)(
  "a person enters a funnel's trend once in each interval: %s",
  async (funnelOrderType, ...walks) => {
    const days = ["2021-05-01 01", "2021-05-03 01", "2021-05-04 11"];
    const happenings = walks.flatMap((walk, i) =>
      walk.map((event, n): Happening => {
        const hour = Number(days[i]!.slice(11)) + n;
        return ["user_one", event, `${days[i]!.slice(0, 10)} ${String(hour).padStart(2, "0")}:00:00`];
      }),
    );
    const project = await makeProject(app, [...happenings, ["user_two", one, "2021-05-04 18:00:00"]]);
    const filter = { funnelWindowInterval: 1, funnelOrderType };
    const { data } = await rates(project, "2021-05-01 00:00:00", "2021-05-04 23:59:59", filter);
    expect(data).toEqual([100, 0, 0, 50]);
  },
);

// test_from_second_step, test_to_second_step.
test("a funnel's trend from its second step, and to it", async () => {
  const project = await makeProject(app, [
    ["user_one", one, "2021-05-01 01:00:00"],
    ["user_one", two, "2021-05-02 02:00:00"],
    ["user_one", three, "2021-05-02 03:00:00"],
    ["user_two", one, "2021-05-01 01:00:00"],
    ["user_three", two, "2021-05-02 02:00:00"],
    ["user_three", three, "2021-05-02 03:00:00"],
    ["user_four", one, "2021-05-02 01:00:00"],
    ["user_four", two, "2021-05-02 02:00:00"],
  ]);
  const range: [string, string] = ["2021-05-01 00:00:00", "2021-05-02 23:59:59"];
  const filter = { funnelWindowInterval: 3 };
  expect((await rates(project, ...range, { ...filter, funnelFromStep: 1 })).data).toEqual([100, 0]);
  expect((await rates(project, ...range, { ...filter, funnelToStep: 1 })).data).toEqual([50, 100]);
});

const unordered = (events: string[], exclusions?: object[]) => ({
  kind: "FunnelsQuery",
  series: events.map((event) => ({ event })),
  dateRange: { date_from: "2021-05-01 00:00:00", date_to: "2021-05-14 00:00:00" },
  funnelsFilter: { funnelOrderType: "unordered", ...(exclusions && { exclusions }) },
});
const exclusion = (from: number, to: number) => ({
  kind: "EventsNode",
  event: "x",
  funnelFromStep: from,
  funnelToStep: to,
});

// test_basic_funnel_default_funnel_days and others: times of an unordered funnel are of the first conversion.
test("times of an unordered funnel are those of each person's first conversion", async () => {
  const at = (day: number, hour: number) => `2021-05-0${day} 0${hour}:00:00`;
  const project = await makeProject(app, [
    ["p1", "user signed up", at(2, 0)],
    ["p2", "$pageview", at(2, 0)],
    ["p2", "user signed up", at(2, 1)],
    ["p3", "insight viewed", at(2, 0)],
    ["p3", "user signed up", at(2, 2)],
    ["p3", "$pageview", at(2, 4)],
    ["p3", "$pageview", at(3, 0)],
    ["p3", "insight viewed", at(3, 3)],
    ["p3", "user signed up", at(3, 6)],
  ]);
  const found = await project.results<FunnelStep>(
    unordered(["user signed up", "$pageview", "insight viewed"]),
  );
  expect(
    found.map(({ name, count, average_conversion_time }) => [name, count, average_conversion_time]),
  ).toEqual([
    ["Completed 1 step", 3, null],
    ["Completed 2 steps", 2, 5400],
    ["Completed 3 steps", 1, 7200],
  ]);
});

// test_funnel_exclusions_invalid_params, test_funnel_exclusions_full_window, test_unordered_exclusion_after_completion;
// PostHog/posthog#5074, #9537.
test("exclusions of an unordered funnel span all its steps, and end with the conversion", async () => {
  const day = "2021-05-01";
  const project = await makeProject(app, [
    ["person1", "user signed up", `${day} 01:00:00`],
    ["person1", "paid", `${day} 02:00:00`],
    ["person2", "user signed up", `${day} 03:00:00`],
    ["person2", "x", `${day} 03:30:00`],
    ["person2", "paid", `${day} 04:00:00`],
    ["person3", "user signed up", `${day} 05:00:00`],
    ["person3", "paid", `${day} 06:00:00`],
  ]);
  const [from, to] = ["user signed up", "paid"];
  for (const steps of [exclusion(1, 1), exclusion(0, 1)])
    expect((await project.query(unordered([from, to, "blah"], [steps]))).status).toBe(400);
  const source = unordered([from, to], [exclusion(0, 1)]);
  const found = await project.results<FunnelStep>(source);
  expect(found.map(({ count }) => count)).toEqual([3, 2]);
  const figure = { kind: "FunnelsActorsQuery", source, funnelStep: 2 };
  const persons = await project.results<[{ distinct_ids: string[] }]>({
    kind: "ActorsQuery",
    source: figure,
  });
  expect(persons.map(([{ distinct_ids }]) => distinct_ids[0]).toSorted()).toEqual(["person1", "person3"]);
  const walked = ["user signed up", "paid", "left", "x", "left"].map((event, i): Happening => {
    return ["person1", event, `${day} 0${i + 1}:00:00`];
  });
  const after = await makeProject(app, walked);
  const kept = await after.results<FunnelStep>(unordered([from, to, "left"], [exclusion(0, 2)]));
  expect(kept.map(({ count }) => count)).toEqual([1, 1, 1]);
});

// PostHog/posthog#33605, #7645.
test("a window of 31 days converts after 30 in all time, and a trend's days are those of its range", async () => {
  const project = await makeProject(app, [
    ["a", "trial", "2024-01-01 10:00:00"],
    ["a", "subscribed", "2024-01-31 10:00:00"],
    ["b", "trial", "2024-01-01 10:00:00"],
    ["b", "subscribed", "2024-02-02 10:00:00"],
  ]);
  const series = [{ event: "trial" }, { event: "subscribed" }];
  const funnelsFilter = { funnelWindowInterval: 31, funnelWindowIntervalUnit: "day" };
  const query = { kind: "FunnelsQuery", series, dateRange: { date_from: "all" }, funnelsFilter };
  expect((await project.results<FunnelStep>(query)).map(({ count }) => count)).toEqual([2, 1]);
  const dateRange = { date_from: "2024-01-01", date_to: "2024-02-10" };
  const trend = { ...query, dateRange, funnelsFilter: { ...funnelsFilter, funnelVizType: "trends" } };
  const [line] = await project.results<TrendLine>(trend);
  expect([line!.days.length, line!.days[0], line!.days.at(-1), line!.data[0]]).toEqual([
    41,
    "2024-01-01",
    "2024-02-10",
    50,
  ]);
  await ask(app, "PATCH", `${project.path}/`, { timezone: "Asia/Tokyo" });
  expect((await project.results<TrendLine>(trend))[0]!.days.length).toBe(41);
});
