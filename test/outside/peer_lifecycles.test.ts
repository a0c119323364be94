// Lifecycle and retention with the numbers of PostHog's own tests (test_lifecycle_query_runner.py,
// test_retention_query_runner.py) and of public threads. Each test names the one that it stands for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { RetentionCohort, TrendLine } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Happening, makeProject, type PeerProject } from "../support/journeys.ts";

let app: RunningApp;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
}, startMsMax);
afterAll(cleanUp, startMsMax);

/** Page views of each person at noon of these days. */
function visits(days: Record<string, string[]>, properties: (person: string) => object = () => ({})) {
  return Object.entries(days).flatMap(([person, list]) =>
    list.map((day): Happening => {
      return [person, "$pageview", day.length > 10 ? day : `${day}T12:00:00Z`, properties(person)];
    }),
  );
}

const january = {
  p1: ["11", "12", "13", "15", "17", "19"].map((day) => `2020-01-${day}`),
  p2: ["2020-01-09", "2020-01-12"],
  p3: ["2020-01-12"],
  p4: ["2020-01-15"],
};

async function lifecycle(project: PeerProject, from: string, to: string | undefined, more: object = {}) {
  const query = {
    kind: "LifecycleQuery",
    series: [{ event: "$pageview" }],
    dateRange: { date_from: from, ...(to && { date_to: to }) },
    ...more,
  };
  const lines = await project.results<TrendLine>(query);
  const data = Object.fromEntries(lines.map((line) => [line.status, line.data]));
  return { data, days: lines[0]!.days, lines };
}

const week: [string, string] = ["2020-01-12T00:00:00Z", "2020-01-19T00:00:00Z"];
const weekData = {
  new: [1, 0, 0, 1, 0, 0, 0, 0],
  returning: [1, 1, 0, 0, 0, 0, 0, 0],
  resurrecting: [1, 0, 0, 1, 0, 1, 0, 1],
  dormant: [0, -2, -1, 0, -2, 0, -1, 0],
};

// test_lifecycle_query_whole_range, test_lifecycle_trend, test_lifecycle_trend_all_time.
test("lifecycle of a whole range, of its middle, and of all time", async () => {
  const project = await makeProject(app, visits(january));
  const whole = await lifecycle(project, "2020-01-09", "2020-01-19");
  expect(whole.lines.map(({ status, label, count }) => [status, label, count])).toEqual([
    ["new", "$pageview - new", 4],
    ["returning", "$pageview - returning", 2],
    ["resurrecting", "$pageview - resurrecting", 4],
    ["dormant", "$pageview - dormant", -7],
  ]);
  expect(whole.data["new"]).toEqual([1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0]);
  expect((await lifecycle(project, ...week)).data).toEqual(weekData);
  expect((await lifecycle(project, "all", "2020-01-17T13:01:01Z")).data).toEqual({
    new: [1, 0, 1, 1, 0, 0, 1, 0, 0],
    returning: [0, 0, 0, 1, 1, 0, 0, 0, 0],
    resurrecting: [0, 0, 0, 1, 0, 0, 1, 0, 1],
    dormant: [0, -1, 0, 0, -2, -1, 0, -2, 0],
  });
  // PostHog/posthog#4035: which parts are drawn does not change the numbers.
  const toggled = { lifecycleFilter: { toggledLifecycles: ["new", "dormant"] } };
  const drawn = await lifecycle(project, ...week, toggled);
  expect(drawn.data["new"]).toEqual(weekData.new);
  expect(drawn.data["dormant"]).toEqual(weekData.dormant);
  // PostHog/posthog#6606, #27670: months of a range that is shorter than two.
  expect((await lifecycle(project, "2020-01-09", "2020-01-19", { interval: "month" })).data).toMatchObject({
    new: [4],
    dormant: [0],
  });
});

