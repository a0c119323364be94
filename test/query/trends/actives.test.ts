// Persons active in the week or month before, by every interval and with a breakdown, and persons and groups that add up
// over time, against events that are counted one by one.

import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { type QueryEngine } from "../../../src/query/engine.ts";
import { noValue, type TrendLine } from "../../../src/query/result.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { storesStartMsMax } from "../../support/stores.ts";
import {
  bucketKey,
  bucketKeys,
  dayStart,
  type NaiveEvent,
  type NaiveInterval,
  someEvents,
  textOf,
  zones,
} from "../naive.ts";
import { openWorlds, type World } from "../worlds.ts";

afterAll(cleanUp, storesStartMsMax);

let engine: QueryEngine;
let worlds: World[];
const seed = 20_241_128;
beforeAll(async () => {
  ({ engine, worlds } = await openWorlds(someEvents, seed));
}, storesStartMsMax);

const days = ["2024-03-09", "2024-03-28", "2024-04-02", "2024-04-19"];
const ranges = fc
  .tuple(fc.constantFrom(...days), fc.constantFrom(...days))
  .map(([a, b]) => (a < b ? { date_from: a, date_to: b } : { date_from: b, date_to: a }));
const worldNumbers = fc.integer({ min: 0, max: zones.length - 1 });
const valueIn = ({ properties }: NaiveEvent) => textOf(properties, "plan") || noValue;
const countUsers = (events: readonly NaiveEvent[]) =>
  new Set(events.map(({ distinct_id }) => distinct_id)).size;

/** The events that count in an interval of a week's or a month's persons. */
function windowOf(
  { zone, events }: World,
  key: string,
  interval: NaiveInterval,
  length: number,
): NaiveEvent[] {
  if (interval === "hour") {
    const end = Number(key) + 3_600_000;
    return events.filter(({ at }) => at < end && at >= end - length * 86_400_000);
  }
  if (interval === "month" || (interval === "week" && length === 7))
    return events.filter(({ at }) => bucketKey(at, interval, zone) === key);
  const oldest = Temporal.PlainDate.from(key)
    .subtract({ days: length - 1 })
    .toString();
  return events.filter(({ at }) => {
    const day = bucketKey(at, "day", zone);
    return day >= oldest && day <= key;
  });
}

const intervals = fc.constantFrom<NaiveInterval>("hour", "day", "week", "month");
const maths = fc.constantFrom(["weekly_active", 7] as const, ["monthly_active", 30] as const);

test(
  "weekly and monthly active persons equal the naive count, by every interval and value",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        worldNumbers,
        ranges,
        intervals,
        maths,
        fc.boolean(),
        async (i, dateRange, interval, [math, length], isBroken) => {
          const { project_id, zone, events } = worlds[i]!;
          const breakdownFilter = { breakdown: "plan", breakdown_limit: 25 };
          const query = {
            kind: "TrendsQuery",
            series: [{ math }],
            interval,
            dateRange,
            ...(isBroken && { breakdownFilter }),
          };
          const lines = (await engine.run(project_id, query)).results as TrendLine[];
          const end = dayStart(Temporal.PlainDate.from(dateRange.date_to).add({ days: 1 }).toString(), zone);
          const world = { project_id, zone, events: events.filter(({ at }) => at < end) };
          // A week or month that is an interval's own begins with the first interval.
          const keys = bucketKeys(dateRange.date_from, dateRange.date_to, interval, zone);
          for (const line of lines) {
            const expected = keys.map((key) => {
              const some = windowOf(world, key, interval, length);
              return countUsers(
                isBroken ? some.filter((one) => valueIn(one) === line.breakdown_value) : some,
              );
            });
            expect(line.data).toEqual(expected);
          }
        },
      ),
      { numRuns: 40, seed },
    );
  },
  storesStartMsMax,
);

test(
  "their number of the whole time is of its last 7 or 30 days, and persons add up to all of a time",
  async () => {
    await fc.assert(
      fc.asyncProperty(worldNumbers, ranges, maths, async (i, dateRange, [math, length]) => {
        const { project_id, zone, events } = worlds[i]!;
        const query = { kind: "TrendsQuery", dateRange };
        const number = { ...query, series: [{ math }], trendsFilter: { display: "BoldNumber" } };
        const [line] = (await engine.run(project_id, number)).results as TrendLine[];
        const last = Temporal.PlainDate.from(dateRange.date_to).add({ days: 1 });
        const [from, to] = [last.subtract({ days: length }), last].map((day) =>
          dayStart(day.toString(), zone),
        );
        expect(line!.aggregated_value).toBe(countUsers(events.filter(({ at }) => at >= from! && at < to!)));
        const cumulative = {
          ...query,
          series: [{ math: "dau" }],
          trendsFilter: { display: "ActionsLineGraphCumulative" },
        };
        const [sums] = (await engine.run(project_id, cumulative)).results as TrendLine[];
        const keys = bucketKeys(dateRange.date_from, dateRange.date_to, "day", zone);
        const start = dayStart(dateRange.date_from, zone);
        const until = (key: string) =>
          events.filter(({ at }) => at >= start && bucketKey(at, "day", zone) <= key);
        expect(sums!.data).toEqual(keys.map((key) => countUsers(until(key))));
      }),
      { numRuns: 20, seed },
    );
  },
  storesStartMsMax,
);
