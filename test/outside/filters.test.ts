// Filters and lists as strangers expect them: the operators of PostHog's test_property.py against every kind of value,
// its test_actors_query_runner.py and test_events_query_runner.py, and the public threads that each test names.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { made, openProject, type Project } from "../support/projects.ts";

let app: RunningApp;
let kinds: Project;
let people: Project;
const at = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();

/** A person and an event of each kind of value; `missing` has none. */
const values: Readonly<Record<string, unknown>> = {
  text: "abc",
  upper: "ABC",
  percent: "50%",
  under: "a_b",
  empty: "",
  list: ["a", "b"],
  object: { a: 1 },
  number: 5,
  digits: "5",
  half: 5.5,
  minus: -1,
  yes: true,
  no: false,
  yesText: "true",
  null: null,
  nullText: "null",
  day: "2024-03-19",
  moment: "2024-03-19T10:00:00Z",
};
const all = [...Object.keys(values), "missing"];
const none = ["null", "missing"];
const others = (...left: string[]) => all.filter((name) => !left.includes(name));

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  kinds = await openProject(app, "kinds", [
    ...Object.entries(values).map(([who, p]) => made("f", who, "2020-01-11T12:00:00Z", { p, $set: { p } })),
    made("f", "missing", "2020-01-11T12:00:00Z", { $set: { other: 1 } }),
  ]);
  people = await openProject(app, "people", [
    made("a", "u1", at(50), { k: "x", n: 1, $set: { email: "u1@x.org", name: "One", seats: 5 } }),
    made("a", "u2", at(40), { k: "y", n: 2, $set: { email: "u2@y.org", seats: 2 } }),
    made("b", "u1", at(30), { n: 10 }),
    made("$identify", "u3", at(20), { $anon_distinct_id: "anon3", $set: { email: "u3@x.org", plan: "pro" } }),
    made("old", "u1", "2020-01-12T01:00:00Z"),
    made("old", "u2", "2020-01-11T22:00:00Z"),
    made("old", "u3", "2020-01-12T23:00:00Z"),
  ]);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const textsOf = (list: string[]) => list.toSorted();

// PostHog/posthog#91418, #1546, #18190, #29916, #11156, #24772: negated operators keep what has no such property.
describe.each([
  ["exact", "abc", ["text"]],
  ["is_not", "abc", others("text")],
  ["exact", ["abc", "ABC"], ["text", "upper"]],
  ["is_not", ["abc", "ABC"], others("text", "upper")],
  ["in", ["abc"], ["text"]],
  ["not_in", ["abc"], others("text")],
  ["exact", "5", ["number", "digits"]],
  ["exact", 5, ["number", "digits"]],
  ["exact", ["true"], ["yes", "yesText"]],
  ["exact", true, ["yes", "yesText"]],
  ["is_not", ["true"], others("yes", "yesText")],
  ["exact", ["false"], ["no"]],
  ["exact", "null", ["nullText"]],
  ["exact", "", ["empty"]],
  ["exact", [], all],
  ["exact", '["a","b"]', ["list"]],
  ["icontains", "AB", ["text", "upper"]],
  ["not_icontains", "ab", others("text", "upper")],
  ["icontains", ["ab", "50%"], ["text", "upper", "percent"]],
  ["not_icontains", ["ab", "50%"], others("text", "upper", "percent")],
  ["icontains", "%", ["percent"]],
  ["icontains", "_", ["under"]],
  ["regex", "^ab", ["text"]],
  ["not_regex", "^ab", others("text")],
  ["regex", ["^ab", "^AB"], ["text", "upper"]],
  ["not_regex", ["^ab", "^AB"], others("text", "upper")],
  ["gt", 5, ["half"]],
  ["gt", "5", ["half"]],
  ["gte", 5, ["number", "digits", "half"]],
  ["lt", 5, ["minus"]],
  ["lte", 5, ["number", "digits", "minus"]],
  ["between", [0, 5.2], ["number", "digits"]],
  ["not_between", [0, 5.2], others("number", "digits")],
  ["is_set", "is_set", others(...none)],
  ["is_not_set", "is_not_set", none],
  ["is_set", null, others(...none)],
  ["is_date_exact", "2024-03-19", ["day", "moment"]],
  ["is_date_before", "2024-03-19", []],
  ["is_date_after", "2024-03-18", ["day", "moment"]],
  ["is_date_after", "2024-03-19T09:00:00Z", ["moment"]],
  [undefined, "abc", ["text"]],
] as const)("%s %j", (operator, value, expected) => {
  const filter = (type: string) => [{ key: "p", type, value, ...(operator && { operator }) }];
  test("lets events through", async () => {
    const range = { after: "2020-01-01", before: "2020-02-01", limit: 100 };
    const query = {
      kind: "EventsQuery",
      select: ["distinct_id"],
      event: "f",
      properties: filter("event"),
      ...range,
    };
    const found = await kinds.query<[string]>(query);
    expect(textsOf(found.flat())).toEqual(textsOf([...expected]));
  });
  test("lets the same persons through", async () => {
    const properties = encodeURIComponent(JSON.stringify(filter("person")));
    const path = `/api/projects/${kinds.id}/persons/?limit=100&properties=${properties}`;
    const found = (await ask(app, "GET", path)).body["results"] as { distinct_ids: string[] }[];
    expect(textsOf(found.map(({ distinct_ids: [id] }) => id!))).toEqual(textsOf([...expected]));
  });
});

