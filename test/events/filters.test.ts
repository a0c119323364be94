// Events of a person, and their order.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import { ownPersonId } from "../../src/persons/identity.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { addStranger, type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey, rested, storesOf, until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

let app: RunningApp;

function event(name: string, distinct_id: string, day: number, properties: object = {}) {
  return { event: name, distinct_id, properties, timestamp: `2024-01-0${day}T00:00:00Z` };
}

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const batch = [
    event("first", "web-1", 1),
    event("second", "ann", 2, { $set: { plan: "pro" } }),
    event("$identify", "ann", 3, { $anon_distinct_id: "web-1" }),
    event("third", "web-1", 4, { page: "/a" }),
    event("other", "bob", 5, { $set: { plan: "pro" } }),
    event("personless", "nobody", 6, { $process_person_profile: false }),
  ];
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await fetch(`${app.url}/batch/`, { method: "POST", body })).status).toBe(200);
  await rested(app);
  const { clickhouse } = await storesOf(app);
  await until(async () => {
    const [row] = await clickhouse.query<{ n: string }>("SELECT count() AS n FROM merged_ids FINAL");
    return Number(row?.n) >= 2;
  });
}, storesStartMsMax);

afterAll(cleanUp);

const get = (query: Record<string, string>): Promise<Answer> =>
  ask(app, "GET", `/api/projects/1/events/?${new URLSearchParams(query)}`);

/** The names of the events of an answer; its refusal otherwise. */
async function found(query: Record<string, string>): Promise<unknown> {
  const { status, body } = await get(query);
  if (status !== 200) return [status, body["code"], body["attr"]];
  const rows = body["results"] as { event: string }[];
  expect(body["count"]).toBe(rows.length);
  return rows.map((row) => row.event);
}

const ann = ownPersonId(1, "ann");

test("person_id finds the events of all of a person's ids, and of nobody else", async () => {
  expect(await found({ person_id: ann })).toEqual(["third", "$identify", "second", "first"]);
  expect(await found({ person_id: ann.toUpperCase() })).toEqual(["third", "$identify", "second", "first"]);
  expect(await found({ person_id: ownPersonId(1, "bob") })).toEqual(["other"]);
  // What an id was before it was merged is nobody's any more; a personless event shows an id that finds it.
  expect(await found({ person_id: ownPersonId(1, "web-1") })).toEqual([]);
  expect(await found({ person_id: ownPersonId(1, "nobody") })).toEqual(["personless"]);
  expect(await found({ person_id: ownPersonId(2, "ann") })).toEqual([]);
  expect(await found({ person_id: crypto.randomUUID() })).toEqual([]);
  const wrong = [400, "invalid_input", "person_id"];
  for (const person_id of ["", "3", "ann", "' OR 1=1 --"]) expect(await found({ person_id })).toEqual(wrong);
});

test("filters combine with the person", async () => {
  expect(await found({ person_id: ann, event: "third" })).toEqual(["third"]);
  expect(await found({ person_id: ann, distinct_id: "web-1" })).toEqual(["third", "first"]);
  expect(await found({ person_id: ann, distinct_id: "bob" })).toEqual([]);
  expect(await found({ person_id: ann, after: "2024-01-02", before: "2024-01-04" })).toEqual(["$identify"]);
  const page = JSON.stringify([{ key: "page", value: "/a" }]);
  expect(await found({ person_id: ann, properties: page })).toEqual(["third"]);
  const plan = JSON.stringify([{ key: "plan", value: "pro", type: "person" }]);
  expect(await found({ properties: plan })).toEqual(["other", "third", "$identify", "second", "first"]);
});

