// The bodies of queries that PostHog's own clients, pages and scripts send, each with the answer that a computation of
// its own gives, and those that are refused with the field that the refusal names.

import fc from "fast-check";
import type { FunnelStep, RetentionCohort, TrendLine, WebFigure } from "../../src/query/result.ts";
import { trimCohorts } from "../../src/query/results/figures.ts";
import {
  type NaiveFunnel,
  type NaiveStep,
  plansTouched,
  ratesOf,
  stepsOf,
  timesOf,
} from "../query/funnel/naive_funnel.ts";
import type { NaiveEvent } from "../query/naive.ts";

export const zone = "Europe/Berlin";
const site = "https://shop.example";

interface Visit {
  event: string;
  distinct_id: string;
  /** In ms since 1970; no two of one moment. */
  at: number;
  path: string;
  browser: string;
  price: number | undefined;
  session: string;
  plan: string | undefined;
}

const tiers: Record<string, string> = { ann: "pro", bob: "free", cid: "pro", dot: "free", eve: "pro" };

const [visits = []] = fc
  .sample(
    fc.array(
      fc.record({
        event: fc.constantFrom("$pageview", "$pageview", "signup", "purchase", "left"),
        distinct_id: fc.constantFrom(...Object.keys(tiers)),
        at: fc
          .integer({ min: Date.UTC(2024, 2, 28) / 900_000, max: Date.UTC(2024, 3, 2) / 900_000 })
          .map((quarter) => quarter * 900_000),
        path: fc.constantFrom("/", "/tea", "/cup"),
        browser: fc.constantFrom("Firefox", "Chrome"),
        price: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
        plan: fc.option(fc.constantFrom("free", "pro"), { nil: undefined }),
      }),
      { minLength: 160, maxLength: 160 },
    ),
    { numRuns: 1, seed: 46 },
  )
  .map((list): Visit[] =>
    // One session for each person and day of UTC.
    list.map((one, i) => {
      const at = one.at + i * 1000;
      return { ...one, at, session: `${one.distinct_id}-${Math.floor(at / 86_400_000)}` };
    }),
  );

const dayOf = (at: number): string =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate().toString();
const days = ["2024-03-28", "2024-03-29", "2024-03-30", "2024-03-31", "2024-04-01", "2024-04-02"];
const dateRange = { date_from: days[0], date_to: days.at(-1) };
const ofDays = visits.filter(({ at }) => days.includes(dayOf(at)));

type Keep = (visit: Visit) => boolean;
type Value = (some: readonly Visit[]) => number;
const named =
  (event: string): Keep =>
  (one) =>
    one.event === event;
const count: Value = (some) => some.length;
const people: Value = (some) => new Set(some.map(({ distinct_id }) => distinct_id)).size;
const sum: Value = (some) => some.reduce((total, { price }) => total + (price ?? 0), 0);
const perDay = (keep: Keep, value: Value = count): number[] =>
  days.map((day) => value(visits.filter((one) => dayOf(one.at) === day && keep(one))));
const total = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const views = named("$pageview");

const sessionsOf = Map.groupBy(visits, ({ session }) => session);
const lengthOf = (session: string): number => {
  const times = sessionsOf.get(session)!.map(({ at }) => Math.floor(at / 1000));
  return Math.max(...times) - Math.min(...times);
};
const entryOf = (session: string): string =>
  sessionsOf.get(session)!.toSorted((a, b) => a.at - b.at)[0]!.path;

/** What is sent: a property of each person, and the visits. */
export const sentEvents = [
  ...Object.entries(tiers).map(([distinct_id, tier]) => ({
    event: "$set",
    distinct_id,
    timestamp: "2024-03-01T12:00:00Z",
    properties: { $set: { tier, email: `${distinct_id}@example.com` } },
  })),
  ...visits.map((one) => ({
    event: one.event,
    distinct_id: one.distinct_id,
    timestamp: new Date(one.at).toISOString(),
    properties: {
      $current_url: `${site}${one.path}`,
      $pathname: one.path,
      $browser: one.browser,
      price: one.price,
      plan: one.plan,
      $session_id: one.session,
    },
  })),
];

