// Types of groups: anybody with the public key can take all five places, and whoever manages the project frees them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { addStranger, type Answer, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested, storesOf, until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

let server: RunningApp;

beforeAll(async () => {
  server = await startApp({ FLUSH_INTERVAL_MS: "50" });
}, storesStartMsMax);

afterAll(cleanUp, storesStartMsMax);

async function send(...batch: object[]): Promise<Answer["body"]> {
  const reply = await post(server, "/batch/?verbose=1", { api_key: projectKey, batch });
  expect(reply.status).toBe(200);
  await rested(server);
  return (await reply.json()) as Answer["body"];
}

const identify = (type: string, key: string, name: string) => ({
  event: "$groupidentify",
  distinct_id: "g",
  properties: { $group_type: type, $group_key: key, $group_set: { name } },
});
const get = (path: string): Promise<Answer> => ask(server, "GET", `/api/projects/1/${path}`);
const allow = (allowed_group_types: unknown): Promise<Answer> =>
  ask(server, "PATCH", "/api/projects/1/", { allowed_group_types });
const remove = (index: number | string, key?: string): Promise<Answer> =>
  ask(server, "DELETE", `/api/projects/1/groups_types/${index}/`, undefined, key);

async function typesNow(): Promise<string[]> {
  const { status, text } = await get("groups_types/");
  expect(status).toBe(200);
  const types = JSON.parse(text) as { group_type: string; group_type_index: number }[];
  return types.map(({ group_type, group_type_index }) => `${group_type_index} ${group_type}`);
}

async function namesOf(type: string): Promise<unknown[]> {
  const { body } = await get(`groups/?group_type=${type}`);
  return (body["results"] as { group_properties: { name: string } }[]).map(
    (one) => one.group_properties.name,
  );
}

test("one event of the public key takes all five places, and the owner frees them for types of their own", async () => {
  const taken = ["evil0", "evil1", "evil2", "evil3", "evil4"];
  await send(
    { event: "e", distinct_id: "x", properties: { $groups: Object.fromEntries(taken.map((t) => [t, "k"])) } },
    identify("evil1", "1", "Evil"),
  );
  await until(async () => (await typesNow()).length === 5);
  expect(await typesNow()).toEqual(taken.map((name, i) => `${i} ${name}`));
  expect(await namesOf("evil1")).toEqual(["Evil"]);
  // First what may come, so that nobody takes the place again.
  expect((await allow(["company", "team"])).body["allowed_group_types"]).toEqual(["company", "team"]);
  expect([(await remove(1)).status, (await remove(1)).status]).toEqual([204, 404]);
  expect(await typesNow()).toEqual(["0 evil0", "2 evil2", "3 evil3", "4 evil4"]);
  // Until captures know of it they may still say that there is no place.
  await until(async () => {
    await send(identify("company", "acme", "Acme"));
    return (await namesOf("company")).length === 1;
  });
  expect(await typesNow()).toEqual(["0 evil0", "1 company", "2 evil2", "3 evil3", "4 evil4"]);
  expect(await namesOf("company")).toEqual(["Acme"]);
  expect(await namesOf("evil1")).toEqual([]);
});

test("what rests under a freed place keeps its own name, in groups, in queries and in the tables", async () => {
  const events = await get("events/?event=e");
  expect(JSON.stringify(events.body["results"])).toContain("evil1");
  const series = [{ kind: "EventsNode", event: "e", math: "unique_group", math_group_type_index: 1 }];
  const asked = { query: { kind: "TrendsQuery", series, dateRange: { date_from: "-1d" } } };
  const { body } = await ask(server, "POST", "/api/projects/1/query/", asked);
  // The event names evil1, which was the type with this index; company it does not name.
  expect((body["results"] as { count: number }[])[0]!.count).toBe(0);
  const { clickhouse } = await storesOf(server);
  const rows = await clickhouse.query("SELECT group_type, group_key FROM groups WHERE project_id = 1");
  expect(rows).toEqual([{ group_type: "company", group_key: "acme" }]);
});

test("a type that is not allowed is counted and reported as a warning, and its event kept", async () => {
  const told = await send(
    { event: "kept", distinct_id: "x", properties: { $groups: { company: "acme", evil0: "k", other: "k" } } },
    identify("other", "1", "Other"),
  );
  expect([told["accepted"], told["warnings"]]).toEqual([
    2,
    [
      { index: 0, reason: "group_type_not_allowed" },
      { index: 1, reason: "group_type_not_allowed" },
    ],
  ]);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toMatch(/sluice_events_warned_total\{warning="group_type_not_allowed"\} [1-9]/);
  await until(async () => {
    const { body } = await get("ingestion_warnings/?type=group_type_not_allowed");
    return Number(body["count"]) >= 2;
  });
  const { clickhouse } = await storesOf(server);
  const attached = await clickhouse.query("SELECT group_types FROM events WHERE event = 'kept'");
  expect(attached).toEqual([{ group_types: ["company"] }]);
  expect(await namesOf("other")).toEqual([]);
});

test("with all places free again the first five that come have them, and a type that returns finds its groups", async () => {
  for (const index of [0, 1, 2, 3, 4]) expect((await remove(index)).status).toBe(204);
  expect(await typesNow()).toEqual([]);
  expect(await namesOf("company")).toEqual([]);
  expect((await allow(null)).body["allowed_group_types"]).toBeNull();
  await until(async () => {
    await send(identify("other", "1", "Other"));
    return (await namesOf("other")).length === 1;
  });
  expect(await typesNow()).toEqual(["0 other"]);
  await until(async () => {
    await send(identify("company", "globex", "Globex"));
    return (await namesOf("company")).length === 2;
  });
  expect(await namesOf("company")).toEqual(["Acme", "Globex"]);
});

test("a type is deleted with group:write, and only one's own project's", async () => {
  const { sql } = await storesOf(server);
  const reader = await issueKey(sql, 1, { label: "reader", scopes: ["group:read", "project:write"] });
  expect(problemOf(await remove(0, reader.value)).slice(0, 3)).toEqual([
    403,
    "authentication_error",
    "permission_denied",
  ]);
  const stranger = await addStranger(sql);
  expect((await remove(0, stranger.key)).status).toBe(403);
  for (const index of ["5", "-1", "company", "00", "1e0"]) expect((await remove(index)).status).toBe(404);
  expect(await typesNow()).toContain("0 other");
});

test("the types that a project allows are five texts at most, and leave the rest of the project alone", async () => {
  const name = (await ask(server, "GET", "/api/projects/1/")).body["name"];
  for (const wrong of ["company", [""], [1, null], Array(6).fill("t"), ["x".repeat(401)]]) {
    const { status, body } = await allow(wrong);
    expect([wrong, status, String(body["attr"]).startsWith("allowed_group_types")]).toEqual([
      wrong,
      400,
      true,
    ]);
  }
  expect((await allow([])).body["allowed_group_types"]).toEqual([]);
  const renamed = await ask(server, "PATCH", "/api/projects/1/", { name: "Named" });
  expect([renamed.body["name"], renamed.body["allowed_group_types"]]).toEqual(["Named", []]);
  expect((await allow(null)).body["name"]).toBe("Named");
  expect(name).not.toBe("Named");
  const made = await ask(server, "POST", "/api/projects/", { name: "Held", allowed_group_types: ["a"] });
  expect([made.status, made.body["allowed_group_types"]]).toEqual([201, ["a"]]);
});
