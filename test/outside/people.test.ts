// Persons and groups over HTTP: assertions of PostHog's test_person.py and test_clickhouse_groups.py.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey, until } from "../support/server.ts";

let app: RunningApp;
const home = "/api/projects/1/";
const send = async (batch: object[]) =>
  expect((await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "")).status).toBe(200);
const named = (distinct_id: string, $set: object) => ({ event: "seen", distinct_id, properties: { $set } });
const grouped = (type: string, key: string, $group_set: object) => ({
  event: "$groupidentify",
  distinct_id: "g",
  properties: { $group_type: type, $group_key: key, $group_set },
});

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  await send([
    named("distinct_id", { email: "someone@gmail.com", random_prop: "asdf", some: "with some text" }),
    named("distinct_id_2", { email: "another@gmail.com", random_prop: "asdf", name: "james" }),
    named("distinct_id_3", { random_prop: "qwerty", number: 1 }),
    named("inexistent_", { something_else: "qwerty" }),
    { event: "$identify", distinct_id: "person_1", properties: { $anon_distinct_id: "anonymous_id" } },
    grouped("organization", "org:5", { industry: "finance", name: "Mr. Krabs" }),
    grouped("organization", "org:6", { industry: "technology" }),
    grouped("organization", "org:7", { industry: "finance", "name?": "odd" }),
    grouped("company", "company:1", { name: "Plankton" }),
  ]);
  await until(async () => {
    const { body } = await ask(app, "GET", `${home}groups/?group_type_index=1`);
    return (body["results"] as object[] | undefined)?.length === 1;
  });
}, startMsMax);
afterAll(cleanUp, startMsMax);

type Person = { id: string; uuid: string; name: string; distinct_ids: string[]; properties: object };
const persons = async (search: string): Promise<Person[]> => {
  const { status, body, text } = await ask(app, "GET", `${home}persons/?${search}`);
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  return body["results"] as Person[];
};
const json = (value: unknown) => encodeURIComponent(JSON.stringify(value));
const person = async (id: string) => (await persons(`distinct_id=${id}`))[0]!;
const act = async (method: string, path: string, body?: object): Promise<Answer> =>
  await ask(app, method, `${home}persons/${path}`, body);

// test_search, test_search_person_id, test_properties, test_multiple_filters, test_filter_person_email.
test.each([
  ["search=another@gm", ["distinct_id_2"]],
  ["search=_id_3", ["distinct_id_3"]],
  ["search=JAMES", ["distinct_id_2"]],
  ["search=distinct_id_3", ["distinct_id_3"]],
  ["email=another@gmail.com", ["distinct_id_2"]],
  ["email=inexistent", []],
  ["distinct_id=anonymous_id", ["person_1"]],
  ["distinct_id=inexistent", []],
  [
    `properties=${json([{ key: "email", operator: "is_set", value: "is_set", type: "person" }])}`,
    ["distinct_id", "distinct_id_2"],
  ],
  [
    `properties=${json([{ key: "email", operator: "icontains", value: "another@gm", type: "person" }])}`,
    ["distinct_id_2"],
  ],
  [
    `properties=${json([
      { key: "random_prop", value: ["asdf", "qwerty"], type: "person" },
      { key: "email", operator: "is_not_set", value: "is_not_set", type: "person" },
    ])}`,
    ["distinct_id_3"],
  ],
  [`properties=${json([{ key: "number", operator: "gt", value: 0, type: "person" }])}`, ["distinct_id_3"]],
])("persons with %s", async (search, ids) => {
  const found = (await persons(search)).map(({ distinct_ids }) => distinct_ids[0]!);
  expect(found.toSorted()).toEqual(ids);
});

// test_person_property_values.
test("the values of a property are counted, the most frequent first", async () => {
  const values = async (query: string) => {
    const { status, text } = await ask(app, "GET", `${home}persons/values/?${query}`);
    const body = JSON.parse(text) as { results?: { name: string; count: number }[] };
    return [status, ...(body.results ?? []).map(({ name, count }) => `${name}:${count}`)];
  };
  expect(await values("key=random_prop")).toEqual([200, "asdf:2", "qwerty:1"]);
  expect(await values("key=random_prop&value=qw")).toEqual([200, "qwerty:1"]);
  expect((await values(""))[0]).toBe(400);
});

