// SQL and persons as PostHog's own tests have them (hogql/test/test_query.py, api/test/test_person.py), and public threads.
// Each test names the one that it stands for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { TrendLine } from "../../src/query/result.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Happening, makeProject, type PeerProject } from "../support/journeys.ts";

let app: RunningApp;
let project: PeerProject;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const at = "2020-01-10T00:00:00Z";
  project = await makeProject(app, [
    ["bla", "$set", at, { $set: { sneaky_mail: "tim@example.com" } }],
    ["bla", "random event", at, { index: 0 }],
    ["bla", "random event", at, { index: 1 }],
    ["person1", "pageview", at, { $browser: "Chrome" }],
    ["person1", "click", at, { $browser: "Firefox" }],
  ]);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const sql = (text: string, more: object = {}) =>
  project.results<unknown[]>({ kind: "HogQLQuery", query: text, ...more });

// test_query_joins_lazy_on_both_sides, test_query_joins_persons_to_events, test_query_joins_events_pdi_person_properties,
// test_query_joins_events_pdi_e_person_properties, test_query_joins_events_person_properties_in_aggregration,
// test_select_person_on_events, test_query_select_person_with_joins_without_poe.
test.each([
  [
    `SELECT e1.event, e2.event FROM events e1 JOIN events e2 ON e1.person_id = e2.person_id
     WHERE e1.event = 'pageview' AND e2.event = 'click'`,
    [["pageview", "click"]],
  ],
  [
    `SELECT events.event FROM persons JOIN events ON persons.id = events.person_id
     WHERE events.distinct_id = 'person1' ORDER BY events.event LIMIT 10`,
    [["click"], ["pageview"]],
  ],
  [
    "SELECT event, pdi.distinct_id, pdi.person.properties.sneaky_mail FROM events WHERE event = 'random event' LIMIT 1",
    [["random event", "bla", "tim@example.com"]],
  ],
  [
    "SELECT pdi.distinct_id, e.pdi.person.properties.sneaky_mail FROM events e WHERE event = 'random event' LIMIT 1",
    [["bla", "tim@example.com"]],
  ],
  [
    `SELECT s.pdi.person.properties.sneaky_mail, count() FROM events s WHERE event = 'random event'
     GROUP BY s.pdi.person.properties.sneaky_mail LIMIT 10`,
    [["tim@example.com", 2]],
  ],
  [
    `SELECT poe.properties.sneaky_mail, count() FROM events s WHERE event = 'random event'
     GROUP BY poe.properties.sneaky_mail LIMIT 10`,
    [["tim@example.com", 2]],
  ],
  [
    `SELECT person.id = pdi.person_id, person.properties.sneaky_mail FROM events WHERE event = 'random event' LIMIT 1`,
    [[true, "tim@example.com"]],
  ],
])("%s joins what PostHog joins", async (text, rows) => {
  const found = await sql(text);
  expect(found.map((row) => row.map((cell) => (cell === 1 ? true : cell)))).toEqual(
    rows.map((row) => row.map((cell: unknown) => (cell === 1 ? true : cell))),
  );
});

const pivot = `select col_a, arrayZip((sumMap(g.1, g.2) as x).1, x.2) as r from`;
const grouped = "select col_a, groupArray((col_b, col_c)) as g from";
const counts = `SELECT properties.index as col_a, event as col_b, count() as col_c FROM events
  WHERE event = 'random event' GROUP BY properties.index, event`;

// test_tuple_access, test_with_pivot_table_1_level, test_with_pivot_table_2_levels.
test.each([
  `${pivot} (${grouped} (${counts}) group by col_a) group by col_a ORDER BY col_a`,
  `WITH abc AS (${counts}), one AS (${grouped} abc group by col_a), two AS (${pivot} one group by col_a)
   SELECT * FROM two ORDER BY col_a`,
  `WITH abc AS (${counts}), one AS (${grouped} abc group by col_a), two AS (${pivot} one group by col_a),
   final AS (select * from two) SELECT * FROM final ORDER BY col_a`,
])("%s is a pivot table", async (text) => {
  const found = await sql(text);
  expect(found.map(([index, list]) => [String(index), list])).toEqual([
    ["0", [["random event", 1]]],
    ["1", [["random event", 1]]],
  ]);
});

// test_hogql_lambdas, test_regex_functions, test_nullish_coalescing, test_property_access_with_arrays_zero_index_error.
test("lambdas, patterns and what stands for null", async () => {
  expect(await sql("SELECT arrayMap(x -> x * 2, [1, 2, 3]), 1")).toEqual([[[2, 4, 6], 1]]);
  const matches =
    "'kala' ~ '.*', 'kala' =~ 'a', 'kala' !~ 'a', 'kala' =~ 'A', 'kala' !~ 'A', 'kala' ~* 'A', 'kala' !~* 'A'";
  const [row] = await sql(`SELECT ${matches}`);
  expect(row!.map(Number)).toEqual([1, 1, 0, 0, 1, 1, 0]);
  const values =
    "null ?? 1, null ?? null ?? 2, 3 ?? null, null ?? 'string', 1 + (null ?? 2) + 3, 10 ?? 5 + 10";
  expect(await sql(`SELECT ${values}`)).toEqual([[1, 2, 3, "string", 6, 10]]);
  for (const path of ["something[0]", "something.0"]) {
    const query = { kind: "HogQLQuery", query: `SELECT properties.${path} FROM events` };
    expect((await project.query(query)).status).toBe(400);
  }
});

