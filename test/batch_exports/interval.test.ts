// Intervals against models that count minute by minute, and against the clocks of zones.

import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  type Cadence,
  type ExportInterval,
  findNextInRange,
  intervalsIn,
  nextDue,
  openGrid,
  wholeRange,
} from "../../src/batch_exports/interval.ts";

const minute = 60_000;
const cadence = (interval: string, more: Partial<Cadence> = {}): Cadence => ({
  interval,
  timezone: "UTC",
  offset_day: 0,
  offset_hour: 0,
  ...more,
});

test("names stand for lengths", () => {
  expect(
    ["hour", "day", "week", "every 5 minutes", "every 1440 minutes"].map(
      (name) => openGrid(cadence(name)).lengthMs / minute,
    ),
  ).toEqual([60, 1440, 10_080, 5, 1440]);
  for (const wrong of ["", "month", "every 0 minutes", "every 5 minute", "every -1 minutes"]) {
    expect(() => openGrid(cadence(wrong))).toThrow("is not an interval");
  }
});

// The last seven are PostHog's, of its test of the alignment of backfills.
test.each([
  ["2025-01-07T13:47:11.123Z", "hour", {}, "2025-01-07T13:00:00.000Z"],
  ["2025-01-07T13:47:11.123Z", "day", {}, "2025-01-07T00:00:00.000Z"],
  ["2025-01-07T13:47:11.123Z", "week", {}, "2025-01-05T00:00:00.000Z"],
  ["2025-01-07T13:47:11.123Z", "week", { offset_day: 4 }, "2025-01-02T00:00:00.000Z"],
  ["2021-01-15T10:37:45Z", "hour", { timezone: "Asia/Kathmandu" }, "2021-01-15T10:00:00.000Z"],
  ["2021-01-15T10:37:45Z", "every 5 minutes", {}, "2021-01-15T10:35:00.000Z"],
  ["2021-01-15T10:30:00Z", "day", { offset_hour: 5 }, "2021-01-15T05:00:00.000Z"],
  ["2021-01-15T04:30:00Z", "day", { offset_hour: 5 }, "2021-01-14T05:00:00.000Z"],
  ["2021-01-14T10:00:00Z", "week", { offset_day: 1, offset_hour: 5 }, "2021-01-11T05:00:00.000Z"],
  ["2021-01-15T10:00:00Z", "day", { timezone: "US/Pacific", offset_hour: 1 }, "2021-01-15T09:00:00.000Z"],
  ["2021-01-15T08:30:00Z", "day", { timezone: "US/Pacific", offset_hour: 1 }, "2021-01-14T09:00:00.000Z"],
])("the interval of %s by %s %p begins where its clock says", (moment, name, more, begin) => {
  const grid = openGrid(cadence(name, more));
  expect(new Date(grid.before(Date.parse(moment))).toISOString()).toBe(begin);
  expect(grid.before(Date.parse(begin))).toBe(Date.parse(begin));
});

test("a day in which clocks change has 23 or 25 hours, and a day that a zone leaves out has no interval", () => {
  const lengths = (from: string, to: string, more: Partial<Cadence>) => {
    const grid = openGrid(cadence("day", more));
    const [start, end] = [from, to].map((date) => grid.startOn!(Temporal.PlainDate.from(date)));
    const found: number[] = [];
    for (let at = start!; at < end!; at = grid.after(at)) found.push((grid.after(at) - at) / (60 * minute));
    expect(intervalsIn(start!, end!, grid)).toBe(found.length);
    return found;
  };
  const newYork = { timezone: "America/New_York" };
  expect(lengths("2024-03-09", "2024-03-12", newYork)).toEqual([24, 23, 24]);
  expect(lengths("2024-11-02", "2024-11-05", newYork)).toEqual([24, 25, 24]);
  // 2:00 does not exist on 10 March: the interval begins at 3:00.
  expect(lengths("2024-03-09", "2024-03-12", { ...newYork, offset_hour: 2 })).toEqual([24, 23, 24]);
  // Samoa had no 30 December 2011.
  expect(lengths("2011-12-28", "2012-01-02", { timezone: "Pacific/Apia" })).toEqual([24, 24, 24, 24]);
});

const zones = [
  "UTC",
  "US/Eastern",
  "Europe/Berlin",
  "Australia/Lord_Howe",
  "America/Sao_Paulo",
  "Asia/Beirut",
  "Asia/Kathmandu",
  "America/Scoresbysund",
  "Antarctica/Troll",
  "Pacific/Apia",
  "Pacific/Kwajalein",
];

