// Names of events and properties: assertions of PostHog's test_event_definition.py and test_property_definition.py.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey, until } from "../support/server.ts";

let app: RunningApp;
const home = "/api/projects/1/";
const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
/** Properties by event; when it happened, in hours ago. */
const world: [string, number, Record<string, unknown>][] = [
  ["installed_app", 24, { app_rating: 5, plan: "free" }],
  ["rated_app", 12 * 24, { app_rating: 4.5, is_first_movie: true }],
  ["purchase", 72, { purchase: 10, purchase_value: 12.5 }],
  ["entered_free_trial", 1, { $current_url: "https://example.com/", $lib: "web" }],
  ["$pageview", 1.1, { $browser: "Firefox", $browser_version: "120", first_visit: true }],
];

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const batch = world.map(([event, hours, properties]) => ({
    event,
    distinct_id: "abc",
    timestamp: ago(hours),
    properties: {
      ...properties,
      ...(event === "$pageview" && { $set: { person_property: "x", another: 1 } }),
    },
  }));
  expect((await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "")).status).toBe(200);
  await until(async () => {
    const { body } = await ask(app, "GET", `${home}property_definitions/?search=first_visit`);
    return (body["count"] as number) > 0;
  });
}, startMsMax);
afterAll(cleanUp, startMsMax);

const list = async (path: string) => {
  const { status, body, text } = await ask(app, "GET", home + path);
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  return body["results"] as Record<string, unknown>[];
};
const listNames = async (path: string) => (await list(path)).map((row) => row["name"]);

// test_list_event_definitions_ordering.
test.each([
  ["ordering=name", ["$pageview", "entered_free_trial", "installed_app", "purchase", "rated_app"]],
  ["ordering=-name", ["rated_app", "purchase", "installed_app", "entered_free_trial", "$pageview"]],
  ["ordering=-last_seen_at", ["entered_free_trial", "$pageview", "installed_app", "purchase", "rated_app"]],
  ["ordering=last_seen_at", ["rated_app", "purchase", "installed_app", "$pageview", "entered_free_trial"]],
])("events by %s", async (query, names) => {
  expect(await listNames(`event_definitions/?${query}`)).toEqual(names);
});

// test_list_event_definitions_with_excluded_properties, …_with_exact_names, …_ignores_non_list_tags_filter.
test.each([
  ['excluded_properties=["installed_app","purchase"]', 3],
  ["names=installed_app&names=purchase&names=missing_event", 2],
  ["names=installed_app,purchase,missing_event", 2],
  ["search=app", 2],
  ["search=free%20trial", 1],
  ["search=missing_event", 0],
  ["limit=2", 2],
  ["limit=10&offset=4", 1],
  ["event_type=event", 5],
  ["event_type=event_custom", 4],
  ["event_type=event_posthog", 1],
])("events with %s are %i", async (query, count) => {
  expect(await list(`event_definitions/?${query}`)).toHaveLength(count);
});

// test_list_event_definitions: created_at is when the first arrived.
test("an event's definition has its times and no owner", async () => {
  const [one] = await list("event_definitions/?names=purchase");
  expect(Math.abs(Date.parse(one!["created_at"] as string) - Date.now())).toBeLessThan(startMsMax);
  expect(Date.parse(one!["last_seen_at"] as string)).toBeLessThan(Date.now() - 70 * 3_600_000);
  expect([one!["tags"], one!["is_action"], one!["verified"], one!["hidden"]]).toEqual([
    [],
    false,
    false,
    false,
  ]);
});

// test_retrieve_event_definition (by id), test_by_name.
test("an event's definition is found by its id and its name", async () => {
  const [one] = await list("event_definitions/?names=purchase");
  const byId = await ask(app, "GET", `${home}event_definitions/${String(one!["id"])}/`);
  expect([byId.status, byId.body["name"]]).toEqual([200, "purchase"]);
  const byName = await ask(app, "GET", `${home}event_definitions/by_name/?name=purchase`);
  expect([byName.status, byName.body["id"]]).toEqual([200, one!["id"]]);
  expect((await ask(app, "GET", `${home}event_definitions/by_name/?name=nothing`)).status).toBe(404);
  expect((await ask(app, "GET", `${home}event_definitions/${crypto.randomUUID()}/`)).status).toBe(404);
});

// test_cant_see_event_definitions_for_another_team.
test("another project has none of them", async () => {
  const other = (await ask(app, "POST", "/api/projects/", { name: "other" })).body["id"] as number;
  for (const kind of ["event_definitions", "property_definitions"]) {
    const { body } = await ask(app, "GET", `/api/projects/${other}/${kind}/`);
    expect([kind, body["count"]]).toEqual([kind, 0]);
  }
});

// test_list_property_definitions.
test.each([
  ["$browser", false],
  ["app_rating", true],
  ["is_first_movie", false],
  ["plan", false],
  ["purchase", true],
  ["purchase_value", true],
])("%s is a number: %p", async (name, is_numerical) => {
  const [one] = await list(`property_definitions/?properties=${name}`);
  expect([one!["name"], one!["is_numerical"]]).toEqual([name, is_numerical]);
});

