import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createProject } from "../../src/projects/store.ts";
import { type QueryEngine } from "../../src/query/engine.ts";
import { noValue, otherValues, type RetentionCohort, type TrendLine } from "../../src/query/result.ts";
import { trimCohorts } from "../../src/query/results/figures.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUp } from "../support/cleanup.ts";
import { storesStartMsMax } from "../support/stores.ts";
import {
  aggregateOf,
  bucketKey,
  bucketKeys,
  dayStart,
  type NaiveEvent,
  type NaiveInterval,
  someEvents,
  storeEvents,
  textOf,
  zones,
} from "./naive.ts";
import { openWorlds, type World } from "./worlds.ts";

afterAll(cleanUp, storesStartMsMax);

let stores: Stores;
let engine: QueryEngine;
let worlds: World[];
const seed = 20_240_331;

beforeAll(async () => {
  ({ stores, engine, worlds } = await openWorlds(someEvents, seed));
  const { clickhouse } = stores;
  // Half of them in parts that are merged, half not.
  await clickhouse.command(`OPTIMIZE TABLE ${clickhouse.tables.local("event_rows")} FINAL`);
  for (const { project_id, events } of worlds) await storeEvents(stores, project_id, events.slice(50, 90));
}, storesStartMsMax);

const days = ["2024-03-01", "2024-03-09", "2024-03-28", "2024-04-02", "2024-04-19"];
const ranges = fc
  .tuple(fc.constantFrom(...days), fc.constantFrom(...days))
  .map(([a, b]) => (a < b ? { date_from: a, date_to: b } : { date_from: b, date_to: a }));
const worldNumber = fc.integer({ min: 0, max: zones.length - 1 });
const intervals = fc.constantFrom<NaiveInterval>("hour", "day", "week", "month");
const maths = fc.constantFrom(
  "total",
  "dau",
  "unique_session",
  "unique",
  "sum",
  "avg",
  "min",
  "max",
  "median",
  "p90",
);
const names = fc.constantFrom(null, "seen", "tried", "bought");

/** One filter, and what it means. */
const filters = fc.constantFrom<[unknown[], (event: NaiveEvent) => boolean]>(
  [[], () => true],
  [
    [{ key: "plan", value: ["pro", "true"] }],
    ({ properties }) => ["pro", true].includes(properties["plan"] as never),
  ],
  [[{ key: "plan", operator: "is_not_set" }], ({ properties }) => textOf(properties, "plan") === null],
  [
    [{ key: "price", operator: "gte", value: 10 }],
    ({ properties }) => Number(textOf(properties, "price") ?? Number.NaN) >= 10,
  ],
);

function worldOf(i: number): World {
  const world = worlds[i];
  if (!world) throw new Error("no such world");
  return world;
}

function close(left: readonly number[], right: readonly number[]): void {
  expect(left).toHaveLength(right.length);
  for (const [i, one] of left.entries()) expect(one).toBeCloseTo(right[i] ?? 0, 6);
}

/** What a trend's buckets hold. */
function bucketed(
  { zone, events }: World,
  keys: readonly string[],
  interval: NaiveInterval,
  end: number,
  keep: (event: NaiveEvent) => boolean,
): NaiveEvent[][] {
  return keys.map((key) =>
    events.filter((one) => one.at < end && keep(one) && bucketKey(one.at, interval, zone) === key),
  );
}

function endOf(day: string, zone: string): number {
  return dayStart(Temporal.PlainDate.from(day).add({ days: 1 }).toString(), zone);
}

