// What a request for persons filters by. Scripts delete what such a list shows.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type RunningApp, startApp } from "../support/app.ts";
import { addStranger, type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { personalKey, projectKey, rested, storesOf, until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

let app: RunningApp;

function event(name: string, distinct_id: string, properties: object, day: number) {
  return { event: name, distinct_id, properties, timestamp: `2024-01-0${day}T00:00:00Z` };
}

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const batch = [
    event("e", "ann", { $set: { email: "ann@example.com", plan: "pro", age: 41 } }, 1),
    event("e", "bob", { $set: { email: "bob@example.com", plan: "free", age: 17 } }, 1),
    event("e", "cid", { $set: { email: "ann@example.com.evil.example", plan: "pro", age: 30 } }, 1),
    event("e", "dot", { $set: { Email: "dot@example.com", plan: "free" } }, 1),
    event("e", "eve", { $set: { email: 'q"\\\\é/@example.com' } }, 1),
    event("e", "fay", { $set: { email: "fay@old.example", plan: "pro" } }, 1),
    event("e", "fay", { $set: { email: "fay@new.example" } }, 2),
    event("e", "gus", { $set: { email: "gus@example.com" } }, 1),
    event("e", "gus", { $unset: ["email"] }, 2),
    // Before it became a part of hal, web-1 had an address that hal's own replaces.
    event("e", "web-1", { $set: { email: "web@example.com", city: "Oslo" } }, 1),
    event("e", "hal", { $set: { email: "hal@example.com" } }, 1),
    event("$identify", "hal", { $anon_distinct_id: "web-1" }, 3),
    event("e", "ida", { $set_once: { email: "ida@example.com" } }, 1),
    event("e", "ida", { $set_once: { email: "ida@later.example" } }, 2),
    event("e", "personless", { $process_person_profile: false, $set: { email: "no@example.com" } }, 1),
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

const get = (query: string): Promise<Answer> => ask(app, "GET", `/api/projects/1/persons/?${query}`);
const everybody = ["ann", "bob", "cid", "dot", "eve", "fay", "gus", "hal", "ida"];

/** The main ids of the persons of an answer; its refusal otherwise. */
async function found(query: string | Record<string, string>): Promise<unknown> {
  const { status, body } = await get(new URLSearchParams(query).toString());
  if (status !== 200) return [status, body["code"], body["attr"]];
  const rows = body["results"] as { distinct_ids: string[] }[];
  expect(body["count"]).toBe(rows.length);
  return rows.map(({ distinct_ids }) => distinct_ids[0]);
}

test("persons are sorted by when any of their ids was first or last seen, among filters and pages, too", async () => {
  const days = async (ordering: string, query = "") => {
    const { body } = await get(`ordering=${ordering}${query}`);
    const rows = body["results"] as { distinct_ids: string[]; created_at: string; last_seen_at: string }[];
    return rows.map((row) => [
      row.distinct_ids[0],
      row.created_at.slice(8, 10),
      row.last_seen_at.slice(8, 10),
    ]);
  };
  expect(await days("-last_seen_at", "&limit=4")).toEqual([
    ["hal", "01", "03"],
    ["fay", "01", "02"],
    ["gus", "01", "02"],
    ["ida", "01", "02"],
  ]);
  expect((await days("last_seen_at", "&limit=1&offset=8")).flat()[0]).toBe("hal");
  expect((await days("-created_at")).map(([main]) => main)).toEqual(everybody);
  expect((await days("-last_seen_at", "&search=web-1")).flat()).toEqual(["hal", "01", "03"]);
  const old = await days("-last_seen_at", `&email=${encodeURIComponent("gus@example.com")}&limit=3`);
  expect(old).toEqual([]);
  const named = encodeURIComponent(JSON.stringify([{ type: "person", key: "city", value: ["Oslo"] }]));
  expect((await days("created_at", `&properties=${named}`)).map(([main]) => main)).toEqual(["hal"]);
  expect(await found({ ordering: "distinct_ids" })).toEqual([400, "invalid_choice", "ordering"]);
});

const where = (...filters: object[]) => found({ properties: JSON.stringify(filters) });

test("email finds who has exactly this address now, and nobody else", async () => {
  expect(await found("")).toEqual(everybody);
  expect(await found({ email: "ann@example.com" })).toEqual(["ann"]);
  expect(await found({ email: "hal@example.com" })).toEqual(["hal"]);
  expect(await found({ email: "fay@new.example" })).toEqual(["fay"]);
  expect(await found({ email: "ida@example.com" })).toEqual(["ida"]);
  expect(await found({ email: 'q"\\\\é/@example.com' })).toEqual(["eve"]);
  const nobody = ["nobody@example.com", "ANN@example.com", "ann@example.co", "%", "' OR 1=1 --", "true"];
  const before = ["fay@old.example", "gus@example.com", "web@example.com", "ida@later.example"];
  for (const email of [...nobody, ...before, "dot@example.com", "no@example.com"]) {
    expect([email, await found({ email })]).toEqual([email, []]);
  }
  expect(await found("email=")).toEqual([400, "blank", "email"]);
  expect(await found("email=ann%40example.com&email=bob%40example.com")).toEqual([
    400,
    "invalid_input",
    "email",
  ]);
});

test("a privacy script that deletes the first person of an address deletes that person or nobody", async () => {
  const deleteFirst = async (email: string): Promise<unknown> => {
    const { body } = await get(new URLSearchParams({ email }).toString());
    const [first] = (body["results"] ?? []) as { uuid: string }[];
    if (!first) return "nobody";
    return (await ask(app, "DELETE", `/api/projects/1/persons/${first.uuid}/?delete_events=True`)).status;
  };
  for (const email of ["nobody@example.com", "web@example.com", "gus@example.com", ""]) {
    expect(await deleteFirst(email)).toBe("nobody");
  }
  expect(await found("")).toEqual(everybody);
  const list = await ask(app, "DELETE", "/api/projects/1/persons/?email=bob%40example.com");
  expect(list.status).toBe(405);
  expect(list.headers.get("allow")).toContain("GET");
  expect(await deleteFirst("bob@example.com")).toBe(204);
  expect(await found("")).toEqual(everybody.filter((id) => id !== "bob"));
  const left = await ask(app, "GET", "/api/projects/1/events/?distinct_id=bob");
  expect(left.body["count"]).toBe(0);
});

test("properties are filtered by every operator, as they are now", async () => {
  const rest = everybody.filter((id) => id !== "bob");
  expect(await where({ key: "plan", value: "pro", type: "person" })).toEqual(["ann", "cid", "fay"]);
  expect(await where({ key: "plan", value: ["free", "pro"] })).toEqual(["ann", "cid", "dot", "fay"]);
  expect(await where({ key: "plan", value: "pro", operator: "is_not" })).toEqual(
    rest.filter((id) => !["ann", "cid", "fay"].includes(id)),
  );
  expect(await where({ key: "email", value: "EXAMPLE.COM", operator: "icontains" })).toEqual([
    "ann",
    "cid",
    "eve",
    "hal",
    "ida",
  ]);
  expect(await where({ key: "email", operator: "is_not_set" })).toEqual(["dot", "gus"]);
  expect(await where({ key: "city", operator: "is_set" })).toEqual(["hal"]);
  expect(await where({ key: "email", value: "^[a-n]+@", operator: "regex" })).toEqual([
    "ann",
    "cid",
    "hal",
    "ida",
  ]);
  expect(await where({ key: "age", value: 30, operator: "gte" })).toEqual(["ann", "cid"]);
  expect(await where({ key: "age", value: [20, 40], operator: "between" })).toEqual(["cid"]);
  const both = [
    { key: "plan", value: "pro" },
    { key: "age", value: 35, operator: "lt" },
  ];
  expect(await where(...both)).toEqual(["cid"]);
  expect(await found({ properties: JSON.stringify({ type: "OR", values: both }) })).toEqual([
    "ann",
    "cid",
    "fay",
  ]);
  expect(await found("properties=%5B%5D")).toEqual(rest);
});

test("filters combine, and a page's links keep them", async () => {
  const plan = JSON.stringify([{ key: "plan", value: "pro", type: "person" }]);
  expect(await found({ properties: plan, search: "example.com" })).toEqual(["ann", "cid"]);
  expect(await found({ properties: plan, distinct_id: "cid" })).toEqual(["cid"]);
  expect(await found({ properties: plan, distinct_id: "dot" })).toEqual([]);
  expect(await found({ distinct_id: "web-1", email: "hal@example.com" })).toEqual(["hal"]);
  expect(await found({ distinct_id: "hal", email: "web@example.com" })).toEqual([]);
  expect(await found({ distinct_id: "nobody" })).toEqual([]);
  expect(await found({ distinct_id: "personless" })).toEqual([]);
  const first = await get(new URLSearchParams({ properties: plan, search: "a", limit: "2" }).toString());
  expect(first.body["count"]).toBe(3);
  const next = new URL(String(first.body["next"]));
  expect(next.searchParams.get("properties")).toBe(plan);
  const second = await ask(app, "GET", next.pathname + next.search);
  const ids = [first, second].flatMap(({ body }) => body["results"] as { distinct_ids: string[] }[]);
  expect(ids.map(({ distinct_ids }) => distinct_ids[0])).toEqual(["ann", "cid", "fay"]);
  expect(second.body["next"]).toBeNull();
});

test("a search finds addresses and names as they are now", async () => {
  expect(await found("search=NEW.example")).toEqual(["fay"]);
  expect(await found("search=old.example")).toEqual([]);
  expect(await found("search=web%40")).toEqual([]);
  expect(await found("search=web-")).toEqual(["hal"]);
  expect(await found("search=dot%40")).toEqual(["dot"]);
});

test("the same list is a table with format=csv, and for who accepts only that", async () => {
  const query = new URLSearchParams({ email: "hal@example.com" }).toString();
  const csv = await get(`${query}&format=csv`);
  expect([csv.status, csv.headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8"]);
  const [header = "", line = "", ...rest] = csv.text.split("\r\n");
  const names = header.split(",");
  expect(names.slice(0, 3)).toEqual(["id", "uuid", "name"]);
  expect(names.slice(-2)).toEqual(["properties.city", "properties.email"]);
  expect(line).toEndWith(",Oslo,hal@example.com");
  expect(line).toContain('"[""hal"",""web-1""]"');
  expect(rest).toEqual([""]);
  const accepted = await fetch(`${app.url}/api/projects/1/persons/?${query}`, {
    headers: { authorization: `Bearer ${personalKey}`, accept: "text/csv" },
  });
  expect(await accepted.text()).toBe(csv.text);
  const all = await get("format=csv");
  expect(all.text.trim().split("\r\n")).toHaveLength(everybody.length);
  expect(all.headers.get("x-total-count")).toBe(String(everybody.length - 1));
  expect(await found(`${query}&format=xml`)).toEqual([400, "invalid_choice", "format"]);
});

test("what cannot be answered is refused by name", async () => {
  const cohort = await get("cohort=3");
  expect([cohort.status, cohort.body["attr"]]).toEqual([400, "cohort"]);
  expect(cohort.body["detail"]).toStartWith(
    "There are no cohorts here: filter by properties instead. There are: ",
  );
  expect(await where({ key: "plan", value: "x", type: "event" })).toEqual([
    400,
    "invalid_choice",
    "properties__0__type",
  ]);
  expect(await where({ key: "id", value: 3, type: "cohort" })).toEqual([
    400,
    "invalid_choice",
    "properties__0__type",
  ]);
  expect(await where({ key: "plan", value: "(", operator: "regex" })).toEqual([
    400,
    "invalid_input",
    "properties",
  ]);
  expect(await found("properties=plan")).toEqual([400, "invalid_input", "properties"]);
  // What a program makes of a filter that it lost.
  expect(await found("properties=null")).toEqual([400, "invalid_input", "properties"]);
  expect(await found("email=%00")).toEqual([400, "null_characters_not_allowed", "email"]);
  for (const name of ["uuid", "key_identifier", "include_total", "Email"]) {
    expect(await found(`${name}=x`)).toEqual([400, "invalid_input", name]);
  }
});

test("a stranger's key finds nobody by an address", async () => {
  const { key } = await addStranger((await storesOf(app)).sql);
  const answer = await ask(app, "GET", "/api/projects/1/persons/?email=ann%40example.com", undefined, key);
  expect([403, 404]).toContain(answer.status);
  const own = await ask(
    app,
    "GET",
    "/api/projects/@current/persons/?email=ann%40example.com",
    undefined,
    key,
  );
  expect([own.status, own.body["count"]]).toEqual([200, 0]);
});
