// Filters in SQL, of sessions and of elements, and breakdowns and math in SQL: each event carries what a computation
// of our own says of it, so every kind must answer as it does for that plain property.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { projectKey, rested } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

const zone = "Europe/Berlin";
let app: RunningApp;

interface Sent {
  event: string;
  distinct_id: string;
  at: number;
  price: number | undefined;
  session: string | undefined;
  path: string;
  company: string | undefined;
  element: { tag: string; text: string; href: string } | undefined;
  asList: boolean;
}

const plans: Record<string, string | undefined> = { ann: "pro", bob: "free", cid: "pro", dot: undefined };
const sizes: Record<string, number> = { acme: 10, beta: 200 };
const texts = ["Buy", 'Say "hi"', "a;b.c:d", "über"];

const [events = []] = fc
  .sample(
    fc.array(
      fc.record({
        event: fc.constantFrom("$pageview", "tried", "bought"),
        distinct_id: fc.constantFrom(...Object.keys(plans)),
        // Around the change of clocks in Berlin.
        at: fc
          .integer({ min: Date.UTC(2024, 2, 28) / 600_000, max: Date.UTC(2024, 3, 3) / 600_000 })
          .map((ten) => ten * 600_000),
        price: fc.option(fc.integer({ min: -5, max: 50 }), { nil: undefined }),
        session: fc.option(fc.constantFrom("s1", "s2", "s3", "s4", "s5", "s6", "s7"), { nil: undefined }),
        path: fc.constantFrom("/tea", "/cup", "/pay"),
        company: fc.option(fc.constantFrom("acme", "beta", "none"), { nil: undefined }),
        element: fc.option(
          fc.record({
            tag: fc.constantFrom("a", "button"),
            text: fc.constantFrom(...texts),
            href: fc.constantFrom("/x", "/y?a=1"),
          }),
          { nil: undefined },
        ),
        asList: fc.boolean(),
      }),
      { minLength: 220, maxLength: 220 },
    ),
    { numRuns: 1, seed: 33 },
  )
  .map((list): Sent[] => list.map((one, i) => ({ ...one, at: one.at + i * 1000 })));

const local = (at: number) => Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
const ofSession = (session: string) => events.filter((one) => one.session === session);
const moments = (session: string) => ofSession(session).map(({ at }) => at);
const duration = ({ session }: Sent): number | undefined =>
  session === undefined
    ? undefined
    : Math.floor(Math.max(...moments(session)) / 1000) - Math.floor(Math.min(...moments(session)) / 1000);
const entry = ({ session }: Sent): string | undefined =>
  session && ofSession(session).toSorted((a, b) => a.at - b.at)[0]!.path;
const longest = Math.max(...events.map((one) => duration(one) ?? 0));
const ofBuyers = new Set(
  events.filter(({ event }) => event === "bought").map(({ distinct_id }) => distinct_id),
);

const sql = (key: string) => ({ type: "hogql", key });
const element = (key: string, operator: string, value?: unknown) => ({
  type: "element",
  key,
  operator,
  value,
});
const session = (key: string, operator: string, value?: unknown) => ({
  type: "session",
  key,
  operator,
  value,
});

