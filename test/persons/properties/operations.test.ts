// Properties of persons changed over HTTP: events like any other, kept when answered, read at once.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { captureLimits } from "../../../src/capture/limits.ts";
import { ownPersonId } from "../../../src/persons/identity.ts";
import { personLimits } from "../../../src/persons/limits.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask, problemOf } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { projectKey, rested, until } from "../../support/server.ts";
import { storesStartMsMax } from "../../support/stores.ts";

let app: RunningApp;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
}, storesStartMsMax);

afterAll(cleanUp);

const server = () => ({ ...app, pid: 0, printed: () => "", end: () => Promise.resolve(0) });
const home = "/api/projects/1";
const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  ask(server(), method, `${home}/${path}`, body);
const pathOf = (distinct_id: string, more = "") => `persons/${ownPersonId(1, distinct_id)}/${more}`;
const propertiesOf = async (distinct_id: string) =>
  (await call("GET", pathOf(distinct_id))).body["properties"];

async function send(...batch: object[]): Promise<void> {
  const reply = await fetch(`${app.url}/batch/`, {
    method: "POST",
    body: JSON.stringify({ api_key: projectKey, batch }),
  });
  expect(reply.status).toBe(200);
  await rested(server());
}

const arrive = (distinct_id: string, $set: object) => send({ event: "e", distinct_id, properties: { $set } });

test("PATCH sets the properties that it names, leaves the others, and shows the person", async () => {
  await arrive("patched", { plan: "free", name: "Ada" });
  const properties = { plan: "paid", tags: ["a", { b: null }], 'key with "quotes"': 1.5 };
  const { status, body } = await call("PATCH", pathOf("patched"), { properties });
  expect(status).toBe(200);
  expect(body).toMatchObject({ uuid: ownPersonId(1, "patched"), properties: { ...properties, name: "Ada" } });
  expect(await propertiesOf("patched")).toEqual({ ...properties, name: "Ada" });
  // A person may be sent back as it was shown.
  const whole = await call("PATCH", pathOf("patched"), body);
  expect(whole).toMatchObject({ status: 200, body: { properties: { ...properties, name: "Ada" } } });
  const unchanged = await call("PATCH", pathOf("patched"), {});
  expect([unchanged.status, unchanged.body]).toEqual([200, whole.body]);
});

test("a change is an event of the person's main id, with a project's other events", async () => {
  await send(
    { event: "e", distinct_id: "anon", properties: { $set: { a: 1 } } },
    { event: "$identify", distinct_id: "user", properties: { $anon_distinct_id: "anon" } },
  );
  await until(async () => (await call("GET", pathOf("anon"))).status === 404);
  await call("POST", pathOf("user", "update_property/"), { key: "a", value: 2 });
  expect(await propertiesOf("user")).toEqual({ a: 2 });
  const { body } = await call("GET", "events/?distinct_id=user&event=%24set");
  expect(body["results"]).toMatchObject([
    { event: "$set", distinct_id: "user", properties: { $set: { a: 2 } } },
  ]);
});

test("update_property sets one property to any JSON, null as well", async () => {
  await arrive("updated", { a: 1 });
  for (const value of ["text", " text ", "", 0, false, null, [1], { b: "c" }]) {
    const { status, text } = await call("POST", pathOf("updated", "update_property/"), { key: " a ", value });
    expect([status, text]).toEqual([202, ""]);
    expect(await propertiesOf("updated")).toEqual({ a: 1, " a ": value });
  }
});

test("delete_property removes one property, and one that does not exist changes nothing", async () => {
  await arrive("cleared", { a: 1, b: 2 });
  const { status, body } = await call("POST", pathOf("cleared", "delete_property/"), { $unset: "a" });
  expect([status, body]).toEqual([201, { success: true }]);
  expect(await propertiesOf("cleared")).toEqual({ b: 2 });
  expect((await call("POST", pathOf("cleared", "delete_property/"), { $unset: "c" })).status).toBe(201);
  expect(await propertiesOf("cleared")).toEqual({ b: 2 });
  // What is set later counts again.
  await arrive("cleared", { a: 3 });
  expect(await propertiesOf("cleared")).toEqual({ a: 3, b: 2 });
});

test("what cannot be kept as it was sent is refused, and changes nothing", async () => {
  await arrive("refused", { a: 1 });
  const [patch, update, remove] = [
    pathOf("refused"),
    pathOf("refused", "update_property/"),
    pathOf("refused", "delete_property/"),
  ];
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`k${i}`, i]));
  const wrong: [string, string, unknown, string | null][] = [
    ["PATCH", patch, { properties: null }, "properties"],
    ["PATCH", patch, { properties: [1] }, "properties"],
    ["PATCH", patch, { email: "ada@example.com" }, "email"],
    ["PATCH", patch, { properties: { a: 2 }, cohort: 1 }, "cohort"],
    ["PATCH", patch, { properties: many }, "properties"],
    ["PATCH", patch, { properties: { big: "x".repeat(524_288) } }, "properties"],
    ["PATCH", patch, { properties: { ["k".repeat(401)]: 1 } }, "properties"],
    ["PATCH", patch, '{"properties":{"a":[12345678901234567890]}}', "properties"],
    ["PATCH", patch, '{"properties":{"a\\u0000":1}}', "properties"],
    ["POST", update, {}, "key"],
    ["POST", update, { key: "a" }, "value"],
    ["POST", update, { key: "", value: 1 }, "key"],
    ["POST", update, { key: ["a"], value: 1 }, "key"],
    ["POST", update, { key: "a", value: 1, distinct_id: "other" }, "distinct_id"],
    ["POST", update, '{"key":"a","value":9007199254740993}', "value"],
    ["POST", remove, {}, "$unset"],
    ["POST", remove, { $unset: ["a"] }, "$unset"],
    ["POST", remove, { $unset: "a", $set: { b: 1 } }, "$set"],
  ];
  for (const [method, path, body, attr] of wrong) {
    const answer = await call(method, path, body);
    const about = JSON.stringify(body).slice(0, 60);
    expect([about, answer.status, answer.body["attr"]]).toEqual([about, 400, attr]);
  }
  expect(await propertiesOf("refused")).toEqual({ a: 1 });
  const asked = await call("POST", `${update}?key=a&value=2`, {});
  expect([asked.status, asked.body["attr"]]).toEqual([400, "key"]);
});

