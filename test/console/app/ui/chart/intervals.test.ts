import { expect, test } from "bun:test";
import { rangeBefore } from "../../../../../src/console/app/ui/chart/intervals.ts";

test("the time before a range is as many days, whatever clocks do between, or as many seconds", () => {
  const days = { date_from: "2026-03-29T00:00:00+01:00", date_to: "2026-03-31T23:59:59.999999+02:00" };
  expect(rangeBefore(days)).toEqual({ date_from: "2026-03-26", date_to: "2026-03-28" });
  expect(
    rangeBefore({ date_from: "2026-03-01T05:00:00+00:00", date_to: "2026-03-01T07:59:59+00:00" }),
  ).toEqual({ date_from: "2026-03-01T02:00:00Z", date_to: "2026-03-01T05:00:00Z", explicitDate: true });
  expect(rangeBefore({ date_from: null, date_to: null })).toBeUndefined();
});