// test_null_equality: through columns of a subquery, too.
test("null equals null, and is in no order, also as a column", async () => {
  const cases: [string, string, string, number][] = [
    ["null", "=", "2", 0],
    ["null", "=", "null", 1],
    ["2", "!=", "null", 1],
    ["null", "!=", "null", 0],
    ["null", "<=", "null", 0],
    ["4", ">", "3", 1],
    ["null", "like", "'2'", 0],
    ["null", "like", "null", 1],
    ["'3'", "not like", "'4'", 1],
    ["null", "not ilike", "null", 0],
  ];
  const columns = cases.flatMap(([left, sign, right], i) => [
    `${left} ${sign} ${right}`,
    `a${i} ${sign} b${i}`,
    `${left} ${sign} b${i}`,
    `a${i} ${sign} ${right}`,
  ]);
  const inner = cases.flatMap(([left, , right], i) => [`${left} as a${i}`, `${right} as b${i}`]);
  const [row] = await sql(`select ${columns.join(", ")} from (select ${inner.join(", ")})`);
  const wrong = columns.filter((_, i) => Number(row![i]) !== cases[Math.floor(i / 4)]![3]);
  expect(wrong).toEqual([]);
});

// PostHog/posthog#25842, #57569, #58387, #28672.
test("dates plus intervals, named like columns, and days of a week in filters", async () => {
  const before = "select count() from persons where created_at <";
  expect(await sql(`${before} toDateTime('2020-01-10') + interval 1 day`)).toEqual([[2]]);
  expect(await sql(`${before} plus(toDateTime('2020-01-10'), toIntervalDay(1))`)).toEqual([[2]]);
  expect(await sql("select toDateTime64('2020-01-10 00:00:00', 6) = toDateTime('2020-01-10')")).toEqual([
    [1],
  ]);
  const filters = { dateRange: { date_from: "2020-01-10", date_to: "2020-01-10" } };
  const shadowed =
    "select event, max(timestamp) as timestamp from events where {filters} group by event order by event";
  expect((await sql(shadowed, { filters })).map(([event]) => event)).toEqual([
    "$set",
    "click",
    "pageview",
    "random event",
  ]);
  const properties = [{ type: "hogql", key: "toDayOfWeek(timestamp) = 5" }];
  const dateRange = { date_from: "2020-01-06", date_to: "2020-01-12" };
  const trend = { kind: "TrendsQuery", series: [{ event: "pageview" }], dateRange, properties };
  expect((await project.results<TrendLine>(trend))[0]!.data).toEqual([0, 0, 0, 0, 1, 0, 0]);
});

let people: PeerProject;
const get = (path: string) => ask(app, "GET", `${people.path}/persons/${path}`);
const send = (path: string, body?: object, method = "POST") =>
  ask(app, method, `${people.path}/persons/${path}`, body);
const listed = ({ body }: Answer) => (body["results"] as { id: string; uuid: string; name: string }[]) ?? [];
const withProperties = (...filters: object[]) =>
  get(`?properties=${encodeURIComponent(JSON.stringify(filters))}`);
async function idOf(distinctId: string): Promise<string> {
  return listed(await get(`?distinct_id=${distinctId}`))[0]!.id;
}

const anonymous = "17787c3099427b-0e8f6c86323ea9-33647309-1aeaa0-17787c30995b7c";

beforeAll(async () => {
  const at = "2021-08-25T22:09:14.252Z";
  const person = (id: string, $set: object): Happening => [id, "$set", at, { $set }];
  const merged = (id: string, other: string): Happening => [
    id,
    "$identify",
    at,
    { $anon_distinct_id: other },
  ];
  people = await makeProject(app, [
    person("distinct_id", { email: "someone@gmail.example", random_prop: "asdf" }),
    person("distinct_id_2", { email: "another@gmail.example", name: "james", random_prop: "asdf" }),
    person("distinct_id_3", { name: "jane", random_prop: "qwerty" }),
    person("plain", { something_else: "qwerty", email: null }),
    merged("person_1", anonymous),
    ["person_2", "test", at],
    ["person_3", "test", at],
    merged("keep1", "move1"),
    merged("keep1", "keep2"),
    merged("keep1", "move2"),
    person("keep1", { $os: "Mac OS X" }),
  ]);
}, startMsMax);

// test_search, test_search_person_id, PostHog/posthog#45692.
test("a search finds persons by a part of an address, a distinct id, and their own id", async () => {
  expect(listed(await get("?search=another@gm"))).toHaveLength(1);
  expect(listed(await get("?search=distinct_id_3"))).toHaveLength(1);
  const id = await idOf("distinct_id");
  expect(listed(await get(`?search=${id}`)).map((found) => found.uuid)).toEqual([id]);
});