export interface Body {
  name: string;
  query: object;
  /** What of the results is compared; all of them by default. */
  of?: (results: never) => unknown;
  is: () => unknown;
  /** What a page shows of it, where that has another shape. */
  shown?: () => unknown;
  /** Columns of its table whose cells a page shows as they are. */
  cells?: number[];
}

const data = (lines: TrendLine[]) => lines.map((line) => line.data);
const byValue = (lines: TrendLine[]) =>
  Object.fromEntries(lines.map((line) => [[line.breakdown_value].flat().join(), line.data]));
const trend = (
  more: object,
  nodes: object[] = [{ kind: "EventsNode", event: "$pageview", math: "total" }],
) => ({
  kind: "TrendsQuery",
  series: nodes,
  interval: "day",
  dateRange,
  ...more,
});
const brokenBy = (of: (one: Visit) => string, keep: Keep = views) =>
  Object.fromEntries(
    [...new Set(ofDays.filter(keep).map(of))].map((value) => [
      value,
      perDay((one) => keep(one) && of(one) === value),
    ]),
  );
const shiftedDays = (by: number) =>
  days.map((day) => Temporal.PlainDate.from(day).add({ days: by }).toString());

const trends: Body[] = [
  { name: "total", query: trend({}), of: data, is: () => [perDay(views)] },
  {
    name: "unique users",
    query: trend({}, [{ kind: "EventsNode", event: "$pageview", math: "dau" }]),
    of: data,
    is: () => [perDay(views, people)],
  },
  {
    name: "weekly active users",
    query: trend({}, [{ kind: "EventsNode", event: "purchase", math: "weekly_active" }]),
    of: data,
    is: () => [
      days.map((day) => people(visits.filter((one) => one.event === "purchase" && dayOf(one.at) <= day))),
    ],
  },
  {
    name: "sum of a property",
    query: trend({}, [{ kind: "EventsNode", event: "purchase", math: "sum", math_property: "price" }]),
    of: data,
    is: () => [perDay(named("purchase"), sum)],
  },
  {
    name: "one number",
    query: trend({ trendsFilter: { display: "BoldNumber" } }),
    of: (lines: TrendLine[]) => lines.map((line) => line.aggregated_value),
    is: () => [total(perDay(views))],
  },
  {
    name: "comparison with the time before",
    query: trend({ compareFilter: { compare: true } }),
    of: data,
    is: () => [
      perDay(views),
      shiftedDays(-days.length).map((day) =>
        count(visits.filter((one) => views(one) && dayOf(one.at) === day)),
      ),
    ],
  },
  {
    name: "formula A+B",
    query: trend({ trendsFilter: { formula: "A+B" } }, [
      { kind: "EventsNode", event: "$pageview" },
      { kind: "EventsNode", event: "signup" },
    ]),
    of: data,
    is: () => [perDay((one) => views(one) || one.event === "signup")],
  },
  {
    name: "math by HogQL",
    query: trend({}, [
      { kind: "EventsNode", event: "purchase", math: "hogql", math_hogql: "sum(properties.price) + count()" },
    ]),
    of: data,
    is: () => [perDay(named("purchase"), (some) => sum(some) + some.length)],
  },
  {
    name: "breakdown by a property of events",
    query: trend({ breakdownFilter: { breakdown: "$browser", breakdown_type: "event" } }),
    of: byValue,
    is: () => brokenBy(({ browser }) => browser),
  },
  {
    name: "breakdown by a property of persons",
    query: trend({ breakdownFilter: { breakdown: "tier", breakdown_type: "person" } }),
    of: byValue,
    is: () => brokenBy(({ distinct_id }) => tiers[distinct_id]!),
  },
  {
    name: "breakdown by HogQL",
    query: trend({ breakdownFilter: { breakdown: "upper(properties.$pathname)", breakdown_type: "hogql" } }),
    of: byValue,
    is: () => brokenBy(({ path }) => path.toUpperCase()),
  },
  {
    name: "breakdown by a property of sessions",
    query: trend({ breakdownFilter: { breakdown: "$entry_pathname", breakdown_type: "session" } }),
    of: byValue,
    is: () => brokenBy(({ session }) => entryOf(session)),
  },
  {
    name: "two breakdowns at once",
    query: trend({
      breakdownFilter: {
        breakdowns: [
          { property: "$browser", type: "event" },
          { property: "$pathname", type: "event" },
        ],
      },
    }),
    of: byValue,
    is: () => brokenBy(({ browser, path }) => `${browser},${path}`),
  },
  {
    name: "filter on events",
    query: trend({ properties: [{ key: "$browser", value: ["Firefox"], operator: "exact", type: "event" }] }),
    of: data,
    is: () => [perDay((one) => views(one) && one.browser === "Firefox")],
  },
  {
    name: "filter on persons",
    query: trend({
      properties: [{ key: "email", value: "@example.com", operator: "icontains", type: "person" }],
    }),
    of: data,
    is: () => [perDay(views)],
  },
  {
    name: "filter in HogQL",
    query: trend({ properties: [{ key: "person.properties.tier = 'pro'", type: "hogql" }] }),
    of: data,
    is: () => [perDay((one) => views(one) && tiers[one.distinct_id] === "pro")],
  },
  {
    name: "filter on sessions",
    query: trend({
      properties: [{ key: "$session_duration", value: 3600, operator: "gt", type: "session" }],
    }),
    of: data,
    is: () => [perDay((one) => views(one) && lengthOf(one.session) > 3600)],
  },
];

