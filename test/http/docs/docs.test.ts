import { afterAll, beforeAll, expect, test } from "bun:test";
import { Check } from "typebox/schema";
import type { ApiDocument, ApiOperation, Content } from "../../../src/http/docs/document.ts";
import type { JsonSchema } from "../../../src/http/docs/example.ts";
import { startMsMax } from "../../support/accounts.ts";
import { managementRoutes, type RunningApp, startApp } from "../../support/app.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { personalKey } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
let api: ApiDocument;

beforeAll(async () => {
  app = await startApp();
  api = (await (await fetch(`${app.url}/docs/json`)).json()) as ApiDocument;
}, startMsMax);

/** What SDKs ask at their start lies partly below /api; people do not call it. */
const unlisted = new Set([
  "GET /api/surveys/",
  "POST /api/surveys/",
  "GET /api/early_access_features/",
  "POST /api/early_access_features/",
  "GET /api/web_experiments/",
  "POST /api/web_experiments/",
  "GET /api/product_tours/",
  "POST /api/product_tours/",
  "GET /api/feature_flag/local_evaluation/",
  "GET /api/projects/:project_id/feature_flags/:key/remote_config/",
  "GET /api/environments/:project_id/feature_flags/:key/remote_config/",
]);

interface Described {
  name: string;
  path: string;
  operation: ApiOperation;
}

const described = (): Described[] =>
  Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      path,
      operation,
    })),
  );

/** The console's own: they take no key. */
const forPeople = /^\/api\/(login|logout|signup)\//;

test("every management route is described, with a summary, a tag and its key", () => {
  const byName = new Map(described().map((one) => [one.name, one.operation]));
  const lacking = managementRoutes(app).flatMap(({ method, path }) => {
    if (unlisted.has(`${method} ${path}`)) return [];
    const name = `${method} ${path.replace(/:(\w+)/g, "{$1}")}`;
    const operation = byName.get(name);
    if (!operation) return [`${name}: not described`];
    const { summary, tags = [] } = operation;
    return [
      ...(summary ? [] : [`${name}: no summary`]),
      ...(tags.length > 0 ? [] : [`${name}: no tag`]),
      ...(operation["x-required-scopes"] || forPeople.test(path) ? [] : [`${name}: no scope, so no gate`]),
    ];
  });
  expect(lacking).toEqual([]);
});

test("every operation shows what it answers, and what it takes", () => {
  const lacking = described().flatMap(({ name, operation }) => {
    const good = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
    // PostHog answers what was viewed with an empty 201.
    const isEmpty = (status: string) =>
      status === "202" ||
      status === "204" ||
      (status === "201" && /\/insights\/(?:\{id\}\/)?viewed\/$/.test(name));
    const shown = good.some(([status, reply]) => isEmpty(status) || schemasOf(reply).length > 0);
    const told = operation.requestBody === undefined || schemasOf(operation.requestBody).length > 0;
    const taken = !/^(POST|PATCH|PUT) /.test(name) || operation.requestBody !== undefined || bodiless(name);
    return [
      ...(shown ? [] : [`${name}: no response schema`]),
      ...(told && taken ? [] : [`${name}: no request schema`]),
    ];
  });
  expect(lacking).toEqual([]);
});

/** Operations that only say "do it". */
function bodiless(name: string): boolean {
  return /\/(logout|reset_token|rotate_key|roll|pause|unpause|cancel|retry|test[-_]delivery|refresh|\{id\}\/viewed)\/?$/.test(
    name,
  );
}

function schemasOf(holder: { content?: Content } | { $ref: string }): unknown[] {
  const content = "content" in holder ? holder.content : undefined;
  return Object.values(content ?? {}).flatMap(({ schema }) => (schema ? [schema] : []));
}