// test_lifecycle_trend_prop_filtering, test_lifecycle_trend_person_prop_filtering.
test("lifecycle of events with a property, of the series or of all, and of a person's", async () => {
  const properties = (person: string) => ({
    ...(person === "p1" && { $number: 1 }),
    $set: { name: person },
  });
  const project = await makeProject(app, visits(january, properties));
  const expected = {
    new: [0, 0, 0, 0, 0, 0, 0, 0],
    returning: [1, 1, 0, 0, 0, 0, 0, 0],
    resurrecting: [0, 0, 0, 1, 0, 1, 0, 1],
    dormant: [0, 0, -1, 0, -1, 0, -1, 0],
  };
  const number = [{ key: "$number", value: "1", operator: "exact", type: "event" }];
  const name = [{ key: "name", value: "p1", operator: "exact", type: "person" }];
  const seriesOf = (list: object[]) => ({ series: [{ event: "$pageview", properties: list }] });
  for (const more of [{ properties: number }, seriesOf(number), { properties: name }, seriesOf(name)])
    expect((await lifecycle(project, ...week, more)).data).toEqual(expected);
});

// test_filter_test_accounts.
test("lifecycle without test accounts", async () => {
  const properties = (person: string) =>
    person === "p1" ? { $set: { email: "test@example.com" } } : { $set: { name: person } };
  const filters = [{ key: "email", value: "@example.com", operator: "not_icontains", type: "person" }];
  const project = await makeProject(app, visits(january, properties));
  await ask(app, "PATCH", `${project.path}/`, { test_account_filters: filters });
  expect((await lifecycle(project, ...week, { filterTestAccounts: true })).data).toEqual({
    new: [1, 0, 0, 1, 0, 0, 0, 0],
    returning: [0, 0, 0, 0, 0, 0, 0, 0],
    resurrecting: [1, 0, 0, 0, 0, 0, 0, 0],
    dormant: [0, -2, 0, 0, -1, 0, 0, 0],
  });
});

// test_lifecycle_trends_distinct_id_repeat.
test("lifecycle of a person with two ids", async () => {
  const project = await makeProject(app, [
    ["p1", "$identify", "2020-01-12T12:00:00Z", { $anon_distinct_id: "another_p1" }],
    ...visits({ p1: ["12", "15", "17", "19"].map((day) => `2020-01-${day}`), another_p1: ["2020-01-14"] }),
  ]);
  expect((await lifecycle(project, ...week)).data).toEqual({
    new: [1, 0, 0, 0, 0, 0, 0, 0],
    returning: [0, 0, 0, 1, 0, 0, 0, 0],
    resurrecting: [0, 0, 1, 0, 0, 1, 0, 1],
    dormant: [0, -1, 0, 0, -1, 0, -1, 0],
  });
});

// test_lifecycle_trend_weeks_sunday, test_lifecycle_trend_weeks_monday, and PostHog/posthog#2650: the first interval.
test("lifecycle by weeks from Sunday and from Monday, whatever day of a week the range begins on", async () => {
  const project = await makeProject(
    app,
    visits({
      p1: ["02-01", "02-05", "02-10", "02-15", "02-27", "03-02"].map((day) => `2020-${day}`),
      p2: ["2020-02-11", "2020-02-18"],
      p3: ["2020-02-12"],
      p4: ["2020-02-27"],
    }),
  );
  const weeks = (from: string) => lifecycle(project, from, "2020-03-09T00:00:00Z", { interval: "week" });
  const expected = {
    new: [0, 2, 0, 1, 0, 0],
    returning: [1, 1, 1, 0, 1, 0],
    resurrecting: [0, 0, 0, 1, 0, 0],
    dormant: [0, 0, -2, -1, -1, -1],
  };
  const sunday = await weeks("2020-02-05T00:00:00Z");
  expect(sunday.days).toEqual(
    ["02-02", "02-09", "02-16", "02-23", "03-01", "03-08"].map((day) => `2020-${day}`),
  );
  expect(sunday.data).toEqual(expected);
  expect((await weeks("2020-02-08T00:00:00Z")).data).toEqual(expected);
  await ask(app, "PATCH", `${project.path}/`, { week_start_day: 1 });
  const monday = await weeks("2020-02-05T00:00:00Z");
  expect(monday.days).toEqual(
    ["02-03", "02-10", "02-17", "02-24", "03-02", "03-09"].map((day) => `2020-${day}`),
  );
  expect(monday.data).toEqual(expected);
});