const naive = visits.map((one, i): NaiveEvent => ({
  uuid: String(i),
  event: one.event,
  distinct_id: one.distinct_id,
  at: one.at,
  properties: { plan: one.plan },
}));
const step = (event: string): NaiveStep => ({
  node: { kind: "EventsNode", event },
  is: (one) => one.event === event,
});
const steps = ["$pageview", "signup", "purchase"].map(step);
const windowMs = 14 * 86_400_000;
const modelOf = (order: NaiveFunnel["order"], more: Partial<NaiveFunnel> = {}): NaiveFunnel => ({
  steps,
  order,
  windowMs,
  ...more,
});
const funnel = (funnelsFilter: object, more: object = {}) => ({
  kind: "FunnelsQuery",
  series: steps.map(({ node }) => node),
  dateRange,
  funnelsFilter,
  ...more,
});
const counts = (rows: { count: number }[]) => rows.map((one) => one.count);

const funnels: Body[] = [
  {
    name: "funnel",
    query: funnel({ funnelVizType: "steps" }),
    of: counts,
    is: () => counts(stepsOf(naive, modelOf("ordered"))),
  },
  {
    name: "funnel in strict order",
    query: funnel({ funnelOrderType: "strict" }),
    of: counts,
    is: () => counts(stepsOf(naive, modelOf("strict"))),
  },
  {
    name: "funnel in any order",
    query: funnel({ funnelOrderType: "unordered" }),
    of: counts,
    is: () => counts(stepsOf(naive, modelOf("unordered"))),
  },
  {
    name: "funnel with an exclusion",
    query: funnel({
      exclusions: [{ kind: "EventsNode", event: "left", funnelFromStep: 0, funnelToStep: 1 }],
    }),
    of: counts,
    is: () =>
      counts(stepsOf(naive, modelOf("ordered", { exclusions: [{ ...step("left"), from: 0, to: 1 }] }))),
  },
  {
    name: "funnel with a breakdown",
    query: funnel({ breakdownAttributionType: "first_touch" }, { breakdownFilter: { breakdown: "plan" } }),
    of: (lines: FunnelStep[][]) =>
      Object.fromEntries(
        lines.map((line) => [line[0]!.breakdown_value![0]!.replace(/^\$\$.*/, "none"), counts(line)]),
      ),
    is: () => {
      const plans = plansTouched(naive, modelOf("ordered"), "first");
      const values = [...new Set(Object.keys(tiers).map((user) => plans.get(user) ?? null))];
      return Object.fromEntries(
        values.map((value) => {
          const own = naive.filter(({ distinct_id }) => (plans.get(distinct_id) ?? null) === value);
          return [value ?? "none", counts(stepsOf(own, modelOf("ordered")))];
        }),
      );
    },
  },
  {
    name: "conversion over time",
    query: funnel({ funnelVizType: "trends" }, { interval: "day" }),
    of: (lines: { data: number[] }[]) => lines.map((line) => line.data),
    is: () => {
      const rates = ratesOf(naive, modelOf("ordered"), [0, 2], dayOf);
      return [days.map((day) => rates.get(day) ?? 0)];
    },
  },
  {
    name: "time to convert",
    query: funnel({ funnelVizType: "time_to_convert", binCount: 4 }),
    of: (all: unknown) => ([all].flat() as { bins: unknown }[]).map(({ bins }) => bins),
    is: () => [timesOf(naive, modelOf("ordered"), [0, 2], 4).bins],
    shown: () => timesOf(naive, modelOf("ordered"), [0, 2], 4).bins.map(([, persons]) => [persons]),
  },
];

