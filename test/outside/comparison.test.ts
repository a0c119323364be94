// Comparison with the period before, as strangers expect it. Each test names the public threads that it stands for.

import { expect, test } from "bun:test";
import { readDateSpan } from "../../src/query/date_range.ts";
import type { Interval } from "../../src/query/parts/model.ts";
import { readPeriods } from "../../src/query/parts/periods.ts";
import type { QueryContext } from "../../src/query/store.ts";

/** A Friday evening. */
const now = Date.UTC(2026, 10, 27, 18, 43);

async function periods(date_from: string | undefined, interval: Interval, isTotal = false) {
  const dateRange = date_from === undefined ? {} : { date_from };
  const query = { dateRange, compareFilter: { compare: true } };
  const context = { now, timezone: "UTC", project_id: 1 } as unknown as QueryContext;
  const found = await readPeriods(context, { attr: "query", query, interval, isTotal });
  return found.periods.map(({ span, starts }) => ({
    days: starts.map((at) => at.toPlainDateTime().toString().slice(0, 13)),
    span: [span.from, span.to].map((at) => at.toPlainDateTime().toString().slice(0, 13)),
  }));
}

// PostHog/posthog#27128, #20536, #9678.
test.each([
  ["-7d", 7],
  [undefined, 7],
  ["-14d", 14],
  ["-28d", 28],
  ["-2w", 14],
])("%p is compared with the same weekdays", async (date_from, days) => {
  const [current, before] = await periods(date_from, "day");
  expect([current!.days.at(-1), current!.days.length]).toEqual(["2026-11-27T00", days + 1]);
  const at = (back: number) => new Date(now - back * 86_400_000).toISOString().slice(0, 10);
  expect([before!.days[0], before!.days.at(-1)]).toEqual([`${at(2 * days)}T00`, `${at(days)}T00`]);
  const [, number] = await periods(date_from, "day", true);
  expect(number!.span).toEqual([`${at(2 * days)}T00`, `${at(days - 1)}T00`]);
});

// PostHog/posthog#46907.
test("30 days, which are no whole weeks, are compared with the 31 directly before", async () => {
  const [, before] = await periods("-30d", "day");
  expect([before!.days[0], before!.days.at(-1)]).toEqual(["2026-09-27T00", "2026-10-27T00"]);
});

// PostHog/posthog#61533.
test.each([
  ["mStart", "day", "2026-10-01T00"],
  ["wStart", "day", "2026-11-15T00"],
  ["qStart", "month", "2026-07-01T00"],
  ["yStart", "month", "2025-01-01T00"],
  ["dStart", "hour", "2026-11-26T00"],
  ["-24h", "hour", "2026-11-25T18"],
  ["-6h", "hour", "2026-11-27T06"],
] as const)("%p by %p begins where the unit before it begins", async (date_from, interval, first) => {
  const [current, before] = await periods(date_from, interval);
  expect(before!.days[0]).toBe(first);
  expect(before!.days.length).toBeLessThanOrEqual(current!.days.length);
});

test("a shorter unit ends with itself", async () => {
  const late = { now: Date.UTC(2026, 2, 31, 12), timezone: "UTC", project_id: 1 } as unknown as QueryContext;
  const query = { dateRange: { date_from: "mStart" }, compareFilter: { compare: true } };
  for (const isTotal of [false, true]) {
    const { periods } = await readPeriods(late, { attr: "query", query, interval: "day", isTotal });
    expect(periods[1]!.starts).toHaveLength(isTotal ? 0 : 28);
    expect(periods[1]!.span.to.toPlainDate().toString()).toBe("2026-03-01");
  }
});

test("an explicit range, or one with an end, is compared with what lies directly before", async () => {
  const context = { now, timezone: "UTC", project_id: 1 } as unknown as QueryContext;
  const dateRange = { date_from: "2026-11-01", date_to: "2026-11-07" };
  const query = { dateRange, compareFilter: { compare: true } };
  const { periods } = await readPeriods(context, { attr: "query", query, interval: "day" });
  expect(periods[1]!.starts[0]!.toPlainDate().toString()).toBe("2026-10-25");
  expect(readDateSpan(dateRange, context, { attr: "query" }).from.equals(periods[1]!.span.to)).toBe(true);
});

// PostHog's QueryCompareToDateRange: the start goes back, the length stays.
test("compare_to moves the start back, whatever the range is", async () => {
  const context = { now, timezone: "UTC", project_id: 1 } as unknown as QueryContext;
  const found = async (dateRange: object, compare_to: string, isTotal: boolean) => {
    const query = { dateRange, compareFilter: { compare: true, compare_to } };
    const { periods } = await readPeriods(context, { attr: "query", query, interval: "day", isTotal });
    const { span, until } = periods[1]!;
    return [span.from, span.to, until].map((at) => at?.toPlainDateTime().toString().slice(0, 16));
  };
  const march = { date_from: "2026-03-01", date_to: "2026-03-31" };
  for (const isTotal of [false, true]) {
    // A month back from March is as long as March.
    expect(await found(march, "-1m", isTotal)).toEqual(["2026-02-01T00:00", "2026-03-04T00:00", undefined]);
    expect(await found(march, "-1y", isTotal)).toEqual(["2025-03-01T00:00", "2025-04-01T00:00", undefined]);
    const month = await found({ date_from: "mStart" }, "-1y", isTotal);
    expect(month).toEqual(["2025-11-01T00:00", "2025-11-28T00:00", "2025-11-27T18:43"]);
  }
});
