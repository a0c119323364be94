// The figures of a site, against visits that are walked one by one.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { projectKey, rested } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;

/** A visit: its views, each some seconds after its start. */
interface Visit {
  user: string;
  start: string;
  views: [seconds: number, pathname: string][];
  clicks?: number;
  browser: string;
  source?: string;
}

const visits: Visit[] = [
  { user: "ann", start: "2024-03-28T10:00:00Z", views: [[0, "/"]], browser: "Firefox", source: "news" },
  {
    user: "bob",
    start: "2024-03-28T11:00:00Z",
    views: [
      [0, "/"],
      [40, "/tea"],
    ],
    browser: "Chrome",
  },
  {
    user: "ann",
    start: "2024-03-29T23:59:50Z",
    views: [
      [0, "/tea"],
      [30, "/cup"],
    ],
    browser: "Firefox",
  },
  {
    user: "ann",
    start: "2024-03-30T09:00:00Z",
    views: [
      [0, "/"],
      [5, "/tea"],
      [90, "/"],
    ],
    browser: "Firefox",
    source: "news",
  },
  { user: "bob", start: "2024-03-30T12:00:00Z", views: [[0, "/cup"]], browser: "Chrome" },
  {
    user: "cid",
    start: "2024-03-30T13:00:00Z",
    views: [[0, "/cup"]],
    clicks: 1,
    browser: "Chrome",
    source: "ads",
  },
  {
    user: "dot",
    start: "2024-03-31T08:00:00Z",
    views: [
      [0, "/"],
      [20, "/cup"],
    ],
    browser: "Safari",
    source: "ads",
  },
];

const pathOf = (pathname: string, source?: string) =>
  `https://shop.example${pathname}${source ? `?utm_source=${source}` : ""}`;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const batch = visits.flatMap(({ user, start, views, clicks = 0, browser, source }, i) => {
    const at = Date.parse(start);
    const sent = (event: string, seconds: number, pathname: string) => ({
      event,
      distinct_id: user,
      timestamp: new Date(at + seconds * 1000).toISOString(),
      properties: {
        $session_id: `018e8a2c-0000-7000-8000-00000000000${i}`,
        $pathname: pathname,
        $current_url: pathOf(pathname, seconds === 0 ? source : undefined),
        $browser: browser,
        ...(seconds === 0 && source && { utm_source: source }),
      },
    });
    return [
      ...views.map(([seconds, pathname]) => sent("$pageview", seconds, pathname)),
      ...Array.from({ length: clicks }, () => sent("$autocapture", 1, views[0]![1])),
    ];
  });
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await fetch(`${app.url}/batch/`, { method: "POST", headers, body })).status).toBe(200);
  await rested(app);
}, startMsMax);

const dateRange = { date_from: "2024-03-30", date_to: "2024-03-31" };

function run(query: object): Promise<Answer> {
  return ask(app, "POST", "/api/projects/1/query/", { query: { dateRange, properties: [], ...query } });
}

const within = ({ start }: Visit, from: string, to: string) => start >= from && start < to;
const current = visits.filter((visit) => within(visit, "2024-03-30", "2024-04-01"));
const before = visits.filter((visit) => within(visit, "2024-03-28", "2024-03-30"));
const bounced = ({ views, clicks = 0 }: Visit) => views.length === 1 && clicks === 0;
const mean = (numbers: readonly number[]) =>
  numbers.length === 0 ? null : numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
const bounceRate = (of: readonly Visit[]) => mean(of.map((visit) => (bounced(visit) ? 1 : 0)));
const lengthOf = ({ views, clicks = 0 }: Visit) => Math.max(views.at(-1)![0], clicks > 0 ? 1 : 0);

function figuresOf(of: readonly Visit[]): (number | null)[] {
  const rate = bounceRate(of);
  return [
    new Set(of.map(({ user }) => user)).size,
    of.reduce((sum, { views }) => sum + views.length, 0),
    of.length,
    mean(of.map(lengthOf)),
    rate === null ? null : rate * 100,
  ];
}

test("visitors, views, sessions, their length and bounces, with those of the time before", async () => {
  const { status, body } = await run({ kind: "WebOverviewQuery", compareFilter: { compare: true } });
  expect([status, body["detail"]]).toEqual([200, undefined]);
  const found = body["results"] as { key: string; kind: string; value: number; previous: number | null }[];
  expect(found.map(({ key, kind }) => [key, kind])).toEqual([
    ["visitors", "unit"],
    ["views", "unit"],
    ["sessions", "unit"],
    ["session duration", "duration_s"],
    ["bounce rate", "percentage"],
  ]);
  expect(found.map(({ value }) => value)).toEqual(figuresOf(current) as number[]);
  expect(found.map(({ previous }) => previous)).toEqual(figuresOf(before));
  const alone = (await run({ kind: "WebOverviewQuery" })).body["results"] as typeof found;
  expect(alone.map(({ value, previous }) => [value, previous])).toEqual(
    figuresOf(current).map((one) => [one!, null]),
  );
  const firefox = [{ key: "$browser", value: "Firefox" }];
  const filtered = (await run({ kind: "WebOverviewQuery", properties: firefox })).body[
    "results"
  ] as typeof found;
  expect(filtered.map(({ value }) => value)).toEqual(
    figuresOf(current.filter(({ browser }) => browser === "Firefox")) as number[],
  );
  const nobody = [{ key: "$browser", value: "Lynx" }];
  const none = (await run({ kind: "WebOverviewQuery", properties: nobody })).body["results"] as typeof found;
  expect(none.map(({ value }) => value as number | null)).toEqual([0, 0, 0, null, null]);
});