describe("a trend equals the naive count", () => {
  test(
    "of any math, interval, zone and filter",
    async () => {
      await fc.assert(
        fc.asyncProperty(
          worldNumber,
          ranges,
          intervals,
          maths,
          names,
          filters,
          async (i, dateRange, interval, math, event, [properties, keep]) => {
            const world = worldOf(i);
            const series = [{ kind: "EventsNode", event, math, math_property: "price", properties }];
            const query = { kind: "TrendsQuery", series, interval, dateRange };
            const { results } = await engine.run(world.project_id, query);
            const [line] = results as TrendLine[];
            const keys = bucketKeys(dateRange.date_from, dateRange.date_to, interval, world.zone);
            const end = endOf(dateRange.date_to, world.zone);
            const of = (one: NaiveEvent) => (event === null || one.event === event) && keep(one);
            close(
              line?.data ?? [],
              bucketed(world, keys, interval, end, of).map((some) => aggregateOf(math, some)),
            );
          },
        ),
        { numRuns: 80, seed },
      );
    },
    storesStartMsMax,
  );

  test(
    "of every value of a breakdown",
    async () => {
      await fc.assert(
        fc.asyncProperty(worldNumber, ranges, fc.integer({ min: 1, max: 7 }), maths, async (...asked) => {
          const [i, dateRange, limit, math] = asked;
          const world = worldOf(i);
          const breakdownFilter = { breakdown: "plan", breakdown_type: "event", breakdown_limit: limit };
          const series = [{ event: null, math, math_property: "price" }];
          const query = { kind: "TrendsQuery", series, dateRange, breakdownFilter };
          const { results } = await engine.run(world.project_id, query);
          const lines = results as TrendLine[];
          const keys = bucketKeys(dateRange.date_from, dateRange.date_to, "day", world.zone);
          const all = bucketed(world, keys, "day", endOf(dateRange.date_to, world.zone), () => true);
          const valueOf = ({ properties }: NaiveEvent) => textOf(properties, "plan") || noValue;
          const numbersOf = (is: (event: NaiveEvent) => boolean) =>
            all.map((some) => aggregateOf(math, some.filter(is)));
          const values = [...new Set(all.flat().map(valueOf))];
          const sums = new Map(
            values.map((value) => [
              value,
              numbersOf((one) => valueOf(one) === value).reduce((sum, item) => sum + item, 0),
            ]),
          );
          const shown = lines.map(({ breakdown_value }) => String(breakdown_value));
          expect(new Set(shown).size).toBe(shown.length);
          expect(shown).toHaveLength(Math.min(limit, values.length) + (values.length > limit ? 1 : 0));
          const own = shown.filter((value) => value !== otherValues);
          // None has a line where all others have one, after them.
          const named = own.filter((value) => value !== noValue);
          expect(own.slice(0, named.length)).toEqual(named);
          expect(own.includes(noValue)).toBe(values.includes(noValue) && values.length <= limit);
          const largest = values
            .filter((value) => value !== noValue)
            .map((value) => sums.get(value)!)
            .toSorted((a, b) => b - a);
          close(
            named.map((value) => sums.get(value)!),
            largest.slice(0, limit),
          );
          for (const { breakdown_value, data } of lines) {
            const isOwn = (one: NaiveEvent) =>
              breakdown_value === otherValues
                ? !own.includes(valueOf(one))
                : valueOf(one) === breakdown_value;
            close(data, numbersOf(isOwn));
          }
        }),
        { numRuns: 30, seed },
      );
    },
    storesStartMsMax,
  );

  test(
    "of users active in the week before, and of those who did it for the first time",
    async () => {
      await fc.assert(
        fc.asyncProperty(worldNumber, ranges, names, async (i, dateRange, event) => {
          const world = worldOf(i);
          const maths = ["weekly_active", "first_time_for_user", "first_matching_event_for_user"];
          const series = maths.map((math) => ({ event, math, properties: [{ key: "plan", value: "pro" }] }));
          const query = { kind: "TrendsQuery", series, dateRange };
          const { results } = await engine.run(world.project_id, query);
          const [weekly, first, matching] = results as TrendLine[];
          const keys = bucketKeys(dateRange.date_from, dateRange.date_to, "day", world.zone);
          const named = world.events.filter((one) => event === null || one.event === event);
          const isPro = (one: NaiveEvent) => one.properties["plan"] === "pro";
          const dayOf = (one: NaiveEvent) => bucketKey(one.at, "day", world.zone);
          const active = keys.map((key) => {
            const oldest = Temporal.PlainDate.from(key).subtract({ days: 6 }).toString();
            const some = named.filter((one) => isPro(one) && dayOf(one) >= oldest && dayOf(one) <= key);
            return new Set(some.map(({ distinct_id }) => distinct_id)).size;
          });
          expect(weekly?.data).toEqual(active);
          const firsts = firstOfEach(named).filter(isPro);
          expect(first?.data).toEqual(keys.map((key) => firsts.filter((one) => dayOf(one) === key).length));
          const matches = firstOfEach(named.filter(isPro));
          expect(matching?.data).toEqual(
            keys.map((key) => matches.filter((one) => dayOf(one) === key).length),
          );
        }),
        { numRuns: 25, seed },
      );
    },
    storesStartMsMax,
  );

  test(
    "of the same time before, and of the whole span as one number",
    async () => {
      await fc.assert(
        fc.asyncProperty(worldNumber, ranges, async (i, dateRange) => {
          const world = worldOf(i);
          const ask = { kind: "TrendsQuery", series: [{ event: "seen" }], dateRange };
          const compared = await engine.run(world.project_id, { ...ask, compareFilter: { compare: true } });
          const [now, before] = compared.results as TrendLine[];
          const keys = bucketKeys(dateRange.date_from, dateRange.date_to, "day", world.zone);
          const seen = (one: NaiveEvent) => one.event === "seen";
          const end = endOf(dateRange.date_to, world.zone);
          expect(now?.data).toEqual(bucketed(world, keys, "day", end, seen).map(({ length }) => length));
          const earlier = keys.map((key) =>
            Temporal.PlainDate.from(key).subtract({ days: keys.length }).toString(),
          );
          expect(before?.data).toEqual(
            bucketed(world, earlier, "day", end, seen).map(({ length }) => length),
          );
          expect([now?.compare_label, before?.compare_label]).toEqual(["current", "previous"]);
          const shown = {
            ...ask,
            series: [{ event: "seen", math: "dau" }],
            trendsFilter: { display: "BoldNumber" },
          };
          const [total] = (await engine.run(world.project_id, shown)).results as TrendLine[];
          const start = dayStart(dateRange.date_from, world.zone);
          const some = world.events.filter((one) => seen(one) && one.at >= start && one.at < end);
          expect(total?.aggregated_value).toBe(aggregateOf("dau", some));
        }),
        { numRuns: 20, seed },
      );
    },
    storesStartMsMax,
  );
});