test("the intervals of a zone follow each other without gap or overlap, and begin at its hour where that exists", () => {
  const day = 1440 * minute;
  const grids = fc.record({
    interval: fc.constantFrom("day", "week"),
    timezone: fc.constantFrom(...zones),
    offset_day: fc.integer({ min: 0, max: 6 }),
    offset_hour: fc.integer({ min: 0, max: 23 }),
  });
  const moments = fc.integer({ min: Date.parse("1971-01-01"), max: Date.parse("2040-01-01") });
  fc.assert(
    fc.property(grids, moments, fc.integer({ min: 1, max: 400 }), (of, moment, days) => {
      const grid = openGrid(of);
      const [start, end] = [grid.before(moment), grid.before(moment + days * day)];
      expect([start <= moment, grid.after(moment) > moment]).toEqual([true, true]);
      let count = 0;
      for (let at = start; at < end; count++) {
        const next = grid.after(at);
        // Every moment within has the same neighbours.
        for (const inner of [at, at + 1, next - 1]) {
          expect([grid.before(inner), grid.after(inner)]).toEqual([at, next]);
        }
        const local = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(of.timezone);
        const wall = local.toPlainDate().toPlainDateTime(new Temporal.PlainTime(of.offset_hour));
        // A skipped hour, at the end of the day before too, moves the begin.
        const eve = wall.subtract({ days: 1 });
        const said = [wall, eve].find((one) => one.toZonedDateTime(of.timezone).epochMilliseconds === at)!;
        const exists = said.toZonedDateTime(of.timezone).toPlainDateTime().equals(said);
        expect(exists).toBe(local.hour === of.offset_hour && local.minute === 0);
        at = next;
      }
      expect(intervalsIn(start, end, grid)).toBe(count);
    }),
    { numRuns: 300 },
  );
});

/** Every minute from `until` on is looked at: is it the end of an aligned interval that has passed? */
function dueByCounting(
  {
    length,
    until,
    startAt,
    endAt,
  }: { length: number; until: number; startAt: number | null; endAt: number | null },
  now: number,
): ExportInterval[] {
  const due: ExportInterval[] = [];
  for (let end = until + 1; end <= now; end++) {
    if (end % length !== 0) continue;
    if (startAt !== null && end < startAt) continue;
    if (endAt !== null && end > endAt) continue;
    due.push({ start: (end - length) * minute, end: end * minute });
  }
  return due;
}

test("missed intervals come in order, each once, as counting finds them", () => {
  const moment = fc.integer({ min: 0, max: 2000 });
  const schedule = fc.record({
    length: fc.constantFrom(5, 7, 60, 1440),
    until: moment,
    startAt: fc.option(moment),
    endAt: fc.option(moment),
    now: moment,
  });
  const dateOf = (at: number | null) => (at === null ? null : new Date(at * minute));
  fc.assert(
    fc.property(schedule, ({ now, length, ...rest }) => {
      const grid = openGrid(cadence(`every ${length} minutes`));
      const bounds = { start_at: dateOf(rest.startAt), end_at: dateOf(rest.endAt) };
      const due: ExportInterval[] = [];
      let scheduled_until = dateOf(rest.until)!;
      let last_end: Date | null = null;
      for (;;) {
        const next = nextDue({ scheduled_until, last_end, ...bounds }, grid, now * minute);
        if (!next) break;
        due.push(next);
        scheduled_until = last_end = new Date(next.end);
      }
      expect(due).toEqual(dueByCounting({ length, ...rest }, now));
    }),
    { numRuns: 2000 },
  );
});

test("after a change of the grid the next interval begins where the last run ended", () => {
  const last = new Date("2026-03-01T05:00:00Z");
  const next = (of: Cadence) => {
    const schedule = { scheduled_until: last, last_end: last, start_at: null, end_at: null };
    const due = nextDue(schedule, openGrid(of), Date.parse("2026-04-01"))!;
    return [due.start, due.end].map((at) => new Date(at!).toISOString().slice(0, 16));
  };
  expect(next(cadence("day", { offset_hour: 5 }))).toEqual(["2026-03-01T05:00", "2026-03-02T05:00"]);
  expect(next(cadence("day"))).toEqual(["2026-03-01T05:00", "2026-03-02T00:00"]);
  expect(next(cadence("day", { timezone: "Asia/Tokyo" }))).toEqual(["2026-03-01T05:00", "2026-03-01T15:00"]);
  expect(next(cadence("week"))).toEqual(["2026-03-01T05:00", "2026-03-08T00:00"]);
  expect(next(cadence("hour"))).toEqual(["2026-03-01T05:00", "2026-03-01T06:00"]);
});

test("a backfill's intervals follow each other without gap or overlap, and none goes beyond its end", () => {
  const range = fc.record({
    start: fc.integer({ min: 0, max: 5000 }),
    more: fc.integer({ min: -10, max: 5000 }),
    minutes: fc.integer({ min: 1, max: 700 }),
  });
  fc.assert(
    fc.property(range, ({ start: from_, more, minutes }) => {
      const grid = openGrid(cadence(`every ${minutes} minutes`));
      const length = minutes * minute;
      const start = from_ * minute;
      const end = start + more * minute;
      let from = start;
      let count = 0;
      for (let next = findNextInRange(from, end, grid); next; next = findNextInRange(from, end, grid)) {
        // The first and the last one are shorter where the range begins or ends within them.
        const boundary = Math.min(Math.ceil((from + 1) / length) * length, end);
        expect(next).toEqual({ start: from, end: end - from <= length ? end : boundary });
        from = next.end;
        count++;
      }
      expect(from).toBe(Math.max(start, end));
      expect(intervalsIn(start, end, grid)).toBe(count);
    }),
  );
});

test("a repeated run is one interval, whatever it covers", () => {
  const grid = openGrid(cadence(wholeRange));
  expect(findNextInRange(7, 70_000_000, grid)).toEqual({ start: 7, end: 70_000_000 });
  expect([intervalsIn(7, 70_000_000, grid), intervalsIn(7, 7, grid)]).toEqual([1, 0]);
});