test("the time before may lie before all that can be stored", async () => {
  const spans = {
    dateRange: { date_from: "1970-01-03", date_to: "2090-01-01" },
    compareFilter: { compare: true },
  };
  const { status, body } = await run({ kind: "WebOverviewQuery", ...spans });
  expect([status, body["detail"]]).toEqual([200, undefined]);
  const [visitors] = body["results"] as { value: number; previous: number }[];
  expect([visitors?.value, visitors?.previous]).toEqual([4, 0]);
});

type Row = [unknown, ...[number | null, number | null][]];

function tableOf(
  valuesOf: (visit: Visit) => (string | null)[],
  enters: (visit: Visit, value: string | null) => boolean,
): Row[] {
  const rowsOf = (of: readonly Visit[], value: string | null) => {
    const own = of.filter((visit) => valuesOf(visit).includes(value));
    const views = own.flatMap(valuesOf).filter((one) => one === value).length;
    return [
      new Set(own.map(({ user }) => user)).size,
      views,
      bounceRate(own.filter((one) => enters(one, value))),
    ] as const;
  };
  const values = [...new Set([...current, ...before].flatMap(valuesOf))];
  return values
    .map((value): Row => {
      const [now, then] = [rowsOf(current, value), rowsOf(before, value)];
      return [value, ...now.map((one, i): [number | null, number | null] => [one, then[i]!])] as Row;
    })
    .toSorted(
      ([a, visitors, views], [b, others, theirs]) =>
        others![0]! - visitors![0]! || theirs![0]! - views![0]! || (String(a) < String(b) ? -1 : 1),
    );
}

test.each([
  [
    "Page",
    ({ views }: Visit) => views.map(([, path]) => path),
    (visit: Visit, value: string | null) => visit.views[0]![1] === value,
  ],
  ["InitialPage", ({ views }: Visit) => views.map(() => views[0]![1]), () => true],
  ["ExitPage", ({ views }: Visit) => views.map(() => views.at(-1)![1]), () => true],
  ["Browser", ({ views, browser }: Visit) => views.map(() => browser), () => true],
  ["InitialUTMSource", ({ views, source }: Visit) => views.map(() => source ?? ""), () => true],
] as const)("rows by %s", async (breakdownBy, valuesOf, enters) => {
  const query = {
    kind: "WebStatsTableQuery",
    breakdownBy,
    includeBounceRate: true,
    compareFilter: { compare: true },
  };
  const { status, body } = await run(query);
  expect([status, body["detail"]]).toEqual([200, undefined]);
  expect(body["columns"]).toEqual(
    ["breakdown_value", "visitors", "views", "bounce_rate"].map((name) => `context.columns.${name}`),
  );
  expect((body["results"] as Row[]).map(([value, ...rest]): unknown[] => [value ?? "", ...rest])).toEqual(
    tableOf(valuesOf, enters),
  );
});

test("a table has pages, and no pairs where nothing is compared", async () => {
  const { body } = await run({ kind: "WebStatsTableQuery", breakdownBy: "Page", limit: 1, offset: 1 });
  expect(body["results"]).toEqual([["/", [2, null], [3, null]]]);
  expect(body).toMatchObject({ hasMore: true, limit: 1, offset: 1 });
});

test("a session with the goal alone is no visit, with or without a goal", async () => {
  const timestamp = "2024-03-20T10:00:00Z";
  const properties = { $session_id: "goal only", $pathname: "/bought" };
  const sent = { event: "bought", distinct_id: "backend", timestamp, properties };
  const view = { ...sent, event: "$pageview", properties: { $session_id: "viewed", $pathname: "/" } };
  const bought = { ...sent, properties: { $session_id: "viewed", $pathname: "/bought" } };
  const body = JSON.stringify({ api_key: projectKey, batch: [sent, view, bought] });
  const headers = { "content-type": "application/json" };
  expect((await fetch(`${app.url}/batch/`, { method: "POST", headers, body })).status).toBe(200);
  await rested(app);
  const own = { dateRange: { date_from: "2024-03-20", date_to: "2024-03-20" } };
  const goal = { ...own, conversionGoal: { customEventName: "bought" } };
  const overview = async (query: object) => {
    const { body: answer } = await run({ kind: "WebOverviewQuery", ...query });
    return (answer["results"] as { value: number }[]).map(({ value }) => value);
  };
  expect((await overview(own)).slice(0, 3)).toEqual([1, 1, 1]);
  expect(await overview(goal)).toEqual([1, 1, 1, 100]);
  const pages = await run({ kind: "WebStatsTableQuery", breakdownBy: "Page", ...goal });
  expect((pages.body["results"] as unknown[][]).map(([path, visitors]) => [path, visitors])).toEqual([
    ["/bought", [1, null]],
    ["/", [1, null]],
  ]);
});