test(
  "a formula is computed of the numbers of each interval, value and period, and of the totals",
  async () => {
    const world = worldOf(1);
    const ask = {
      kind: "TrendsQuery",
      series: [{ event: "seen" }, { event: "bought", math: "dau" }],
      dateRange: { date_from: "2024-03-28", date_to: "2024-04-02" },
      breakdownFilter: { breakdown: "plan" },
      compareFilter: { compare: true },
    };
    const run = async (more: object) =>
      (await engine.run(world.project_id, { ...ask, ...more })).results as TrendLine[];
    const keyOf = (line: TrendLine) => `${line.compare_label} ${line.breakdown_value}`;
    for (const display of ["ActionsLineGraph", "BoldNumber"]) {
      const plain = await run({ trendsFilter: { display } });
      const lines = await run({ trendsFilter: { display, formulas: ["A / B + 1", "B"] } });
      const keys = [...new Set(plain.map(keyOf))];
      expect(lines.map((line) => `${line.order} ${keyOf(line)}`).toSorted()).toEqual(
        [...keys.map((key) => `0 ${key}`), ...keys.map((key) => `1 ${key}`)].toSorted(),
      );
      for (const line of lines) {
        const [a, b] = [0, 1].map((order) =>
          plain.find((one) => one.action?.["order"] === order && keyOf(one) === keyOf(line)),
        );
        const value = (x = 0, y = 0) => (line.order === 1 ? y : (y === 0 ? 0 : x / y) + 1);
        close(
          line.data,
          line.data.map((_, i) => value(a?.data[i], b?.data[i])),
        );
        expect(line.data.length).toBe(display === "BoldNumber" ? 0 : 6);
        if (display === "BoldNumber")
          expect(line.aggregated_value).toBe(value(a?.aggregated_value, b?.aggregated_value));
      }
    }
  },
  storesStartMsMax,
);

function firstOfEach(events: readonly NaiveEvent[]): NaiveEvent[] {
  const first = new Map<string, NaiveEvent>();
  for (const one of events) {
    const known = first.get(one.distinct_id);
    if (!known || one.at < known.at || (one.at === known.at && one.uuid < known.uuid))
      first.set(one.distinct_id, one);
  }
  return [...first.values()];
}

/** The buckets in which each user was, by their indexes; -1: the bucket before the first one. */
function activity(
  { zone, events }: World,
  keys: readonly string[],
  interval: NaiveInterval,
  end: number,
  keep: (event: NaiveEvent) => boolean,
): Map<string, number[]> {
  const active = new Map<string, number[]>();
  for (const one of events) {
    const i = keys.indexOf(bucketKey(one.at, interval, zone));
    if (i === -1 || one.at >= end || !keep(one)) continue;
    active.set(one.distinct_id, [...(active.get(one.distinct_id) ?? []), i - 1]);
  }
  return active;
}

