// Dates of questions: the assertions of PostHog's test_query_date_range.py, and public threads.

import { expect, test } from "bun:test";
import { readDateSpan } from "../../src/query/date_range.ts";
import type { DateRange, Interval } from "../../src/query/parts/model.ts";
import { readPeriods } from "../../src/query/parts/periods.ts";
import type { QueryContext } from "../../src/query/store.ts";

interface Clock {
  now?: string;
  timezone?: string;
  weekStart?: number;
}

async function read(range: object, interval: string, clock: Clock = {}) {
  const { now = "2021-08-25T10:00:00Z", timezone = "UTC", weekStart = 0 } = clock;
  const context = { now: Date.parse(now), timezone, weekStart, project_id: 1 } as unknown as QueryContext;
  const dateRange = range as DateRange;
  return await readPeriods(context, { attr: "query", query: { dateRange }, interval: interval as Interval });
}

const text = (at: Temporal.ZonedDateTime) => at.toPlainDateTime().toString();

async function starts(...parts: Parameters<typeof read>): Promise<string[]> {
  return (await read(...parts)).starts.map(text);
}

const midnight = { now: "2021-08-25T00:00:00Z" };

// test_all_values, test_all_values_quarter_year, test_all_values_second_interval; PostHog/posthog#14585.
test.each([
  ["-20h", "day", {}, ["2021-08-24", "2021-08-25"]],
  ["-20d", "week", {}, ["2021-08-01", "2021-08-08", "2021-08-15", "2021-08-22"]],
  ["-20d", "week", { weekStart: 1 }, ["2021-08-02", "2021-08-09", "2021-08-16", "2021-08-23"]],
  ["-50d", "month", {}, ["2021-07-01", "2021-08-01"]],
  ["-7m", "quarter", {}, ["2021-01-01", "2021-04-01", "2021-07-01"]],
  ["-2y", "year", {}, ["2019-01-01", "2020-01-01", "2021-01-01"]],
])("the intervals from %s on by %s (%j)", async (date_from, interval, clock, expected) => {
  const found = await starts({ date_from }, interval, { ...midnight, ...clock });
  expect(found).toEqual(expected.map((day) => `${day}T00:00:00`));
});

test("hours, minutes and seconds until now", async () => {
  const hours = await starts({ date_from: "-3h" }, "hour", midnight);
  expect(hours.map((at) => at.slice(11, 13))).toEqual(["21", "22", "23", "00"]);
  const minutes = await starts({ date_from: "-5M" }, "minute", { now: "2021-08-25T12:30:20Z" });
  expect([minutes.length, minutes[0], minutes.at(-1)]).toEqual([
    6,
    "2021-08-25T12:25:00",
    "2021-08-25T12:30:00",
  ]);
  const seconds = await starts({ date_from: "-10s" }, "second", { now: "2021-08-25T12:30:00Z" });
  expect([seconds.length, seconds[0], seconds.at(-1)]).toEqual([
    10,
    "2021-08-25T12:29:50",
    "2021-08-25T12:29:59",
  ]);
});

// test_minute, test_second: the end of a range of seconds is that moment.
test.each([["-120s", "-60s", "second", "2021-08-24T23:58:00", "2021-08-24T23:59:00"]])(
  "from %s to %s by %s",
  async (date_from, date_to, interval, from, to) => {
    const { span } = await read({ date_from, date_to }, interval, midnight);
    expect([text(span.from), text(span.to)]).toEqual([from, to]);
  },
);

// test_parsed_date, test_parsed_date_hour, test_date_to_rounds_when_exact_timerange_false_and_no_date_to.
test.each([
  ["-7d", "day", "2021-08-25T14:30:45Z", "2021-08-26T00:00:00"],
  ["-7d", "hour", "2021-08-25T14:30:45Z", "2021-08-25T15:00:00"],
  ["-7d", "minute", "2021-08-25T14:30:45Z", "2021-08-25T14:31:00"],
])("%s by %s ends with the interval of now", async (date_from, interval, now, to) => {
  expect(text((await read({ date_from }, interval, { now })).span.to)).toEqual(to);
});

