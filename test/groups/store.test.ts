// The filters of the list of groups and what is known of their properties, compared with figures made of the same
// groups by hand.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { addStranger, type Answer, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested, type Server, startServer, storesOf } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

interface Made {
  type: string;
  key: string;
  /** Each is set by an event of its own, later than the one before. */
  sets: Record<string, unknown>[];
  minute: number;
}

const made: Made[] = [
  { type: "company", key: "acme", sets: [{ plan: "Old", size: 10 }, { plan: "Pro" }], minute: 1 },
  { type: "company", key: "acme-east", sets: [{ plan: "pro", city: "Ötztal" }], minute: 5 },
  { type: "company", key: "Zenith", sets: [{ plan: "Free", size: 10, nothing: null }], minute: 3 },
  { type: "team", key: "acme", sets: [{ lead: { name: "Prospero" } }], minute: 4 },
  { type: "team", key: "blue", sets: [{}], minute: 2 },
];

let server: Server;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  const batch = made.flatMap(({ type, key, sets, minute }) =>
    sets.map((set, i) => ({
      event: "$groupidentify",
      distinct_id: "g",
      properties: { $group_type: type, $group_key: key, $group_set: set },
      timestamp: `2026-01-01T00:0${minute}:0${i}Z`,
    })),
  );
  expect((await post(server, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
  await rested(server);
}, storesStartMsMax);

afterAll(cleanUp);

const get = (path: string, key?: string): Promise<Answer> =>
  ask(server, "GET", `/api/projects/1/groups/${path}`, undefined, key);

async function listed(query: string): Promise<{ count: unknown; keys: string[] }> {
  const { status, body } = await get(`?${query}`);
  expect(status).toBe(200);
  const rows = body["results"] as { group_type_index: number; group_type: string; group_key: string }[];
  const keys = rows.map((row) => `${row.group_type_index} ${row.group_type}:${row.group_key}`);
  expect(new URL(`http://x/?${query}`).searchParams.has("limit") || body["count"] === keys.length).toBe(true);
  return { count: body["count"], keys };
}

const indexes = { company: 0, team: 1 } as Record<string, number>;
const newest = (type: string, is: (one: Made) => boolean) =>
  made
    .filter((one) => one.type === type && is(one))
    .toSorted((a, b) => b.minute - a.minute)
    .map(({ key }) => `${indexes[type]} ${type}:${key}`);

test("the groups of a type's index are listed, the newest first", async () => {
  expect((await listed("group_type_index=0")).keys).toEqual(newest("company", () => true));
  expect((await listed("group_type_index=1")).keys).toEqual(newest("team", () => true));
  const page = await listed("group_type_index=0&limit=1&offset=1");
  expect(page).toEqual({ count: 3, keys: [newest("company", () => true)[1]!] });
});

test("an index that no type has lists no group, and what is no index is refused", async () => {
  for (const index of ["2", "5", "-1", "99999999999"]) {
    expect(await listed(`group_type_index=${index}`)).toEqual({ count: 0, keys: [] });
  }
  expect(await listed("group_type_index=0&group_type=team")).toEqual({ count: 0, keys: [] });
  expect((await listed("group_type_index=1&group_type=team")).keys).toHaveLength(2);
  for (const index of ["", "company", "0.5"]) {
    expect(problemOf(await get(`?group_type_index=${index}`))).toEqual([
      400,
      "validation_error",
      "invalid_input",
      "A valid integer is required.",
      "group_type_index",
    ]);
  }
});

test("a key is a part of the key with an index, and the whole key without", async () => {
  const part = (text: string) => (one: Made) => one.key.toLowerCase().includes(text);
  expect((await listed("group_type_index=0&group_key=ACME")).keys).toEqual(newest("company", part("acme")));
  expect((await listed("group_type_index=0&group_key=nit")).keys).toEqual(newest("company", part("nit")));
  expect((await listed("group_key=acme")).keys).toEqual(["0 company:acme", "1 team:acme"]);
  expect((await listed("group_key=ACME")).keys).toEqual([]);
});

test("a search finds keys and present values of properties, in large and small letters", async () => {
  const finds = (text: string) => (one: Made) => {
    const values = Object.values(Object.assign({}, ...one.sets) as object);
    const texts = values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
    return [one.key, ...texts].some((each) => each.toLowerCase().includes(text.toLowerCase()));
  };
  for (const text of ["pro", "acme", "free", "old", "10", "ötz", "none such", "plan", "%"]) {
    const query = `group_type_index=0&search=${encodeURIComponent(text)}`;
    expect([text, (await listed(query)).keys]).toEqual([text, newest("company", finds(text))]);
  }
  expect((await listed("search=pro")).keys).toEqual(["0 company:acme", "0 company:acme-east", "1 team:acme"]);
  expect((await listed("search=pro&group_type_index=1")).keys).toEqual(["1 team:acme"]);
});

test("one group is found by its type and exactly its key", async () => {
  const { status, body } = await get("find/?group_type_index=0&group_key=acme");
  expect(status).toBe(200);
  expect(body).toEqual({
    group_type_index: 0,
    group_type: "company",
    group_key: "acme",
    group_properties: { plan: "Pro", size: 10 },
    properties: { plan: "Pro", size: 10 },
    notebook: null,
    created_at: "2026-01-01T00:01:00Z",
  });
  for (const query of ["group_type_index=0&group_key=acm", "group_type_index=3&group_key=acme"]) {
    expect((await get(`find/?${query}`)).status).toBe(404);
  }
  for (const [query, attr] of [
    ["group_key=acme", "group_type_index"],
    ["group_type_index=0", "group_key"],
  ]) {
    expect(problemOf(await get(`find/?${query}`))).toEqual([
      400,
      "validation_error",
      "required",
      "This query parameter is required.",
      attr,
    ]);
  }
});

test("names of properties are counted by type, values by how many groups have them", async () => {
  expect((await get("property_definitions/")).body).toEqual({
    0: [
      { name: "plan", count: 3 },
      { name: "size", count: 2 },
      { name: "city", count: 1 },
      { name: "nothing", count: 1 },
    ],
    1: [{ name: "lead", count: 1 }],
  });
  const values = async (query: string) => (await get(`property_values/?${query}`)).body;
  expect(await values("group_type_index=0&key=plan")).toEqual({
    results: ["Free", "Pro", "pro"].map((name) => ({ name, count: 1 })),
    refreshing: false,
  });
  expect(await values("group_type_index=0&key=size")).toEqual({
    results: [{ name: "10", count: 2 }],
    refreshing: false,
  });
  expect(await values("group_type_index=0&key=plan&value=PR")).toEqual({
    results: ["Pro", "pro"].map((name) => ({ name, count: 1 })),
    refreshing: false,
  });
  for (const query of ["group_type_index=0&key=nothing", "group_type_index=4&key=plan"]) {
    expect(await values(query)).toEqual({ results: [], refreshing: false });
  }
  expect((await get("property_values/?group_type_index=0")).body["attr"]).toBe("key");
});

test("nobody else's key is answered", async () => {
  const { sql } = await storesOf(server);
  const { key } = await addStranger(sql);
  for (const path of [
    "find/?group_type_index=0&group_key=acme",
    "property_definitions/",
    "property_values/?group_type_index=0&key=plan",
  ]) {
    expect((await get(path, key)).status).toBe(403);
  }
});