const abc = { key: "p", type: "event", operator: "exact", value: "abc" };
const upper = { ...abc, value: "ABC" };
const isSet = { key: "p", type: "person", operator: "is_set" };
test.each([
  ["all of a group", { type: "AND", values: [abc, isSet] }, 1],
  ["any of a group", { type: "OR", values: [abc, upper] }, 2],
  ["a group in a group", { type: "AND", values: [isSet, { type: "OR", values: [abc, upper] }] }, 2],
  ["an empty group", { type: "AND", values: [] }, all.length],
  ["an empty group in a group", { type: "AND", values: [{ type: "AND", values: [] }] }, all.length],
  ["SQL", [{ type: "hogql", key: "1" }], all.length],
  ["an event's property without a type", [{ key: "p", value: "abc" }], 1],
] as const)("%s counts %#", async (_, properties, count) => {
  const dateRange = { date_from: "2020-01-11", date_to: "2020-01-11" };
  const query = { kind: "TrendsQuery", series: [{ event: "f" }], dateRange, properties };
  const [line] = await kinds.query<{ count: number }>(query);
  expect(line!.count).toBe(count);
});

const json = (value: unknown) => encodeURIComponent(JSON.stringify(value));
async function listed(list: string, query: string): Promise<Record<string, never>[]> {
  const { status, body } = await ask(app, "GET", `/api/projects/${people.id}/${list}/?${query}`);
  expect([status, body["detail"]]).toEqual([200, undefined]);
  return body["results"] as Record<string, never>[];
}

// PostHog/posthog#550, #975, #17409: parameters that public scripts send.
test.each([
  ["event=a", ["a:u2", "a:u1"]],
  [`event=a&orderBy=${json(["timestamp"])}`, ["a:u1", "a:u2"]],
  [`event=a&orderBy=${json(["-timestamp"])}`, ["a:u2", "a:u1"]],
  [`event=a&properties=${json([{ key: "k", value: "x", operator: "exact", type: "event" }])}`, ["a:u1"]],
  [`event=a&properties=${json({ k: "x" })}`, ["a:u1"]],
  [`properties=${json({ n__gt: 1 })}&after=-1h`, ["b:u1", "a:u2"]],
  [
    `event=a&properties=${json([{ key: "email", value: "x.org", operator: "icontains", type: "person" }])}`,
    ["a:u1"],
  ],
  ["event=old&after=2020-01-12&before=2020-01-12T23:59:59", ["old:u3", "old:u1"]],
  ["after=-1h&limit=2", ["$identify:u3", "b:u1"]],
])("events by %s", async (query, expected) => {
  expect((await listed("events", query)).map(({ event, distinct_id }) => `${event}:${distinct_id}`)).toEqual(
    expected,
  );
});

