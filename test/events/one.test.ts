// One event by its uuid, and the values of a property.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { ownPersonId } from "../../src/persons/identity.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey, rested, storesOf, until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

let app: RunningApp;
let stores: Stores;
const home = "/api/projects/1";
const server = () => ({ ...app, pid: 0, printed: () => "", end: () => Promise.resolve(0) });
const get = (path: string, key?: string): Promise<Answer> =>
  ask(server(), "GET", `${home}/${path}`, undefined, key);

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  stores = await storesOf(app);
}, storesStartMsMax);

afterAll(cleanUp);

async function send(batch: object[], api_key = projectKey): Promise<void> {
  const body = JSON.stringify({ api_key, historical_migration: false, batch });
  expect((await fetch(`${app.url}/batch/`, { method: "POST", body })).status).toBe(200);
  await rested(server());
}

test("an event is found by its uuid, whatever kind of uuid it is and however old the event is", async () => {
  const random = crypto.randomUUID();
  const risen = Bun.randomUUIDv7();
  const old = Bun.randomUUIDv7("hex", Date.UTC(2019, 4, 1));
  const uuids = [random, risen, old, Bun.randomUUIDv7("hex", Date.UTC(2021, 0, 1))];
  const times = [
    new Date().toISOString(),
    "2020-02-03T04:05:06Z",
    "2019-05-01T00:00:00Z",
    "2001-01-01T00:00:00Z",
  ];
  await send(
    uuids.map((uuid, i) => ({
      event: `e${i}`,
      uuid,
      distinct_id: "d",
      timestamp: times[i],
      properties: { big: 1, i },
    })),
  );
  for (const [i, uuid] of uuids.entries()) {
    const { status, body } = await get(`events/${i === 0 ? uuid.toUpperCase() : uuid}/`);
    expect([status, body["uuid"], body["event"], body["properties"]]).toEqual([
      200,
      uuid,
      `e${i}`,
      { big: 1, i },
    ]);
  }
  const listed = (await get("events/?event=e1")).body["results"] as object[];
  expect((await get(`events/${risen}/`)).body).toEqual({
    ...listed[0],
    person: null,
    elements: [],
    elements_chain: "",
  });
});

test("an event keeps the text of its properties, and shows its elements", async () => {
  const uuid = crypto.randomUUID();
  const chain = 'a.btn:href="/go"text="Go"';
  const properties = `{"n":12345678901234567890.10,"$elements_chain":${JSON.stringify(chain)}}`;
  const body = `{"api_key":"${projectKey}","batch":[{"event":"$autocapture","distinct_id":"d","uuid":"${uuid}","properties":${properties}}]}`;
  expect((await fetch(`${app.url}/batch/`, { method: "POST", body })).status).toBe(200);
  await rested(server());
  const { text, body: shown } = await get(`events/${uuid}/`);
  expect(text).toContain('"n":12345678901234567890.10');
  expect(shown).toMatchObject({
    elements_chain: chain,
    elements: [{ tag_name: "a", text: "Go", href: "/go", order: 0 }],
  });
});

test("with include_person the person of the event is shown to who may read persons", async () => {
  const [uuid, nobodys] = [crypto.randomUUID(), crypto.randomUUID()];
  await send([
    { event: "e", uuid, distinct_id: "anon", properties: { $set: { plan: "free" } } },
    { event: "$identify", distinct_id: "user", properties: { $anon_distinct_id: "anon" } },
    { event: "e", uuid: nobodys, distinct_id: "nobody", properties: { $process_person_profile: false } },
  ]);
  const person_id = ownPersonId(1, "user");
  await until(async () => (await get(`events/${uuid}/`)).body["person_id"] === person_id);
  const { body } = await get(`events/${uuid}/?include_person=true`);
  expect(body["person"]).toMatchObject({
    uuid: person_id,
    distinct_ids: ["user", "anon"],
    properties: { plan: "free" },
  });
  expect((await get(`events/${nobodys}/?include_person=true`)).body["person"]).toBeNull();
  const made = await ask(server(), "POST", "/api/personal_api_keys/", { label: "q", scopes: ["query:read"] });
  const key = String(made.body["value"]);
  expect((await get(`events/${uuid}/`, key)).status).toBe(200);
  const refused = await get(`events/${uuid}/?include_person=true`, key);
  expect(problemOf(refused).slice(0, 4)).toEqual([
    403,
    "authentication_error",
    "permission_denied",
    "API key missing required scope 'person:read'",
  ]);
});

