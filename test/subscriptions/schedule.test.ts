import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { type Options, RRule } from "rrule";
import {
  frequencies,
  nextOccurrence,
  type Schedule,
  summarize,
  weekdays,
} from "../../src/subscriptions/schedule.ts";

interface Case extends Schedule {
  after: string;
  /** What python-dateutil's rrule gives (occurrences.py beside the file made it), one after the other; null ends them. */
  expected: (string | null)[];
}

const cases = readFileSync(join(import.meta.dir, "../fixtures/subscriptions/occurrences.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Case);

const daily: Schedule = {
  frequency: "daily",
  interval: 1,
  byweekday: null,
  bysetpos: null,
  count: null,
  start_date: "2022-01-01T09:00:00Z",
  until_date: null,
  timezone: null,
};

function isoOf(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString().replace(".000Z", "Z");
}

/** The first `length` occurrences after a moment. */
function following(schedule: Schedule, after: string, length: number): (string | null)[] {
  const found: (string | null)[] = [];
  let at = Date.parse(after);
  while (found.length < length) {
    const next = nextOccurrence(schedule, at);
    found.push(isoOf(next));
    if (next === undefined) break;
    at = next;
  }
  return found;
}

test("occurrences are python-dateutil's", () => {
  const wrong = cases
    .map((one) => ({ ...one, got: following(one, one.after, one.expected.length) }))
    .filter(({ got, expected }) => !Bun.deepEquals(got, expected));
  expect(wrong).toEqual([]);
  expect(cases.length).toBeGreaterThanOrEqual(600);
});

test("occurrences are those of rrule for any rule that has some", () => {
  const emails = [RRule.MO, RRule.TU, RRule.WE, RRule.TH, RRule.FR, RRule.SA, RRule.SU];
  const codes = { daily: RRule.DAILY, weekly: RRule.WEEKLY, monthly: RRule.MONTHLY, yearly: RRule.YEARLY };
  const rules = fc.record({
    frequency: fc.constantFrom(...frequencies),
    interval: fc.integer({ min: 1, max: 40 }),
    byweekday: fc.option(fc.uniqueArray(fc.constantFrom(...weekdays), { minLength: 1 })),
    bysetpos: fc.option(fc.constantFrom(1, -1)),
    count: fc.option(fc.integer({ min: 1, max: 60 })),
    start: fc.date({ min: new Date("1995-01-01"), max: new Date("2030-01-01"), noInvalidDate: true }),
    days: fc.integer({ min: -50, max: 3000 }),
  });
  fc.assert(
    fc.property(rules, ({ start, days, ...rule }) => {
      // A daily rule that meets no named weekday makes that library search for seconds.
      fc.pre(rule.frequency !== "daily" || rule.byweekday === null || rule.interval % 7 !== 0);
      const dtstart = new Date(Math.floor(start.getTime() / 1000) * 1000);
      const after = new Date(dtstart.getTime() + days * 86_400_000);
      const { frequency, interval, byweekday, bysetpos, count } = rule;
      const options: Partial<Options> = {
        freq: codes[frequency],
        dtstart,
        interval,
        count,
        ...(byweekday && { byweekday: byweekday.map((day) => emails[weekdays.indexOf(day)]!) }),
        ...(byweekday && bysetpos !== null && { bysetpos }),
      };
      const expected = new RRule(options).after(after)?.getTime();
      const schedule = { ...daily, ...rule, start_date: dtstart.toISOString() };
      expect(nextOccurrence(schedule, after.getTime())).toBe(expected);
    }),
    { numRuns: 300 },
  );
});

test("an occurrence is strictly after the given moment, to the second of the start", () => {
  const precise = { ...daily, start_date: "2022-01-01T09:00:00.900000Z" };
  expect(following(precise, "2022-01-01T09:00:00Z", 1)).toEqual(["2022-01-02T09:00:00Z"]);
  expect(following(precise, "2022-01-01T08:59:59Z", 1)).toEqual(["2022-01-01T09:00:00Z"]);
  expect(following(daily, "2020-01-01T00:00:00Z", 1)).toEqual(["2022-01-01T09:00:00Z"]);
});

test("the time on the wall stays through changes of clocks", () => {
  const paris = { ...daily, start_date: "2024-03-29T08:00:00Z", timezone: "Europe/Paris" };
  expect(following(paris, "2024-03-29T12:00:00Z", 3)).toEqual([
    "2024-03-30T08:00:00Z",
    "2024-03-31T07:00:00Z",
    "2024-04-01T07:00:00Z",
  ]);
  const gap = { ...daily, start_date: "2024-03-30T01:30:00Z", timezone: "Europe/Paris" };
  expect(following(gap, "2024-03-30T12:00:00Z", 2)).toEqual(["2024-03-31T01:30:00Z", "2024-04-01T00:30:00Z"]);
  const twice = { ...daily, start_date: "2024-10-26T00:30:00Z", timezone: "Europe/Paris" };
  expect(following(twice, "2024-10-26T12:00:00Z", 2)).toEqual([
    "2024-10-27T00:30:00Z",
    "2024-10-28T01:30:00Z",
  ]);
});

test.each([
  ["GB", ["2024-03-30T09:00:00Z", "2024-03-31T08:00:00Z"]],
  ["europe/london", ["2024-03-30T09:00:00Z", "2024-03-31T08:00:00Z"]],
  ["Mars/Olympus", ["2024-03-30T09:00:00Z", "2024-03-31T09:00:00Z"]],
])("%s, which is stored, is an alias, another case's zone, or read as UTC", (timezone, expected) => {
  const stored = { ...daily, start_date: "2024-03-29T09:00:00Z", timezone };
  expect(following(stored, "2024-03-29T12:00:00Z", 2)).toEqual(expected);
});

test("a weekday is the wall's, not Greenwich's", () => {
  const tokyo = {
    ...daily,
    frequency: "weekly" as const,
    byweekday: ["monday" as const],
    start_date: "2024-01-01T22:00:00Z",
    timezone: "Asia/Tokyo",
  };
  expect(following(tokyo, "2024-01-02T00:00:00Z", 2)).toEqual([
    "2024-01-07T22:00:00Z",
    "2024-01-14T22:00:00Z",
  ]);
});

test("rules that can never match, and starts at the ends of time, are answered at once", () => {
  const never: Schedule[] = [
    { ...daily, byweekday: ["friday"], bysetpos: 2 },
    { ...daily, byweekday: ["friday"], interval: 7 },
    { ...daily, frequency: "weekly", byweekday: ["friday"], bysetpos: -2 },
    { ...daily, frequency: "monthly", byweekday: ["friday"], bysetpos: 6 },
    { ...daily, frequency: "yearly", byweekday: ["friday"], bysetpos: 366 },
    {
      ...daily,
      frequency: "monthly",
      start_date: "2022-01-31T00:00:00Z",
      until_date: "2022-01-01T00:00:00Z",
    },
    { ...daily, interval: 2_147_483_647 },
    { ...daily, frequency: "monthly", interval: 2_147_483_647 },
    { ...daily, frequency: "yearly", interval: 2_147_483_647 },
    { ...daily, count: 0 },
    { ...daily, count: -5 },
  ];
  const after = "2022-01-01T09:00:00Z";
  const cpu = process.cpuUsage();
  expect(never.map((schedule) => following(schedule, after, 1))).toEqual(never.map(() => [null]));
  const old = { ...daily, start_date: "0001-01-01T00:00:00Z", timezone: "Europe/Paris" };
  expect(following({ ...old, count: 2_147_483_647 }, after, 1)).toHaveLength(1);
  expect(following({ ...old, byweekday: ["sunday"] }, after, 1)).toHaveLength(1);
  expect(following({ ...daily, start_date: "9999-12-31T23:59:59Z" }, after, 2)).toEqual([
    "9999-12-31T23:59:59Z",
    null,
  ]);
  const { user } = process.cpuUsage(cpu);
  // Searched to the year 9999 the first of them alone takes seconds.
  expect(user / 1e6).toBeLessThan(1.5);
});

test("a rule on 29 February falls due every four years, one on the 31st skips short months", () => {
  const leap = { ...daily, frequency: "yearly" as const, start_date: "2096-02-29T09:00:00Z" };
  expect(following(leap, "2096-02-29T09:00:00Z", 2)).toEqual([
    "2104-02-29T09:00:00Z",
    "2108-02-29T09:00:00Z",
  ]);
  const last = { ...daily, frequency: "monthly" as const, start_date: "2024-01-31T09:00:00Z" };
  expect(following(last, "2024-01-31T09:00:00Z", 2)).toEqual([
    "2024-03-31T09:00:00Z",
    "2024-05-31T09:00:00Z",
  ]);
});

test.each([
  [{ frequency: "daily" }, "sent every day"],
  [{ frequency: "weekly" }, "sent every week"],
  [{ frequency: "monthly", interval: 2 }, "sent every 2 months"],
  [{ frequency: "yearly", byweekday: ["monday"] }, "sent every year"],
  [
    { frequency: "monthly", byweekday: ["wednesday"], bysetpos: 3 },
    "sent every month on the third Wednesday",
  ],
  [
    { frequency: "weekly", interval: 2, byweekday: ["friday"], bysetpos: -1 },
    "sent every 2 weeks on the last Friday",
  ],
  [
    { frequency: "monthly", byweekday: ["monday", "friday"], bysetpos: 1 },
    "sent every month on the first day",
  ],
  [{ frequency: "monthly", byweekday: ["monday"], bysetpos: 5 }, "sent on a schedule"],
  [{ frequency: "monthly", bysetpos: 5 }, "sent every month"],
] as [Partial<Schedule>, string][])("%j is %s", (rule, summary) => {
  expect(summarize({ ...daily, ...rule })).toBe(summary);
});