test("orderBy reverses the order, page by page", async () => {
  const oldest = ["first", "second", "$identify", "third", "other", "personless"];
  for (const order of ["timestamp", "timestamp ASC", " Timestamp asc "]) {
    expect(await found({ orderBy: JSON.stringify([order]) })).toEqual(oldest);
  }
  for (const order of ["-timestamp", "timestamp DESC"]) {
    expect(await found({ orderBy: JSON.stringify([order]) })).toEqual(oldest.toReversed());
  }
  const names: string[] = [];
  let path: string | null = `/api/projects/1/events/?limit=2&orderBy=${encodeURIComponent('["timestamp"]')}`;
  while (path !== null) {
    const { body } = await ask(app, "GET", path);
    expect(body["count"]).toBe(6);
    names.push(...(body["results"] as { event: string }[]).map((row) => row.event));
    const next: string | null = body["next"] as string | null;
    path = next === null ? null : new URL(next).pathname + new URL(next).search;
  }
  expect(names).toEqual(oldest);
  expect(await found({ orderBy: "timestamp" })).toEqual(oldest);
});

test("orderBy takes expressions in SQL, page by page; events of one rank are by time", async () => {
  const all = ["$identify", "first", "other", "personless", "second", "third"];
  const order = (...expressions: string[]) => ({ orderBy: JSON.stringify(expressions) });
  expect(await found(order("event"))).toEqual(all);
  expect(await found(order("-event"))).toEqual(all.toReversed());
  expect(await found(order("event DESC"))).toEqual(all.toReversed());
  expect(await found(order("-event -- of a page"))).toEqual(all.toReversed());
  const byId = ["second", "$identify", "other", "personless", "first", "third"];
  expect(await found(order("distinct_id", "timestamp"))).toEqual(byId);
  expect(await found(order("-distinct_id"))).toEqual(byId.toReversed());
  const plans = order("person.properties.plan = 'pro'", "-length(event)", "event");
  expect(await found({ ...plans, event: "third" })).toEqual(["third"]);
  expect(await found(plans)).toEqual(["personless", "$identify", "second", "first", "other", "third"]);
  expect(await pages("events/?limit=2&orderBy=-length(event)&orderBy=event")).toEqual([
    ["personless", "$identify"],
    ["second", "first"],
    ["other", "third"],
  ]);
  for (const [orderBy, code, attr] of [
    ["", "blank", "orderBy__0"],
    ["[]", "blank", "orderBy"],
    ["[1]", "invalid_input", "orderBy__0"],
    ["{}", "invalid_input", "orderBy"],
    ['["event", "evnt"]', "invalid_input", "orderBy"],
    ['["-event desc"]', "invalid_input", "orderBy__0"],
    ['["event, uuid"]', "invalid_input", "orderBy__0"],
    ['["count()"]', "invalid_input", "orderBy"],
  ] as const) {
    expect([orderBy, await found({ orderBy })]).toEqual([orderBy, [400, code, attr]]);
  }
});

/** What a list of the project shows on each of its pages, as `next` leads through them: names of events, or rows. */
async function pages(first: string): Promise<unknown[][]> {
  const all: unknown[][] = [];
  for (let path: string | null = `/api/projects/1/${first}`; path !== null;) {
    const { status, body } = await ask(app, "GET", path);
    expect([status, body["detail"]]).toEqual([200, undefined]);
    const rows = body["results"] as (unknown[] | { event: string })[];
    all.push(rows.map((row) => (Array.isArray(row) ? (row as unknown[]) : row.event)));
    const next: string | null = body["next"] as string | null;
    path = next === null ? null : new URL(next).pathname + new URL(next).search;
  }
  return all;
}

