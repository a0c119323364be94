// A funnel's answer, put together of rows that are given; and which numbers of it have persons behind them.

import { expect, test } from "bun:test";
import type { Fault } from "../../../src/core/fault.ts";
import { funnelsKind } from "../../../src/query/funnel/funnel.ts";
import { queryLimits } from "../../../src/query/limits.ts";
import { noValue, otherValues } from "../../../src/query/result.ts";
import type { QueryContext } from "../../../src/query/store.ts";

type Rows = Record<string, unknown>[];

/** A context whose statements are answered by these in turn. */
function openContext(...answers: Rows[]) {
  const asked: { text: string; params: Record<string, unknown> }[] = [];
  const run = (text: string, params: Record<string, unknown>) => {
    asked.push({ text, params: { ...params } });
    return Promise.resolve(answers.shift() ?? []);
  };
  const context = {
    run,
    project_id: 7,
    timezone: "UTC",
    now: Date.UTC(2024, 0, 10, 12),
    scopes: ["*"],
    elapsed: () => 0,
  } as unknown as QueryContext;
  return { context, asked };
}

const series = ["seen", "put", "bought"].map((event) => ({ kind: "EventsNode", event }));
const range = { dateRange: { date_from: "2024-01-01", date_to: "2024-01-03" } };
const checked = (more: object = {}) =>
  funnelsKind.check({ kind: "FunnelsQuery", series, ...range, ...more }, "query");
const answered = async (more: object, ...rows: Rows[]) =>
  (await checked(more).answer(openContext(...rows).context, [])).results as Record<string, unknown>[];

const counts = {
  line: 0,
  persons: ["9", "4", "1"],
  average_seconds: [null, 60, 5.5],
  median_seconds: [null, 50, 5],
};

test("steps have their events, how many came to each, and how long they took since the one before", async () => {
  const steps = await answered({}, [counts]);
  const shown = steps.map((one) => [one["action_id"], one["order"], one["count"], one["type"]]);
  expect(shown).toEqual([
    ["seen", 0, 9, "events"],
    ["put", 1, 4, "events"],
    ["bought", 2, 1, "events"],
  ]);
  expect(steps.map((one) => one["average_conversion_time"])).toEqual([null, 60, 5.5]);
  expect(steps.map((one) => one["median_conversion_time"])).toEqual([null, 50, 5]);
});

test("steps that nobody came to are 0, and take no time", async () => {
  const steps = await answered({}, []);
  expect(steps.map((one) => [one["count"], one["average_conversion_time"]])).toEqual([
    [0, null],
    [0, null],
    [0, null],
  ]);
});

test("steps without order are called after how many they are", async () => {
  const steps = await answered({ funnelsFilter: { funnelOrderType: "unordered" } }, [counts]);
  expect(steps.map((one) => [one["action_id"], one["name"]])).toEqual([
    [null, "Completed 1 step"],
    [null, "Completed 2 steps"],
    [null, "Completed 3 steps"],
  ]);
});

const breakdown = { breakdownFilter: { breakdown: "plan", breakdown_limit: 2 } };
const found = ["free", null, "paid"].map((value) => ({ value }));

test("each value of a breakdown has its steps, in the order of the values; a line without persons has zeros", async () => {
  const rows = [{ ...counts, line: 2, persons: [2, 1, 0] }, counts];
  const lines = (await answered(breakdown, found, rows)) as unknown as Record<string, unknown>[][];
  expect(lines.map((steps) => [steps[0]!["breakdown_value"], ...steps.map((one) => one["count"])])).toEqual([
    [["free"], 9, 4, 1],
    [[noValue], 0, 0, 0],
    [["Other"], 2, 1, 0],
  ]);
});

test("a breakdown by persons' properties needs a key that may read persons", async () => {
  const { context } = openContext();
  const ofPerson = { breakdownFilter: { breakdown: "plan", breakdown_type: "person" } };
  const refused = checked(ofPerson).answer({ ...context, scopes: ["query:read"] }, []);
  expect(await refused.catch((thrown: Fault) => thrown.code)).toBe("permission_denied");
});

const trends = { funnelVizType: "trends", funnelWindowInterval: 1, funnelWindowIntervalUnit: "day" };
const bucket = (at: number, entered: number, converted: number) => ({
  line: 0,
  bucket: at,
  entered,
  converted,
});

test("a trend is the share that converted in percent to two digits; none entered is 0, and other days are left out", async () => {
  const rows = [bucket(0, 3, 1), bucket(2, 0, 0), bucket(-1, 1, 1), bucket(3, 1, 1)];
  const [line] = await answered({ funnelsFilter: trends }, rows);
  expect(line).toEqual({
    count: 3,
    data: [33.33, 0, 0],
    labels: ["1-Jan-2024", "2-Jan-2024", "3-Jan-2024"],
    days: ["2024-01-01", "2024-01-02", "2024-01-03"],
  });
});

