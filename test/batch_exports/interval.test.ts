// Intervals against models that count minute by minute.

import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  alignedBefore,
  type ExportInterval,
  intervalMs,
  intervalsIn,
  nextDue,
  nextOfRange,
} from "../../src/batch_exports/interval.ts";

const minute = 60_000;

test("names stand for lengths", () => {
  expect(["hour", "day", "week", "every 5 minutes"].map((name) => intervalMs(name) / minute)).toEqual([
    60, 1440, 10_080, 5,
  ]);
  for (const wrong of ["", "month", "every 0 minutes", "every 5 minute", "every -1 minutes"]) {
    expect(() => intervalMs(wrong)).toThrow("is not an interval");
  }
});

test("hours, days and weeks begin where UTC says, weeks on Thursdays", () => {
  const moment = Date.parse("2025-01-07T13:47:11.123Z");
  const begin = (name: string) => new Date(alignedBefore(moment, intervalMs(name))).toISOString();
  expect(begin("hour")).toBe("2025-01-07T13:00:00.000Z");
  expect(begin("day")).toBe("2025-01-07T00:00:00.000Z");
  expect(begin("week")).toBe("2025-01-02T00:00:00.000Z");
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
    due.push({ start: end - length, end });
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
  fc.assert(
    fc.property(schedule, ({ now, length, ...rest }) => {
      const due: ExportInterval[] = [];
      let until = rest.until;
      for (;;) {
        const [start_at, end_at] = [rest.startAt, rest.endAt].map((at) =>
          at === null ? null : new Date(at),
        );
        const due_now = { scheduled_until: new Date(until), start_at: start_at!, end_at: end_at! };
        const next = nextDue(due_now, length, now);
        if (!next) break;
        due.push(next);
        until = next.end;
      }
      expect(due).toEqual(dueByCounting({ length, ...rest }, now));
    }),
    { numRuns: 2000 },
  );
});

test("a backfill's intervals follow each other without gap or overlap, and none goes beyond its end", () => {
  const range = fc.record({
    start: fc.integer({ min: 0, max: 5000 }),
    more: fc.integer({ min: -10, max: 5000 }),
    length: fc.integer({ min: 1, max: 700 }),
  });
  fc.assert(
    fc.property(range, ({ start, more, length }) => {
      const end = start + more;
      let from = start;
      let count = 0;
      for (let next = nextOfRange(from, end, length); next; next = nextOfRange(from, end, length)) {
        // The first and the last one are shorter where the range begins or ends within them.
        const boundary = Math.min(Math.ceil((from + 1) / length) * length, end);
        expect(next).toEqual({ start: from, end: end - from <= length ? end : boundary });
        from = next.end;
        count++;
      }
      expect(from).toBe(Math.max(start, end));
      expect(intervalsIn(start, end, length)).toBe(count);
    }),
  );
});