/** Filters, and which events pass. */
const filters: [name: string, filter: object, keep: (event: Sent) => boolean][] = [
  ["a number", sql("properties.price > 10"), ({ price }) => price !== undefined && price > 10],
  ["persons", sql("person.properties.plan = 'pro'"), ({ distinct_id }) => plans[distinct_id] === "pro"],
  ["no persons", sql("person.properties.plan != 'pro'"), ({ distinct_id }) => plans[distinct_id] !== "pro"],
  ["groups", sql("group_0.properties.size >= 100"), ({ company }) => company === "beta"],
  ["groups by their type's name", sql("company.properties.size >= 100"), ({ company }) => company === "beta"],
  ["sessions", sql(`session.$session_duration = ${longest}`), (one) => duration(one) === longest],
  ["hours of the zone", sql("toHour(timestamp) < 12"), ({ at }) => local(at).hour < 12],
  [
    "two things",
    sql("properties.price < 20 and person.properties.plan = 'free'"),
    ({ price, distinct_id }) => price !== undefined && price < 20 && plans[distinct_id] === "free",
  ],
  [
    "a subquery",
    sql("distinct_id in (select distinct_id from events where event = 'bought')"),
    ({ distinct_id }) => ofBuyers.has(distinct_id),
  ],
  ["a duration", session("$session_duration", "gte", longest), (one) => duration(one) === longest],
  ["an entry", session("$entry_pathname", "exact", "/tea"), (one) => entry(one) === "/tea"],
  ["no such entry", session("$entry_pathname", "is_not", ["/tea"]), (one) => entry(one) !== "/tea"],
  ["a channel", session("$channel_type", "is_set"), (one) => one.session !== undefined],
  ["bounces", session("$is_bounce", "exact", true), () => false],
  ["a tag", element("tag_name", "exact", "a"), (one) => one.element?.tag === "a"],
  ["no such tag", element("tag_name", "is_not", "a"), (one) => one.element?.tag !== "a"],
  [
    "texts",
    element("text", "exact", texts.slice(1, 3)),
    (one) => texts.slice(1, 3).includes(one.element?.text ?? ""),
  ],
  ["part of a text", element("text", "icontains", "ÜB"), (one) => one.element?.text === "über"],
  ["any text", element("text", "is_set"), (one) => one.element !== undefined],
  ["a pattern", element("href", "regex", String.raw`^/y\?`), (one) => one.element?.href === "/y?a=1"],
  ["no pattern", element("href", "not_regex", "^/x$"), (one) => one.element?.href !== "/x"],
  [
    "one of several",
    {
      type: "OR",
      values: [
        sql("properties.price > 40"),
        session("$entry_pathname", "exact", "/pay"),
        element("text", "exact", "Buy"),
      ],
    },
    (one) => (one.price ?? 0) > 40 || entry(one) === "/pay" || one.element?.text === "Buy",
  ],
];

/** Breakdowns, and the value of each event. */
const breakdowns: [breakdown: { type: string; property: string }, of: (event: Sent) => unknown][] = [
  [{ type: "hogql", property: "toHour(timestamp)" }, ({ at }) => local(at).hour],
  [{ type: "hogql", property: "person.properties.plan" }, ({ distinct_id }) => plans[distinct_id]],
  [
    { type: "hogql", property: "if(properties.price > 10, 'dear', null)" },
    ({ price }) => (price !== undefined && price > 10 ? "dear" : undefined),
  ],
  [{ type: "session", property: "$entry_pathname" }, entry],
  [{ type: "session", property: "$session_duration" }, duration],
];

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  expect((await ask(app, "PATCH", "/api/projects/1/", { timezone: zone })).status).toBe(200);
  const before = "2024-03-01T12:00:00Z";
  const batch = [
    ...Object.entries(plans).map(([distinct_id, plan]) => ({
      event: "$set",
      distinct_id,
      timestamp: before,
      properties: { $set: plan === undefined ? {} : { plan } },
    })),
    ...Object.entries(sizes).map(([company, size]) => ({
      event: "$groupidentify",
      distinct_id: "ann",
      timestamp: before,
      properties: { $group_type: "company", $group_key: company, $group_set: { size } },
    })),
    ...events.map((one) => ({
      event: one.event,
      distinct_id: one.distinct_id,
      timestamp: new Date(one.at).toISOString(),
      properties: {
        price: one.price,
        $session_id: one.session,
        $current_url: `https://shop.example${one.path}`,
        $groups: one.company === undefined ? undefined : { company: one.company },
        ...elementOf(one),
        ...Object.fromEntries(filters.map(([, , keep], i) => [`hit_${i}`, keep(one) ? "yes" : "no"])),
        ...Object.fromEntries(breakdowns.map(([, of], i) => [`value_${i}`, of(one)])),
      },
    })),
  ];
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await fetch(`${app.url}/batch/`, { method: "POST", headers, body })).status).toBe(200);
  await rested(app);
}, startMsMax);