// test_person_display_name: an address comes before a distinct id.
test("a person's name is their address", async () => {
  expect((await person("distinct_id_2")).name).toBe("another@gmail.com");
  expect((await person("distinct_id_3")).name).toBe("distinct_id_3");
});

// test_filter_id_or_uuid, test_person_cache_invalidation: found by id and uuid.
test("a person is found by their uuid, and nobody by another", async () => {
  const { uuid } = await person("distinct_id");
  expect((await act("GET", `${uuid}/`)).body["uuid"]).toBe(uuid);
  expect((await act("GET", `${crypto.randomUUID()}/`)).status).toBe(404);
  expect((await act("GET", "not-a-uuid/")).status).toBeOneOf([400, 404]);
});

// test_update_single_person_property, test_delete_person_properties, test_update_multiple_person_properties_validation.
test("a property is changed and removed", async () => {
  const { uuid } = await person("distinct_id_3");
  const set = await act("POST", `${uuid}/update_property/`, { key: "foo", value: "bar" });
  expect(set.status).toBeOneOf([200, 202]);
  expect((await person("distinct_id_3")).properties).toMatchObject({ foo: "bar", random_prop: "qwerty" });
  const gone = await act("POST", `${uuid}/delete_property/`, { $unset: "foo" });
  expect(gone.status).toBeOneOf([200, 201, 202]);
  expect("foo" in (await person("distinct_id_3")).properties).toBe(false);
  expect((await act("PATCH", `${uuid}/`, { foo: "bar" })).status).toBe(400);
  expect((await act("PATCH", `${uuid}/`, { properties: { a: 1 } })).status).toBeOneOf([200, 202]);
});

// test_split_people_keep_props, test_split_people_delete_props.
test("a person who was merged is split", async () => {
  const { uuid } = await person("person_1");
  const split = await act("POST", `${uuid}/split/`, { main_distinct_id: "person_1" });
  expect(split.status).toBeOneOf([200, 201, 202]);
  expect((await person("person_1")).distinct_ids).toEqual(["person_1"]);
  expect((await person("anonymous_id")).distinct_ids).toEqual(["anonymous_id"]);
});

// test_delete_person, test_bulk_delete_ids, test_bulk_delete_distinct_id: more than 1,000 are refused.
test("persons are deleted, one by one and together", async () => {
  const ids = ["del_1", "del_2", "del_3"];
  await send(ids.map((id) => named(id, { a: 1 })));
  const first = await person("del_1");
  expect((await act("DELETE", `${first.uuid}/`)).status).toBeOneOf([202, 204]);
  expect(await persons("distinct_id=del_1")).toEqual([]);
  const second = await person("del_2");
  expect((await act("POST", "bulk_delete/", { ids: [second.uuid] })).status).toBe(202);
  expect((await act("POST", "bulk_delete/", { distinct_ids: ["del_3"] })).status).toBe(202);
  for (const id of ids) expect([id, await persons(`distinct_id=${id}`)]).toEqual([id, []]);
  const many = Array.from({ length: 1001 }, (_, i) => `x${i}`);
  expect((await act("POST", "bulk_delete/", { distinct_ids: many })).status).toBe(400);
  expect((await act("POST", "bulk_delete/", {})).status).toBe(400);
});

// test_pagination_limit, test_pagination_limit_2.
test("persons come in pages that do not overlap", async () => {
  const page = await ask(app, "GET", `${home}persons/?limit=2`);
  const rows = page.body["results"] as Person[];
  expect(rows).toHaveLength(2);
  const next = new URL(String(page.body["next"]));
  const second = await ask(app, "GET", `${next.pathname}${next.search}`);
  const others = second.body["results"] as Person[];
  expect(others.some(({ uuid }) => rows.some((row) => row.uuid === uuid))).toBe(false);
});

// test_csv_export.
test("persons are a table", async () => {
  const { status, text } = await ask(app, "GET", `${home}persons/?format=csv`);
  expect(status).toBe(200);
  expect(text.split("\n").length).toBeGreaterThan(3);
});

