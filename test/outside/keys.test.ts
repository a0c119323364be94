// Personal API keys: assertions of PostHog's test_personal_api_keys.py; inputs are our own.

import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { addStranger, type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { storesOf } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp();
}, startMsMax);
afterAll(cleanUp, startMsMax);
// A user has a bounded number of keys.
afterEach(async () => {
  const { body } = await ask(app, "GET", "/api/personal_api_keys/?limit=100");
  const keys = body["results"] as { id: string; label: string }[];
  for (const { id, label } of keys)
    if (label.startsWith("test")) await ask(app, "DELETE", `/api/personal_api_keys/${id}/`);
});

const path = "/api/personal_api_keys/";
const issue = async (fields: object = {}): Promise<Answer> =>
  await ask(app, "POST", path, {
    label: "test",
    scopes: ["insight:read"],
    scoped_organizations: [],
    scoped_teams: [],
    ...fields,
  });

// test_create_personal_api_key.
test.each([
  ["label", "test"],
  ["description", null],
  ["last_used_at", null],
  ["last_rolled_at", null],
  ["scopes", ["insight:read"]],
  ["scoped_organizations", []],
  ["scoped_teams", []],
])("a new key's %s is %j", async (name, expected) => {
  const { status, body } = await issue();
  expect([status, body[name]]).toEqual([201, expected]);
  expect(body["value"]).toStartWith("phx_");
});

// test_create_personal_api_key, …_normalizes_blank_description_to_null.
test("a key has a description, and an empty one is none", async () => {
  const { status, body } = await issue({ description: "nightly" });
  expect([status, body["description"]]).toEqual([201, "nightly"]);
  const own = `${path}${String(body["id"])}/`;
  const described = async (description: string) =>
    (await ask(app, "PATCH", own, { description })).body["description"];
  expect(await described("weekly")).toBe("weekly");
  expect((await ask(app, "GET", own)).body["description"]).toBe("weekly");
  expect(await described("")).toBeNull();
  expect((await ask(app, "GET", `${path}@current/`)).body["description"]).toBeNull();
  expect((await ask(app, "POST", `${own}roll/`, {})).body["description"]).toBeNull();
});

// test_create_personal_api_key_label_required, …_scopes_required, test_only_allows_valid_scopes and others.
test.each([
  [{ label: "" }, "blank", "This field may not be blank.", "label"],
  [{ label: "test" }, "required", "This field is required.", "scopes"],
  [{ label: "test", scopes: ["invalid"] }, "invalid_input", "Invalid scope: invalid", "scopes"],
  [{ label: "test", scopes: ["insight:invalid"] }, "invalid_input", undefined, "scopes"],
  [
    { label: "test", scopes: ["clickhouse_test_cluster_perf:read"] },
    "invalid_input",
    "Invalid scope: clickhouse_test_cluster_perf:read",
    "scopes",
  ],
  [{ label: "empty", scopes: [] }, undefined, undefined, "scopes"],
])("%j is refused", async (body, code, detail, attr) => {
  const { status, body: problem } = await ask(app, "POST", path, body);
  expect([status, problem["attr"]]).toEqual([400, attr]);
  if (code) expect(problem["code"]).toBe(code);
  if (detail) expect(problem["detail"]).toBe(detail);
});

// test_update_api_key, test_allows_all_scope.
test("a key's label and scopes are changed", async () => {
  const { id } = (await issue()).body;
  const changed = await ask(app, "PATCH", `${path}${String(id)}/`, {
    label: "test-update",
    scopes: ["insight:write"],
  });
  expect([changed.status, changed.body["label"], changed.body["scopes"]]).toEqual([
    200,
    "test-update",
    ["insight:write"],
  ]);
  expect((await issue({ scopes: ["*"] })).body["scopes"]).toEqual(["*"]);
});

// test_roll_api_key.
test("a key is rolled: its value changes, and nothing else", async () => {
  const before = (await issue()).body;
  const rolled = await ask(app, "POST", `${path}${String(before["id"])}/roll/`, {});
  expect(rolled.status).toBe(200);
  for (const name of ["id", "label", "created_at", "scopes", "scoped_teams", "scoped_organizations"])
    expect([name, rolled.body[name]]).toEqual([name, before[name]]);
  expect(rolled.body["value"]).not.toBe(before["value"]);
  expect(rolled.body["mask_value"]).not.toBe(before["mask_value"]);
  expect(rolled.body["last_rolled_at"]).not.toBeNull();
  expect(
    (await ask(app, "GET", "/api/projects/1/insights/", undefined, String(before["value"]))).status,
  ).toBe(401);
});

// test_delete_personal_api_key, test_get_own_personal_api_key, test_get_someone_elses_personal_api_key.
test("a key is found by its owner, and gone when it is deleted", async () => {
  const { id } = (await issue()).body;
  expect((await ask(app, "GET", `${path}${String(id)}/`)).body["id"]).toBe(id as string);
  const stranger = await addStranger((await storesOf(app)).sql);
  expect((await ask(app, "GET", `${path}${String(id)}/`, undefined, stranger.key)).status).toBe(404);
  expect((await ask(app, "DELETE", `${path}${String(id)}/`)).status).toBe(204);
  expect((await ask(app, "GET", `${path}${String(id)}/`)).status).toBe(404);
});

// test_organization_scoping, …_forbids_other, test_team_scoping, …_forbids_other.
test("a key is held to one's own organizations and projects", async () => {
  const organization = (await ask(app, "GET", "/api/organizations/@current/")).body["id"];
  const held = await issue({ scoped_organizations: [organization] });
  expect([held.status, held.body["scoped_organizations"]]).toEqual([201, [organization]]);
  const stranger = await addStranger((await storesOf(app)).sql);
  const both = await issue({ scoped_organizations: [organization, stranger.organization_id] });
  expect([both.status, both.body["detail"]]).toEqual([
    400,
    "You must be a member of all organizations that you are scoping the key to.",
  ]);
  const own = await issue({ scoped_teams: [1] });
  expect([own.status, own.body["scoped_teams"]]).toEqual([201, [1]]);
  const other = await issue({ scoped_teams: [1, 987_654] });
  expect([other.status, other.body["detail"]]).toEqual([
    400,
    "You must be a member of all teams that you are scoping the key to.",
  ]);
});

// TestPersonalAPIKeysAPIAuthentication: what a key opens.
test.each([
  [["insight:read"], "GET", "insights/", 200],
  [["insight:read"], "POST", "insights/", 403],
  [["insight:write"], "GET", "insights/", 200],
  [["dashboard:read"], "GET", "insights/", 403],
  [["*"], "GET", "insights/", 200],
])("with %j %s %s is a %i", async (scopes, method, list, expected) => {
  const { value } = (await issue({ scopes })).body;
  const body = method === "POST" ? {} : undefined;
  const { status } = await ask(app, method, `/api/projects/1/${list}`, body, String(value));
  expect(status).toBe(expected);
});

// test_personal_api_key_in_body…, test_query_string, test_header_resilient.
test("a key is read from the header, however it is written", async () => {
  const { value } = (await issue()).body;
  for (const authorization of [`Bearer ${String(value)}`, `Bearer  ${String(value)}  `]) {
    const reply = await fetch(`${app.url}/api/projects/1/insights/`, { headers: { authorization } });
    expect([authorization.length, reply.status]).toEqual([authorization.length, 200]);
  }
  const none = await fetch(`${app.url}/api/projects/1/insights/`, { headers: { authorization: "Bearer x" } });
  expect(none.status).toBe(401);
});
