import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { systemClock } from "../../../src/core/clock.ts";
import { openQueryEngine, type QueryEngine } from "../../../src/query/engine.ts";
import { type FunnelStep, type FunnelTimes, type FunnelTrend, noValue } from "../../../src/query/result.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { noSqlParser } from "../../support/sql_parser.ts";
import { storesStartMsMax } from "../../support/stores.ts";
import { bucketKey, bucketKeys, dayStart, type NaiveEvent, type NaiveInterval, zones } from "../naive.ts";
import { openWorlds, type World } from "../worlds.ts";
import {
  allSteps,
  attemptsByUser,
  denseEvents,
  exclusionSteps,
  type NaiveExclusion,
  type NaiveFunnel,
  type NaiveOrder,
  plainSteps,
  plansTouched,
  ratesOf,
  stepsOf,
  timesOf,
} from "./naive_funnel.ts";

afterAll(cleanUp, storesStartMsMax);

let stores: Stores;
let engine: QueryEngine;
let worlds: World[];
const seed = 20_240_324;
/** The words for the steps of persons without a value, and for those of all other values. */
const [none, others] = [noValue, "Other"];

beforeAll(async () => {
  ({ stores, engine, worlds } = await openWorlds(denseEvents, seed));
}, storesStartMsMax);

const world = fc.integer({ min: 0, max: zones.length - 1 }).map((i) => () => worlds[i]!);
const days = ["2024-03-24", "2024-03-27", "2024-03-31", "2024-04-02", "2024-04-04"];
const dateRanges = fc
  .tuple(fc.constantFrom(...days), fc.constantFrom(...days))
  .map(([a, b]) => (a < b ? { date_from: a, date_to: b } : { date_from: b, date_to: a }));
const hour = 3_600_000;
const windows = fc.constantFrom(3, 6, 24, 50, 200);
const orders = fc.constantFrom<NaiveOrder>("ordered", "strict", "unordered");

interface Range {
  date_from: string;
  date_to: string;
}

function within({ zone, events }: World, { date_from, date_to }: Range): NaiveEvent[] {
  const start = dayStart(date_from, zone);
  const end = dayStart(Temporal.PlainDate.from(date_to).add({ days: 1 }).toString(), zone);
  return events.filter((one) => one.at >= start && one.at < end);
}

function queryOf(
  { steps, order, windowMs, exclusions = [] }: NaiveFunnel,
  dateRange: Range,
  funnelsFilter: object = {},
) {
  return {
    kind: "FunnelsQuery",
    series: steps.map(({ node }) => node),
    dateRange,
    funnelsFilter: {
      funnelWindowInterval: windowMs / hour,
      funnelWindowIntervalUnit: "hour",
      funnelOrderType: order,
      exclusions: exclusions.map(({ node, from, to }) => ({
        ...node,
        funnelFromStep: from,
        funnelToStep: to,
      })),
      ...funnelsFilter,
    },
  };
}

async function expectSteps(own: World, dateRange: Range, funnel: NaiveFunnel): Promise<void> {
  const { results } = await engine.run(own.project_id, queryOf(funnel, dateRange));
  const expected = stepsOf(within(own, dateRange), funnel);
  expect((results as FunnelStep[]).map(({ count }) => count)).toEqual(expected.map(({ count }) => count));
  for (const [i, step] of (results as FunnelStep[]).entries()) {
    for (const name of ["average_conversion_time", "median_conversion_time"] as const) {
      if (expected[i]![name] === null) expect(step[name]).toBeNull();
      else expect(step[name]).toBeCloseTo(expected[i]![name], 6);
    }
  }
}

test(
  "a funnel of any order equals the naive walk through each person's attempts, times between steps included",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        world,
        dateRanges,
        fc.array(fc.constantFrom(...allSteps), { minLength: 2, maxLength: 5 }),
        windows,
        orders,
        async (own, dateRange, steps, hours, order) => {
          await expectSteps(own(), dateRange, { steps, order, windowMs: hours * hour });
        },
      ),
      { numRuns: 60, seed },
    );
  },
  storesStartMsMax,
);

