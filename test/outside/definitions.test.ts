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
