// Persons, members and changes looked up as clients and scripts do: assertions of PostHog's test_person.py,
// test_organization_members.py, test_activity_log.py and test_event_definition.py, and requests of public scripts that
// erase persons. Inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey, rested, until } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const batch = ["ann", "bob", "cem", "dee"].map((name) => ({
    event: "$identify",
    distinct_id: name,
    properties: { $set: { email: `${name}@x.org` } },
  }));
  const merge = { event: "$identify", distinct_id: "bob", properties: { $anon_distinct_id: "anon-bob" } };
  await ask(app, "POST", "/batch/", { api_key: projectKey, batch: [...batch, merge] }, "");
  await rested(app);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const home = "/api/projects/1/";
type Person = { uuid: string; distinct_ids: string[]; properties: Record<string, unknown> };
type Persons = Record<string, Person>;
const lookUp = async (name: string, body: object) => {
  const answer = await ask(app, "POST", `${home}persons/${name}/`, body);
  return { status: answer.status, results: answer.body["results"] as Persons };
};

// test_batch_by_distinct_ids_happy_path, …_missing_ids, …_empty_list, …_merged.
test("persons are read by distinct ids, those of one person by each of its ids", async () => {
  await until(async () => {
    const { results } = await lookUp("batch_by_distinct_ids", { distinct_ids: ["anon-bob"] });
    return results["anon-bob"]?.properties["email"] === "bob@x.org";
  });
  const { status, results } = await lookUp("batch_by_distinct_ids", {
    distinct_ids: ["ann", "bob", "anon-bob", "nobody", "ann"],
  });
  expect(status).toBe(200);
  expect(Object.keys(results).toSorted()).toEqual(["ann", "anon-bob", "bob"]);
  expect(results["ann"]!.properties["email"]).toBe("ann@x.org");
  expect(results["bob"]!.uuid).toBe(results["anon-bob"]!.uuid);
  expect((await lookUp("batch_by_distinct_ids", { distinct_ids: [] })).results).toEqual({});
});
test("persons are read by uuids", async () => {
  const { results } = await lookUp("batch_by_distinct_ids", { distinct_ids: ["ann"] });
  const { uuid } = results["ann"]!;
  const nobody = crypto.randomUUID();
  const found = (await lookUp("batch_by_uuids", { uuids: [uuid.toUpperCase(), nobody] })).results;
  expect(Object.keys(found)).toEqual([uuid]);
  expect(found[uuid]!.distinct_ids).toEqual(["ann"]);
});
test.each([
  ["batch_by_distinct_ids", { distinct_ids: "ann" }],
  ["batch_by_distinct_ids", { distinct_ids: Array.from({ length: 201 }, String) }],
  ["batch_by_uuids", { uuids: ["ann"] }],
  ["batch_by_uuids", {}],
])("%s of %j is refused", async (name, body) => {
  expect((await lookUp(name, body)).status).toBe(400);
});

// A PUT of a person is its PATCH.
test("a PUT sets properties of a person, and leaves the others", async () => {
  const { uuid } = (await lookUp("batch_by_distinct_ids", { distinct_ids: ["cem"] })).results["cem"]!;
  const { status } = await ask(app, "PUT", `${home}persons/${uuid}/`, { properties: { plan: "pro" } });
  expect(status).toBe(200);
  const { body } = await ask(app, "GET", `${home}persons/${uuid}/`);
  expect(body["properties"]).toMatchObject({ plan: "pro", email: "cem@x.org" });
});

// test_deletion_status…: how far the deletion of a person's events is, which erasing scripts wait for.
test("a deletion of a person's events is listed until it is complete, and then as complete", async () => {
  const { uuid } = (await lookUp("batch_by_distinct_ids", { distinct_ids: ["dee"] })).results["dee"]!;
  const read = async (query: string) => {
    const { status, body } = await ask(app, "GET", `${home}persons/deletion_status/?${query}`);
    expect(status).toBe(200);
    return body["results"] as { person_uuid: string; status: string; delete_verified_at: string | null }[];
  };
  expect(await read(`person_uuid=${uuid}`)).toEqual([]);
  await ask(app, "POST", `${home}persons/bulk_delete/`, { ids: [uuid], delete_events: true });
  const [deletion] = await read(`person_uuid=${uuid}&status=all`);
  expect(deletion).toMatchObject({ person_uuid: uuid });
  expect(["pending", "completed"]).toContain(deletion!.status);
  const other = deletion!.status === "pending" ? "completed" : "pending";
  if (deletion!.delete_verified_at === null) expect(other).toBe("completed");
  expect(await read(`person_uuid=${crypto.randomUUID()}`)).toEqual([]);
  expect((await ask(app, "GET", `${home}persons/deletion_status/?status=maybe`)).status).toBe(400);
});

// test_list_organization_members_by_email, …_search.
test("members are found by their address and by words", async () => {
  const me = (await ask(app, "GET", "/api/users/@me/")).body as { email: string };
  const list = async (query: string) =>
    (await ask(app, "GET", `/api/organizations/@current/members/?${query}`)).body["count"];
  expect(await list(`email=${encodeURIComponent(me.email.toUpperCase())}`)).toBe(1);
  expect(await list("email=nobody@x.org")).toBe(0);
  expect(await list(`search=${encodeURIComponent(me.email.slice(1, 6))}`)).toBe(1);
  expect(await list("search=nobody-has-this")).toBe(0);
});

// test_activity_log.py: dates, several things, and what each change says of itself.
test("changes are found by dates and by the ids of things", async () => {
  const made = await Promise.all(
    ["a", "b", "c"].map(async (name) => (await ask(app, "POST", `${home}dashboards/`, { name })).body["id"]),
  );
  const list = async (query: string) =>
    (await ask(app, "GET", `${home}activity_log/?scope=Dashboard&${query}`)).body["results"] as {
      item_id: string;
      is_system: boolean;
      was_impersonated: boolean;
      organization_id: string;
    }[];
  const found = await list(`item_ids=${made[0]}&item_ids=${made[2]}`);
  expect(found.map(({ item_id }) => item_id).toSorted()).toEqual([made[0], made[2]].map(String).toSorted());
  expect(found[0]).toMatchObject({ is_system: false, was_impersonated: false });
  expect(found[0]!.organization_id).toMatch(/^[\da-f-]{36}$/);
  expect(await list("start_date=2024-01-01&include_organization_scoped=true")).toHaveLength(3);
  expect(await list("end_date=2024-01-01")).toEqual([]);
  expect(await list("start_date=-1d&end_date=")).toHaveLength(3);
});

test.each(["all", "event", "event_custom", "event_posthog"])(
  "definitions have the type %s of names",
  async (type) => {
    await until(
      async () => (await ask(app, "GET", `${home}event_definitions/?names=$identify`)).body["count"] === 1,
    );
    const { body } = await ask(app, "GET", `${home}event_definitions/?names=$identify&event_type=${type}`);
    expect(body["count"]).toBe(type === "event_custom" ? 0 : 1);
  },
);