test("another project's event, and what is no event, are not found", async () => {
  const made = await ask(server(), "POST", "/api/projects/", { name: "Other" });
  const { id, api_token } = made.body as { id: number; api_token: string };
  const uuid = Bun.randomUUIDv7();
  const batch = [{ event: "theirs", uuid, distinct_id: "x" }];
  await until(async () => {
    const body = JSON.stringify({ api_key: api_token, batch });
    return (await fetch(`${app.url}/batch/`, { method: "POST", body })).status === 200;
  });
  await rested(server());
  expect((await ask(server(), "GET", `/api/projects/${id}/events/${uuid}/`)).status).toBe(200);
  for (const one of [uuid, crypto.randomUUID(), "no-uuid", "1"]) {
    const answer = await get(`events/${one}/`);
    expect(problemOf(answer)).toEqual([404, "invalid_request", "not_found", "Event not found.", null]);
  }
  // What is not there comes before a parameter.
  expect((await get(`events/${uuid}/?after=-7d`)).status).toBe(404);
  const own = await ask(server(), "GET", `/api/projects/${id}/events/${uuid}/?after=-7d`);
  expect([own.status, own.body["attr"]]).toEqual([400, "after"]);
});

test("an event that was sent twice is one", async () => {
  const uuid = Bun.randomUUIDv7();
  const one = { event: "twice", uuid, distinct_id: "d", timestamp: new Date().toISOString() };
  await send([one]);
  await send([one]);
  expect((await get(`events/${uuid}/`)).body["event"]).toBe("twice");
});

test("values of a property of events are counted, the most frequent first", async () => {
  const value = (v: unknown, event = "v") => ({ event, distinct_id: "d", properties: { plan: v } });
  const old = { ...value("old"), timestamp: "2020-01-01T00:00:00Z" };
  await send([value("paid"), value("paid"), value("Free"), value(5), value(null), value({ a: 1 }, "w"), old]);
  const values = async (query: string) => (await get(`events/values/?${query}`)).body;
  expect(await values("key=plan")).toEqual({
    results: [
      { name: "paid", count: 2 },
      { name: "5", count: 1 },
      { name: "Free", count: 1 },
      { name: '{"a":1}', count: 1 },
    ],
    refreshing: false,
  });
  expect((await values("key=plan&value=FRE"))["results"]).toEqual([{ name: "Free", count: 1 }]);
  expect((await values("key=plan&event_name=w"))["results"]).toEqual([{ name: '{"a":1}', count: 1 }]);
  expect((await values("key=plan&event_name=w&event_name=v"))["results"]).toHaveLength(4);
  expect((await values("key=none"))["results"]).toEqual([]);
  expect((await get("events/values/")).body).toMatchObject({ code: "required", attr: "key" });
  expect((await get("events/values/?key=plan&is_column=true")).body["attr"]).toBe("is_column");
});

test("values of a property of persons are those that they have now", async () => {
  const set = (distinct_id: string, $set: object) => ({ event: "e", distinct_id, properties: { $set } });
  await send([set("p1", { team: "red" }), set("p2", { team: "red" }), set("p3", { team: "blue" })]);
  await send([set("p1", { team: "Green" }), set("p4", { team: 7 }), set("p5", { team: null })]);
  await send([
    { event: "e", distinct_id: "p6", properties: { $set: { team: "gone" } } },
    {
      event: "e",
      distinct_id: "p7",
      properties: { $set: { team: "merged" } },
      timestamp: "2020-01-01T00:00:00Z",
    },
    { event: "$identify", distinct_id: "p2", properties: { $anon_distinct_id: "p7" } },
  ]);
  await send([{ event: "e", distinct_id: "p6", properties: { $unset: ["team"] } }]);
  await until(async () => (await get(`persons/${ownPersonId(1, "p7")}/`)).status === 404);
  const values = async (query: string) => (await get(`persons/values/?${query}`)).body["results"];
  expect(await values("key=team")).toEqual([
    { name: "7", count: 1 },
    { name: "Green", count: 1 },
    { name: "blue", count: 1 },
    { name: "red", count: 1 },
  ]);
  expect(await values("key=team&value=RE")).toEqual([
    { name: "Green", count: 1 },
    { name: "red", count: 1 },
  ]);
  const other = await stores.sql<{ id: number }[]>`SELECT id FROM projects WHERE id <> 1 LIMIT 1`;
  const theirs = await ask(server(), "GET", `/api/projects/${other[0]!.id}/persons/values/?key=team`);
  expect(theirs.body["results"]).toEqual([]);
  expect((await get("persons/values/")).body).toMatchObject({ code: "required", attr: "key" });
});

test("values of events without a name are refused, since no event has none", async () => {
  for (const query of ["event_name=", "event_name=seen&event_name="]) {
    const { status, body } = await get(`events/values/?key=i&${query}`);
    expect([status, body["code"], body["attr"]]).toEqual([400, "blank", "event_name"]);
  }
});