/** The bucket before the first one, then those of the range. */
function keysWithBefore(
  { date_from, date_to }: { date_from: string; date_to: string },
  interval: NaiveInterval,
  zone: string,
): string[] {
  const keys = bucketKeys(date_from, date_to, interval, zone);
  const [before] = bucketKeys(
    Temporal.PlainDate.from(date_from).subtract({ days: 40 }).toString(),
    date_to,
    interval,
    zone,
  )
    .filter((key) => !keys.includes(key))
    .toReversed();
  return [before!, ...keys];
}

test(
  "a lifecycle equals the naive one",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        worldNumber,
        ranges,
        intervals,
        names,
        filters,
        async (i, dateRange, interval, event, filter) => {
          const world = worldOf(i);
          const [properties, keep] = filter;
          const query = { kind: "LifecycleQuery", series: [{ event }], interval, dateRange, properties };
          const lines = (await engine.run(world.project_id, query)).results as TrendLine[];
          const keys = keysWithBefore(dateRange, interval, world.zone);
          const of = (one: NaiveEvent) => (event === null || one.event === event) && keep(one);
          // The last interval is whole.
          const active = activity(world, keys, interval, Number.POSITIVE_INFINITY, of);
          const born = new Map(
            firstOfEach(world.events).map((one) => [
              one.distinct_id,
              bucketKey(one.at, interval, world.zone),
            ]),
          );
          const count = (is: (user: string, buckets: number[], at: number) => boolean) =>
            keys
              .slice(1)
              .map((_, at) => [...active].filter(([user, buckets]) => is(user, buckets, at)).length);
          const isNew = (user: string, at: number) => born.get(user) === keys[at + 1];
          const expected = {
            new: count((user, buckets, at) => buckets.includes(at) && isNew(user, at)),
            returning: count(
              (user, buckets, at) => buckets.includes(at) && !isNew(user, at) && buckets.includes(at - 1),
            ),
            resurrecting: count(
              (user, buckets, at) => buckets.includes(at) && !isNew(user, at) && !buckets.includes(at - 1),
            ),
            dormant: count((_, buckets, at) => !buckets.includes(at) && buckets.includes(at - 1)).map(
              (n) => 0 - n,
            ),
          };
          expect(Object.fromEntries(lines.map(({ status, data }) => [status, data]))).toEqual(expected);
        },
      ),
      { numRuns: 60, seed },
    );
  },
  storesStartMsMax,
);

test.each([
  ["day", "1970-01-03", "1970-01-04"],
  ["week", "1969-12-28", "1970-01-04"],
  ["month", "1970-01-01", "1970-02-01"],
])(
  "a lifecycle by %s may begin with the first days that can be queried",
  async (interval, first, second) => {
    const { sql } = stores;
    const [own] = await sql<{ organization_id: string }[]>`SELECT organization_id FROM projects LIMIT 1`;
    const { id } = await createProject(sql, { ...own!, name: "Old" });
    const [uuid, at] = [crypto.randomUUID(), Date.UTC(1970, 0, 3, 12)];
    await storeEvents(stores, id, [{ uuid, event: "seen", distinct_id: "ann", at, properties: {} }]);
    const dateRange = { date_from: "1970-01-03", date_to: "1970-03-31" };
    const query = { kind: "LifecycleQuery", series: [{ event: "seen" }], interval, dateRange };
    const lines = (await engine.run(id, query)).results as TrendLine[];
    const seen = lines.map(({ status, data, days }) => [
      status,
      days!.filter((_, i) => data[i] !== 0).map((day) => String(day).slice(0, 10)),
    ]);
    expect(Object.fromEntries(seen)).toEqual({
      new: [first],
      returning: [],
      resurrecting: [],
      dormant: [second],
    });
  },
  storesStartMsMax,
);