test("the document has the form of OpenAPI 3.1", () => {
  expect(api.openapi).toBe("3.1.0");
  expect(api.info).toMatchObject({ title: "Sluice", version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
  expect(api.components["securitySchemes"]).toEqual({
    personal_api_key: expect.objectContaining({ type: "http", scheme: "bearer" }) as unknown,
  });
  const malformed = described().flatMap(({ name, path, operation }) => {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
    const stated = (operation.parameters ?? []).filter((one) => one.in === "path");
    const replies = Object.entries(operation.responses);
    return [
      ...(stated.map((one) => one.name).join() === inPath.join() ? [] : [`${name}: path parameters`]),
      ...(stated.every((one) => one.required === true) ? [] : [`${name}: an optional path parameter`]),
      ...((operation.parameters ?? []).every((one) => one.schema) ? [] : [`${name}: a bare parameter`]),
      ...replies
        .filter(([status, reply]) => !/^[1-5]\d\d$/.test(status) || !("$ref" in reply || reply.description))
        .map(([status]) => `${name}: the reply ${status} has no description`),
    ];
  });
  expect(malformed).toEqual([]);
});

test("every reference leads somewhere", () => {
  const found: string[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if ("$ref" in value && typeof value.$ref === "string") found.push(value.$ref);
    for (const inner of Object.values(value)) walk(inner);
  };
  walk(api);
  expect(found.length).toBeGreaterThan(0);
  const dead = found.filter((ref) => {
    let at: unknown = api;
    for (const step of ref.slice("#/".length).split("/")) at = (at as Record<string, unknown>)?.[step];
    return !ref.startsWith("#/") || at === undefined;
  });
  expect([...new Set(dead)]).toEqual([]);
});

test("generators of clients can read every schema: null alone is no type, and unions name their variants", () => {
  const wrong: string[] = [];
  const walk = (schema: unknown, at: string): void => {
    if (typeof schema !== "object" || schema === null) return;
    const { anyOf, oneOf, type, discriminator } = schema as JsonSchema;
    const others = oneOf?.filter((one) => one.type !== "null") ?? [];
    if (anyOf?.some((one) => one.type === "null" || one.$ref !== undefined)) wrong.push(`${at}: anyOf`);
    if (type === "null" && !/\/oneOf\/\d+$/.test(at)) wrong.push(`${at}: null`);
    if (others.length > 1 && discriminator === undefined) wrong.push(`${at}: no discriminator`);
    for (const [name, inner] of Object.entries(schema)) {
      if (!["example", "examples", "default", "enum"].includes(name)) walk(inner, `${at}/${name}`);
    }
  };
  walk(api.components["schemas"], "");
  walk(api.paths, "");
  expect(wrong).toEqual([]);
  expect(modelCalled("Query")["discriminator"]).toEqual({
    propertyName: "kind",
    mapping: expect.objectContaining({ TrendsQuery: "#/components/schemas/TrendsQuery" }) as unknown,
  });
});

test("an operation names its scope, its refusals and an example", () => {
  const list = api.paths["/api/projects/"]?.["get"];
  expect(list).toMatchObject({
    summary: "List projects",
    "x-required-scopes": ["project:read"],
    description: expect.stringContaining("Scope: `project:read`.") as unknown,
    responses: { 401: { $ref: "#/components/responses/Unauthenticated" } },
  });
  expect(list?.responses["200"]).toMatchObject({
    content: { "application/json": { example: { count: 1, results: [{ id: 1 }] } } },
  });
});

test("every list takes limit and offset", () => {
  const list = api.paths["/api/projects/"]?.["get"];
  expect(list?.parameters?.map(({ name }) => name)).toEqual(["limit", "offset"]);
  const events = api.paths["/api/projects/{project_id}/events/"]?.["get"];
  const names = events?.parameters?.map(({ name }) => name) ?? [];
  expect(names.filter((name) => name === "limit")).toHaveLength(1);
});

test("every example is what its schema describes", () => {
  const wrong = described().flatMap(({ name, operation }) =>
    [operation.requestBody, ...Object.values(operation.responses)].flatMap((holder) => {
      const content = holder && "content" in holder ? (holder.content ?? {}) : {};
      return Object.values(content).flatMap(({ schema, example }) =>
        schema && !Check(whole(schema) as JsonSchema, example) ? [`${name}: ${JSON.stringify(example)}`] : [],
      );
    }),
  );
  expect(wrong).toEqual([]);
});

/** The schema with every model in the place of its reference. */
function whole(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(whole);
  if (typeof schema !== "object" || schema === null) return schema;
  if ("$ref" in schema) return whole(modelCalled(String(schema.$ref)));
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, whole(value)]));
}