const active = (event: string) =>
  Map.groupBy(ofDays.filter(named(event)), ({ distinct_id }) => distinct_id)
    .values()
    .map((own) => new Set(own.map(({ at }) => days.indexOf(dayOf(at)))))
    .toArray();

function retained(firstTime: boolean): number[][] {
  return days.map((_, start) =>
    days.slice(start).map((__, later) => {
      const began = active("$pageview").filter((own) =>
        firstTime ? Math.min(...own) === start : own.has(start),
      );
      return began.filter((own) => own.has(start + later)).length;
    }),
  );
}

/** How often one page followed another within half an hour, and at which step. */
function followed(): Record<string, number> {
  const edges: Record<string, number> = {};
  const own = Map.groupBy(visits.filter(views), ({ distinct_id }) => distinct_id);
  for (const all of own.values()) {
    let last: { at: number; name: string; step: number } | undefined;
    for (const { at, path } of all.toSorted((a, b) => a.at - b.at)) {
      const name = path === "/" ? site : `${site}${path}`;
      if (last && at - last.at < 1_800_000) {
        if (last.name === name) {
          last.at = at;
          continue;
        }
        const edge = `${last.step}_${last.name} → ${last.step + 1}_${name}`;
        if (last.step < 5) edges[edge] = (edges[edge] ?? 0) + 1;
        last = { at, name, step: last.step + 1 };
      } else last = { at, name, step: 1 };
    }
  }
  return edges;
}

const retention = (retentionType: string) => ({
  kind: "RetentionQuery",
  dateRange: { date_to: days.at(-1) },
  retentionFilter: {
    period: "Day",
    totalIntervals: days.length,
    retentionType,
    targetEntity: { id: "$pageview", type: "events" },
    returningEntity: { id: "$pageview", type: "events" },
  },
});
const grid = (rows: RetentionCohort[]) =>
  trimCohorts(rows).map(({ values }) => values.map((one) => one.count));

