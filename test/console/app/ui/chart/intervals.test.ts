import { expect, test } from "bun:test";
import { rangeBefore, timeTicks } from "../../../../../src/console/app/ui/chart/intervals.ts";

test("the time before a range is as many days, whatever clocks do between, or as many seconds", () => {
  const days = { date_from: "2026-03-29T00:00:00+01:00", date_to: "2026-03-31T23:59:59.999999+02:00" };
  expect(rangeBefore(days)).toEqual({ date_from: "2026-03-26", date_to: "2026-03-28" });
  expect(
    rangeBefore({ date_from: "2026-03-01T05:00:00+00:00", date_to: "2026-03-01T07:59:59+00:00" }),
  ).toEqual({ date_from: "2026-03-01T02:00:00Z", date_to: "2026-03-01T05:00:00Z", explicitDate: true });
  expect(rangeBefore({ date_from: null, date_to: null })).toBeUndefined();
});

test("ticks of days and weeks are at times of the chart, those of hours at whole hours", () => {
  const day = 86_400;
  const weeks = [3, 10, 17, 24, 31].map((number) => number * day);
  expect(timeTicks(weeks, [0, 35 * day], 14 * day)).toEqual([3, 17, 31].map((number) => number * day));
  const hours = Array.from({ length: 30 }, (_, i) => (5 + i) * 3600);
  expect(timeTicks(hours, [hours[0]!, hours.at(-1)!], 6 * 3600)).toEqual(
    [6, 12, 18, 24, 30].map((hour) => hour * 3600),
  );
  expect(timeTicks([day], [0, 2 * day], day)).toEqual([day]);
  // A first visit, a month of nothing, two hundred days.
  const visits = [0, ...Array.from({ length: 200 }, (_, i) => 30 + i)].map((number) => number * day);
  expect(timeTicks(visits, [0, 230 * day], 28 * day)).toHaveLength(11);
});