/** Of a funnel with so many steps. */
function exclusionsFor(count: number, order: NaiveOrder): fc.Arbitrary<NaiveExclusion[]> {
  const spans = fc
    .tuple(fc.integer({ min: 0, max: count - 1 }), fc.integer({ min: 0, max: count - 1 }))
    .filter(([from, to]) => (order === "unordered" ? from === 0 && to === count - 1 : from < to));
  const one = fc.record({ step: fc.constantFrom(...exclusionSteps), span: spans });
  return fc
    .array(one, { minLength: 1, maxLength: 3 })
    .map((list) => list.map(({ step, span: [from, to] }) => ({ ...step, from, to })));
}

const excludingFunnels = fc
  .tuple(fc.array(fc.constantFrom(...allSteps.slice(0, 5)), { minLength: 2, maxLength: 4 }), windows, orders)
  .chain(([steps, hours, order]) =>
    exclusionsFor(steps.length, order).map((exclusions): NaiveFunnel => ({
      steps,
      order,
      windowMs: hours * hour,
      exclusions,
    })),
  );

test(
  "exclusions end the attempts in which they stand between their steps",
  async () => {
    await fc.assert(
      fc.asyncProperty(world, dateRanges, excludingFunnels, async (own, dateRange, funnel) => {
        await expectSteps(own(), dateRange, funnel);
      }),
      { numRuns: 60, seed },
    );
  },
  storesStartMsMax,
);

test(
  "a funnel's breakdown counts each person for one value",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        world,
        dateRanges,
        orders,
        fc.constantFrom("first" as const, "last" as const),
        fc.integer({ min: 1, max: 5 }),
        async (own, dateRange, order, touch, limit) => {
          const funnel = { steps: plainSteps, order, windowMs: 24 * hour };
          const query = {
            ...queryOf(funnel, dateRange, { breakdownAttributionType: `${touch}_touch` }),
            breakdownFilter: { breakdown: "plan", breakdown_limit: limit },
          };
          const funnels = (await engine.run(own().project_id, query)).results as FunnelStep[][];
          const some = within(own(), dateRange);
          const plans = plansTouched(some, funnel, touch);
          const shown = funnels.map(([first]) => first!.breakdown_value![0]!);
          expect(new Set(shown).size).toBe(shown.length);
          const apart = shown.filter((value) => value !== others);
          const counts = (of: readonly NaiveEvent[]) => stepsOf(of, funnel).map(({ count }) => count);
          // The last step ranks first.
          const planOf = (user: string) => plans.get(user) ?? none;
          const rank = (plan: string) =>
            counts(some.filter(({ distinct_id }) => planOf(distinct_id) === plan)).toReversed();
          const isBelow = (a: number[], b: number[]) =>
            b.map((item, k) => item - a[k]!).find((by) => by !== 0) ?? 0;
          const begun = new Set([...attemptsByUser(some, funnel).keys()].map(planOf));
          const ranks = [...begun].map(rank).toSorted(isBelow);
          expect(apart.map(rank)).toEqual(ranks.slice(0, limit));
          for (const [n, steps] of funnels.entries()) {
            const isOwn = ({ distinct_id }: NaiveEvent) => {
              const plan = plans.get(distinct_id) ?? none;
              return shown[n] === others ? !apart.includes(plan) : plan === shown[n];
            };
            expect(steps.map(({ count }) => count)).toEqual(counts(some.filter(isOwn)));
          }
          const sums = plainSteps.map((_, k) => funnels.reduce((sum, steps) => sum + steps[k]!.count, 0));
          expect(sums).toEqual(counts(some));
        },
      ),
      { numRuns: 40, seed },
    );
  },
  storesStartMsMax,
);

const ranges = (count: number) =>
  fc
    .tuple(fc.integer({ min: 0, max: count - 2 }), fc.integer({ min: 1, max: count - 1 }))
    .filter(([from, to]) => from < to);

