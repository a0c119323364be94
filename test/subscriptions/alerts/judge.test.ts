import { expect, test } from "bun:test";
import { judgeFigures, nextCheck } from "../../../src/subscriptions/alerts/judge.ts";

type Rule = Required<Parameters<typeof judgeFigures>[0]>;

function judge(
  type: Rule["condition"]["type"],
  unit: "absolute" | "percentage",
  bounds: object,
  value: number,
  before: number | null,
) {
  const threshold = { id: "", created_at: "", name: "", configuration: { type: unit, bounds } };
  const { breach, measured } = judgeFigures({ condition: { ...(type && { type }) }, threshold }, [
    { label: "a", value, before, unit: "" },
  ]);
  return [measured, breach];
}

test("a figure is beyond its bounds when it is above the upper or below the lower one, not on them", () => {
  const bounds = { lower: 10, upper: 20 };
  expect(judge(undefined, "absolute", bounds, 9, null)).toEqual([9, "9, below 10"]);
  expect(judge("absolute_value", "absolute", bounds, 21, null)).toEqual([21, "21, above 20"]);
  for (const value of [10, 15, 20])
    expect(judge(undefined, "absolute", bounds, value, null)).toEqual([value, undefined]);
  expect(judge(undefined, "absolute", {}, 5, null)).toEqual([5, undefined]);
  expect(judge(undefined, "absolute", { upper: null, lower: 0 }, -1, null)).toEqual([-1, "-1, below 0"]);
});

test("a change is the difference to the value before, or its share", () => {
  expect(judge("relative_increase", "absolute", { upper: 5 }, 20, 10)).toEqual([
    10,
    "rose by 10, more than 5",
  ]);
  expect(judge("relative_decrease", "absolute", { upper: 5 }, 20, 10)).toEqual([-10, undefined]);
  expect(judge("relative_decrease", "percentage", { upper: 0.5 }, 4, 10)).toEqual([
    0.6,
    "fell by 60%, more than 50%",
  ]);
  expect(judge("relative_increase", "percentage", { lower: 0.1 }, 10, 10)).toEqual([
    0,
    "rose by 0%, less than 10%",
  ]);
  expect(judge("relative_increase", "percentage", { upper: 0.1 }, 10, null)).toEqual([null, undefined]);
});

test("any rise from 0 is more than any share, and 0 after 0 is none", () => {
  expect(judge("relative_increase", "percentage", { upper: 9 }, 1, 0)).toEqual([
    null,
    "rose by any share, from 0, more than 900%",
  ]);
  expect(judge("relative_increase", "percentage", { upper: 9 }, 0, 0)).toEqual([0, undefined]);
});

test("an alert is checked after its interval is over, in the project's zone, and on no weekend that it skips", () => {
  const next = (
    calculation_interval: "hourly" | "daily" | "weekly" | "monthly",
    at: string,
    zone = "UTC",
    skip_weekend = false,
  ) => nextCheck({ calculation_interval, skip_weekend }, zone, Date.parse(at)).toISOString().slice(0, 16);
  expect(next("hourly", "2024-01-15T10:07:00Z")).toBe("2024-01-15T11:05");
  expect(next("daily", "2024-01-15T10:07:00Z")).toBe("2024-01-16T01:00");
  expect(next("daily", "2024-01-15T23:00:00Z", "Europe/Berlin")).toBe("2024-01-17T00:00");
  expect(next("weekly", "2024-01-15T10:07:00Z")).toBe("2024-01-22T03:00");
  expect(next("monthly", "2024-01-31T10:07:00Z")).toBe("2024-02-01T04:00");
  expect(next("daily", "2024-01-19T10:00:00Z", "UTC", true)).toBe("2024-01-22T01:00");
  expect(next("hourly", "2024-01-19T23:30:00Z", "UTC", true)).toBe("2024-01-22T00:05");
});
