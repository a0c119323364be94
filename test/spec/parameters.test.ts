// Every operation there is, by the application's own list of routes: what a request names that the operation does not
// declare is refused by name, and nothing is done.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ApiDocument } from "../../src/http/docs/document.ts";
import { harmlessParameters } from "../../src/http/fields/harmless.ts";
import { startMsMax } from "../support/accounts.ts";
import { managementRoutes, type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";

let app: RunningApp;
/** Method and address of every operation, with what exists where it can be named. */
let operations: { method: string; path: string; route: string }[];
let document: ApiDocument;

beforeAll(async () => {
  app = await startApp();
  const { project_id, organization_id } = app.bootstrapped!;
  const gated = managementRoutes(app).filter(({ hooks }) => hooks.detail?.security?.[0] !== undefined);
  operations = gated.map(({ method, path: route }) => {
    const named = route
      .replaceAll(":project_id", String(project_id))
      .replaceAll(":organization_id", String(organization_id))
      .replace("users/:uuid", "users/@me");
    return { method, path: named.replaceAll(/:\w+/g, "1"), route };
  });
  document = (await (await fetch(`${app.url}/docs/json`)).json()) as ApiDocument;
}, startMsMax);
afterAll(cleanUp, startMsMax);

async function askWith(method: string, path: string, query: string): Promise<Answer> {
  return await ask(app, method, `${path}?${query}`, /POST|PUT|PATCH/.test(method) ? {} : undefined);
}

/** The parameters of an operation as the description has them. */
function describedAt(method: string, route: string): string[] | undefined {
  const path = route.replaceAll(/:(\w+)/g, "{$1}");
  const found = document.paths[path] ?? document.paths[`${path}/`];
  const operation = found?.[method.toLowerCase() as "get"] as
    { parameters?: { name: string; in: string }[] } | undefined;
  return operation && (operation.parameters ?? []).flatMap((one) => (one.in === "query" ? [one.name] : []));
}

test("a parameter that an operation does not declare is a 400 that names it, on every operation", async () => {
  expect(operations.length).toBeGreaterThan(100);
  let refused = 0;
  for (const { method, path, route } of operations) {
    const { status, body } = await askWith(method, path, "limit2=1&zebra=1");
    // What a path names may not be there: that comes first.
    if (status === 404) continue;
    refused++;
    const listed = describedAt(method, route);
    expect([method, route, status, body["code"], body["attr"]]).toEqual([
      method,
      route,
      400,
      "invalid_input",
      "limit2",
    ]);
    expect(body["detail"]).toStartWith('"limit2" is not a parameter of this operation. ');
    if (!listed) continue;
    // Those of lists that are tables as well are described in words.
    const named = String(body["detail"])
      .replaceAll(/ (?:format|select),|, (?:format|select)(?=\.)/g, "")
      .replace(" There are: format.", " It has none.");
    const names = listed.length > 0 ? `There are: ${listed.join(", ")}.` : "It has none.";
    expect([method, route, named]).toEqual([
      method,
      route,
      `"limit2" is not a parameter of this operation. ${names}`,
    ]);
  }
  expect(refused).toBeGreaterThan(60);
  // Nothing of it was done: the project and its organization are still there.
  const { project_id, organization_id } = app.bootstrapped!;
  expect((await ask(app, "GET", `/api/projects/${project_id}/`)).status).toBe(200);
  expect((await ask(app, "GET", `/api/organizations/${organization_id}/`)).status).toBe(200);
});

/** What may be given several times. */
const repeated = ["level", "tags", "event_name", "orderBy", "where", "scopes", "item_ids"];
const repeatedNames = ["names", "properties", "excluded_properties", "event_names", "ordering"];
const mayRepeat = (route: string, name: string): boolean =>
  repeated.includes(name) || (route.includes("_definitions/") && repeatedNames.includes(name));

test("a declared parameter is refused when it is given twice, unless it may be", async () => {
  for (const { method, path, route } of operations) {
    for (const name of describedAt(method, route) ?? []) {
      const { status, body } = await askWith(method, path, `${name}=1&${name}=1`);
      // Those that may be given again may lack what is required.
      if (status === 404 || mayRepeat(route, name) || body["code"] === "required") continue;
      expect([method, route, name, status, body["attr"]]).toEqual([method, route, name, 400, name]);
      expect(body["detail"]).toBe("This parameter can only be given once.");
    }
  }
});

test("a flag that is neither true nor false is refused by name, wherever there is one", async () => {
  for (const [path, operation] of Object.entries(document.paths)) {
    for (const [method, { parameters = [] }] of Object.entries(
      operation as Record<string, { parameters?: { name: string; schema: { type?: string } }[] }>,
    )) {
      const flags = parameters.filter(({ schema }) => schema.type === "boolean");
      for (const { name } of flags) {
        const { status, body } = await askWith(method.toUpperCase(), addressOf(path), `${name}=maybe`);
        // A parameter that must be there is refused first.
        if (status === 404 || body["code"] === "required") continue;
        expect([path, name, status, body["attr"]]).toEqual([path, name, 400, name]);
      }
    }
  }
});

function addressOf(path: string): string {
  const { project_id, organization_id } = app.bootstrapped!;
  const named = path.replaceAll("{project_id}", String(project_id));
  return named.replaceAll("{organization_id}", String(organization_id)).replaceAll(/\{\w+\}/g, "1");
}

test("what a path names and is not there is a 404 before a parameter is read", async () => {
  const home = `/api/projects/${app.bootstrapped!.project_id}`;
  const nobody = "00000000-0000-4000-8000-000000000000";
  const paths = ["dashboards/2147483647/", `events/${nobody}/`, `persons/${nobody}/activity/`];
  for (const path of paths) {
    expect([path, (await ask(app, "GET", `${home}/${path}?zebra=1`)).status]).toEqual([path, 404]);
  }
});

test("no key, a key without the scope and a project that does not exist come before a parameter", async () => {
  for (const { method, path, route } of operations) {
    const { status } = await ask(app, method, `${path}?zebra=1`, undefined, "phx_nobody");
    expect([method, route, status]).toEqual([method, route, 401]);
  }
  const made = await ask(app, "POST", "/api/personal_api_keys/", { label: "narrow", scopes: ["group:read"] });
  const { project_id } = app.bootstrapped!;
  const narrow = String(made.body["value"]);
  const persons = `/api/projects/${project_id}/persons/?zebra=1`;
  expect((await ask(app, "GET", persons, undefined, narrow)).status).toBe(403);
  expect((await ask(app, "GET", "/api/projects/999999/persons/?zebra=1")).status).toBe(404);
});

/** What these answer depends on their parameters: whether a scope more is needed, or whose list it is. */
const laterFound = /^GET .*(dashboards\/:id|events\/:uuid|persons\/:uuid\/activity)\/$/;

test("what a path names and is not there comes before a parameter", async () => {
  let found = 0;
  for (const { method, route } of operations) {
    if (laterFound.test(`${method} ${route}`)) continue;
    const { project_id, organization_id } = app.bootstrapped!;
    const home = route
      .replace(":project_id", String(project_id))
      .replace(":organization_id", organization_id);
    const path = home.replaceAll(/:\w+/g, "00000000-0000-4000-8000-000000000000");
    const plain = path === home ? undefined : await askWith(method, path, "");
    if (plain?.status !== 404) continue;
    found++;
    const { status } = await askWith(method, path, "zebra=1");
    expect([method, route, status]).toEqual([method, route, 404]);
  }
  expect(found).toBeGreaterThan(60);
});

test("what is harmless changes no answer, and stands in the API's page with its reason", async () => {
  const harmless = [...harmlessParameters].map(([name, { only = "true" }]) => `${name}=${only}`);
  const asked = harmless.filter((one) => !one.startsWith("personal_api_key")).join("&");
  const { project_id } = app.bootstrapped!;
  for (const list of ["persons", "events", "insights", "dashboards", "groups", "subscriptions"]) {
    const path = `/api/projects/${project_id}/${list}/`;
    const plain = await ask(app, "GET", path);
    const answer = await ask(app, "GET", `${path}?${asked}`);
    expect([list, answer.status, answer.text]).toEqual([list, 200, plain.text]);
  }
  const page = await Bun.file(new URL("../../src/docs/api.md", import.meta.url)).text();
  for (const name of harmlessParameters.keys()) expect(page).toContain(`\`${name}`);
});

test("the stream of the console and the definitions of flags refuse them too", async () => {
  const { project_id } = app.bootstrapped!;
  const stream = await ask(app, "GET", `/console/stream/${project_id}?zebra=1`);
  expect([stream.status, stream.body["attr"]]).toEqual([400, "zebra"]);
  const flags = await ask(app, "GET", "/flags/definitions/?token=x&send_cohorts&zebra=1");
  expect([flags.status, flags.body["attr"]]).toEqual([400, "zebra"]);
  expect((await ask(app, "GET", "/flags/definitions/?token=x&send_cohorts")).status).toBe(200);
});