// test_filter_person_prop, test_person_property_values, PostHog/posthog#11156: null is no value.
test("filters and values of properties", async () => {
  expect(listed(await withProperties({ key: "name", value: "james", type: "person" }))).toHaveLength(1);
  const isSet = { key: "email", operator: "is_set", value: "is_set", type: "person" };
  expect(listed(await withProperties(isSet))).toHaveLength(2);
  const values = await get("values/?key=random_prop");
  const found = (values.text.startsWith("[") ? JSON.parse(values.text) : values.body["results"]) as object[];
  expect(found).toMatchObject([
    { name: "asdf", count: 2 },
    { name: "qwerty", count: 1 },
  ]);
});

// test_person_display_name_defaults, test_return_non_anonymous_name.
test("names are e-mail, name, or an id that a program did not make up", async () => {
  const named = async (id: string) => listed(await get(`?distinct_id=${id}`))[0]!.name;
  expect(await Promise.all(["distinct_id_2", "distinct_id_3", "person_1"].map(named))).toEqual([
    "another@gmail.example",
    "jane",
    "person_1",
  ]);
});

// test_split_people_partial_rejects_unknown_distinct_id, …_rejects_combined_with_main_distinct_id,
// …_rejects_invalid_payload, test_split_people_partial_moves_only_specified_ids with PostHog/posthog#55691.
test("a split of some ids moves these only, and refuses what it cannot move", async () => {
  const id = await idOf("keep1");
  const split = (body: object) => send(`${id}/split/`, body);
  const unknown = await split({ distinct_ids_to_split: ["move1", "not_on_this_person"] });
  expect([unknown.status, unknown.text]).toEqual([400, expect.stringContaining("not_on_this_person")]);
  for (const distinct_ids_to_split of [[], "move1", [1, 2]])
    expect((await split({ distinct_ids_to_split })).status).toBe(400);
  expect((await split({ distinct_ids_to_split: ["move1"], main_distinct_id: "keep1" })).status).toBe(400);
  const moved = await split({ distinct_ids_to_split: ["move1", "move2"] });
  expect([moved.status, moved.body["success"]]).toEqual([201, true]);
  const ids = await Promise.all(["keep1", "keep2", "move1", "move2"].map(idOf));
  expect(ids.slice(0, 2)).toEqual([id, id]);
  expect(new Set(ids).size).toBe(3);
  const { properties } = listed(await get("?distinct_id=keep1"))[0] as unknown as { properties: object };
  expect(properties).toMatchObject({ $os: "Mac OS X" });
});

// test_update_multiple_person_properties_validation, test_update_person_property_missing_value_returns_400,
// …_missing_key_returns_400, …_with_null_value, test_new_delete_person_properties.
test("a person's properties are changed by key and value", async () => {
  const id = await idOf("plain");
  expect((await send(`${id}/`, { foo: "bar" }, "PATCH")).status).toBe(400);
  const refused = async (body: object) => {
    const { status, body: problem } = await send(`${id}/update_property/`, body);
    return [status, problem["attr"]];
  };
  expect(await refused({ key: "foo" })).toEqual([400, "value"]);
  expect(await refused({ value: "bar" })).toEqual([400, "key"]);
  expect((await send(`${id}/update_property/`, { key: "foo", value: null })).status).toBe(202);
  expect((await send(`${id}/delete_property/`, { $unset: "foo" })).status).toBe(201);
});

// test_bulk_delete_validation_too_many_ids, …_missing_ids, …_rejects_both_ids_and_distinct_ids,
// test_bulk_delete_no_matching_persons, test_bulk_delete_distinct_id, test_bulk_delete_with_keep_person.
test("many persons are deleted by ids or distinct ids", async () => {
  const remove = (body: object) => send("bulk_delete/", body);
  const ids = Array.from({ length: 1001 }, () => crypto.randomUUID());
  for (const body of [{ ids }, { distinct_ids: ids }]) {
    const { status, text } = await remove(body);
    expect([status, text]).toEqual([400, expect.stringContaining("1000")]);
  }
  expect((await remove({ delete_events: true })).status).toBe(400);
  expect((await remove({ ids: ids.slice(0, 1), distinct_ids: ["did_1"] })).status).toBe(400);
  const none = await remove({ ids: ids.slice(0, 2) });
  expect([none.status, none.body]).toEqual([
    202,
    expect.objectContaining({ persons_found: 0, persons_deleted: 0, deletion_errors: [] }),
  ]);
  const kept = await remove({ ids: [await idOf("person_3")], delete_events: true, keep_person: true });
  expect([kept.status, kept.body]).toEqual([
    202,
    expect.objectContaining({ persons_found: 1, persons_deleted: 0, events_queued_for_deletion: true }),
  ]);
  expect(await idOf("person_3")).toBeString();
  const two = await remove({ distinct_ids: [anonymous, "person_2"] });
  expect(two.body).toMatchObject({ persons_found: 2, persons_deleted: 2, events_queued_for_deletion: false });
  // PostHog/posthog#15568: nobody has a deleted id.
  expect(listed(await get("?distinct_id=person_1"))).toEqual([]);
});