function modelCalled(ref: string): JsonSchema {
  return (api.components["schemas"] as Record<string, JsonSchema>)[ref.split("/").at(-1)!]!;
}

test("operations have names of their own, which are PostHog's", () => {
  const ids = described().map(({ operation }) => operation.operationId);
  expect(ids.filter((id) => !/^[a-z][a-z0-9_]*[a-z0-9]$/.test(id))).toEqual([]);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  const idOf = (name: string) => described().find((one) => one.name === name)?.operation.operationId;
  const home = "/api/projects/{project_id}";
  expect({
    list: idOf(`GET ${home}/batch_exports/`),
    make: idOf(`POST ${home}/batch_exports/`),
    show: idOf(`GET ${home}/batch_exports/{id}/`),
    change: idOf(`PATCH ${home}/batch_exports/{id}/`),
    replace: idOf(`PUT ${home}/batch_exports/{id}/`),
    remove: idOf(`DELETE ${home}/batch_exports/{id}/`),
    below: idOf(`GET ${home}/batch_exports/{id}/runs/`),
    deed: idOf(`POST ${home}/batch_exports/{id}/runs/{run_id}/cancel/`),
    odd: idOf(`GET ${home}/session_recordings/{id}/sharing/`),
    elsewhere: idOf("GET /api/environments/{project_id}/batch_exports/"),
    inOrganizations: idOf("GET /api/organizations/{organization_id}/batch_exports/"),
    projects: idOf("GET /api/projects/"),
    ofProject: idOf(`PATCH ${home}/reset_token/`),
    key: idOf("GET /api/personal_api_keys/@current/"),
  }).toEqual({
    list: "batch_exports_list",
    make: "batch_exports_create",
    show: "batch_exports_retrieve",
    change: "batch_exports_partial_update",
    replace: "batch_exports_update",
    remove: "batch_exports_destroy",
    below: "batch_exports_runs_list",
    deed: "batch_exports_runs_cancel_create",
    odd: "session_recordings_sharing_list",
    elsewhere: "environments_batch_exports_list",
    inOrganizations: "organizations_batch_exports_list",
    projects: "projects_list",
    ofProject: "projects_reset_token_partial_update",
    key: "personal_api_keys_current_retrieve",
  });
});

test("the key is described once; only operations without one say so", () => {
  expect(api.security).toEqual([{ personal_api_key: [] }]);
  const said = described().filter(({ operation }) => operation.security !== undefined);
  expect(said.map(({ name, operation }) => [name, operation.security])).toEqual([
    ["POST /capture/", []],
    ["POST /batch/", []],
    ["POST /i/v1/analytics/events", []],
    ["POST /api/login/", []],
    ["POST /api/logout/", []],
    ["GET /api/signup/{invite_id}/", []],
    ["POST /api/signup/{invite_id}/", []],
  ]);
});

test("a compared result's part until now has a type of its own", () => {
  const models = api.components["schemas"] as Record<string, JsonSchema>;
  const { QueryResponse, ComparedResult, ResultUntil } = models;
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  expect(QueryResponse?.properties?.["results"]).toMatchObject({ "x-members": reference("ComparedResult") });
  expect(ComparedResult?.properties).toEqual({ until: reference("ResultUntil") });
  expect(Object.keys(ResultUntil?.properties ?? {})).toEqual([
    "date_to",
    "data",
    "count",
    "aggregated_value",
    "value",
  ]);
  expect(ResultUntil?.required).toEqual(["date_to"]);
});

