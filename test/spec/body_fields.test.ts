// Every body there is, by the API's description: a field that a request does not have is refused by name, and what a GET
// shows may be sent back whole.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ApiDocument } from "../../src/http/docs/document.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask as askServer } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";

let app: RunningApp;
/** What a path calls `{id}`, by the part before it. */
let things: Record<string, string>;

const trend = { kind: "TrendsQuery", series: [{ event: "seen" }] };
const wish = {
  name: "Lake",
  interval: "hour",
  destination: { type: "HTTP", config: { url: "https://example.com/", token: "t" } },
};

beforeAll(async () => {
  app = await startApp();
  const dashboard = await make("dashboards", { name: "Board", tags: ["a"] });
  const insight = await make("insights", { query: trend, dashboards: [Number(dashboard)] });
  const start_date = "2025-01-01T00:00:00Z";
  const mail = { target_type: "email", target_value: "me@example.com", frequency: "daily", start_date };
  const subscription = await make("subscriptions", { insight: Number(insight), ...mail });
  const batch_export = await make("batch_exports", wish);
  things = {
    dashboards: dashboard,
    insights: insight,
    subscriptions: subscription,
    batch_exports: batch_export,
  };
  const text = { body: "## Key metrics" };
  const layouts = { sm: { x: 0, y: 0, w: 6, h: 5 } };
  await ask("PATCH", `dashboards/${dashboard}/`, { tiles: [{ text, layouts, color: "blue" }] });
}, startMsMax);
afterAll(cleanUp, startMsMax);

function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  return askServer(app, method, `/api/projects/${app.bootstrapped!.project_id}/${path}`, body);
}

async function make(kind: string, body: object): Promise<string> {
  const { status, body: made, text } = await ask("POST", `${kind}/`, body);
  expect([status, status === 201 ? "" : text]).toEqual([201, ""]);
  return String(made["id"]);
}

/** A path of the description, with what exists where it can be named. */
function addressOf(path: string): string {
  const { project_id, organization_id } = app.bootstrapped!;
  return path
    .replaceAll("{project_id}", String(project_id))
    .replaceAll("{organization_id}", String(organization_id))
    .replace("users/{uuid}", "users/@me")
    .replace(/(\w+)\/\{id\}/, (_, kind: string) => `${kind}/${things[kind] ?? 1}`)
    .replaceAll(/\{\w+\}/g, "1");
}