test.each([
  ["1 day", 1, ["2024-01-07", "2024-01-08"]],
  // The 8th is over at midnight; 12 hours later it is noon of the 9th, and now is noon of the 10th.
  ["36 hours", 36, ["2024-01-07", "2024-01-08"]],
  ["37 hours", 37, ["2024-01-07"]],
])("days whose window of %s is not over are hidden on request", async (unit, count, days) => {
  const funnelWindowIntervalUnit = unit.replace(/^\d+ |s$/g, "");
  const window = {
    funnelWindowInterval: count,
    funnelWindowIntervalUnit,
    hideIncompleteConversionWindowPeriods: true,
  };
  const dateRange = { date_from: "2024-01-07", date_to: "2024-01-10" };
  const [line] = await answered({ dateRange, funnelsFilter: { ...trends, ...window } }, []);
  expect(line!["days"]).toEqual(days);
});

test("a trend of too many numbers is refused before the engine counts", async () => {
  const lines = 25;
  const values = Array.from({ length: lines }, (_, i) => ({ value: String(i) }));
  const { context, asked } = openContext(values);
  const years = { date_from: "1990-01-01", date_to: "2023-12-31" };
  const query = checked({
    ...breakdown,
    breakdownFilter: { breakdown: "plan", breakdown_limit: lines },
    dateRange: years,
    interval: "day",
    funnelsFilter: trends,
  });
  const refused = await query.answer(context, []).catch((thrown: Fault) => thrown);
  // 34 years have 12 418 days.
  expect(lines * 12_418).toBeGreaterThan(queryLimits.queryNumbersMax);
  expect(refused).toMatchObject({ code: "invalid_input", attr: "query" });
  expect(asked).toHaveLength(1);
});

const times = { funnelVizType: "time_to_convert" };

test("times are bins with where each begins, an empty one too, and the last one's end", async () => {
  const bin = (at: number, persons: string) => ({
    bin: at,
    persons,
    low: "10",
    width: "60",
    bins: "3",
    average: 71.5,
  });
  const [result] = await answered({ funnelsFilter: times }, [bin(0, "4"), bin(2, "1")]);
  expect(result).toEqual({
    bins: [
      [10, 4],
      [70, 0],
      [130, 1],
      [190, 0],
    ],
    average_conversion_time: 71.5,
  });
});

test("without persons who converted there are as many bins as were asked for, of a minute", async () => {
  const empty = async (more: object) => (await answered({ funnelsFilter: { ...times, ...more } }, []))[0];
  expect(await empty({})).toEqual({
    bins: [
      [0, 0],
      [60, 0],
    ],
    average_conversion_time: null,
  });
  expect(await empty({ binCount: 2 })).toMatchObject({
    bins: [
      [0, 0],
      [60, 0],
      [120, 0],
    ],
  });
});

test("the window is two weeks unless the query has another", async () => {
  const windowOf = async (funnelsFilter: object) => {
    const { context, asked } = openContext([]);
    await checked({ funnelsFilter }).answer(context, []);
    return asked[0]!.params["window"];
  };
  const day = 86_400_000_000;
  expect(await windowOf({})).toBe(14 * day);
  expect(await windowOf({ funnelWindowInterval: 3 })).toBe(3 * day);
  expect(await windowOf({ funnelWindowInterval: 90, funnelWindowIntervalUnit: "second" })).toBe(90_000_000);
});

const persons = (funnelStep: number | null, more: object = {}, value?: unknown) => {
  const figure = { attr: "source", funnelStep, funnelStepBreakdown: value };
  return checked(more).persons!.of(openContext(found).context, [], figure);
};
const refusal = async (of: Promise<unknown> | unknown) => {
  const thrown = await Promise.resolve(of).then(
    () => undefined,
    (one: Fault) => one,
  );
  return [thrown?.attr, thrown?.message];
};

test.each([
  [1, ">=", 1],
  [3, ">=", 3],
  [-2, "=", 1],
  [-3, "=", 2],
])("the persons behind step %d are those whose steps are %s %d", async (step, sign, steps) => {
  const { text } = await persons(step);
  expect(text).toEndWith(`WHERE steps ${sign} ${steps}`);
});

test.each([null, 0, -1, 4, -4])("step %p has no persons behind it", async (step) => {
  expect(await refusal(persons(step))).toEqual([
    "source__funnelStep",
    "A step is needed: 1 to 3, or -2 to -3.",
  ]);
});

test("persons are of one value of a breakdown, as the result shows it; of none that it does not show", async () => {
  const lines = ["free", [noValue], ["Other"], noValue, otherValues];
  for (const [i, value] of lines.entries()) {
    const line = i < 3 ? i : i - 2;
    const { text } = await persons(2, breakdown, value);
    expect(text).toEndWith(`WHERE steps >= 2 AND line = ${line}`);
  }
  expect((await refusal(persons(2, breakdown, "paid")))[0]).toBe("source__funnelStepBreakdown");
  expect(await refusal(persons(2, {}, "free"))).toEqual([
    "source__funnelStepBreakdown",
    "This query has no breakdown.",
  ]);
});

test("times to convert have no persons behind them, and a point of a trend only those of an interval", async () => {
  expect(await refusal(persons(1, { funnelsFilter: { funnelVizType: "time_to_convert" } }))).toEqual([
    "source__funnelStep",
    "Steps and trends have lists of persons; times do not.",
  ]);
  expect(await refusal(persons(1, { funnelsFilter: { funnelVizType: "trends" } }))).toEqual([
    "source__funnelTrendsEntrancePeriodStart",
    "The start of an interval is needed.",
  ]);
});