// test_lifecycle_trend_months.
test("lifecycle by months", async () => {
  const project = await makeProject(
    app,
    visits({
      p1: ["01-11", "02-12", "03-13", "05-15", "07-17", "09-19"].map((day) => `2020-${day}`),
      p2: ["2019-12-09", "2020-02-12"],
      p3: ["2020-02-12"],
      p4: ["2020-05-15"],
    }),
  );
  const { data } = await lifecycle(project, "2020-02-01T00:00:00Z", "2020-09-01T00:00:00Z", {
    interval: "month",
  });
  expect(data).toEqual(weekData);
});

// test_timezones, test_dormant_on_dst with PostHog/posthog#30124.
test("lifecycle by days of a zone, also where its clocks change", async () => {
  const days = { ...january, p1: ["2020-01-11T23:00:00Z", "2020-01-12T01:00:00Z", ...january.p1.slice(2)] };
  const project = await makeProject(app, visits(days));
  expect((await lifecycle(project, "2020-01-12", "2020-01-19")).data).toEqual(weekData);
  await ask(app, "PATCH", `${project.path}/`, { timezone: "US/Pacific" });
  expect((await lifecycle(project, "2020-01-12", "2020-01-19")).data).toEqual({
    new: [1, 0, 0, 1, 0, 0, 0, 0],
    returning: [0, 0, 0, 0, 0, 0, 0, 0],
    resurrecting: [1, 1, 0, 1, 0, 1, 0, 1],
    dormant: [-1, -2, -1, 0, -2, 0, -1, 0],
  });
  const spring = await makeProject(app, visits({ p1: ["2025-03-09"] }), { timezone: "US/Pacific" });
  const { data, days: shown } = await lifecycle(spring, "2025-03-09T00:00:00Z", "2025-03-12T00:00:00Z");
  expect(shown).toEqual(["2025-03-08", "2025-03-09", "2025-03-10", "2025-03-11"]);
  expect([data["new"], data["dormant"]]).toEqual([
    [0, 1, 0, 0],
    [0, 0, -1, 0],
  ]);
});

// test_excludes_personless_events: where PostHog leaves such visitors out, the issues #25367 and #26319 ask for them.
test("lifecycle has visitors without a profile beside persons", async () => {
  const properties = (person: string) => (/p[34]/.test(person) ? { $process_person_profile: false } : {});
  const all = ["11", "12", "13", "14"].map((day) => `2020-01-${day}`);
  const days = { p1: all, p2: all.slice(0, 2), p3: all, p4: all.slice(0, 2) };
  const project = await makeProject(app, visits(days, properties));
  const { data } = await lifecycle(project, "2020-01-11T00:00:00Z", "2020-01-14T00:00:00Z");
  expect([data["new"], data["resurrecting"]]).toEqual([
    [4, 0, 0, 0],
    [0, 0, 0, 0],
  ]);
});

/** PostHog's days of retention tests: counted from 10 June 2020, at five by default. */
const at = (day: number, hour = 5, month = 0): string =>
  new Date(Date.UTC(2020, 5 + month, 10 + day, hour)).toISOString();
const pageviews = (list: [string, string][], event = "$pageview"): Happening[] =>
  list.map(([person, when]) => [person, event, when]);
const page = { id: "$pageview", type: "events" };
const anything = { id: null, name: "All events" };

async function retention(project: PeerProject, to: string, more: object): Promise<RetentionCohort[]> {
  const retentionFilter = { targetEntity: page, returningEntity: page, ...more };
  return await project.results({ kind: "RetentionQuery", dateRange: { date_to: to }, retentionFilter });
}

/** Counts of each row, without the intervals that are not over the edge. */
const triangle = (cohorts: readonly RetentionCohort[]): number[][] =>
  cohorts.map(({ values }, i) => values.slice(0, cohorts.length - i).map(({ count }) => count));