test(
  "stickiness equals the naive count",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        worldNumber,
        ranges,
        intervals,
        names,
        fc.boolean(),
        fc.constantFrom(
          null,
          { operator: "gte", value: 2 },
          { operator: "exact", value: 1 },
          { operator: "lte", value: 1 },
        ),
        async (i, dateRange, interval, event, cumulative, stickinessCriteria) => {
          const world = worldOf(i);
          const stickinessFilter = {
            computedAs: cumulative ? "cumulative" : "non_cumulative",
            stickinessCriteria,
          };
          const query = {
            kind: "StickinessQuery",
            series: [{ event }],
            interval,
            dateRange,
            stickinessFilter,
          };
          const [line] = (await engine.run(world.project_id, query)).results as TrendLine[];
          const keys = keysWithBefore(dateRange, interval, world.zone);
          const end = endOf(dateRange.date_to, world.zone);
          const unique = {
            ...world,
            events: [...new Map(world.events.map((one) => [one.uuid, one])).values()],
          };
          const active = activity(
            unique,
            keys,
            interval,
            end,
            (one) => event === null || one.event === event,
          );
          const { operator = "gte", value = 1 } = stickinessCriteria ?? {};
          const passes = (n: number) =>
            operator === "gte" ? n >= value : operator === "lte" ? n <= value : n === value;
          const times = [...active.values()].map((buckets) => {
            const shown = buckets.filter((at) => at >= 0);
            return [...new Set(shown)].filter((at) => passes(shown.filter((one) => one === at).length))
              .length;
          });
          const expected = keys
            .slice(1)
            .map((_, at) => times.filter((n) => (cumulative ? n > at : n === at + 1)).length);
          expect(line?.data).toEqual(expected);
          expect(line?.days).toEqual(expected.map((_, at) => at + 1));
        },
      ),
      { numRuns: 60, seed },
    );
  },
  storesStartMsMax,
);

test(
  "retention equals the naive table",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        worldNumber,
        fc.constantFrom(...days),
        fc.constantFrom("Day", "Week", "Month"),
        fc.integer({ min: 1, max: 9 }),
        names,
        names,
        fc.boolean(),
        fc.constantFrom<[cumulative: boolean, least: number]>([false, 1], [false, 2], [true, 1], [true, 3]),
        async (
          i,
          date_to,
          period,
          totalIntervals,
          target,
          returning,
          firstTime,
          [cumulative, minimumOccurrences],
        ) => {
          const world = worldOf(i);
          const retentionFilter = {
            period,
            totalIntervals,
            cumulative,
            minimumOccurrences,
            targetEntity: { id: target, type: "events" },
            returningEntity: { id: returning, type: "events" },
            retentionType: firstTime ? "retention_first_time" : "retention_recurring",
          };
          const query = { kind: "RetentionQuery", dateRange: { date_to }, retentionFilter };
          const { results } = await engine.run(world.project_id, query);
          const interval = period.toLowerCase() as NaiveInterval;
          const key = (one: NaiveEvent) => bucketKey(one.at, interval, world.zone);
          const last = bucketKey(dayStart(date_to, world.zone), interval, world.zone);
          const starts = Array.from({ length: totalIntervals }, (_, n) =>
            Temporal.PlainDate.from(last)
              .subtract({ [`${interval}s`]: totalIntervals - 1 - n })
              .toString(),
          );
          const did = (name: string | null, at: string) =>
            world.events.filter((one) => (name === null || one.event === name) && key(one) === at);
          const usersOf = (some: NaiveEvent[]) => new Set(some.map(({ distinct_id }) => distinct_id));
          const expected = starts.map((start, n) => {
            const began = usersOf(did(target, start));
            if (firstTime)
              for (const one of world.events)
                if ((target === null || one.event === target) && key(one) < start)
                  began.delete(one.distinct_id);
            const returned = (at: string) => {
              const users = Map.groupBy(did(returning, at), ({ distinct_id }) => distinct_id);
              return new Set(
                [...users].flatMap(([user, own]) => (own.length < minimumOccurrences ? [] : [user])),
              );
            };
            const later = starts
              .slice(n)
              .map((at, i) => (i === 0 ? began : returned(at).intersection(began)));
            // On or after an interval: in it, or in a later one.
            return later.map((own, i) =>
              cumulative ? later.slice(i).reduce((a, b) => a.union(b)).size : own.size,
            );
          });
          expect(
            trimCohorts(results as RetentionCohort[]).map(({ values }) => values.map(({ count }) => count)),
          ).toEqual(expected);
        },
      ),
      { numRuns: 60, seed },
    );
  },
  storesStartMsMax,
);
