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
  expect(judge("relative_increase", "percentage", { upper: 0.1 }, 10, null)).toEqual([null, null]);
});

test("a change the other way is said as what it is", () => {
  const say = (type: Rule["condition"]["type"], bounds: object, value: number, before: number) =>
    judge(type, "percentage", bounds, value, before)[1];
  expect(say("relative_increase", { lower: 0.1 }, 5, 10)).toBe("fell by 50%, not a rise of 10% or more");
  expect(say("relative_increase", { lower: -0.2 }, 5, 10)).toBe("fell by 50%, more than 20%");
  expect(say("relative_increase", { lower: 0 }, 5, 10)).toBe("fell by 50%, more than 0%");
  expect(say("relative_increase", { upper: -0.2 }, 9, 10)).toBe("fell by 10%, less than 20%");
  expect(say("relative_decrease", { lower: 0.1 }, 15, 10)).toBe("rose by 50%, not a fall of 10% or more");
  expect(say("relative_decrease", { lower: 0.1 }, 1, 0)).toBe(
    "rose by any share, from 0, not a fall of 10% or more",
  );
});

test("the first figure beyond the threshold is judged, else one that has nothing before", () => {
  const figure = (label: string, value: number, before: number | null) => ({
    label,
    value,
    before,
    unit: "" as const,
  });
  const configuration = { type: "absolute" as const, bounds: { upper: 5 } };
  const rule = {
    condition: { type: "relative_increase" as const },
    threshold: { id: "", created_at: "", configuration },
  };
  const [within, unknown, beyond] = [figure("a", 2, 1), figure("b", 9, null), figure("c", 9, 1)];
  expect(judgeFigures(rule, [within, unknown, beyond]).figure).toBe(beyond);
  expect(judgeFigures(rule, [within, unknown]).figure).toBe(unknown);
  expect(judgeFigures(rule, [within]).figure).toBe(within);
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
  // Half an hour is repeated from 15:00 on.
  expect(next("hourly", "2024-04-06T14:50:00Z", "Australia/Lord_Howe")).toBe("2024-04-06T15:05");
  expect(next("hourly", "2024-04-06T15:20:00Z", "Australia/Lord_Howe")).toBe("2024-04-06T16:05");
});