// test_week_interval, test_interval_rounding; PostHog/posthog#25841.
test("retention by weeks from Sunday and Monday, whatever day the range ends on", async () => {
  const project = await makeProject(
    app,
    pageviews([
      ["person1", at(0)],
      ["person2", at(0)],
      ["person1", at(1)],
      ["person2", at(1)],
      ["person1", at(7)],
      ["person2", at(7)],
      ["person1", at(14)],
      ["person1", at(-6, 5, 1)],
      ["person2", at(-6, 5, 1)],
      ["person2", at(1, 5, 1)],
      ["person1", at(1, 5, 1)],
      ["person2", at(15, 5, 1)],
    ]),
  );
  const expected = [
    [2, 2, 1, 2, 2, 0, 1],
    [2, 1, 2, 2, 0, 1],
    [1, 1, 1, 0, 0],
    [2, 2, 0, 1],
    [2, 0, 1],
    [0, 0],
    [1],
  ];
  const weeks = async (to: string) => {
    const cohorts = await retention(project, to, { period: "Week", totalIntervals: 7 });
    const dates = cohorts.map(({ date }) => String(date).slice(5, 10));
    return { counts: triangle(cohorts), dates, label: cohorts.at(-1)!.label };
  };
  const sundays = ["06-07", "06-14", "06-21", "06-28", "07-05", "07-12", "07-19"];
  expect(await weeks(at(10, 0, 1))).toEqual({ counts: expected, dates: sundays, label: "Week 6" });
  expect(await weeks(at(14, 0, 1))).toEqual({ counts: expected, dates: sundays, label: "Week 6" });
  await ask(app, "PATCH", `${project.path}/`, { week_start_day: 1 });
  const mondays = ["06-08", "06-15", "06-22", "06-29", "07-06", "07-13", "07-20"];
  expect(await weeks(at(10, 0, 1))).toEqual({ counts: expected, dates: mondays, label: "Week 6" });
});

// test_rolling_retention_with_minimum_occurrences, test_rolling_retention_doesnt_double_count_same_user.
test("retention on or after counts each person once, and occurrences from the interval on", async () => {
  const plain: [string, string][] = [
    ["person1", at(0)],
    ["person1", at(3)],
    ["person1", at(4)],
    ["person2", at(0)],
    ["person2", at(1)],
    ["person3", at(1)],
    ["person3", at(2)],
    ["person3", at(3)],
    ["person4", at(3)],
    ["person4", at(4)],
    ["person5", at(4)],
  ];
  const rolling = { cumulative: true, targetEntity: anything, returningEntity: anything };
  const once = await makeProject(app, pageviews(plain));
  expect(triangle(await retention(once, at(5, 6), { ...rolling, totalIntervals: 6 }))).toEqual([
    [2, 2, 1, 1, 1, 0],
    [2, 1, 1, 0, 0],
    [1, 1, 0, 0],
    [3, 2, 0],
    [3, 0],
    [0],
  ]);
  const more: [string, string][] = [at(4), at(4)].map((when) => ["person1", when]);
  const often = await makeProject(
    app,
    pageviews([...plain, ...more, ["person3", at(3)], ["person3", at(3)]]),
  );
  const three = { ...rolling, totalIntervals: 5, minimumOccurrences: 3 };
  expect(triangle(await retention(often, at(5, 6), three))).toEqual([
    [2, 1, 1, 0, 0],
    [1, 1, 0, 0],
    [3, 1, 0],
    [3, 0],
    [0],
  ]);
});

const ten: [string, string][] = [
  ["person1", at(0)],
  ["person1", at(1)],
  ["person1", at(2)],
  ["person1", at(5)],
  ["alias1", at(5, 9)],
  ["person1", at(6)],
  ["person2", at(1)],
  ["person2", at(2)],
  ["person2", at(3)],
  ["person2", at(6)],
];
const alias: Happening = ["person1", "$identify", at(-2), { $anon_distinct_id: "alias1" }];