test("bounds of a change are those of an event", () => {
  const { keysChangedMax, keyBytesMax, changeBytesMax } = personLimits;
  const { changesMax, changeKeyBytesMax, changesBytesMax } = captureLimits;
  expect([keysChangedMax, keyBytesMax, changeBytesMax]).toEqual([
    changesMax,
    changeKeyBytesMax,
    changesBytesMax,
  ]);
});

test("the longest change is kept whole", async () => {
  await arrive("long", {});
  const properties = Object.fromEntries(
    Array.from({ length: 1000 }, (_, i) => [`${i}`.padEnd(400, "k"), "é".repeat(50)]),
  );
  expect((await call("PATCH", pathOf("long"), { properties })).status).toBe(200);
  expect(await propertiesOf("long")).toEqual(properties);
});

test("nobody's properties are not changed, and a stranger's key changes none", async () => {
  for (const uuid of [crypto.randomUUID(), "no uuid"]) {
    const answers = [
      await call("PATCH", `persons/${uuid}/`, { properties: { a: 1 } }),
      await call("POST", `persons/${uuid}/update_property/`, { key: "a", value: 1 }),
      await call("POST", `persons/${uuid}/delete_property/`, { $unset: "a" }),
      await call("GET", `persons/${uuid}/activity/`),
    ];
    for (const answer of answers)
      expect(problemOf(answer).slice(0, 4)).toEqual([
        404,
        "invalid_request",
        "not_found",
        "Person not found.",
      ]);
  }
  await arrive("ours", { a: 1 });
  const made = await ask(server(), "POST", "/api/personal_api_keys/", {
    label: "reader",
    scopes: ["person:read"],
  });
  const key = String(made.body["value"]);
  const path = `${home}/${pathOf("ours")}`;
  expect((await ask(server(), "PATCH", path, { properties: { a: 2 } }, key)).status).toBe(403);
  expect((await ask(server(), "GET", `${path}activity/`, undefined, key)).status).toBe(200);
  expect(await propertiesOf("ours")).toEqual({ a: 1 });
});

test("what was done is listed with who did it, and shows no values", async () => {
  await arrive("watched", { secret: "s3cret" });
  await arrive("other", {});
  await call("PATCH", pathOf("other"), { properties: { a: 1 } });
  await call("PATCH", pathOf("watched"), { properties: { secret: "s3cret too" } });
  await call("POST", pathOf("watched", "delete_property/"), { $unset: "secret" });
  await call("DELETE", pathOf("watched", "?delete_events=true&keep_person=true"));
  await call("DELETE", pathOf("watched"));
  const { status, text, body } = await call("GET", pathOf("watched", "activity/"));
  expect(status).toBe(200);
  expect(text).not.toContain("s3cret");
  const uuid = ownPersonId(1, "watched");
  expect(body).toMatchObject({ count: 4, total_count: 4, next: null, previous: null });
  const results = body["results"] as Record<string, unknown>[];
  expect(results.map(({ activity }) => activity)).toEqual([
    "deleted",
    "deleted_events",
    "delete_property",
    "updated",
  ]);
  expect(results[3]).toMatchObject({
    user: { id: 1, email: expect.stringContaining("@") as unknown },
    scope: "Person",
    item_id: uuid,
    detail: { name: uuid, changes: [{ type: "Person", action: "changed", field: "properties" }] },
    created_at: expect.stringMatching(/^20\d\d-.*Z$/) as unknown,
  });
  // A deletion is listed as such until nothing of it is left.
  expect(results[0]).toMatchObject({
    detail: { changes: [{ action: expect.stringMatching(/^eras(ing|ed)$/) as unknown }] },
  });
  await until(async () => {
    const page = (await call("GET", pathOf("watched", "activity/"))).body["results"] as typeof results;
    return page.slice(0, 2).every((one) => JSON.stringify(one["detail"]).includes('"erased"'));
  });
  const first = await call("GET", "persons/activity/?limit=2");
  const named = (page: unknown) => (page as typeof results).map(({ id }) => id);
  expect(named(results.slice(0, 2))).toEqual(named(first.body["results"]));
  const next = new URL(String(first.body["next"]));
  expect(next.search).toBe("?limit=2&offset=2");
  const second = await ask(server(), "GET", next.pathname + next.search);
  expect(second.body["results"]).toEqual(results.slice(2));
  expect((await call("GET", "persons/activity/?limit=2&page=2")).body).toEqual(second.body);
  expect((await call("GET", "persons/activity/?page=2&offset=2")).body["attr"]).toBe("page");
});