test(
  "a funnel's trend is the share of the persons who began in each interval, zones and clock changes included",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        world,
        dateRanges,
        excludingFunnels.chain((funnel) =>
          fc.tuple(fc.constant(funnel), ranges(funnel.steps.length), fc.boolean()),
        ),
        fc.constantFrom<NaiveInterval>("hour", "day", "week", "month"),
        async (own, dateRange, [funnel, [from, to], isExcluding], interval) => {
          const asked = isExcluding ? funnel : { ...funnel, exclusions: [] };
          const query = {
            ...queryOf(asked, dateRange, { funnelVizType: "trends", funnelFromStep: from, funnelToStep: to }),
            interval,
          };
          const [trend] = (await engine.run(own().project_id, query)).results as FunnelTrend[];
          const keys = bucketKeys(dateRange.date_from, dateRange.date_to, interval, own().zone);
          const rates = ratesOf(within(own(), dateRange), asked, [from, to], (at) =>
            bucketKey(at, interval, own().zone),
          );
          expect(trend?.data).toEqual(keys.map((key) => rates.get(key) ?? 0));
          expect([trend?.count, trend?.days.length, trend?.labels.length]).toEqual(
            Array(3).fill(keys.length),
          );
        },
      ),
      { numRuns: 60, seed },
    );
  },
  storesStartMsMax,
);

test("a funnel's trend has a line for each value of its breakdown", async () => {
  const own = worlds[1]!;
  const dateRange = { date_from: days[0]!, date_to: days[4]! };
  const funnel = { steps: plainSteps, order: "ordered" as const, windowMs: 24 * hour };
  const query = {
    ...queryOf(funnel, dateRange, { funnelVizType: "trends" }),
    breakdownFilter: { breakdown: "plan", breakdown_limit: 2 },
  };
  const lines = (await engine.run(own.project_id, query)).results as FunnelTrend[];
  const some = within(own, dateRange);
  const plans = plansTouched(some, funnel, "first");
  const shown = lines.map(({ breakdown_value }) => breakdown_value![0]!);
  expect(shown).toHaveLength(3);
  expect(shown.at(-1)).toBe(others);
  const keys = bucketKeys(dateRange.date_from, dateRange.date_to, "day", own.zone);
  for (const [i, { data }] of lines.entries()) {
    const isOwn = ({ distinct_id }: NaiveEvent) => {
      const plan = plans.get(distinct_id) ?? none;
      return shown[i] === others ? !shown.includes(plan) : plan === shown[i];
    };
    const rates = ratesOf(some.filter(isOwn), funnel, [0, 2], (at) => bucketKey(at, "day", own.zone));
    expect(data).toEqual(keys.map((key) => rates.get(key) ?? 0));
  }
});

test("a trend's intervals whose persons still have time are left out on request", async () => {
  const funnel = { steps: plainSteps, order: "ordered" as const, windowMs: 24 * hour };
  const clock = { ...systemClock, now: () => Date.UTC(2024, 3, 3, 12) };
  const then = openQueryEngine({ parser: noSqlParser, ...stores, clock });
  const trend = async (more: object) => {
    const filter = {
      funnelVizType: "trends",
      funnelWindowInterval: 3,
      funnelWindowIntervalUnit: "day",
      ...more,
    };
    const query = queryOf(funnel, { date_from: "-9d", date_to: "-0d" }, filter);
    return ((await then.run(worlds[0]!.project_id, query)).results as FunnelTrend[])[0]!.days;
  };
  const all = await trend({});
  expect(all).toHaveLength(10);
  // Those of today, yesterday, the day before and the one before that end less than three days ago.
  expect(await trend({ hideIncompleteConversionWindowPeriods: true })).toEqual(all.slice(0, -4));
});

test(
  "times to convert are counted in bins of whole seconds",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        world,
        dateRanges,
        excludingFunnels.chain((funnel) =>
          fc.tuple(fc.constant(funnel), ranges(funnel.steps.length), fc.boolean()),
        ),
        fc.option(fc.integer({ min: 1, max: 90 })),
        async (own, dateRange, [funnel, [from, to], isExcluding], binCount) => {
          const asked = isExcluding ? funnel : { ...funnel, exclusions: [] };
          const filter = {
            funnelVizType: "time_to_convert",
            funnelFromStep: from,
            funnelToStep: to,
            binCount,
          };
          const { results } = await engine.run(own().project_id, queryOf(asked, dateRange, filter));
          const expected = timesOf(within(own(), dateRange), asked, [from, to], binCount);
          const [times] = results as FunnelTimes[];
          expect(times?.bins).toEqual(expected.bins);
          if (expected.average === null) expect(times?.average_conversion_time).toBeNull();
          else expect(times?.average_conversion_time).toBeCloseTo(expected.average, 6);
        },
      ),
      { numRuns: 60, seed },
    );
  },
  storesStartMsMax,
);