// test_all_events, test_all_events_with_minimum_occurrences.
test("retention of all events, and of those who return twice", async () => {
  const project = await makeProject(app, [alias, ...pageviews(ten)]);
  const all = { totalIntervals: 11, targetEntity: anything };
  expect(triangle(await retention(project, at(10, 6), all)).slice(0, 7)).toEqual([
    [1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0],
    [2, 2, 1, 0, 1, 2, 0, 0, 0, 0],
    [2, 1, 0, 1, 2, 0, 0, 0, 0],
    [1, 0, 0, 1, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0],
    [1, 1, 0, 0, 0, 0],
    [2, 0, 0, 0, 0],
  ]);
  const twice = await retention(project, at(10, 6), { ...all, minimumOccurrences: 2 });
  expect(triangle(twice).slice(0, 4)).toEqual([
    [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
    [2, 0, 0, 0, 1, 0, 0, 0, 0, 0],
    [2, 0, 0, 1, 0, 0, 0, 0, 0],
    [1, 0, 0, 0, 0, 0, 0, 0],
  ]);
});

// test_retention_people_in_period, test_retention_people_basic, test_retention_people_search.
test("the persons of a row come with the intervals in which they returned, the most faithful first", async () => {
  const mails: Happening[] = ["person1", "person2"].map((person) => {
    return [person, "$set", at(-2), { $set: { email: `${person}@test.example` } }];
  });
  const seen: [string, string][] = [...ten, ["person2", at(7)]];
  const project = await makeProject(app, [alias, ...mails, ...pageviews(seen)]);
  const behind = async (interval: number, more: object = {}) => {
    const source = {
      kind: "RetentionQuery",
      dateRange: { date_to: at(10, 6) },
      retentionFilter: { totalIntervals: 11, targetEntity: page, returningEntity: page },
    };
    const figure = { kind: "InsightActorsQuery", source, interval };
    const query = { kind: "ActorsQuery", select: ["person", "appearances"], source: figure, ...more };
    const rows = await project.results<[{ distinct_ids: string[] }, number[]]>(query);
    return rows.map(([person, appearances]) => [person.distinct_ids.toSorted().at(-1), appearances]);
  };
  expect(await behind(2)).toEqual([
    ["person2", [0, 1, 4, 5]],
    ["person1", [0, 3, 4]],
  ]);
  expect((await behind(0)).map(([person]) => person)).toEqual(["person1"]);
  expect(await behind(2, { search: "test" })).toHaveLength(2);
  expect((await behind(2, { search: "person2@" })).map(([person]) => person)).toEqual(["person2"]);
});

// test_all_events_target_first_time with PostHog/posthog#24901; PostHog/posthog#2368: first in a person's whole life.
test("first-time retention is of the first event ever, and all events retain as many as one", async () => {
  const project = await makeProject(app, [
    ...pageviews(
      [
        ["person1", at(0)],
        ["person1", at(1)],
        ["person1", at(2)],
      ],
      "event1",
    ),
    ...pageviews(
      [
        ["person1", at(2)],
        ["person1", at(3)],
      ],
      "event2",
    ),
    ...pageviews(
      [
        ["person2", at(-30)],
        ["person2", at(1)],
      ],
      "event2",
    ),
  ]);
  const target = { id: "event2", type: "events" };
  const first = { retentionType: "retention_first_time", totalIntervals: 4, targetEntity: target };
  const one = await retention(project, at(2, 6), { ...first, returningEntity: target });
  expect(triangle(one)).toEqual([[0, 0, 0, 0], [0, 0, 0], [0, 0], [1]]);
  expect(triangle(await retention(project, at(2, 6), { ...first, returningEntity: anything }))).toEqual(
    triangle(one),
  );
});

// PostHog/posthog#17415, #2054, #17315.
test("retention's first interval is the whole cohort of its day in the project's zone", async () => {
  const happenings: Happening[] = [
    ["a", "open", "2024-03-03T16:30:00Z"],
    ["b", "open", "2024-03-04T15:30:00Z"],
    ["b", "buy", "2024-03-04T16:30:00Z"],
    ["c", "open", "2024-03-04T16:00:00Z"],
  ];
  const project = await makeProject(app, happenings, { timezone: "Asia/Shanghai" });
  const [open, buy] = ["open", "buy"].map((id) => ({ id, type: "events" }));
  const filter = { totalIntervals: 2, targetEntity: open, returningEntity: buy };
  const cohorts = await retention(project, "2024-03-05", filter);
  expect(triangle(cohorts)).toEqual([[2, 1], [1]]);
  const trend = { kind: "TrendsQuery", series: [{ event: "open", math: "dau" }] };
  const dateRange = { date_from: "2024-03-04", date_to: "2024-03-05" };
  const [line] = await project.results<TrendLine>({ ...trend, dateRange });
  expect(line!.data).toEqual([2, 1]);
});