// test_property_search_returns_expected_results and others.
test.each([
  ["search=firs", ["first_visit", "is_first_movie"]],
  ["search=p%20ting", ["app_rating"]],
  ["search=%24cur", ["$current_url"]],
  ["search=hase%20", ["purchase", "purchase_value"]],
  ["search=brow", ["$browser", "$browser_version"]],
  ["search=brow%20ver", ["$browser_version"]],
  ["is_numerical=true", ["app_rating", "purchase", "purchase_value"]],
  ['excluded_properties=["first_visit"]&search=first', ["is_first_movie"]],
  ["type=person&search=prop", ["person_property"]],
  ["type=person", ["another", "person_property"]],
  ["is_feature_flag=true", []],
  ['event_names=["$pageview"]&filter_by_event_names=true&search=firs', ["first_visit"]],
])("properties with %s", async (query, names) => {
  const found = await listNames(`property_definitions/?${query}`);
  expect(found.toSorted()).toEqual(names);
});

// test_is_event_property_filter, test_property_search_with_event_filter_shows_event_association.
test("a property says whether the named events have it", async () => {
  const rows = await list('property_definitions/?search=%24&event_names=["%24pageview"]');
  expect(rows.map((row) => [row["name"], row["is_seen_on_filtered_events"]])).toEqual([
    ["$browser", true],
    ["$browser_version", true],
    ["$current_url", false],
    ["$lib", false],
  ]);
  const [unasked] = await list("property_definitions/?search=p%20ting");
  expect(unasked!["is_seen_on_filtered_events"]).toBeNull();
});

// test_list_property_definitions_with_excluded_core_properties.
test("PostHog's own properties are left out where the request says so", async () => {
  const names = await listNames("property_definitions/?exclude_core_properties=true");
  expect(names.filter((name) => String(name).startsWith("$"))).toEqual([]);
  expect(names).toContain("plan");
});

const change = async (kind: string, name: string, fields: object) => {
  const [row] = await list(
    `${kind}?${kind.startsWith("event") ? "names" : "properties"}=${encodeURIComponent(name)}`,
  );
  return await ask(app, "PATCH", `${home}${kind}${row!["id"]}/`, fields);
};

// test_update_event_definition, test_update_property_definition, test_event_definition_no_duplicate_tags.
test.each([
  ["event_definitions/", "purchase"],
  ["property_definitions/", "plan"],
])("%s are described and tagged", async (kind, name) => {
  const description = "This is a description.";
  const { status, body } = await change(kind, name, {
    description,
    tags: ["official", "Internal", "official"],
  });
  expect([status, body["description"], body["tags"]]).toEqual([200, description, ["official", "internal"]]);
  expect(body["updated_by"]).toMatchObject({ id: 1 });
  expect(await listNames(`${kind}?tags=["internal"]`)).toEqual([name]);
  const both = await change(kind, name, { hidden: true, verified: true });
  expect([both.status, both.body["attr"]]).toEqual([400, "hidden"]);
  expect((await change(kind, name, {})).body).toMatchObject({ hidden: false, verified: false, description });
});

// test_verify_then_unverify, test_verify_then_verify_again_no_change, test_cannot_update_verified_meta_properties_directly.
test("who verifies an event, and when, stays while it is verified", async () => {
  const verify = async (fields: object) => (await change("event_definitions/", "rated_app", fields)).body;
  const first = await verify({ verified: true });
  expect([first["verified"], (first["verified_by"] as { id: number }).id]).toEqual([true, 1]);
  expect((await verify({ verified: true }))["verified_at"]).toBe(first["verified_at"]);
  expect(await listNames("event_definitions/?verified=true")).toEqual(["rated_app"]);
  const nobody = { verified: false, verified_by: null, verified_at: null };
  expect(await verify({ verified: false })).toMatchObject(nobody);
  expect(await verify({ verified_by: 1, verified_at: ago(0) })).toMatchObject(nobody);
});

// test_exclude_hidden_events.
test("what is hidden is left out where the request says so", async () => {
  expect((await change("event_definitions/", "installed_app", { hidden: true })).body["hidden"]).toBe(true);
  expect(await listNames("event_definitions/?exclude_hidden=true")).not.toContain("installed_app");
  expect(await listNames("event_definitions/?exclude_hidden=false")).toContain("installed_app");
});

test("a property's type is that of its values", async () => {
  const { status, body } = await change("property_definitions/", "plan", { property_type: "Numeric" });
  expect([status, body["attr"]]).toEqual([400, "property_type"]);
  expect((await change("property_definitions/", "plan", { property_type: "String" })).status).toBe(200);
});

// test_property_search_with_event_filter: seen_together.
test("events say whether they had a property", async () => {
  const path = `${home}property_definitions/seen_together/?property_name=plan&event_names=`;
  const { body } = await ask(app, "GET", `${path}["installed_app","purchase"]`);
  expect(body).toEqual({ installed_app: true, purchase: false });
});

// test_custom_event_values, test_event_property_values.
test("values are the names of the project's own events, and the items of lists", async () => {
  const event = { event: "listed", distinct_id: "abc", properties: { list: ["item1", "item2"] } };
  expect((await ask(app, "POST", "/capture/", { api_key: projectKey, ...event }, "")).status).toBe(200);
  expect((await listNames("events/values/?key=list")).toSorted()).toEqual(["item1", "item2"]);
  const names = await listNames("events/values/?key=custom_event");
  expect(names.toSorted()).toEqual(["entered_free_trial", "installed_app", "listed", "purchase"]);
});
