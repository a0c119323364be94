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
  for (const orderBy of ["", "timestamp", "[]", '["event"]', '["timestamp","uuid"]', "[1]", "{}"]) {
    expect(await found({ orderBy })).toEqual([400, "invalid_choice", "orderBy"]);
  }
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

test("what is wrong in a condition is named by its place, and a key asks for what its scopes open", async () => {
  const wrong: [string, string, string][] = [
    ["event = 'a'", "not_a_list", "where"],
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
  const { status, body } = await get({ select: '["event"]' });
  expect([status, body["attr"]]).toEqual([400, "select"]);
  expect(body["detail"]).toContain("query/");
  expect(body["detail"]).toContain("person_id");
  expect(await found({ include_person: "true" })).toEqual([400, "invalid_input", "include_person"]);
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
