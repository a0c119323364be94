import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested, storesOf } from "../support/server.ts";

let server: RunningApp;
const day = 86_400_000;
const now = Date.now();

beforeAll(async () => {
  server = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const at = (days: number) => new Date(now - days * day).toISOString();
  const sent = (event: string, days: number, properties: object = {}) => ({
    event,
    distinct_id: "d",
    uuid: crypto.randomUUID(),
    timestamp: at(days),
    properties,
  });
  const company = { $group_type: "company", $group_key: "acme" };
  const batch = [
    sent("bought", 0, { price: 3, currency: "EUR", utm_source: "x", $lib: "web", tags: ["a"] }),
    sent("bought", 1, { price: 4, sent_at: Math.floor(now / 1000), "$feature/new": true }),
    sent("bought", 40, { price: 4 }),
    sent("Signed Up", 2, { on: "2026-01-02", done: "true", $set: { email: "a@b", age: 3 }, currency: null }),
    sent("left long ago", 50, { why: null }),
    sent("$groupidentify", 3, { ...company, $group_set: { seats: 5 } }),
  ];
  await post(server, "/batch/", { api_key: projectKey, batch });
  // A client's retry.
  await post(server, "/batch/", { api_key: projectKey, batch });
  await rested(server);
}, startMsMax);

afterAll(cleanUp);

const read = (path: string): Promise<Answer> => ask(server, "GET", `/api/projects/1/${path}`);
const results = ({ body }: Answer) => body["results"] as Record<string, unknown>[];
const names = (answer: Answer) => results(answer).map((one) => one["name"]);

test("names of events are listed with when and how often they happen; a client's retry counts once", async () => {
  const answer = await read("event_definitions/");
  expect(answer.body["count"]).toBe(4);
  // The latest day first.
  expect(names(answer)).toEqual(["bought", "Signed Up", "$groupidentify", "left long ago"]);
  const [bought, , , left] = results(answer);
  expect([bought!["volume_30_day"], left!["volume_30_day"]]).toEqual([2, 0]);
  expect(bought!["last_seen_at"]).toBe(new Date(now).toISOString().replace(/Z$/, "000Z"));
  expect(String(left!["last_seen_at"]).slice(0, 10)).toBe(
    new Date(now - 50 * day).toISOString().slice(0, 10),
  );
  const one = await read(`event_definitions/${String(bought!["id"])}/`);
  expect(one.body).toEqual(bought!);
});

test("names of events are filtered and sorted", async () => {
  const listed = async (query: string) => names(await read(`event_definitions/?${query}`));
  expect(await listed("search=UP+sig")).toEqual(["Signed Up"]);
  expect(await listed("names=bought&names=nothing,Signed Up&ordering=name")).toEqual(["Signed Up", "bought"]);
  expect(await listed('names=["bought","Signed Up"]&ordering=name')).toEqual(["Signed Up", "bought"]);
  expect(await listed('excluded_properties=["bought"]&ordering=-name')).toEqual([
    "left long ago",
    "Signed Up",
    "$groupidentify",
  ]);
  expect(await listed("event_type=event_posthog")).toEqual(["$groupidentify"]);
  expect(await listed("event_type=event_custom&exclude_stale=true")).toEqual(["bought", "Signed Up"]);
  expect(await listed("ordering=-volume_30_day&limit=1")).toEqual(["bought"]);
  expect(await listed("ordering=last_seen_at&limit=1&exclude_hidden=true")).toEqual(["left long ago"]);
  expect(await listed("verified=true")).toEqual([]);
  expect(await listed('tags=["a"]')).toEqual([]);
  const page = await read("event_definitions/?limit=2&offset=2");
  expect([page.body["count"], names(page).length, page.body["next"]]).toEqual([4, 2, null]);
});

test("properties of events, persons and groups are listed with their types", async () => {
  const shown = (answer: Answer) => results(answer).map((one) => [one["name"], one["property_type"]]);
  expect(shown(await read("property_definitions/"))).toEqual([
    ["$feature/new", "String"],
    ["$lib", "String"],
    ["currency", "String"],
    ["done", "Boolean"],
    ["on", "DateTime"],
    ["price", "Numeric"],
    ["sent_at", "DateTime"],
    ["tags", null],
    ["utm_source", "String"],
    ["why", null],
  ]);
  expect(shown(await read("property_definitions/?type=person"))).toEqual([
    ["age", "Numeric"],
    ["email", "String"],
  ]);
  const groups = await read("property_definitions/?type=group&group_type_index=0");
  expect(shown(groups)).toEqual([["seats", "Numeric"]]);
  expect(results(groups)[0]!["group_type_index"]).toBe(0);
  expect(shown(await read("property_definitions/?type=group&group_type_index=1"))).toEqual([]);
  const [seats] = results(groups);
  const one = await read(`property_definitions/${String(seats!["id"])}/`);
  expect(one.body).toEqual(seats!);
});