test("every model has a name and is described once", () => {
  const inline: string[] = [];
  const walk = (value: unknown, at: string): void => {
    if (typeof value !== "object" || value === null) return;
    if ("properties" in value && "type" in value && value.type === "object") inline.push(at);
    for (const [name, inner] of Object.entries(value)) {
      if (name !== "example" && name !== "examples") walk(inner, `${at}/${name}`);
    }
  };
  walk(api.paths, "paths");
  const models = api.components["schemas"] as Record<string, JsonSchema>;
  for (const [name, { properties, anyOf }] of Object.entries(models)) walk({ properties, anyOf }, name);
  expect(inline).toEqual([]);
  for (const name of [
    "Organization",
    "Project",
    "PaginatedBatchExportList",
    "PatchedBatchExport",
    "PaginatedBatchExportRunList",
    "Subscription",
    "SubscriptionRequest",
    "SessionRecording",
    "PaginatedIngestionWarningList",
  ]) {
    expect(models).toHaveProperty(name);
  }
  const shown = api.paths["/api/projects/{project_id}/subscriptions/{id}/"]?.["get"]?.responses["200"];
  expect(shown).toMatchObject({
    content: { "application/json": { schema: { $ref: "#/components/schemas/Subscription" } } },
  });
});

test("defaults of a request are described in words: clients would send or require them otherwise", () => {
  const models = api.components["schemas"] as Record<string, JsonSchema>;
  const defaults = Object.entries(models).flatMap(([name, { properties = {} }]) =>
    Object.entries(properties)
      .filter(([, field]) => /^Patched|Request$/.test(name) && "default" in field)
      .map(([field]) => `${name}: ${field}`),
  );
  expect(defaults).toEqual([]);
  const { properties } = modelCalled("ProjectRequest");
  expect(properties?.["timezone"]?.description).toBe('Default: `"UTC"`.');
  const patch = api.paths["/api/projects/{project_id}/insights/{id}/"]?.["patch"]?.requestBody;
  // What the page of the API would send for whoever only tries it out.
  expect(patch?.content["application/json"]?.example).toMatchObject({ deleted: false });
});

test("numbers, moments and zones have their formats, in requests and replies", () => {
  const wrong = described().flatMap(({ name, operation }) =>
    (operation.parameters ?? []).flatMap((parameter) => {
      const { schema = {}, name: key } = parameter;
      const { type, minimum, maximum, anyOf } = schema;
      const isPage = key === "limit" || key === "offset";
      const isMoment = /^(after|before|start|end|date_from|date_to)$/.test(key);
      const numbered = type === "integer" && minimum !== undefined && maximum !== undefined;
      if (isPage && !numbered) return [`${name}: ${key} is no bounded integer`];
      if (isMoment && anyOf?.[0]?.format !== "date-time") return [`${name}: ${key} is no moment`];
      return [];
    }),
  );
  const models = api.components["schemas"] as Record<string, JsonSchema>;
  const vague = Object.entries(models).flatMap(([model, { properties = {} }]) =>
    Object.entries(properties).flatMap(([key, field]) => {
      const asked =
        key === "timezone" ? "iana-timezone" : /_(at|time|timestamp)$|^timestamp$/.test(key) && "date-time";
      const formats = [field, ...(field.anyOf ?? [])].map(({ format }) => format);
      // What is left out has no form.
      if (field.description?.startsWith("Not supported")) return [];
      return asked && !formats.includes(asked) ? [`${model}: ${key}`] : [];
    }),
  );
  expect([...wrong, ...vague]).toEqual([]);
  expect(modelCalled("QueryRequest").properties?.["query"]).toMatchObject({
    $ref: "#/components/schemas/Query",
  });
  expect(modelCalled("Insight").properties?.["query"]).toMatchObject({ $ref: "#/components/schemas/Query" });
});

