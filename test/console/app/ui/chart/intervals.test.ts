import { expect, test } from "bun:test";
import { rangeBefore, unfinishedAt } from "../../../../../src/console/app/ui/chart/intervals.ts";

test("the interval that has begun and is not over is found among those to come, in months of any length", () => {
  const at = (text: string) => Date.parse(`${text}Z`) / 1000;
  const days = ["2026-03-01", "2026-03-02", "2026-03-03"].map((day) => at(`${day}T00:00:00`));
  expect(unfinishedAt(days, at("2026-03-03T09:00:00"))).toBe(2);
  expect(unfinishedAt(days, at("2026-03-02T09:00:00"))).toBe(1);
  expect(unfinishedAt(days, at("2026-03-04T00:00:00"))).toBeUndefined();
  expect(unfinishedAt(days, at("2026-02-04T00:00:00"))).toBeUndefined();
  const months = ["2026-01-01", "2026-02-01"].map((day) => at(`${day}T00:00:00`));
  expect(unfinishedAt(months, at("2026-02-28T23:00:00"))).toBe(1);
  expect(unfinishedAt(months, at("2026-03-01T00:00:00"))).toBeUndefined();
  expect(unfinishedAt(days.slice(0, 1), at("2026-03-01T09:00:00"))).toBe(0);
  expect(unfinishedAt([], 0)).toBeUndefined();
});

test("the time before a range is as many days, whatever clocks do between, or as many seconds", () => {
  const days = { date_from: "2026-03-29T00:00:00+01:00", date_to: "2026-03-31T23:59:59.999999+02:00" };
  expect(rangeBefore(days)).toEqual({ date_from: "2026-03-26", date_to: "2026-03-28" });
  expect(
    rangeBefore({ date_from: "2026-03-01T05:00:00+00:00", date_to: "2026-03-01T07:59:59+00:00" }),
  ).toEqual({ date_from: "2026-03-01T02:00:00Z", date_to: "2026-03-01T05:00:00Z", explicitDate: true });
  expect(rangeBefore({ date_from: null, date_to: null })).toBeUndefined();
});