test("properties are filtered, and shown with whether events had them", async () => {
  const listed = async (query: string) => names(await read(`property_definitions/?${query}`));
  expect(await listed("is_numerical=true")).toEqual(["price"]);
  expect(await listed("type=session")).toEqual([]);
  expect(await listed("is_feature_flag=true")).toEqual(["$feature/new"]);
  expect(await listed("properties=price,tags,none")).toEqual(["price", "tags"]);
  expect(await listed("search=E+r")).toEqual(["$feature/new", "currency", "price", "utm_source"]);
  expect(await listed('exclude_core_properties=true&excluded_properties=["why","on"]')).toEqual([
    "currency",
    "done",
    "price",
    "sent_at",
    "tags",
  ]);
  const events = encodeURIComponent('["Signed Up"]');
  const seen = await read(`property_definitions/?event_names=${events}`);
  expect(names(seen).slice(0, 3)).toEqual(["currency", "done", "on"]);
  expect(
    results(seen)
      .map((one) => one["is_seen_on_filtered_events"])
      .lastIndexOf(true),
  ).toBe(2);
  expect(await listed(`event_names=${events}&filter_by_event_names=true`)).toEqual([
    "currency",
    "done",
    "on",
  ]);
  expect(await listed(`type=person&event_names=${events}&filter_by_event_names=true`)).toEqual([
    "age",
    "email",
  ]);
});

test("what cannot be answered is refused by name", async () => {
  const refused = async (path: string) => problemOf(await read(path)).toSpliced(3, 1);
  const invalid = (code: string, attr: string) => [400, "validation_error", code, attr];
  expect(await refused("property_definitions/?type=cohort")).toEqual(invalid("invalid_choice", "type"));
  expect(await refused("property_definitions/?event_names=[bought")).toEqual(
    invalid("invalid_input", "event_names"),
  );
  expect(await refused("property_definitions/?group_type_index=0")).toEqual(
    invalid("invalid_input", "group_type_index"),
  );
  for (const none of ["", ",", "[]"]) {
    expect(await refused(`event_definitions/?names=${none}`)).toEqual(invalid("blank", "names"));
    expect(await refused(`property_definitions/?properties=${none}`)).toEqual(invalid("blank", "properties"));
  }
  for (const other of ["{}", '{"bought":1}']) {
    expect(await refused(`event_definitions/?names=${other}`)).toEqual(invalid("invalid_input", "names"));
    expect(await refused(`property_definitions/?event_names=${other}`)).toEqual(
      invalid("invalid_input", "event_names"),
    );
  }
  expect(await refused('event_definitions/?names=["a",{}]')).toEqual(invalid("invalid_input", "names"));
  expect(await refused("property_definitions/?names=a")).toEqual(invalid("invalid_input", "names"));
  expect(await refused("event_definitions/?ordering=size")).toEqual(invalid("invalid_choice", "ordering"));
  expect(await refused("event_definitions/?event_type=action_event")).toEqual(
    invalid("invalid_choice", "event_type"),
  );
  expect((await read("event_definitions/nothing/")).status).toBe(404);
  expect((await read(`property_definitions/${crypto.randomUUID()}/`)).status).toBe(404);
  const { body } = await read("event_definitions/?limit=1");
  const [{ id }] = body["results"] as [{ id: string }];
  expect((await ask(server, "DELETE", `/api/projects/1/event_definitions/${id}/`)).status).toBe(405);
  const { status, body: fault } = await ask(server, "PATCH", `/api/projects/1/event_definitions/${id}/`, {
    calculated_by: "x",
  });
  expect([status, fault["attr"]]).toEqual([400, "calculated_by"]);
});

test("ten thousand names are listed, and those of the most events first", async () => {
  const { clickhouse } = await storesOf(server);
  await clickhouse.command(
    `INSERT INTO definitions (project_id, kind, group_type, name, created_at, typed)
     SELECT 1, number % 2, '', concat('name ', toString(number)), now64(6), '~' FROM numbers(20000)`,
  );
  await clickhouse.command(
    `INSERT INTO event_days (project_id, event, day, last, uuids)
     SELECT 1, concat('name ', toString(number * 2)) AS event, arrayJoin([toDate(0), today()]) AS day, now64(6),
       uniqState(generateUUIDv4(number))
     FROM numbers(10000) GROUP BY event, day`,
  );
  const first = await read("event_definitions/?ordering=-volume_30_day");
  expect([first.body["count"], results(first)[0]!["name"]]).toEqual([10_004, "bought"]);
  const page = await read("event_definitions/?search=name+9&limit=5&ordering=name");
  expect(names(page)[0]).toBe("name 10090");
  expect((await read("property_definitions/?search=name")).body["count"]).toBe(10_000);
});