test("limit is described where it does something, and nowhere else", async () => {
  const answered = await Promise.all(
    described()
      .filter(({ name, path }) => name.startsWith("GET ") && !/\{(?!project_id|organization_id)/.test(path))
      .map(async ({ name, path, operation }) => {
        const home = path.replace(/\{\w+\}/g, "@current");
        const reply = await fetch(`${app.url}${home}?limit=none`, {
          headers: { authorization: `Bearer ${personalKey}` },
        });
        const { attr, detail = "" } = (await reply.json()) as { attr?: string; detail?: string };
        const isTold = operation.parameters?.some((one) => one.name === "limit") ?? false;
        const isRead = attr === "limit" && !detail.includes("is not a parameter");
        return { name, status: reply.status, attr, isTold, isRead };
      }),
  );
  expect(answered.filter(({ isTold }) => isTold).length).toBeGreaterThan(10);
  expect(answered.filter(({ isTold, isRead }) => isTold !== isRead)).toEqual([]);
  expect(answered.filter(({ status, attr }) => status !== 400 || attr !== "limit")).toEqual([]);
});

test("the helpers of recordings say when they answer nothing", () => {
  for (const name of ["filters", "regex"]) {
    const { responses } = api.paths[`/api/projects/{project_id}/session_recordings/ai/${name}/`]!["post"]!;
    expect(responses["200"]).toMatchObject({
      description: expect.stringContaining("no body at all") as unknown,
    });
  }
});

test("capture is described, and requires no key in a header", () => {
  for (const path of ["/capture/", "/batch/"]) {
    expect(api.paths[path]?.["post"]).toMatchObject({ security: [], tags: ["Capture"] });
  }
  expect(api.paths["/batch/"]?.["post"]?.requestBody).toMatchObject({
    content: { "application/json": { schema: { $ref: "#/components/schemas/BatchRequest" } } },
  });
  expect(modelCalled("BatchRequest").required).toEqual(["api_key", "batch"]);
});

test("the older way to start a backfill is marked as deprecated, once there is one", () => {
  const old = described().filter(({ path }) => /\/backfill\/?$/.test(path));
  expect(old.filter(({ operation }) => operation.deprecated !== true)).toEqual([]);
});

test("what runs the server is not described", () => {
  const shown = Object.keys(api.paths).filter((path) =>
    /^\/(?:metrics|_health|_readiness|docs|static)/.test(path),
  );
  expect(shown).toEqual([]);
});

test("the page and its files are served, each with its type, and kept by browsers", async () => {
  const types = {
    "/docs": "text/html; charset=utf-8",
    "/docs/": "text/html; charset=utf-8",
    "/docs/assets/swagger-ui.css": "text/css; charset=utf-8",
    "/docs/assets/swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "/docs/assets/page.js": "text/javascript; charset=utf-8",
    "/docs/assets/favicon-32x32.png": "image/png",
  };
  for (const [path, type] of Object.entries(types)) {
    const reply = await fetch(`${app.url}${path}`);
    expect([path, reply.status, reply.headers.get("content-type")]).toEqual([path, 200, type]);
    expect(reply.headers.get("content-encoding")).toBe("gzip");
    const etag = reply.headers.get("etag") ?? "";
    const again = await fetch(`${app.url}${path}`, { headers: { "if-none-match": etag } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  }
  const plain = await fetch(`${app.url}/docs`, { headers: { "accept-encoding": "identity" } });
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(await plain.text()).toStartWith("<!doctype html>");
});

test("nothing but the page's files can be fetched through it", async () => {
  const names = [
    "package.json",
    "index.html",
    "swagger-ui-bundle.js.map",
    "..%2Fpackage.json",
    "%2e%2e%2f%2e%2e%2fpackage.json",
    "..%5cpackage.json",
    "%00",
    "swagger-ui.css%00",
    "constructor",
    "__proto__",
  ];
  for (const name of names) {
    const reply = await fetch(`${app.url}/docs/assets/${name}`);
    expect([name, reply.status]).toEqual([name, 404]);
    expect(await reply.json()).toMatchObject({ code: "not_found" });
  }
});

test("what can only be done at the right time says that it may be refused, though it has no body", () => {
  const timely = described().filter(({ path }) => /\/(runs|backfills)\/.*\/(cancel|retry)\/$/.test(path));
  expect(timely).toHaveLength(9);
  for (const { operation } of timely) {
    expect(operation.responses["400"]).toEqual({ $ref: "#/components/responses/BadRequest" });
  }
});

test("the server's own address leads to the page of the API", async () => {
  const reply = await fetch(`${app.url}/`, { redirect: "manual" });
  expect([reply.status, reply.headers.get("location")]).toEqual([302, "/docs"]);
});