test.each([
  ["search=x.org", [1, 3]],
  ["search=U1@X.ORG", [1]],
  ["search=anon3", [3]],
  ["email=u2@y.org", [2]],
  ["distinct_id=anon3", [3]],
  [`properties=${json([{ key: "plan", value: "pro", type: "person", operator: "exact" }])}`, [3]],
  [`properties=${json([{ key: "plan", value: "pro" }])}`, [3]],
  [`properties=${json({ plan: "pro" })}`, [3]],
  [`properties=${json({ seats__gte: 3 })}`, [1]],
  [`properties=${json([{ key: "plan", type: "person", operator: "is_not_set" }])}`, [1, 2]],
  [`properties=${json([{ key: "email", value: "x.org", type: "person", operator: "not_icontains" }])}`, [2]],
])("persons by %s", async (query, expected) => {
  const emails = (await listed("persons", query)).map(({ properties }) => String(properties!["email"])[1]);
  expect(emails.map(Number).toSorted()).toEqual([...expected]);
});

const actors = (more: object) => people.query({ kind: "ActorsQuery", ...more });

// PostHog/posthog#14169 and its tests: persons without an order come by the first column.
test("persons are listed by columns, orders, names and pages", async () => {
  const emails = ["u1@x.org", "u2@y.org", "u3@x.org"];
  expect((await actors({ select: ["properties.email"] })).flat()).toEqual(emails);
  expect((await actors({ select: ["properties.email as email"] })).flat()).toEqual(emails);
  const descending = await actors({ select: ["properties.email"], orderBy: ["properties.email DESC"] });
  expect(descending.flat()).toEqual(emails.toReversed());
  const name = "person_display_name -- Person";
  for (const [way, expected] of [
    ["ASC", emails],
    ["DESC", emails.toReversed()],
  ] as const) {
    const named = await actors({ select: [name], orderBy: [`${name} ${way}`] });
    expect(named.map(([one]) => (one as { display_name: string }).display_name)).toEqual([...expected]);
    const unnamed = await actors({ select: ["properties.email"], orderBy: [`${name} ${way}`] });
    expect(unnamed.flat()).toEqual([...expected]);
  }
  expect(await actors({ select: ["properties.plan", "count()"] })).toEqual([
    [null, 2],
    ["pro", 1],
  ]);
  const properties = [{ type: "hogql", key: "toInt(properties.seats) > 3" }];
  expect(await actors({ select: ["properties.email"], properties })).toEqual([["u1@x.org"]]);
  expect(await actors({ select: ["properties.email"], fixedProperties: properties })).toEqual([["u1@x.org"]]);
  const page = { kind: "ActorsQuery", select: ["properties.email"], limit: 1, offset: 1 };
  const reply = await people.reply(page);
  expect([reply["results"], reply["hasMore"]]).toEqual([[["u2@y.org"]], true]);
});