/** As browsers send it: a chain, or as older ones do a list. */
function elementOf({ element: one, asList }: Sent): object {
  if (!one) return {};
  const { tag, text, href } = one;
  if (asList)
    return { $elements: [{ tag_name: tag, $el_text: text, attr__href: href }, { tag_name: "div" }] };
  const quoted = text.replaceAll('"', String.raw`\"`);
  const own = `${tag}.btn.big:attr__href="${href}"href="${href}"nth-child="1"nth-of-type="1"text="${quoted}"`;
  return { $elements_chain: `${own};div.page:nth-child="2"nth-of-type="1"` };
}

async function answerOf(query: object): Promise<unknown> {
  const { status, body } = await ask(app, "POST", "/api/projects/1/query/", { query });
  expect([status, body["detail"]]).toEqual([200, undefined]);
  return body["results"];
}

/** Without what repeats the question. */
function figures(results: unknown): unknown {
  return JSON.parse(
    JSON.stringify(results, (name, value: unknown) =>
      ["action", "properties"].includes(name) ? undefined : value,
    ),
  );
}

const dateRange = { date_from: "2024-03-28", date_to: "2024-04-03" };
const series = [{ event: "$pageview" }];

/** Each kind with filters for all of it, and with filters of a series or an entity. */
const kinds: [name: string, query: (properties: unknown) => object][] = [
  ["trend", (properties) => ({ kind: "TrendsQuery", series, dateRange, properties })],
  [
    "trend of a series",
    (properties) => ({ kind: "TrendsQuery", series: [{ event: null, math: "dau", properties }], dateRange }),
  ],
  [
    "trend of first times",
    (properties) => ({
      kind: "TrendsQuery",
      series: ["first_time_for_user", "first_matching_event_for_user"].map((math) => ({
        event: "$pageview",
        math,
        properties,
      })),
      dateRange,
    }),
  ],
  [
    "trend of active persons",
    (properties) => ({
      kind: "TrendsQuery",
      series: [{ event: null, math: "weekly_active" }],
      dateRange,
      properties,
    }),
  ],
  [
    "broken trend",
    (properties) => ({
      kind: "TrendsQuery",
      series,
      dateRange,
      properties,
      breakdownFilter: { breakdowns: [{ property: "price" }, { property: "plan", type: "person" }] },
    }),
  ],
  [
    "funnel",
    (properties) => ({
      kind: "FunnelsQuery",
      series: [{ event: "$pageview" }, { event: "tried", properties }, { event: "bought" }],
      dateRange,
      properties,
    }),
  ],
  ...["steps", "trends", "time_to_convert"].map((funnelVizType): (typeof kinds)[number] => [
    `funnel with an exclusion, as ${funnelVizType}`,
    (properties) => ({
      kind: "FunnelsQuery",
      series: [{ event: "$pageview" }, { event: "bought" }],
      dateRange,
      funnelsFilter: {
        funnelVizType,
        funnelOrderType: funnelVizType === "steps" ? "unordered" : "ordered",
        exclusions: [{ event: "tried", properties, funnelFromStep: 0, funnelToStep: 1 }],
      },
    }),
  ]),
  ["path", (properties) => ({ kind: "PathsQuery", dateRange, properties })],
  [
    "retention",
    (properties) => ({
      kind: "RetentionQuery",
      dateRange,
      properties,
      retentionFilter: { targetEntity: { id: "$pageview", properties }, returningEntity: { id: "bought" } },
    }),
  ],
  ["lifecycle", (properties) => ({ kind: "LifecycleQuery", series, dateRange, properties })],
  ["stickiness", (properties) => ({ kind: "StickinessQuery", series, dateRange, properties })],
  [
    "list",
    (properties) => ({
      kind: "EventsQuery",
      select: ["uuid"],
      orderBy: ["timestamp", "uuid"],
      after: "2024-03-28",
      before: "2024-04-04",
      limit: 500,
      properties,
    }),
  ],
  [
    "SQL",
    (properties) => ({
      kind: "HogQLQuery",
      query:
        "select event, count(), sum(properties.price) from events where {filters} and timestamp > '2024-03-10' " +
        "group by event order by event",
      filters: { properties },
    }),
  ],
  ["overview", (properties) => ({ kind: "WebOverviewQuery", dateRange, properties: [properties].flat() })],
];

const groupOf = (filter: object) => ("values" in filter ? filter : [filter]);

