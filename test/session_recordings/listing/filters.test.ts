// Filters and orders of the list of recordings, against predicates over the same recordings and events by hand.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Answer, ask, problemOf } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { bodyOf, event } from "../../support/recordings.ts";
import { post, projectKey, rested, type Server, startServer, until } from "../../support/server.ts";

afterAll(cleanUp);

interface Visit {
  session: string;
  person: string;
  hour: number;
  seconds: number;
  clicks: number;
  keys: number;
  logs: string[];
  events: { event: string; properties: Record<string, unknown> }[];
}

const inGroup = (company: string) => ({ event: "seen", properties: { $groups: { company } } });
const page = (path: string, more: Record<string, unknown> = {}) => ({
  event: "$pageview",
  properties: { $current_url: `https://shop.example${path}`, ...more },
});
const buy = (plan: string, price: number) => ({ event: "buy", properties: { plan, price } });

const plans: Record<string, Record<string, unknown> | undefined> = {
  ann: { plan: "pro", age: 30 },
  ben: { plan: "free", age: 20 },
  cid: {},
  // Without any event, so without a person's properties.
  dot: undefined,
};

const visit = (session: string, person: string, hour: number, more: Partial<Visit>): Visit => ({
  session,
  person,
  hour,
  seconds: 10,
  clicks: 0,
  keys: 0,
  logs: [],
  events: [],
  ...more,
});
const visits: Visit[] = [
  visit("a1", "ann", 1, { seconds: 90, clicks: 3, events: [page("/", { utm: "x" }), buy("pro", 50)] }),
  visit("a2", "ann", 30, { seconds: 20, keys: 4, logs: ["error"], events: [page("/cart")] }),
  visit("b1", "ben", 2, {
    seconds: 45,
    clicks: 1,
    logs: ["warn", "info"],
    events: [page("/"), buy("free", 5)],
  }),
  visit("b2", "ben", 50, { seconds: 61, events: [page("/docs"), page("/"), buy("pro", 7), buy("free", 90)] }),
  visit("c1", "cid", 3, { seconds: 5, keys: 1, events: [buy("pro", 5)] }),
  visit("d1", "dot", 4, { seconds: 300, clicks: 9, logs: ["error", "warn"] }),
  visit("e1", "eve", 5, { events: [inGroup("acme")] }),
];

