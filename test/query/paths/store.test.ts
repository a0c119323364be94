import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { type QueryEngine } from "../../../src/query/engine.ts";
import type { PathLink } from "../../../src/query/result.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { storesStartMsMax } from "../../support/stores.ts";
import { dayStart, zones } from "../naive.ts";
import { openWorlds, type World } from "../worlds.ts";
import { linksOf, type NaivePaths } from "./naive_paths.ts";

afterAll(cleanUp, storesStartMsMax);

let engine: QueryEngine;
let worlds: World[];
const seed = 20_240_330;
const users = ["ann", "bob", "cid", "dot"];
const site = "https://shop.example";

/** Two days before and after clocks change, minutes apart, so that there are pauses and many of one moment. */
const visits = fc.array(
  fc.record({
    uuid: fc.uuid(),
    event: fc.constantFrom("$pageview", "$pageview", "$screen", "$autocapture", "bought", "left"),
    distinct_id: fc.constantFrom(...users),
    at: fc.integer({ min: 0, max: 470 }).map((slot) => Date.UTC(2024, 2, 30) + slot * 720_000),
    properties: fc.record(
      {
        $current_url: fc.constantFrom(
          `${site}/`,
          `${site}/tea/`,
          `${site}/tea`,
          `${site}/cup/1`,
          `${site}/cup/2`,
          "/",
        ),
        $screen_name: fc.constantFrom("Home", "Cart"),
      },
      { requiredKeys: [] },
    ),
  }),
  { minLength: 500, maxLength: 500 },
);

beforeAll(async () => {
  ({ engine, worlds } = await openWorlds(visits, seed));
}, storesStartMsMax);

const points = fc.option(
  fc.constantFrom(`${site}/tea`, `${site}/tea/`, "/", "bought", "Home", "*/cup/*", "nowhere"),
);
const paths: fc.Arbitrary<NaivePaths> = fc.record({
  includeEventTypes: fc.subarray(["$pageview", "$screen", "custom_event"]),
  excludeEvents: fc.subarray(["left", `${site}/tea`, "$screen", "$pageview", "Cart"]),
  pathGroupings: fc.subarray(["*/cup/*", "(te|x)?a", "shop.example/t*"]),
  startPoint: points,
  endPoint: points,
  stepLimit: fc.option(fc.integer({ min: 1, max: 8 })),
  edgeLimit: fc.option(fc.integer({ min: 1, max: 30 })),
  minEdgeWeight: fc.option(fc.integer({ min: 1, max: 4 })),
  maxEdgeWeight: fc.option(fc.integer({ min: 2, max: 9 })),
});

const world = fc.integer({ min: 0, max: zones.length - 1 }).map((i) => () => worlds[i]!);
const days = fc.constantFrom("2024-03-30", "2024-03-31", "2024-04-01");

test(
  "paths equal the naive walk through each user's visits",
  async () => {
    await fc.assert(
      fc.asyncProperty(world, days, days, paths, async (own, one, other, pathsFilter) => {
        const [date_from, date_to] = [one, other].toSorted();
        const { zone, project_id, events } = own();
        const query = { kind: "PathsQuery", dateRange: { date_from, date_to }, pathsFilter };
        const results = (await engine.run(project_id, query)).results as PathLink[];
        const start = dayStart(date_from!, zone);
        const end = dayStart(Temporal.PlainDate.from(date_to!).add({ days: 1 }).toString(), zone);
        const expected = linksOf(
          events.filter(({ at }) => at >= start && at < end),
          pathsFilter,
        );
        const rounded = (links: PathLink[]) =>
          links.map((link) => ({
            ...link,
            average_conversion_time: Math.round(link.average_conversion_time),
          }));
        expect(rounded(results)).toEqual(rounded(expected));
      }),
      { numRuns: 40, seed },
    );
  },
  storesStartMsMax,
);

test("a step has its number before its name", async () => {
  const query = { kind: "PathsQuery", dateRange: { date_from: "2024-03-30", date_to: "2024-04-01" } };
  const results = (await engine.run(worlds[0]!.project_id, query)).results as PathLink[];
  expect(results.length).toBeGreaterThan(10);
  const numbers = results.map(({ source, target }) =>
    [source, target].map((name) => Number.parseInt(name, 10)),
  );
  expect(numbers.filter(([from, to]) => to !== from! + 1)).toEqual([]);
});
