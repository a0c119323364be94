import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { systemClock } from "../../../src/core/clock.ts";
import { createOrganization } from "../../../src/organizations/store.ts";
import { createProject } from "../../../src/projects/store.ts";
import { openQueryEngine, type QueryEngine } from "../../../src/query/engine.ts";
import type { PathLink } from "../../../src/query/result.ts";
import { addUser } from "../../support/accounts.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { noSqlParser } from "../../support/sql_parser.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";
import { dayStart, type NaiveEvent, storeEvents, zones } from "../naive.ts";

afterAll(cleanUp, storesStartMsMax);

interface World {
  zone: string;
  project_id: number;
  events: NaiveEvent[];
}

let engine: QueryEngine;
const worlds: World[] = [];
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
  const stores = await openMadeStores();
  const { sql, clickhouse } = stores;
  const owner_id = await addUser(sql, "ann@example.com");
  const organization_id = await createOrganization(sql, { name: "Ours", owner_id, project_name: "First" });
  engine = openQueryEngine({ parser: noSqlParser, sql, clickhouse, clock: systemClock });
  for (const [i, zone] of zones.entries()) {
    const { id } = await createProject(sql, { organization_id, name: zone, timezone: zone });
    const [events = []] = fc.sample(visits, { numRuns: 1, seed: seed + i });
    await storeEvents(stores, id, events);
    worlds.push({ zone, project_id: id, events });
  }
}, storesStartMsMax);

interface Asked {
  includeEventTypes: string[];
  excludeEvents: string[];
  pathGroupings: string[];
  startPoint: string | null;
  endPoint: string | null;
  stepLimit: number | null;
  edgeLimit: number | null;
  minEdgeWeight: number | null;
  maxEdgeWeight: number | null;
}

const points = fc.option(
  fc.constantFrom(`${site}/tea`, `${site}/tea/`, "/", "bought", "Home", "*/cup/*", "nowhere"),
);
const paths: fc.Arbitrary<Asked> = fc.record({
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

/** The name of an event's step; undefined where it is none. */
function nameOf({ event, properties }: NaiveEvent, asked: Asked): string | undefined {
  const { includeEventTypes: types, excludeEvents, pathGroupings } = asked;
  const type = event.startsWith("$") ? event : "custom_event";
  if (types.length > 0 && !types.includes(type)) return undefined;
  const isNamed = types.length > 0 ? types.includes(event) : !excludeEvents.includes(event);
  const text = (name: string) => String(properties[name] ?? "");
  const url = text("$current_url");
  const own =
    event === "$pageview" && isNamed
      ? url.length > 1 && url.endsWith("/")
        ? url.slice(0, -1)
        : url
      : event === "$screen" && isNamed
        ? text("$screen_name")
        : event;
  const name = pathGroupings.find((one) => hasParts(own, one.split("*"))) ?? own;
  return excludeEvents.includes(name) ? undefined : name;
}

/** Whether the parts stand in a text one after the other. */
function hasParts(text: string, parts: readonly string[]): boolean {
  let from = 0;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return true;
}

interface Step {
  at: number;
  name: string;
}

const pauseMs = 1_800_000;

/** What each user did with no long pause, what came several times in a row once, at the last of its times. */
function visitsOf(of: readonly NaiveEvent[], asked: Asked): Step[][] {
  return [...Map.groupBy(of, ({ distinct_id }) => distinct_id).values()].flatMap((all) => {
    const own = all
      .flatMap((one) => {
        const name = nameOf(one, asked);
        return name === undefined ? [] : [{ at: one.at, name }];
      })
      .toSorted((a, b) => a.at - b.at || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    const found: Step[][] = [];
    for (const [i, step] of own.entries()) {
      const visit = found.at(-1);
      if (!visit || step.at - own[i - 1]!.at >= pauseMs) found.push([step]);
      else if (visit.at(-1)!.name === step.name) visit[visit.length - 1] = step;
      else visit.push(step);
    }
    return found;
  });
}

const withoutSlash = (text: string) => (text.length > 1 && text.endsWith("/") ? text.slice(0, -1) : text);

/** The part of a visit that is shown. */
function shownOf(visit: Step[], { startPoint, endPoint, stepLimit }: Asked): Step[] {
  const most = stepLimit ?? 5;
  const indexIn = (steps: Step[], point: string) =>
    steps.findIndex(({ name }) => name === withoutSlash(point));
  const from = startPoint ? indexIn(visit, startPoint) : 0;
  if (from === -1) return [];
  const begun = visit.slice(from);
  if (!endPoint) return begun.slice(0, most);
  const to = indexIn(begun, endPoint);
  if (to === -1) return [];
  const whole = begun.slice(0, to + 1);
  if (!startPoint) return whole.slice(-most);
  if (whole.length <= most) return whole;
  const half = Math.floor(most / 2);
  return [...whole.slice(0, half), { at: whole[half]!.at, name: "..." }, ...whole.slice(whole.length - half)];
}

function linksOf(of: readonly NaiveEvent[], asked: Asked): PathLink[] {
  const links = new Map<string, { source: string; target: string; times: number[] }>();
  for (const visit of visitsOf(of, asked)) {
    const shown = shownOf(visit, asked);
    for (const [i, step] of shown.slice(1).entries()) {
      const [source, target] = [`${i + 1}_${shown[i]!.name}`, `${i + 2}_${step.name}`];
      const key = JSON.stringify([source, target]);
      const known = links.get(key) ?? { source, target, times: [] };
      known.times.push(step.at - shown[i]!.at);
      links.set(key, known);
    }
  }
  const { minEdgeWeight, maxEdgeWeight, edgeLimit } = asked;
  const most = [...links.values()]
    .map(({ times, ...link }) => ({
      ...link,
      value: times.length,
      average_conversion_time: times.reduce((sum, one) => sum + one, 0) / times.length,
    }))
    .filter(({ value }) => value >= (minEdgeWeight ?? 0) && value <= (maxEdgeWeight ?? Infinity))
    .toSorted((a, b) => b.value - a.value || compare(a.source, b.source) || compare(a.target, b.target))
    .slice(0, edgeLimit ?? 50);
  const begun = new Set(most.map(({ source }) => source).filter((source) => source.startsWith("1_")));
  for (let size = -1; size !== begun.size;) {
    size = begun.size;
    for (const { source, target } of most) if (begun.has(source)) begun.add(target);
  }
  return most.filter(({ source }) => begun.has(source));
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

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