// test_absolute_date_to_boundary, test_yesterday, test_relative_week_date_with_…_as_week_start_day.
test.each([
  [{ date_from: "2021-04-01", date_to: "2021-04-25" }, {}, ["2021-04-01T00:00:00", "2021-04-26T00:00:00"]],
  [
    { date_from: "2021-04-01", date_to: "2021-04-25T00:00:00Z", explicitDate: true },
    {},
    ["2021-04-01T00:00:00", "2021-04-25T00:00:00"],
  ],
  [
    { date_from: "-1dStart", date_to: "-1dEnd", explicitDate: false },
    {},
    ["2021-08-24T00:00:00", "2021-08-25T00:00:00"],
  ],
  [
    { date_from: "-1wStart", date_to: "-1wEnd" },
    { now: "2025-10-08T00:00:00Z", weekStart: 1 },
    ["2025-09-29T00:00:00", "2025-10-06T00:00:00"],
  ],
  [
    { date_from: "-2wStart", date_to: "-2wEnd" },
    { now: "2025-10-08T00:00:00Z", weekStart: 1 },
    ["2025-09-22T00:00:00", "2025-09-29T00:00:00"],
  ],
  [
    { date_from: "-1wStart", date_to: "-1wEnd" },
    { now: "2025-10-08T00:00:00Z" },
    ["2025-09-28T00:00:00", "2025-10-05T00:00:00"],
  ],
  [
    { date_from: "-2wStart", date_to: "-2wEnd" },
    { now: "2025-10-08T00:00:00Z" },
    ["2025-09-21T00:00:00", "2025-09-28T00:00:00"],
  ],
])("the span of %j (%j)", (range, clock: Clock, expected) => {
  const { now = "2021-08-25T00:00:00Z", weekStart = 0 } = clock;
  const today = { now: Date.parse(now), timezone: "UTC", weekStart };
  const span = readDateSpan(range as DateRange, today, { attr: "query__dateRange" });
  expect([text(span.from), text(span.to)]).toEqual(expected);
});

// test_exclude_incomplete_periods_…; PostHog/posthog#48255, #68303, #81504, #27128.
test.each([
  ["day", { date_from: "-7d" }, {}, "2021-08-18T00:00:00", "2021-08-25T00:00:00"],
  ["week", { date_from: "-30d" }, {}, "2021-08-01T00:00:00", "2021-08-22T00:00:00"],
  ["week", { date_from: "-33d" }, { weekStart: 1 }, "2021-07-26T00:00:00", "2021-08-23T00:00:00"],
  ["month", { date_from: "-3m" }, {}, "2021-06-01T00:00:00", "2021-08-01T00:00:00"],
  ["quarter", { date_from: "-2y" }, {}, "2019-10-01T00:00:00", "2021-07-01T00:00:00"],
  ["year", { date_from: "-3y" }, {}, "2019-01-01T00:00:00", "2021-01-01T00:00:00"],
  [
    "week",
    { date_from: "2021-06-15", date_to: "2021-08-01" },
    {},
    "2021-06-20T00:00:00",
    "2021-08-02T00:00:00",
  ],
  ["month", { date_from: "-3m", date_to: "2021-06-15" }, {}, "2021-06-01T00:00:00", "2021-06-16T00:00:00"],
  ["month", { date_from: "-3d" }, {}, "2021-08-01T00:00:00", "2021-08-26T00:00:00"],
  ["day", { date_from: "dStart" }, {}, "2021-08-25T00:00:00", "2021-08-26T00:00:00"],
  ["month", { date_from: "mStart" }, {}, "2021-08-01T00:00:00", "2021-08-26T00:00:00"],
  [
    "month",
    { date_from: "2021-06-01", date_to: "2021-08-26", explicitDate: true },
    {},
    "2021-06-01T00:00:00",
    "2021-08-01T00:00:00",
  ],
  [
    "day",
    { date_from: "-7d" },
    { now: "2021-08-25T02:00:00Z", timezone: "US/Pacific" },
    "2021-08-17T00:00:00",
    "2021-08-24T00:00:00",
  ],
])("without unfinished intervals by %s %j is whole (%j)", async (interval, range, clock, from, to) => {
  const { span, starts } = await read({ ...range, excludeIncompletePeriods: true }, interval, clock);
  expect([text(span.from), text(starts[0]!), text(span.to)]).toEqual([from, from, to]);
});

// test_previous_period_date_from: seven whole days are compared with the seven before, without a day in both.
test("without unfinished intervals the period before is as long, and shares no day", async () => {
  const context = {
    now: Date.UTC(2021, 7, 25, 10),
    timezone: "UTC",
    project_id: 1,
  } as unknown as QueryContext;
  const dateRange = { date_from: "-7d", excludeIncompletePeriods: true } as DateRange;
  const query = { dateRange, compareFilter: { compare: true } };
  const { periods } = await readPeriods(context, { attr: "query", query, interval: "day" });
  expect(periods.map(({ starts }) => [starts.length, text(starts[0]!)])).toEqual([
    [7, "2021-08-18T00:00:00"],
    [7, "2021-08-11T00:00:00"],
  ]);
});