test("select shows columns of events, with all filters, in any order and page by page", async () => {
  const select = JSON.stringify(["event", "properties.page", "person.properties.plan"]);
  const { status, body } = await get({ select, person_id: ann, after: "2024-01-02T00:00:00Z" });
  expect(status).toBe(200);
  expect(body).toEqual({
    next: null,
    previous: null,
    columns: ["event", "properties.page", "person.properties.plan"],
    types: ["String", "Nullable(String)", "Nullable(String)"],
    hasMore: false,
    results: [
      ["third", "/a", "pro"],
      ["$identify", null, "pro"],
    ],
  });
  const query = new URLSearchParams({ select: '["event"]', orderBy: '["-event"]', limit: "4" });
  expect(await pages(`events/?${query}`)).toEqual([
    [["third"], ["second"], ["personless"], ["other"]],
    [["first"], ["$identify"]],
  ]);
  // Grouped rows of one rank are each on one page.
  const counts = new URLSearchParams({ select: '["distinct_id", "count()"]', limit: "1" });
  expect((await pages(`events/?${counts}`)).flat()).toEqual([
    ["ann", 2],
    ["web-1", 2],
    ["bob", 1],
    ["nobody", 1],
  ]);
  const whole = await get({ select: "*", ...where("event = 'third'"), limit: "1" });
  expect(whole.body["results"]).toEqual([[expect.objectContaining({ event: "third", person_id: ann })]]);
});

test("selected columns are a table with format=csv", async () => {
  const query = { select: '["event","timestamp"]', event: "third", format: "csv" };
  const { status, text, headers } = await get(query);
  expect([status, headers.get("content-disposition"), headers.get("x-has-more")]).toEqual([
    200,
    'attachment; filename="events.csv"',
    "false",
  ]);
  expect(text).toBe("event,timestamp\r\nthird,2024-01-04T00:00:00.000000Z\r\n");
  const first = await get({ select: "event", limit: "1", format: "csv" });
  expect([first.headers.get("x-has-more"), first.headers.get("link")]).toEqual([
    "true",
    expect.stringContaining('offset=1&select=event>; rel="next"'),
  ]);
});

test("an error in select is named by its position, and a key may select what its scopes allow", async () => {
  const wrong: [string, string, string][] = [
    ["[]", "blank", "select"],
    ["", "blank", "select__0"],
    ['["event", 1]', "invalid_input", "select__1"],
    ['["event", "event ="]', "invalid_input", "select__1"],
    ['["evnt"]', "invalid_input", "select"],
    ['["event from events; drop"]', "invalid_input", "select__0"],
    ['["(select event from system.tables)"]', "invalid_input", "select"],
    [JSON.stringify(Array.from({ length: 51 }, () => "event")), "max_length", "select"],
  ];
  for (const [select, code, attr] of wrong) {
    expect([select, await found({ select })]).toEqual([select, [400, code, attr]]);
  }
  expect(await found({ select: "event", include_person: "true" })).toEqual([
    400,
    "invalid_input",
    "include_person",
  ]);
  const { sql } = await storesOf(app);
  const { value } = await issueKey(sql, 1, { label: "select", scopes: ["query:read"] });
  const asked = (query: Record<string, string>) =>
    ask(app, "GET", `/api/projects/1/events/?${new URLSearchParams(query)}`, undefined, value);
  expect((await asked({ select: "event", event: "third" })).body["results"]).toEqual([["third"]]);
  for (const query of [
    { select: "person.properties.plan" },
    { select: "event", orderBy: "person.properties.plan" },
    { orderBy: "person.properties.plan" },
    { include_person: "true" },
  ]) {
    const { status, body } = await asked(query);
    expect([query, status, body["code"]]).toEqual([query, 403, "permission_denied"]);
    expect(body["detail"]).toContain("person:read");
  }
});

test("with include_person each event of a list shows its person, if it belongs to one", async () => {
  const persons = async (query: Record<string, string>) => {
    const { body } = await get({ include_person: "true", ...query });
    const rows = body["results"] as { event: string; person: { uuid: string; properties: object } | null }[];
    return rows.map(({ event: name, person }) => [name, person && person.uuid, person?.properties]);
  };
  const bob = ownPersonId(1, "bob");
  expect(await persons({ limit: "3" })).toEqual([
    ["personless", null, undefined],
    ["other", bob, { plan: "pro" }],
    ["third", ann, { plan: "pro" }],
  ]);
  expect(await persons({ orderBy: "event", limit: "1" })).toEqual([["$identify", ann, { plan: "pro" }]]);
  const [plain] = (await get({ limit: "1", offset: "1" })).body["results"] as object[];
  expect(plain).not.toHaveProperty("person");
  const [shown] = (await get({ limit: "1", offset: "1", include_person: "1" })).body["results"] as object[];
  expect(shown).toMatchObject(plain!);
  const table = await get({ include_person: "true", event: "other", format: "csv" });
  const [header = "", line = ""] = table.text.split("\r\n");
  expect(header).toContain(",historical_migration,person,");
  expect(line).toContain(`""uuid"":""${bob}""`);
});

