import { afterAll, beforeAll, expect, test } from "bun:test";
import { absentResources } from "../../src/absent_resources/model.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { addAccount, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { storesOf } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

const names = Object.keys(absentResources);
const homes = ["/api/projects/1", "/api/environments/1", "/api/projects/@current"];
let app: RunningApp;

beforeAll(async () => {
  app = await startApp();
}, startMsMax);

test("the resources that programs list by default and that do not exist here are these", () => {
  expect(names).toEqual([
    "actions",
    "cohorts",
    "early_access_feature",
    "experiments",
    "feature_flags",
    "surveys",
  ]);
});

test("the list of a resource that does not exist here is empty, on every page and with every filter", async () => {
  const empty = { count: 0, next: null, previous: null, results: [] };
  for (const home of homes) {
    for (const name of names) {
      const filters = absentResources[name]!.filters.map((filter) => `${filter}=x`).join("&");
      for (const query of ["", "?limit=100", `?limit=10&${filters}`]) {
        const { status, body } = await ask(app, "GET", `${home}/${name}/${query}`);
        expect([home, name, query, status, body]).toEqual([home, name, query, 200, empty]);
      }
      const { body } = await ask(app, "GET", `${home}/${name}?limit=0`);
      expect([name, body["code"], body["attr"]]).toEqual([name, "min_value", "limit"]);
    }
  }
});

test("other resources that clients request by default are a 404 that names them", async () => {
  const asked = [
    ["error_tracking/symbol_sets/bulk_start_upload", "Error tracking does not exist on this server."],
    ["file_system/", "A tree of files does not exist on this server."],
    ["hog_functions/", "Hog functions do not exist on this server."],
    ["logs/query/", "Logs of applications do not exist on this server."],
    ["tasks/", "Tasks do not exist on this server."],
    ["uploaded_media/", "Uploaded media do not exist on this server."],
    ["mcp_tools/execute_sql/", "Tools of PostHog's MCP server do not exist on this server."],
  ] as const;
  for (const home of homes) {
    for (const [path, detail] of asked) {
      const refusal = [404, "invalid_request", "not_found", detail, null];
      expect(problemOf(await ask(app, "POST", `${home}/${path}`, {}))).toEqual(refusal);
    }
  }
  const roles = await ask(app, "GET", `/api/organizations/${app.bootstrapped!.organization_id}/roles/`);
  const detail = "Roles do not exist on this server.";
  expect(problemOf(roles)).toEqual([404, "invalid_request", "not_found", detail, null]);
});

test("any other path of it is a 404 with its reason", async () => {
  const detail = "Feature flags do not exist on this server: their list is empty, and there is nothing else.";
  const refusal = [404, "invalid_request", "not_found", detail, null];
  const asked = [
    ["POST", "feature_flags/"],
    ["GET", "feature_flags/1/"],
    ["PATCH", "feature_flags/1"],
    ["DELETE", "feature_flags/1/"],
    ["GET", "feature_flags/1/activity/"],
    ["POST", "feature_flags/user_blast_radius/"],
  ] as const;
  for (const home of homes) {
    for (const [method, path] of asked) {
      expect(problemOf(await ask(app, method, `${home}/${path}`))).toEqual(refusal);
    }
  }
  for (const name of names) {
    const { status, body } = await ask(app, "POST", `${homes[0]}/${name}/`, { name: "new" });
    expect([status, String(body["detail"])]).toEqual([
      404,
      expect.stringContaining("do not exist on this server"),
    ]);
  }
});

test("other unknown paths are refused as before", async () => {
  for (const path of [
    "/api/projects/1/roles/",
    "/api/projects/1/constructor/",
    "/api/organizations/x/cohorts/1/",
  ]) {
    expect((await ask(app, "GET", path)).body["detail"]).toBe("Endpoint not found.");
  }
  expect((await ask(app, "PUT", "/api/projects/1/groups/")).status).toBe(405);
});

test("the list needs a key with its scope, and of a member of the project", async () => {
  const { sql } = await storesOf(app);
  const stranger = await addAccount(sql, "stranger@example.com");
  const made = await ask(app, "POST", "/api/personal_api_keys/", { label: "n", scopes: ["project:read"] });
  for (const name of names) {
    const path = `${homes[0]}/${name}/`;
    expect((await ask(app, "GET", path, undefined, "")).status).toBe(401);
    expect((await ask(app, "GET", path, undefined, stranger.key)).status).toBe(403);
    const detail = `API key missing required scope '${absentResources[name]!.scope}'`;
    const narrow = await ask(app, "GET", path, undefined, String(made.body["value"]));
    expect([narrow.status, narrow.body["detail"]]).toEqual([403, detail]);
  }
});

test("requests of SDKs with the same name are answered without a personal key", async () => {
  for (const path of ["/api/surveys/?token=phc_test_project_key_0123456789", "/api/early_access_features/"]) {
    expect((await ask(app, "GET", path, undefined, "")).status).toBe(200);
  }
});