describe("each kind answers a filter as the property that says which events pass", () => {
  for (const [k, [name, queryOf]] of kinds.entries()) {
    test(`a ${name}`, async () => {
      for (const [i, [called, filter]] of filters.entries()) {
        // All of them once; of each kind those that differ most, and some more.
        if (k > 0 && i % 4 !== k % 4 && !["persons", "sessions", "one of several"].includes(called)) continue;
        const plain = figures(await answerOf(queryOf([{ key: `hit_${i}`, value: "yes" }])));
        const own = figures(await answerOf(queryOf(groupOf(filter))));
        expect([called, own]).toEqual([called, plain]);
      }
    });
  }

  test("what passes is neither nothing nor everything, for most of them", () => {
    const counts = filters.map(([, , keep]) => events.filter(keep).length);
    expect(counts.filter((count) => count > 5 && count < events.length - 5).length).toBeGreaterThan(15);
  });
});

describe("a breakdown by SQL or by a session is as the property that has its values", () => {
  for (const kind of ["TrendsQuery", "FunnelsQuery"]) {
    test(`of a ${kind}`, async () => {
      const steps = kind === "FunnelsQuery" ? [{ event: "$pageview" }, { event: "tried" }] : series;
      // A funnel's values of sessions are no lists.
      const listed = (name: string, item: unknown) =>
        kind === "FunnelsQuery" && name.startsWith("breakdown") ? [item].flat() : item;
      const broken = async (breakdownFilter: object): Promise<unknown> => {
        const found = figures(await answerOf({ kind, series: steps, dateRange, breakdownFilter }));
        return JSON.parse(JSON.stringify(found, listed));
      };
      for (const [i, [breakdown]] of breakdowns.entries()) {
        const { type, property } = breakdown;
        const plain = await broken({ breakdown: `value_${i}`, breakdown_limit: 200 });
        expect(await broken({ breakdown: property, breakdown_type: type, breakdown_limit: 200 })).toEqual(
          plain,
        );
        const two = [{ property: "price" }, { property: `value_${i}` }];
        const both = await broken({ breakdowns: two });
        expect(await broken({ breakdowns: [two[0], breakdown] })).toEqual(both);
      }
    });
  }
});

test("math in SQL is one number of the events of an interval", async () => {
  const maths: [text: string, of: (some: Sent[]) => number][] = [
    ["count()", (some) => some.length],
    ["sum(properties.price)", (some) => some.reduce((sum, { price }) => sum + (price ?? 0), 0)],
    ["uniq(distinct_id) * 2", (some) => 2 * new Set(some.map(({ distinct_id }) => distinct_id)).size],
    ["count() / countIf(properties.price > 10)", ratio],
    [
      "uniqIf(person_id, person.properties.plan = 'pro')",
      (some) => new Set(some.map((one) => one.distinct_id).filter((id) => plans[id] === "pro")).size,
    ],
  ];
  for (const [math_hogql, of] of maths) {
    for (const interval of ["hour", "day"]) {
      const [line] = (await answerOf({
        kind: "TrendsQuery",
        series: [{ event: null, math: "hogql", math_hogql }],
        dateRange,
        interval,
      })) as { data: number[]; days: string[] }[];
      const expected = line!.days.map((day, i) => {
        const some = events.filter(({ at }) => bucketOf(at, interval) === day);
        // The hour that clocks go back to would have its name twice; in spring there is none.
        return some.length === 0 && i >= 0 ? 0 : of(some);
      });
      expect([math_hogql, interval, line!.data]).toEqual([math_hogql, interval, expected]);
    }
  }
});

function ratio(some: Sent[]): number {
  const dear = some.filter(({ price }) => price !== undefined && price > 10).length;
  return dear === 0 ? 0 : some.length / dear;
}

function bucketOf(at: number, interval: string): string {
  const day = local(at).toPlainDate().toString();
  return interval === "day" ? day : `${day} ${String(local(at).hour).padStart(2, "0")}:00:00`;
}