const others: Body[] = [
  { name: "retention", query: retention("retention_recurring"), of: grid, is: () => retained(false) },
  {
    name: "retention, first time",
    query: retention("retention_first_time"),
    of: grid,
    is: () => retained(true),
  },
  {
    name: "stickiness",
    query: { kind: "StickinessQuery", series: [{ kind: "EventsNode", event: "$pageview" }], dateRange },
    of: data,
    is: () => [days.map((_, i) => active("$pageview").filter((own) => own.size === i + 1).length)],
  },
  {
    name: "lifecycle",
    query: { kind: "LifecycleQuery", series: [{ kind: "EventsNode", event: "$pageview" }], dateRange },
    of: (lines: TrendLine[]) => Object.fromEntries(lines.map((line) => [line.status, line.data])),
    is: () => {
      // All were first seen weeks before.
      const on = (own: ReadonlySet<number>, i: number) => own.has(i);
      const at = (which: (own: ReadonlySet<number>, i: number) => boolean) =>
        days.map((_, i) => active("$pageview").filter((own) => which(own, i)).length);
      return {
        new: days.map(() => 0),
        returning: at((own, i) => on(own, i) && on(own, i - 1)),
        resurrecting: at((own, i) => on(own, i) && !on(own, i - 1)),
        dormant: at((own, i) => !on(own, i) && on(own, i - 1)).map((one) => 0 - one),
      };
    },
  },
  {
    name: "paths",
    query: {
      kind: "PathsQuery",
      dateRange,
      pathsFilter: { includeEventTypes: ["$pageview"], stepLimit: 5 },
    },
    of: (links: { source: string; target: string; value: number }[]) =>
      Object.fromEntries(links.map(({ source, target, value }) => [`${source} → ${target}`, value])),
    is: followed,
  },
  {
    name: "persons",
    query: { kind: "ActorsQuery", select: ["properties.email"], orderBy: ["properties.email"] },
    is: () => Object.keys(tiers).map((user) => [`${user}@example.com`]),
  },
  {
    name: "persons behind a number of a trend",
    query: {
      kind: "ActorsQuery",
      select: ["properties.email"],
      orderBy: ["properties.email"],
      source: { kind: "InsightActorsQuery", source: trend({}), day: days[1], series: 0 },
    },
    is: () =>
      [
        ...new Set(
          visits.filter((one) => views(one) && dayOf(one.at) === days[1]).map((one) => one.distinct_id),
        ),
      ]
        .toSorted()
        .map((user) => [`${user}@example.com`]),
  },
  {
    name: "persons behind a step of a funnel",
    query: {
      kind: "ActorsQuery",
      select: ["count()"],
      source: { kind: "FunnelsActorsQuery", source: funnel({}), funnelStep: 2 },
    },
    is: () => [[stepsOf(naive, modelOf("ordered"))[1]!.count]],
  },
  {
    name: "sessions",
    query: {
      kind: "SessionsQuery",
      select: ["session_id", "$session_duration", "$pageview_count"],
      orderBy: ["session_id"],
      after: "2024-03-01",
      before: "2024-05-01",
    },
    is: () =>
      [...sessionsOf]
        .map(([id, own]) => [id, lengthOf(id), own.filter(views).length] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  },
  {
    name: "figures of a site",
    query: { kind: "WebOverviewQuery", dateRange, properties: [] },
    of: (figures: WebFigure[]) => figures.slice(0, 3).map(({ key, value }) => [key, value]),
    is: () => {
      const own = ofDays.filter(views).filter(({ session }) => {
        const start = Math.min(...sessionsOf.get(session)!.map(({ at }) => at));
        return days.includes(dayOf(start));
      });
      return [
        ["visitors", people(own)],
        ["views", own.length],
        ["sessions", new Set(own.map(({ session }) => session)).size],
      ];
    },
  },
  {
    name: "pages of a site",
    query: { kind: "WebStatsTableQuery", breakdownBy: "Page", dateRange, properties: [], limit: 10 },
    of: (rows: [string, [number, null], [number, null]][]) =>
      Object.fromEntries(rows.map(([page, [visitors], [seen]]) => [page, [visitors, seen]])),
    is: () =>
      Object.fromEntries(
        ["/", "/tea", "/cup"].map((page) => {
          const own = ofDays.filter((one) => views(one) && one.path === page);
          return [page, [people(own), own.length]];
        }),
      ),
  },
];

const latest = visits.toSorted((a, b) => b.at - a.at);
const list = (more: object) => ({ kind: "EventsQuery", after: "2024-03-01", before: "2024-05-01", ...more });
const isoOf = (at: number) => Temporal.Instant.fromEpochMilliseconds(at).toString();
const momentOf = (text: unknown) => isoOf(Temporal.Instant.from(String(text)).epochMilliseconds);

const lists: Body[] = [
  {
    name: "PostHog's own table of events",
    cells: [1, 3],
    query: {
      kind: "DataTableNode",
      full: true,
      source: list({
        select: [
          "*",
          "event",
          "person_display_name -- Person",
          "coalesce(properties.$current_url, properties.$screen_name) -- Url / Screen",
          "properties.$lib",
          "timestamp",
        ],
        orderBy: ["timestamp DESC"],
        where: ["event != '$set'"],
        limit: 20,
      }),
    },
    of: (rows: [{ distinct_id: string }, string, { display_name: string }, string, null, string][]) =>
      rows.map(([whole, event, person, url, lib, at]) => [
        whole.distinct_id,
        event,
        person.display_name,
        url,
        lib,
        momentOf(at),
      ]),
    is: () =>
      latest
        .slice(0, 20)
        .map(({ distinct_id, event, path, at }) => [
          distinct_id,
          event,
          `${distinct_id}@example.com`,
          `${site}${path}`,
          null,
          isoOf(at),
        ]),
  },
  {
    name: "a property of persons beside events",
    query: list({ select: ["distinct_id", "person.properties.tier"], event: "purchase", limit: 5 }),
    is: () =>
      latest
        .filter(named("purchase"))
        .slice(0, 5)
        .map(({ distinct_id }) => [distinct_id, tiers[distinct_id]]),
  },
  {
    name: "counts of events",
    query: list({ select: ["event", "count()"], where: ["event != '$set'"], orderBy: ["event"] }),
    is: () =>
      [...Map.groupBy(visits, ({ event }) => event)]
        .map(([event, own]) => [event, own.length] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  },
  {
    name: "events where something holds",
    query: list({ select: ["count()"], where: ["properties.price > 10", "event = 'purchase'"] }),
    is: () => [[visits.filter((one) => one.event === "purchase" && (one.price ?? 0) > 10).length]],
  },
  {
    name: "an insight around a trend",
    query: { kind: "InsightVizNode", source: trend({}) },
    of: data,
    is: () => [perDay(views)],
  },
  {
    name: "a chart around SQL",
    query: {
      kind: "DataVisualizationNode",
      source: {
        kind: "HogQLQuery",
        query:
          "select properties.$browser, count() from events where event = '$pageview' group by 1 order by 1",
      },
    },
    is: () =>
      ["Chrome", "Firefox"].map((one) => [one, visits.filter((v) => views(v) && v.browser === one).length]),
  },
];

/** The project's test accounts. */
const testAccount = "eve";
export const testAccountFilters = [
  { key: "email", type: "person", operator: "not_icontains", value: `${testAccount}@` },
];

const prices = (some: readonly Visit[]) => some.flatMap(({ price }) => price ?? []).toSorted((a, b) => a - b);
/** Of the sorted values, as ClickHouse's quantile counts: between the two nearest. */
function quantile(some: readonly Visit[], level: number): number {
  const all = prices(some);
  const at = (all.length - 1) * level;
  const [low = 0, high = low] = [all[Math.floor(at)], all[Math.ceil(at)]];
  return low + (high - low) * (at - Math.floor(at));
}
const sessionCount: Value = (some) => new Set(some.map(({ session }) => session)).size;
const bought = named("purchase");
const where = (...properties: object[]) => trend({ properties });
const mathOf = (math: string) =>
  trend({}, [{ kind: "EventsNode", event: "purchase", name: "purchase", math, math_property: "price" }]);
/** Lines whose name is the event alone. */
const lines = (name: string, query: object, ...is: number[][]): Body => ({
  name,
  query,
  of: data,
  is: () => is,
});
const totals = (rows: TrendLine[]) =>
  Object.fromEntries(rows.map((line) => [String(line.breakdown_value), line.aggregated_value]));
const perBrowser = () =>
  Object.fromEntries(
    ["Chrome", "Firefox"].map((one) => [one, count(ofDays.filter((v) => views(v) && v.browser === one))]),
  );

/** As PostHog's app writes its insights: with wrappers, empty fields, and filters of every form. */
const written: Body[] = [
  lines(
    "without test accounts",
    { kind: "InsightVizNode", source: trend({ filterTestAccounts: true }), full: true },
    perDay((one) => views(one) && one.distinct_id !== testAccount),
  ),
  lines(
    "with the test accounts, and every empty field that the app writes",
    {
      kind: "InsightVizNode",
      source: trend({
        filterTestAccounts: false,
        properties: [],
        breakdownFilter: {},
        compareFilter: { compare: false },
        trendsFilter: { display: "ActionsLineGraph", showLegend: true, yAxisScaleType: "linear" },
      }),
    },
    perDay(views),
  ),
  lines(
    "one of several values",
    where({ key: "$pathname", value: ["/tea", "/cup"], operator: "exact", type: "event" }),
    perDay((one) => views(one) && one.path !== "/"),
  ),
  lines(
    "not one of several values",
    where({ key: "$pathname", value: ["/tea", "/cup"], operator: "is_not", type: "event" }),
    perDay((one) => views(one) && one.path === "/"),
  ),
  lines(
    "a value that is set",
    where({ key: "plan", value: "is_set", operator: "is_set", type: "event" }),
    perDay((one) => views(one) && one.plan !== undefined),
  ),
  lines(
    "a value that is not set",
    where({ key: "plan", value: "is_not_set", operator: "is_not_set", type: "event" }),
    perDay((one) => views(one) && one.plan === undefined),
  ),
  lines(
    "a regular expression",
    where({ key: "$pathname", value: "^/[tc]", operator: "regex", type: "event" }),
    perDay((one) => views(one) && one.path !== "/"),
  ),
  lines(
    "a number above another",
    where({ key: "price", value: 15, operator: "gt", type: "event" }),
    perDay((one) => views(one) && (one.price ?? 0) > 15),
  ),
  lines(
    "groups of filters within each other",
    trend({
      properties: {
        type: "AND",
        values: [
          {
            type: "OR",
            values: [
              { key: "$browser", value: ["Firefox"], operator: "exact", type: "event" },
              { key: "tier", value: ["pro"], operator: "exact", type: "person" },
            ],
          },
        ],
      },
    }),
    perDay((one) => views(one) && (one.browser === "Firefox" || tiers[one.distinct_id] === "pro")),
  ),
  lines(
    "filters of one event of two",
    trend({}, [
      { kind: "EventsNode", event: "$pageview", name: "$pageview", math: "total" },
      {
        kind: "EventsNode",
        event: "$pageview",
        custom_name: "Tea",
        properties: [{ key: "$pathname", value: ["/tea"], operator: "exact", type: "event" }],
      },
    ]),
    perDay(views),
    perDay((one) => views(one) && one.path === "/tea"),
  ),
  lines(
    "average of a property",
    mathOf("avg"),
    perDay(bought, (some) => sum(some) / (prices(some).length || 1)),
  ),
  lines(
    "smallest value of a property",
    mathOf("min"),
    perDay(bought, (some) => prices(some)[0] ?? 0),
  ),
  lines(
    "largest value of a property",
    mathOf("max"),
    perDay(bought, (some) => prices(some).at(-1) ?? 0),
  ),
  lines(
    "median of a property",
    mathOf("median"),
    perDay(bought, (some) => quantile(some, 0.5)),
  ),
  lines(
    "different sessions",
    trend({}, [{ kind: "EventsNode", event: "$pageview", math: "unique_session" }]),
    perDay(views, sessionCount),
  ),
  lines(
    "any event",
    trend({}, [{ kind: "EventsNode", event: null, name: "All events", math: "total" }]),
    perDay(() => true),
  ),
  lines(
    "a sum of all before",
    trend({ trendsFilter: { display: "ActionsLineGraphCumulative" } }),
    perDay(views).map((_, i, all) => total(all.slice(0, i + 1))),
  ),
  lines(
    "a formula as the app writes it today",
    trend({ trendsFilter: { formulaNodes: [{ formula: "B / A * 100" }] } }, [
      { kind: "EventsNode", event: "$pageview" },
      { kind: "EventsNode", event: "signup" },
    ]),
    perDay(named("signup")).map((part, i) => {
      const of = perDay(views)[i]!;
      return of === 0 ? 0 : (part / of) * 100;
    }),
  ),
  {
    name: "bars by value",
    query: trend({
      trendsFilter: { display: "ActionsBarValue" },
      breakdownFilter: { breakdown: "$browser" },
    }),
    of: totals,
    is: perBrowser,
  },
  {
    name: "a table by value",
    query: trend({
      trendsFilter: { display: "ActionsTable" },
      breakdownFilter: { breakdowns: [{ property: "$browser", type: "event" }], breakdown_limit: 10 },
    }),
    of: totals,
    is: perBrowser,
  },
  {
    name: "a pie",
    query: trend({
      trendsFilter: { display: "ActionsPie" },
      breakdownFilter: { breakdowns: [{ property: "$browser", type: "event" }] },
    }),
    of: totals,
    is: perBrowser,
  },
];

export const answered = [...trends, ...written, ...funnels, ...others, ...lists];

/** What PostHog has and this server has not, and the field that the refusal names. */
export const refused: [name: string, query: object, attr: string][] = [
  [
    "filter by a cohort",
    trend({ properties: [{ key: "id", value: 1, type: "cohort" }] }),
    "query__properties__0__type",
  ],
  ["series of an action", trend({}, [{ kind: "ActionsNode", id: 1 }]), "query__series__0__kind"],
  ["recordings", { kind: "RecordingsQuery", limit: 10 }, "query__kind"],
  ["names of events", { kind: "TeamTaxonomyQuery" }, "query__kind"],
  ["properties of an event", { kind: "EventTaxonomyQuery", event: "$pageview" }, "query__kind"],
];