// test_property.py: a person's distinct_id is looked up among all ids of the person, which properties do not hold.
test.each([
  [{ value: "anon3", operator: "exact" }, [3]],
  [{ value: ["u2", "anon3"], operator: "exact" }, [2, 3]],
  [{ value: "anon3", operator: "is_not" }, [1, 2]],
  [{ value: "NON", operator: "icontains" }, [3]],
  [{ value: "^u", operator: "not_regex" }, []],
])("persons and events by a person's distinct_id: %j", async (filter, expected) => {
  const properties = [{ key: "distinct_id", type: "person", ...filter }];
  const numbers = (emails: unknown[]) =>
    [...new Set(emails)].map((email) => Number(String(email)[1])).toSorted();
  expect(numbers((await actors({ select: ["properties.email"], properties })).flat())).toEqual(expected);
  const list = await listed("persons", `properties=${json(properties)}`);
  expect(numbers(list.map((item) => item.properties!["email"]))).toEqual(expected);
  const select = ["person.properties.email"];
  const events = { kind: "EventsQuery", event: "old", after: "all", select, properties };
  expect(numbers((await people.query(events)).flat())).toEqual(expected);
  const dateRange = { date_from: "2020-01-11", date_to: "2020-01-13" };
  const trend = { kind: "TrendsQuery", series: [{ event: "old", math: "dau" }], dateRange, properties };
  const [line] = await people.query<{ data: number[] }>(trend);
  expect(line!.data.reduce((sum, count) => sum + count, 0)).toBe(expected.length);
});

// events_query_runner.py: conditions with aggregates are of the groups. actor_strategies.py: a part of an id is found.
test("rows are chosen by how many events they are, and persons by a part of their id", async () => {
  const rows = { kind: "EventsQuery", after: "all", select: ["distinct_id", "count()"], event: "old" };
  expect(await people.query({ ...rows, where: ["count() = 1", "distinct_id != 'u2'"] })).toEqual([
    ["u1", 1],
    ["u3", 1],
  ]);
  expect(await people.query({ ...rows, where: ["count() > 1 or count() = 0"] })).toEqual([]);
  const [[id]] = (await actors({ select: ["id"], search: "u2@" })) as [[string]];
  const part = id.slice(4, 28).toUpperCase();
  expect(await actors({ select: ["properties.email"], search: part })).toEqual([["u2@y.org"]]);
});

// events_query_runner.py, columns(): a column with an alias is called by it; `event` and `events` are one list.
test("rows of events have aliases for columns, and both lists of events", async () => {
  await people.send([made("one", "u1", at(1)), made("two", "u1", at(1)), made("three", "u1", at(1))]);
  const query = { kind: "EventsQuery", after: "-1h", event: "one", events: ["two"] };
  const select = ["event as name", "count() as n", "person_display_name -- Person"];
  const reply = await people.reply({ ...query, select: select.slice(0, 2), orderBy: ["name"] });
  expect(reply["columns"]).toEqual(["name", "n"]);
  expect(reply["results"]).toEqual([
    ["one", 1],
    ["two", 1],
  ]);
  expect((await people.reply({ ...query, select }))["columns"]).toEqual(["name", "n", select[2]]);
  const actors = await people.reply({ kind: "ActorsQuery", select: ["properties.email as mail"] });
  expect(actors["columns"]).toEqual(["properties.email as mail"]);
});

test("rows of events keep numbers that are too large, and days of the project", async () => {
  await people.send([made("big", "u1", at(1), { bigInt: 2 ** 159 - 24 })]);
  const rows = (more: object) => people.query({ kind: "EventsQuery", after: "-1h", ...more });
  const [[big]] = (await rows({ select: ["*"], event: "big" })) as [[{ properties: { bigInt: number } }]];
  expect(big.properties.bigInt).toBe(2 ** 159 - 24);
  const day = {
    event: "old",
    after: "2020-01-12",
    before: "2020-01-12T23:59:59",
    orderBy: ["timestamp ASC"],
  };
  expect(await rows({ select: ["distinct_id"], ...day })).toEqual([["u1"], ["u3"]]);
  const fixedProperties = [{ key: "k", type: "event", value: "y", operator: "exact" }];
  expect(await rows({ select: ["distinct_id"], fixedProperties })).toEqual([["u2"]]);
  expect(await rows({ select: ["distinct_id"], where: [String.raw`properties.k = 'I\'m'`] })).toEqual([]);
});