test("what cannot be is refused by its field", async () => {
  const trend = { kind: "TrendsQuery", series, dateRange };
  const cases: [query: object, attr: string][] = [
    [{ ...trend, properties: [sql("properties.price >")] }, "query__properties__0__key"],
    [{ ...trend, properties: [sql("nothing = 1")] }, "query__properties__0__key"],
    [{ ...trend, properties: [sql("count() > 1")] }, "query__properties__0__key"],
    [{ ...trend, properties: [sql("sleep(1)")] }, "query__properties__0__key"],
    [{ ...trend, properties: [sql("toDate('soon') = today()")] }, "query__properties__0__key"],
    [{ ...trend, properties: [{ ...sql("1"), value: "x" }] }, "query__properties__0__value"],
    [{ ...trend, properties: [{ ...sql("1"), operator: "exact" }] }, "query__properties__0__operator"],
    [{ ...trend, properties: [sql("")] }, "query__properties__0__key"],
    [{ ...trend, properties: [session("$nothing", "is_set")] }, "query__properties__0__key"],
    [{ ...trend, properties: [element("selector", "exact", "a > b")] }, "query__properties__0__key"],
    [{ ...trend, properties: [element("text", "gt", 3)] }, "query__properties__0__operator"],
    [{ ...trend, properties: [{ type: "cohort", key: "id", value: 1 }] }, "query__properties__0__type"],
    [{ ...trend, series: [{ math: "hogql" }] }, "query__series__0__math_hogql"],
    [
      { ...trend, series: [{ math: "hogql", math_hogql: "properties.price" }] },
      "query__series__0__math_hogql",
    ],
    [{ ...trend, series: [{ math: "total", math_hogql: "count()" }] }, "query__series__0__math_hogql"],
    [
      { ...trend, breakdownFilter: { breakdown_type: "hogql", breakdown: "nothing" } },
      "query__breakdownFilter__breakdown",
    ],
    [
      { ...trend, breakdownFilter: { breakdowns: [{ type: "session", property: "$nothing" }] } },
      "query__breakdownFilter__breakdowns__0__property",
    ],
    [
      {
        kind: "RetentionQuery",
        retentionFilter: { targetEntity: { id: "a", properties: [sql("nothing")] } },
      },
      "query__retentionFilter__targetEntity__properties__0__key",
    ],
    [{ kind: "EventsQuery", select: ["event"], properties: [sql("nothing")] }, "query__properties__0__key"],
  ];
  for (const [query, attr] of cases) {
    const { status, body } = await ask(app, "POST", "/api/projects/1/query/", { query });
    expect([attr, status, body["attr"]]).toEqual([attr, 400, attr]);
  }
});

test("the list of events takes them, too", async () => {
  for (const filter of [
    sql("properties.price > 10"),
    session("$entry_pathname", "exact", "/tea"),
    element("tag_name", "exact", "a"),
  ]) {
    const i = filters.findIndex(([, one]) => JSON.stringify(one) === JSON.stringify(filter));
    const keep = filters[i]![2];
    const properties = encodeURIComponent(JSON.stringify([filter, { key: "hit_0", operator: "is_set" }]));
    const { body } = await ask(app, "GET", `/api/projects/1/events/?limit=500&properties=${properties}`);
    expect((body["results"] as unknown[]).length).toBe(events.filter(keep).length);
  }
});

test("filters of test accounts can be in SQL", async () => {
  const own = filters.findIndex(([name]) => name === "two things");
  const test_account_filters = [filters[own]![1]];
  expect((await ask(app, "PATCH", "/api/projects/1/", { test_account_filters })).status).toBe(200);
  // An exclusion's filters are of no other event.
  const whole = kinds.filter(([name]) => name !== "SQL" && !name.startsWith("funnel with an exclusion"));
  for (const [, queryOf] of whole) {
    const plain = await answerOf(queryOf([{ key: `hit_${own}`, value: "yes" }]));
    expect(figures(await answerOf({ ...queryOf([]), filterTestAccounts: true }))).toEqual(figures(plain));
  }
  const { status, body } = await ask(
    app,
    "GET",
    "/api/projects/1/session_recordings/?filter_test_accounts=true",
  );
  expect([status, body["attr"]]).toEqual([400, "filter_test_accounts"]);
  await ask(app, "PATCH", "/api/projects/1/", { test_account_filters: [] });
});
