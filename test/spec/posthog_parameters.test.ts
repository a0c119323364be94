// The query parameters that PostHog documents, by operation: each is answered here or refused by name. A filter that
// nothing matches never shows a row.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ApiDocument } from "../../src/http/docs/document.ts";
import { harmlessParameters } from "../../src/http/fields/harmless.ts";
import documented from "../fixtures/posthog_parameters.json" with { type: "json" };
import { startMsMax } from "../support/accounts.ts";
import { managementRoutes, type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey, rested } from "../support/server.ts";

/** Values that no row has, of filters; JSON where PostHog asks for it. */
const nothing: Record<string, string> = {
  after: "2290-01-01",
  before: "1901-01-01",
  created_by: "2147483647",
  created_date_from: "2290-01-01",
  created_date_to: "1901-01-01",
  dashboard: "2147483647",
  dashboards: "[2147483647]",
  date_from: "2290-01-01",
  date_to: "1901-01-01",
  distinct_id: "nobody",
  distinct_ids: '["nobody"]',
  email: "nobody@example.com",
  event: "nothing",
  events: '[{"id":"nothing","type":"events"}]',
  favorited: "true",
  group_key: "nothing",
  group_type_index: "4",
  insight: "2147483647",
  person_id: "00000000-0000-4000-8000-000000000000",
  person_uuid: "00000000-0000-4000-8000-000000000000",
  properties: '[{"key":"never","value":"set","type":"person"}]',
  saved: "false",
  search: "zzzz-nothing-zzzz",
  session_ids: '["nothing"]',
  short_id: "nothing0",
  tags: '["nothing"]',
  where: "[\"event = 'nothing'\"]",
};

/** What says how rows are shown, or which are left out, not which there are. */
const shows = new Set(
  "basic cursor event_names excluded_properties format include_person limit offset operand order orderBy order_direction ordering refresh saved select".split(
    " ",
  ),
);

let app: RunningApp;
let home: string;
let document: ApiDocument;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  home = `/api/projects/${app.bootstrapped!.project_id}`;
  document = (await (await fetch(`${app.url}/docs/json`)).json()) as ApiDocument;
  const batch = [
    { event: "e", distinct_id: "ann", properties: { $set: { email: "ann@example.com" } } },
    { event: "$groupidentify", distinct_id: "ann", properties: { $group_type: "company", $group_key: "k" } },
  ];
  await fetch(`${app.url}/batch/`, { method: "POST", body: JSON.stringify({ api_key: projectKey, batch }) });
  await rested(app);
  const insight = { name: "i", query: { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "e" }] } };
  expect((await ask(app, "POST", `${home}/insights/`, insight)).status).toBe(201);
  expect((await ask(app, "POST", `${home}/dashboards/`, { name: "d" })).status).toBe(201);
}, startMsMax);
afterAll(cleanUp, startMsMax);

interface Documented {
  operation: string;
  method: string;
  /** As the application lists it. */
  route: string;
  /** With what it names filled in; what is not there is a 404, which comes before a parameter. */
  path: string;
  names: string[];
}

function all(): Documented[] {
  return Object.entries(documented).map(([operation, names]) => {
    const [method = "", pattern = ""] = operation.split(" ");
    const route = pattern.replace(":home", "/api/projects/:project_id");
    const { project_id, organization_id } = app.bootstrapped!;
    const named = route
      .replace(":project_id", String(project_id))
      .replace(":organization_id", organization_id);
    return { operation, method, route, path: named.replaceAll(/:\w+/g, "1"), names };
  });
}

/** The parameters of an operation as the API's description has them; undefined where there is no such operation. */
function declaredAt({ method, route }: Documented): string[] | undefined {
  const operation = document.paths[route.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase() as "get"] as
    { parameters?: { name: string; in: string }[] } | undefined;
  return operation && (operation.parameters ?? []).flatMap((one) => (one.in === "query" ? [one.name] : []));
}

const isUndeclared = ({ body }: Answer) =>
  String(body["detail"]).includes("is not a parameter of this operation");

test("every parameter that PostHog documents is declared, harmless or refused by name", async () => {
  const routes = new Set(managementRoutes(app).map(({ method, path }) => `${method} ${path}`));
  let refused = 0;
  let declared = 0;
  for (const one of all()) {
    const known = declaredAt(one);
    expect([one.operation, known !== undefined]).toEqual([
      one.operation,
      routes.has(`${one.method} ${one.route}`),
    ]);
    if (!known) continue;
    for (const name of one.names) {
      const query = new URLSearchParams({ [name]: nothing[name] ?? "1" });
      const body = one.method === "GET" || one.method === "DELETE" ? undefined : {};
      const answer = await ask(app, one.method, `${one.path}?${query}`, body);
      if (answer.status === 404) continue;
      // With `select` rows are no events: the description tells it in words.
      const isTold = one.operation === "GET :home/events/" && name === "select";
      if (isTold || known.includes(name) || (harmlessParameters.has(name) && name !== "format")) {
        declared++;
        expect([one.operation, name, isUndeclared(answer)]).toEqual([one.operation, name, false]);
      } else {
        refused++;
        expect([one.operation, name, answer.status, answer.body["attr"]]).toEqual([
          one.operation,
          name,
          400,
          name,
        ]);
      }
    }
  }
  expect(declared).toBeGreaterThan(60);
  expect(refused).toBeGreaterThan(15);
});

test("format=json is taken everywhere", async () => {
  for (const { operation, method, path, names } of all()) {
    if (method !== "GET" || !names.includes("format")) continue;
    const { status, body } = await ask(app, "GET", `${path}?format=json`);
    // A parameter that must be there is not.
    if (body["code"] === "required") continue;
    expect([200, 404]).toContain(status);
    if (status === 404) expect([operation, path.includes("/1/")]).toEqual([operation, true]);
  }
});

test("a filter of a list that nothing matches shows nothing, or is refused", async () => {
  let filters = 0;
  for (const one of all()) {
    if (one.method !== "GET" || declaredAt(one) === undefined) continue;
    const whole = await ask(app, "GET", one.path);
    const rows = whole.body["results"];
    if (!Array.isArray(rows) || rows.length === 0) continue;
    for (const name of one.names.filter((each) => !shows.has(each))) {
      const query = new URLSearchParams({ [name]: nothing[name] ?? "zzzz-nothing" });
      const { status, body } = await ask(app, "GET", `${one.path}?${query}`);
      filters++;
      if (status === 400)
        expect([one.operation, name, String(body["attr"]).split("__")[0]]).toEqual([
          one.operation,
          name,
          name,
        ]);
      else expect([one.operation, name, status, body["results"]]).toEqual([one.operation, name, 200, []]);
    }
  }
  expect(filters).toBeGreaterThan(25);
});