// test_groups_list.
const groups = async (query: string) => {
  const { status, body } = await ask(app, "GET", `${home}groups/?${query}`);
  return status === 200
    ? (body["results"] as { group_key: string }[]).map(({ group_key }) => group_key).toSorted()
    : status;
};
test.each([
  ["group_type_index=0", ["org:5", "org:6", "org:7"]],
  ["group_type_index=0&search=Krabs", ["org:5"]],
  ["group_type_index=0&search=krabs", ["org:5"]],
  ["group_type_index=0&search=org:5", ["org:5"]],
  ["group_type_index=1", ["company:1"]],
  ["group_type_index=2", []],
  ["group_type_index=x", 400],
])("groups with %s", async (query, keys) => {
  expect(await groups(query)).toEqual(keys as never);
});

// test_retrieve_group…, test_find_missing_group_key.
test.each([
  ["group_type_index=0&group_key=org:5", 200],
  ["group_type_index=1&group_key=org:5", 404],
  ["group_type_index=0&group_key=wrong_key", 404],
  ["group_type_index=0", 400],
])("the group of %s is a %i", async (query, expected) => {
  const { status, body } = await ask(app, "GET", `${home}groups/find/?${query}`);
  expect(status).toBe(expected);
  if (expected === 200)
    expect([body["group_key"], body["group_type_index"], body["group_properties"]]).toEqual([
      "org:5",
      0,
      { industry: "finance", name: "Mr. Krabs" },
    ]);
});

// test_property_definitions, test_property_values, test_group_property_values_… by search.
test("groups' properties and their values are counted", async () => {
  const names = await ask(app, "GET", `${home}groups/property_definitions/`);
  const of = (index: string) => (names.body[index] as { name: string; count: number }[]) ?? [];
  expect(of("0")[0]).toEqual({ name: "industry", count: 3 });
  expect(of("1")).toEqual([{ name: "name", count: 1 }]);
  const values = async (query: string) => {
    const { status, text } = await ask(app, "GET", `${home}groups/property_values/?${query}`);
    const body = JSON.parse(text) as { results?: { name: string; count: number }[] };
    return [status, ...(body.results ?? []).map(({ name, count }) => `${name}:${count}`)];
  };
  expect(await values("group_type_index=0&key=industry")).toEqual([200, "finance:2", "technology:1"]);
  expect(await values("group_type_index=0&key=industry&value=tech")).toEqual([200, "technology:1"]);
  expect(await values("group_type_index=1&key=industry")).toEqual([200]);
});

// test_groups_types…: names and indexes.
test("types of groups are listed by their indexes", async () => {
  const { text } = await ask(app, "GET", `${home}groups_types/`);
  const types = JSON.parse(text) as { group_type: string; group_type_index: number }[];
  expect(types.map((type) => [type.group_type, type.group_type_index])).toEqual([
    ["organization", 0],
    ["company", 1],
  ]);
});

// test_create_group, test_update_group_property.
test("a group is made and changed over HTTP", async () => {
  const made = await ask(app, "POST", `${home}groups/`, {
    group_key: "1234",
    group_type_index: 0,
    group_properties: { name: "Group Name", industry: "finance" },
  });
  expect([made.status, made.body["group_key"], made.body["group_properties"]]).toEqual([
    201,
    "1234",
    { name: "Group Name", industry: "finance" },
  ]);
  const at = "group_type_index=0&group_key=1234";
  const changed = await ask(app, "POST", `${home}groups/update_property/?${at}`, {
    key: "name",
    value: "New",
  });
  expect(changed.status).toBe(200);
  const found = await ask(app, "GET", `${home}groups/find/?${at}`);
  expect(found.body["group_properties"]).toEqual({ name: "New", industry: "finance" });
  expect((await ask(app, "POST", `${home}groups/`, { group_key: "1234", group_type_index: 0 })).status).toBe(
    400,
  );
  expect((await ask(app, "POST", `${home}groups/`, { group_key: "x", group_type_index: 4 })).status).toBe(
    404,
  );
});