const start = Date.parse("2026-03-04T00:00:00Z");
const startOf = ({ hour }: Visit) => start + hour * 3_600_000;
const base = "/api/projects/1/session_recordings/";
let server: Server;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "20" });
  await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  const pieces = visits.map((one) => {
    const at = startOf(one);
    const clicks = Array.from({ length: one.clicks }, (_, i) => event.click(at + 1000 * i));
    const keys = Array.from({ length: one.keys }, (_, i) => event.key(at + 1000 * i));
    const logs = one.logs.map((level) => event.log(at + 10, level));
    const last = event.move(at + one.seconds * 1000);
    const events = [event.page(at, "https://shop.example/"), ...clicks, ...keys, ...logs, last];
    return { session: one.session, distinct_id: one.person, events };
  });
  await until(async () => !(await (await post(server, "/s/", bodyOf(...pieces))).text()).includes("quota"));
  const batch = visits.flatMap((one) =>
    one.events.map(({ event: name, properties }, i) => ({
      event: name,
      distinct_id: one.person,
      properties: { ...properties, $session_id: one.session, $set: plans[one.person] },
      timestamp: new Date(startOf(one) + i * 1000).toISOString(),
    })),
  );
  expect((await post(server, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
  await rested(server);
  await until(async () => ((await list()).body["results"] as unknown[]).length === visits.length);
  await until(async () => (await found({ properties: [session("$pageview_count", "gte", 1)] })).length === 4);
});

function list(query: Record<string, unknown> = {}): Promise<Answer> {
  const texts = Object.entries(query).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return ask(
    server,
    "GET",
    `${base}?${new URLSearchParams(Object.fromEntries(texts) as Record<string, string>)}`,
  );
}

/** The ids of the page; the count must be of the same recordings. */
async function found(query: Record<string, unknown>): Promise<string[]> {
  const { status, body, text } = await list(query);
  if (status !== 200) throw new Error(text);
  const ids = (body["results"] as { id: string }[]).map(({ id }) => id);
  expect(body["count"]).toBe(ids.length);
  return ids;
}

const newestFirst = (is: (one: Visit) => boolean) =>
  visits
    .filter(is)
    .toSorted((a, b) => b.hour - a.hour)
    .map(({ session: id }) => id);

const filter = (type: string) => (key: string, operator: string, value?: unknown) => ({
  type,
  key,
  operator,
  value,
});
const ofEvent = filter("event");
const person = filter("person");
const session = filter("session");
const recording = filter("recording");
const level = (value: string[], operator = "exact") => filter("log_entry")("level", operator, value);
const has = (one: Visit, is: (properties: Record<string, unknown>, name: string) => boolean) =>
  one.events.some(({ event: name, properties }) => is(properties, name));
const personOf = (one: Visit) => plans[one.person] ?? {};

const cases: [Record<string, unknown>, (one: Visit) => boolean][] = [
  [{ properties: [ofEvent("plan", "exact", "pro")] }, (one) => has(one, ({ plan }) => plan === "pro")],
  [
    // Each filter by itself: not the same event needs to match both.
    { properties: [ofEvent("plan", "exact", "pro"), ofEvent("price", "gt", 40)] },
    (one) => has(one, ({ plan }) => plan === "pro") && has(one, ({ price }) => Number(price) > 40),
  ],
  [{ properties: [ofEvent("plan", "is_not", "pro")] }, (one) => !has(one, ({ plan }) => plan === "pro")],
  [{ properties: [ofEvent("utm", "is_set")] }, (one) => has(one, ({ utm }) => utm !== undefined)],
  [{ properties: [ofEvent("utm", "is_not_set")] }, (one) => !has(one, ({ utm }) => utm !== undefined)],
  [{ properties: [person("plan", "exact", ["pro", "free"])] }, (one) => personOf(one)["plan"] !== undefined],
  [{ properties: [person("age", "lt", 25)] }, (one) => Number(personOf(one)["age"]) < 25],
  [{ properties: [person("plan", "is_not", "pro")] }, (one) => personOf(one)["plan"] !== "pro"],
  [
    { properties: [session("$entry_pathname", "exact", "/docs")] },
    (one) => one.events[0]?.properties["$current_url"] === "https://shop.example/docs",
  ],
  [
    { properties: [session("$pageview_count", "gt", 1)] },
    (one) => one.events.filter(({ event: name }) => name === "$pageview").length > 1,
  ],
  [
    { properties: [session("$entry_current_url", "is_not_set")] },
    (one) => !has(one, (_, name) => name === "$pageview"),
  ],
  [
    { properties: [ofEvent("$group_0", "exact", "acme")] },
    (one) => has(one, ({ $groups }) => $groups !== undefined),
  ],
  [{ properties: [{ ...filter("group")("size", "is_not_set"), group_type_index: 0 }] }, () => true],
  [{ properties: [{ ...filter("group")("size", "is_set"), group_type_index: 0 }] }, () => false],
  [{ properties: [recording("click_count", "gte", 3)] }, ({ clicks }) => clicks >= 3],
  [{ properties: [recording("snapshot_source", "exact", "mobile")] }, () => false],
  [
    {
      properties: {
        type: "OR",
        values: [person("plan", "exact", "pro"), { type: "AND", values: [ofEvent("price", "exact", 90)] }],
      },
    },
    (one) => personOf(one)["plan"] === "pro" || has(one, ({ price }) => price === 90),
  ],
  [{ events: [{ id: "buy" }] }, (one) => has(one, (_, name) => name === "buy")],
  [{ events: [{ id: "nobody sent it" }] }, () => false],
  [{ events: [{ id: null, type: "events" }] }, (one) => one.events.length > 0],
  [
    {
      events: [
        {
          id: "buy",
          name: "buy",
          type: "events",
          order: 0,
          properties: [ofEvent("plan", "exact", "pro"), ofEvent("price", "gt", 40)],
        },
      ],
    },
    (one) => has(one, ({ plan, price }, name) => name === "buy" && plan === "pro" && Number(price) > 40),
  ],
  [
    { events: [{ id: "buy", properties: [person("plan", "exact", "free")] }] },
    (one) => personOf(one)["plan"] === "free" && has(one, (_, name) => name === "buy"),
  ],
  [
    { events: [{ id: "$pageview" }, { id: "buy" }] },
    (one) => has(one, (_, name) => name === "buy") && has(one, (_, name) => name === "$pageview"),
  ],
  [
    { events: [{ id: "buy" }], properties: [recording("duration", "gt", 200)], operand: "OR" },
    (one) => has(one, (_, name) => name === "buy") || one.seconds > 200,
  ],
  [{ console_log_filters: [level(["error"])] }, ({ logs }) => logs.includes("error")],
  [{ console_log_filters: [{ key: "level", value: ["warn", "info"] }] }, ({ logs }) => logs.includes("warn")],
  [{ console_log_filters: [level(["error"], "is_not")] }, ({ logs }) => !logs.includes("error")],
  [{ having_predicates: [recording("duration", "gt", 60)] }, ({ seconds }) => seconds > 60],
  [
    {
      having_predicates: [
        recording("duration", "between", [20, 61]),
        recording("keypress_count", "exact", 0),
      ],
    },
    ({ seconds, keys }) => seconds >= 20 && seconds <= 61 && keys === 0,
  ],
  [
    // What must be had is not one of the alternatives.
    {
      events: [{ id: "buy" }],
      console_log_filters: [level(["error"])],
      operand: "OR",
      having_predicates: [recording("duration", "lt", 60)],
    },
    (one) => (has(one, (_, name) => name === "buy") || one.logs.includes("error")) && one.seconds < 60,
  ],
  [{ distinct_ids: ["ann", "dot"] }, (one) => ["ann", "dot"].includes(one.person)],
  [{ distinct_ids: "ben,cid", distinct_id: "cid" }, (one) => one.person === "cid"],
  [
    { events: [{ id: "buy" }], date_from: "2026-03-04T02:00:00Z", date_to: "2026-03-04T03:00:00Z" },
    (one) => one.hour === 2,
  ],
  [
    {
      having_predicates: [recording("duration", "gt", 30)],
      date_from: "2026-03-04T03:00:00Z",
      session_ids: ["b2", "a1"],
    },
    (one) => one.session === "b2",
  ],
  [{ filter_test_accounts: "false", actions: [], properties: [], events: [] }, () => true],
];

test("each filter finds the recordings that it names, and counts them", async () => {
  for (const [query, is] of cases) {
    expect([JSON.stringify(query), await found(query)]).toEqual([JSON.stringify(query), newestFirst(is)]);
  }
});

test("a person is named by its uuid, in either name", async () => {
  const { body } = await ask(server, "GET", "/api/projects/1/persons/?distinct_id=ann");
  const [{ uuid } = { uuid: "" }] = body["results"] as { uuid: string }[];
  for (const name of ["person_id", "person_uuid"])
    expect(await found({ [name]: uuid })).toEqual(newestFirst((one) => one.person === "ann"));
  const both = await list({ person_id: uuid, person_uuid: crypto.randomUUID() });
  expect([both.status, both.body["attr"]]).toEqual([400, "person_id"]);
  expect((await list({ person_id: "ann" })).body["attr"]).toBe("person_id");
});

test("lists are ordered by each figure, both ways, page by page", async () => {
  const figures: Record<string, (one: Visit) => number> = {
    start_time: ({ hour }) => hour,
    duration: ({ seconds }) => seconds,
    recording_duration: ({ seconds }) => seconds,
    click_count: ({ clicks }) => clicks,
    keypress_count: ({ keys }) => keys,
    console_error_count: ({ logs }) => logs.filter((one) => one === "error").length,
  };
  for (const [order, figure] of Object.entries(figures)) {
    const sorted = visits.toSorted((a, b) => figure(b) - figure(a) || b.hour - a.hour);
    const rising = visits.toSorted((a, b) => figure(a) - figure(b) || b.hour - a.hour);
    const ids = (list: Visit[]) => list.map(({ session: id }) => id);
    expect([order, await found({ order })]).toEqual([order, ids(sorted)]);
    expect([order, await found({ order, order_direction: "ASC" })]).toEqual([order, ids(rising)]);
    const { body } = await list({ order, limit: 2, offset: 2, events: [{ id: "buy" }] });
    const buyers = sorted.filter((one) => has(one, (_, name) => name === "buy"));
    expect(body["count"]).toBe(buyers.length);
    expect((body["results"] as { id: string }[]).map(({ id }) => id)).toEqual(ids(buyers.slice(2, 4)));
  }
});

const refused: [Record<string, unknown>, string, string][] = [
  [{ properties: "{" }, "invalid_input", "properties"],
  [{ properties: [{ key: "id", value: 1, type: "cohort" }] }, "invalid_choice", "properties__0__type"],
  [{ properties: [{ key: "1 = 1", type: "hogql" }] }, "invalid_choice", "properties__0__type"],
  [{ properties: [{ key: "a", value: 1, fuzzy: true }] }, "invalid_input", "properties__0__fuzzy"],
  [{ properties: [session("$nothing", "is_set")] }, "invalid_choice", "properties__0__key"],
  [
    { properties: { type: "AND", values: [recording("visited_pages", "exact", "/")] } },
    "invalid_choice",
    "properties__0__values__0__key",
  ],
  [{ properties: [ofEvent("plan", "regex", "(")] }, "invalid_input", "properties"],
  [{ events: { id: "buy" } }, "not_a_list", "events"],
  [{ events: [{ id: "buy", math: "dau" }] }, "invalid_input", "events__0__math"],
  [{ events: [{ id: 3, type: "actions" }] }, "invalid_choice", "events__0__type"],
  [{ events: [{ type: "events" }] }, "required", "events__0__id"],
  [
    { events: [{ id: "buy", properties: [recording("duration", "gt", 1)] }] },
    "invalid_choice",
    "events__0__properties__0__type",
  ],
  [{ events: Array.from({ length: 11 }, () => ({ id: "e" })) }, "max_length", "events"],
  [{ actions: [{ id: 1 }] }, "invalid_input", "actions"],
  [
    { console_log_filters: [{ type: "log_entry", key: "message", value: "x" }] },
    "invalid_choice",
    "console_log_filters__0__key",
  ],
  [{ console_log_filters: [level(["fatal"])] }, "invalid_choice", "console_log_filters__0__value"],
  [
    { console_log_filters: [level(["error"], "icontains")] },
    "invalid_choice",
    "console_log_filters__0__operator",
  ],
  [{ having_predicates: [person("plan", "exact", "pro")] }, "invalid_choice", "having_predicates__0__type"],
  [{ operand: "XOR" }, "invalid_choice", "operand"],
  [{ order: "surfacing_score" }, "invalid_choice", "order"],
  [{ order_direction: "down" }, "invalid_choice", "order_direction"],
  [{ filter_test_accounts: "maybe" }, "invalid_input", "filter_test_accounts"],
  [{ comment_text: "x" }, "invalid_input", "comment_text"],
  [{ properties: "" }, "invalid_input", "properties"],
];

test("what cannot be answered is refused by its name, and never answered with all recordings", async () => {
  for (const [query, code, attr] of refused) {
    const [status, , ...rest] = problemOf(await list(query));
    expect([JSON.stringify(query), status, rest[0], rest[2]]).toEqual([
      JSON.stringify(query),
      400,
      code,
      attr,
    ]);
  }
});

test("recordings of test accounts are left out on request", async () => {
  const filters = [person("plan", "is_not", "pro"), ofEvent("plan", "is_not", "nobody's")];
  await ask(server, "PATCH", "/api/projects/1/", { test_account_filters: filters });
  const ofOthers = (one: Visit) => personOf(one)["plan"] !== "pro";
  expect(await found({ filter_test_accounts: true })).toEqual(newestFirst(ofOthers));
  const either = { events: [{ id: "buy" }], console_log_filters: [level(["error"])], operand: "OR" };
  const buysOrFails = (one: Visit) => has(one, (_, name) => name === "buy") || one.logs.includes("error");
  expect(await found({ ...either, filter_test_accounts: true })).toEqual(
    newestFirst((one) => ofOthers(one) && buysOrFails(one)),
  );
  expect(await found({ filter_test_accounts: false })).toEqual(newestFirst(() => true));
});

test("the properties of a session's first event are listed by its id", async () => {
  const properties = (ids: unknown) =>
    ask(server, "GET", `${base}properties/?session_ids=${encodeURIComponent(JSON.stringify(ids))}`);
  const { status, body } = await properties(["a1", "b2", "d1", "nobody"]);
  expect(status).toBe(200);
  const results = (body["results"] as { id: string; properties: Record<string, unknown> }[]).toSorted(
    (a, b) => (a.id < b.id ? -1 : 1),
  );
  expect(results.map(({ id, properties: all }) => [id, all["$current_url"], all["utm"]])).toEqual([
    ["a1", "https://shop.example/", "x"],
    ["b2", "https://shop.example/docs", undefined],
  ]);
  expect((await ask(server, "GET", `${base}properties/`)).body["attr"]).toBe("session_ids");
  for (const path of ["", "properties/"]) {
    const refused = await ask(server, "GET", `${base}${path}?session_ids=a1,%00`);
    expect([refused.status, refused.body["attr"]]).toEqual([400, "session_ids"]);
  }
  expect((await properties(Array.from({ length: 101 }, (_, i) => `${i}`))).body["code"]).toBe("max_length");
});