test("the same list is a table with format=csv", async () => {
  const { status, text, headers } = await get({ format: "csv", person_id: ann, orderBy: '["timestamp"]' });
  expect([status, headers.get("content-disposition")]).toEqual([200, 'attachment; filename="events.csv"']);
  const [header = "", ...lines] = text.trim().split("\r\n");
  expect(header).toBe(
    "id,uuid,event,distinct_id,timestamp,created_at,person_id,historical_migration," +
      "properties.$anon_distinct_id,properties.$set,properties.page",
  );
  expect(lines.map((line) => line.split(",")[2])).toEqual(["first", "second", "$identify", "third"]);
  expect(lines[1]).toContain('"{""plan"":""pro""}"');
  expect(lines[3]).toEndWith(",/a");
  expect(headers.get("x-total-count")).toBe("4");
});

const where = (...expressions: string[]) => ({ where: JSON.stringify(expressions) });

test("conditions in SQL all hold, and combine with the other filters", async () => {
  const chosen = await found(where("properties.page = '/a' or event in ('first', 'other')"));
  expect(chosen).toEqual(["other", "third", "first"]);
  expect(await found(where("timestamp >= '2024-01-03'", "event != 'other'"))).toEqual([
    "personless",
    "third",
    "$identify",
  ]);
  const oldest = { ...where("person.properties.plan = 'pro'"), orderBy: '["timestamp"]' };
  expect(await found(oldest)).toEqual(["first", "second", "$identify", "third", "other"]);
  const ids = where("startsWith(distinct_id, 'web')");
  expect(await found({ ...ids, event: "third" })).toEqual(["third"]);
  expect(await found({ ...ids, distinct_id: "ann" })).toEqual([]);
  expect(await found({ ...where("distinct_id != 'ann'"), person_id: ann })).toEqual(["third", "first"]);
  expect(await found({ ...ids, after: "2024-01-01", before: "2024-01-04" })).toEqual([]);
  expect(await found({ ...ids, after: "2023-12-31T23:59:59.999999Z", before: "2024-01-04" })).toEqual([
    "first",
  ]);
  const page = JSON.stringify([{ key: "page", operator: "is_set" }]);
  expect(await found({ ...ids, properties: page })).toEqual(["third"]);
  expect(await found(where("event = 'nothing'"))).toEqual([]);
  expect(await found({ where: "[]" })).toHaveLength(6);
  // Clients that are generated of PostHog's description send a list as several parameters.
  const { body } = await ask(
    app,
    "GET",
    "/api/projects/1/events/?where=event!='other'&where=distinct_id='bob'",
  );
  expect(body["results"]).toEqual([]);
  expect(await found({ where: "event = 'third'" })).toEqual(["third"]);
});

test("events that conditions in SQL find are shown as others are, page by page and as a table", async () => {
  const conditions = where("event in ('first', 'second', 'third')");
  const whole = await get(conditions);
  const all = (await get({})).body["results"] as { event: string }[];
  const three = new Set(["first", "second", "third"]);
  expect(whole.body["results"]).toEqual(all.filter((row) => three.has(row.event)));
  const page = await get({ ...conditions, limit: "1", offset: "1" });
  expect(page.body).toMatchObject({ count: 3, results: [{ event: "second" }] });
  expect(page.body["next"]).toContain("where=");
  const table = await get({ ...conditions, format: "csv" });
  expect(
    table.text
      .trim()
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(",")[2]),
  ).toEqual(["third", "second", "first"]);
});