test("a field that a request does not have is a 400 that names it, on every operation with a body", async () => {
  const document = (await (await fetch(`${app.url}/docs/json`)).json()) as ApiDocument;
  const refused: string[] = [];
  for (const [path, operations] of Object.entries(document.paths)) {
    if (!path.startsWith("/api/")) continue;
    for (const [method, operation] of Object.entries(
      operations as Record<string, { requestBody?: object }>,
    )) {
      // The console's own are tried in test/accounts.
      if (!operation.requestBody || /^\/api\/(login|signup)\//.test(path)) continue;
      const { status, body } = await askServer(app, method.toUpperCase(), addressOf(path), { zebra: 1 });
      // What the path names is not there: that comes first.
      if (status === 404) continue;
      refused.push(`${method} ${path}`);
      expect([path, method, status, body["code"], body["attr"]]).toEqual([
        path,
        method,
        400,
        "invalid_input",
        "zebra",
      ]);
    }
  }
  expect(refused.length).toBeGreaterThan(35);
  for (const kind of Object.keys(things)) {
    const home = "/api/projects/{project_id}";
    expect(refused).toContain(`post ${home}/${kind}/`);
    expect(refused).toContain(`patch ${home}/${kind}/{id}/`);
  }
  expect(refused).toContain("post /api/projects/{project_id}/batch_exports/{id}/backfills/");
});

test("filters that are misspelt make no export of everything", async () => {
  const filter = [{ key: "plan", operator: "exact", value: ["paid"], type: "event" }];
  for (const [method, path] of [
    ["POST", "batch_exports/"],
    ["PATCH", `batch_exports/${things["batch_exports"]}/`],
  ] as const) {
    const { status, body } = await ask(method, path, { ...wish, filter });
    expect([status, body["attr"]]).toEqual([400, "filter"]);
    expect(body["detail"]).toStartWith('"filter" is not a field of this request. There are: name, model, ');
  }
  const range = { start_at: "2025-01-01T00:00:00Z", end: "2025-01-02T00:00:00Z" };
  const { status, body } = await ask("POST", `batch_exports/${things["batch_exports"]}/backfills/`, range);
  expect([status, body["attr"]]).toEqual([400, "end"]);
  expect((await ask("GET", "batch_exports/")).body["results"]).toBeArrayOfSize(1);
  expect((await ask("GET", `batch_exports/${things["batch_exports"]}/backfills/`)).body["results"]).toEqual(
    [],
  );
});

test("a thing is changed by the whole object as it was read, and stays as it is", async () => {
  for (const [kind, id] of Object.entries(things)) {
    const path = `${kind}/${id}/`;
    const { body: read } = await ask("GET", path);
    for (const method of ["PATCH", "PUT"]) {
      const { status, body, text } = await ask(method, path, read);
      expect([kind, method, status, status === 200 ? "" : text]).toEqual([kind, method, 200, ""]);
      const moments = Object.keys(body).filter((name) =>
        /^(updated|last_\w+)_at$|^last_modified_by$/.test(name),
      );
      const results = [
        "result",
        "result_type",
        "columns",
        "types",
        "hasMore",
        "timezone",
        "resolved_date_range",
        "last_refresh",
        "is_cached",
        "query_status",
      ];
      const without = (one: Record<string, unknown>) =>
        Object.fromEntries(Object.entries(one).filter(([name]) => ![...moments, ...results].includes(name)));
      expect(without(body)).toEqual(without(read));
    }
  }
});

test("what PostHog shows beside it may be sent back too, and changes nothing", async () => {
  const beside: Record<string, object> = {
    dashboards: {
      is_shared: false,
      creation_mode: "default",
      filters: {},
      variables: null,
      breakdown_colors: [],
      data_color_theme_id: null,
      quick_filter_ids: [],
      restriction_level: 21,
      effective_restriction_level: 21,
      effective_privilege_level: 37,
      user_access_level: "manager",
      access_control_version: "v2",
      last_refresh: null,
      persisted_filters: null,
      persisted_variables: null,
      team_id: 1,
      delete_insights: false,
      _create_in_folder: "Unfiled/Dashboards",
    },
    insights: {
      is_sample: false,
      effective_restriction_level: 21,
      effective_privilege_level: 37,
      user_access_level: "editor",
      hogql: null,
      resolved_date_range: null,
      alerts: [],
      last_viewed_at: null,
      cache_target_age: null,
      next_allowed_client_refresh: null,
      _create_in_folder: "Unfiled/Insights",
    },
    subscriptions: {
      content_type: "insight",
      insight_short_id: "abcdefgh",
      resource_name: "Board",
      dashboard_export_insights: [],
      enabled: true,
      integration_id: null,
      prompt: null,
      ai_config: null,
      summary_enabled: false,
      summary_prompt_guide: "",
    },
    batch_exports: { hogql_query: null },
  };
  for (const [kind, fields] of Object.entries(beside)) {
    const path = `${kind}/${things[kind]}/`;
    const { body: read } = await ask("GET", path);
    const { status, text } = await ask("PATCH", path, { ...read, ...fields });
    expect([kind, status, status === 200 ? "" : text]).toEqual([kind, 200, ""]);
  }
});

test("a field of PostHog's that would have an effect is refused by name, unless it says none", async () => {
  const refused: [kind: string, body: Record<string, unknown>][] = [
    ["subscriptions", { content_type: "ai_prompt" }],
    ["subscriptions", { prompt: "all of it" }],
    ["subscriptions", { summary_enabled: true }],
    ["subscriptions", { dashboard_export_insights: [1] }],
    ["subscriptions", { integration_id: 4 }],
    ["dashboards", { use_dashboard: 1 }],
    ["dashboards", { quick_filter_ids: ["a"] }],
    ["insights", { filters: { events: [{ id: "seen" }] } }],
  ];
  for (const [kind, body] of refused) {
    const { status, body: answer } = await ask("PATCH", `${kind}/${things[kind]}/`, body);
    expect([kind, status, answer["attr"]]).toEqual([kind, 400, Object.keys(body)[0]]);
  }
});

test("a field of a part that the part does not have is refused by its path", async () => {
  const tile = (fields: object) => ({ tiles: [{ text: { body: "a" }, ...fields }] });
  const destination = { ...wish.destination, intergration: 1 };
  const refused: [kind: string, body: object, attr: string][] = [
    ["batch_exports", { destination }, "destination__intergration"],
    [
      "batch_exports",
      { destination: { ...wish.destination, integration_id: 4 } },
      "destination__integration_id",
    ],
    ["dashboards", tile({ colour: "blue" }), "tiles__0__colour"],
    ["dashboards", tile({ text: { body: "a", markdown: true } }), "tiles__0__text__markdown"],
    ["dashboards", tile({ layouts: { large: {} } }), "tiles__0__layouts__large"],
    ["dashboards", tile({ layouts: { sm: { x: 0, y: 0, w: 1, h: 1, z: 1 } } }), "tiles__0__layouts__sm__z"],
  ];
  for (const [kind, body, attr] of refused) {
    const { status, body: answer } = await ask("PATCH", `${kind}/${things[kind]}/`, body);
    expect([kind, status, answer["attr"]]).toEqual([kind, 400, attr]);
  }
});