test("an error in a condition is named by its position, and a key may filter by what its scopes allow", async () => {
  const wrong: [string, string, string][] = [
    ["event = ", "invalid_input", "where__0"],
    ["", "blank", "where__0"],
    ['{"a":1}', "invalid_input", "where"],
    ["[1]", "invalid_input", "where__0"],
    ['["event = 1", "event ="]', "invalid_input", "where__1"],
    ['["evnt = 1"]', "invalid_input", "where"],
    ['["count() > 1"]', "invalid_input", "where"],
    ['["event = 1) or (1 = 1"]', "invalid_input", "where__0"],
    [JSON.stringify([`event = '${"a".repeat(4000)}'`]), "max_length", "where__0"],
    [JSON.stringify(Array.from({ length: 51 }, () => "1 = 1")), "max_length", "where"],
  ];
  for (const [text, code, attr] of wrong) {
    expect([text, await found({ where: text })]).toEqual([text, [400, code, attr]]);
  }
  const { sql } = await storesOf(app);
  const { value } = await issueKey(sql, 1, { label: "events", scopes: ["query:read"] });
  const asked = (condition: string) => {
    const path = `/api/projects/1/events/?${new URLSearchParams(where(condition))}`;
    return ask(app, "GET", path, undefined, value);
  };
  expect((await asked("event = 'third'")).body["count"]).toBe(1);
  const person = await asked("person.properties.plan = 'pro'");
  expect([person.status, person.body["code"]]).toEqual([403, "permission_denied"]);
  expect(person.body["detail"]).toContain("person:read");
});

test("what cannot be answered says what can", async () => {
  const { status, body } = await get({ action_id: "1" });
  expect([status, body["attr"]]).toEqual([400, "action_id"]);
  for (const name of ["person_id", "select", "where", "orderBy"]) expect(body["detail"]).toContain(name);
  const cohort = JSON.stringify([{ key: "id", value: 3, type: "cohort" }]);
  expect(await found({ properties: cohort })).toEqual([400, "invalid_choice", "properties__0__type"]);
});

test("a stranger's key sees no event of a person", async () => {
  const { key } = await addStranger((await storesOf(app)).sql);
  const path = `/api/projects/@current/events/?person_id=${ann}`;
  for (const filter of ["", `&${new URLSearchParams(where("1 = 1"))}`]) {
    const own = await ask(app, "GET", `${path}${filter}`, undefined, key);
    expect([own.status, own.body["count"]]).toEqual([200, 0]);
  }
});

test("events are found by their groups and what is known of these, and the keys of groups are counted", async () => {
  const group = (day: number, properties: object) => event("in a group", "dan", day, properties);
  const identify = { $group_type: "company", $group_key: "acme", $group_set: { size: 41 } };
  const batch = [
    { ...group(1, identify), event: "$groupidentify" },
    group(2, { $groups: { company: "acme" } }),
    { ...group(3, { $groups: { company: "other" } }), timestamp: new Date().toISOString() },
  ];
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await fetch(`${app.url}/batch/`, { method: "POST", body })).status).toBe(200);
  await rested(app);
  const listed = (filter: object) => found({ distinct_id: "dan", properties: JSON.stringify([filter]) });
  expect(await listed({ key: "$group_0", value: "acme" })).toEqual(["in a group", "$groupidentify"]);
  expect(await listed({ key: "$group_0", operator: "is_not", value: "acme" })).toEqual(["in a group"]);
  const size = { key: "size", type: "group", group_type_index: 0, operator: "gt", value: 40 };
  expect(await listed(size)).toEqual(["in a group", "$groupidentify"]);
  const values = await ask(app, "GET", "/api/projects/1/events/values/?key=$group_0");
  expect(values.body["results"]).toEqual([{ name: "other", count: 1 }]);
});
