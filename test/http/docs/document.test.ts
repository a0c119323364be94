// Routes completed into a document: names of operations, what each requires, models said once, examples.

import { expect, test } from "bun:test";
import { type ApiDocument, type ApiOperation, completeDocument } from "../../../src/http/docs/document.ts";
import type { JsonSchema } from "../../../src/http/docs/example.ts";
import { refusal } from "../../../src/http/docs/refusals.ts";

const reply = (schema: JsonSchema) => ({
  "200": { description: "", content: { "application/json": { schema } } },
});
const operation = (more: Partial<ApiOperation> = {}): ApiOperation => ({
  operationId: "",
  responses: reply({ type: "object" }),
  ...more,
});

function completed(paths: ApiDocument["paths"]): ApiDocument {
  return completeDocument({ openapi: "", info: { title: "Sluice", version: "1" }, paths, components: {} });
}

const list = operation({ responses: reply({ type: "object", properties: { results: { type: "array" } } }) });

test.each([
  ["get", "/api/projects/{project_id}/batch_exports/{id}/runs/", list, "batch_exports_runs_list"],
  [
    "get",
    "/api/environments/{project_id}/batch_exports/{id}/",
    operation(),
    "environments_batch_exports_retrieve",
  ],
  ["post", "/api/projects/", operation(), "projects_create"],
  ["patch", "/api/projects/{id}/", operation(), "projects_partial_update"],
  ["patch", "/api/projects/{id}/reset_token/", operation(), "projects_reset_token_partial_update"],
  ["delete", "/api/organizations/{id}/", operation(), "organizations_destroy"],
  ["get", "/api/projects/{project_id}/persons/{id}/activity/", list, "persons_activity_retrieve"],
  ["get", "/api/projects/{project_id}/persons/activity/", list, "persons_all_activity_retrieve"],
  ["get", "/api/projects/{project_id}/insights/{id}/sharing/", operation(), "insights_sharing_list"],
  ["get", "/api/users/@me/", operation(), "users_me_retrieve"],
  ["options", "/batch/", operation(), "batch_options"],
])("%s %s has PostHog's name", (method, path, given, name) => {
  const { paths } = completed({ [path]: { [method]: structuredClone(given) } });
  expect(paths[path]![method]!.operationId).toBe(name);
});

test("an operation says which scopes it requires, and how it may be refused", () => {
  const security = [{ personal_api_key: ["insight:read", "query:read"] }];
  const given = operation({ description: "Reads.", security });
  const { paths } = completed({ "/api/projects/{project_id}/x/": { get: given } });
  const found = paths["/api/projects/{project_id}/x/"]!["get"]!;
  expect(found.description).toBe("Reads.\n\nScopes: `insight:read`, `query:read`.");
  expect(found["x-required-scopes"]).toEqual(["insight:read", "query:read"]);
  expect(found.security).toBeUndefined();
  expect(Object.keys(found.responses)).toEqual(["200", "400", "401", "403", "404", "429", "503"]);
  expect(found.responses["404"]).toEqual(refusal(404));
});

test("what needs no scope says that any key works, and a path without a name may not be missing", () => {
  const { paths } = completed({
    "/api/users/": { get: operation({ security: [{ personal_api_key: [] }] }) },
  });
  const found = paths["/api/users/"]!["get"]!;
  expect(found.description).toBe("Any personal API key works.");
  expect(found.responses).not.toHaveProperty("404");
});

test("a public operation keeps its security and has no refusals added", () => {
  const { paths } = completed({ "/batch/": { post: operation({ security: [] }) } });
  expect(paths["/batch/"]!["post"]!.security).toEqual([]);
  expect(Object.keys(paths["/batch/"]!["post"]!.responses)).toEqual(["200"]);
});

test("a refusal that an operation describes itself stays, and one that is asked in the background may conflict", () => {
  const own = { description: "Ours" };
  const responses = { ...reply({}), "202": { description: "" }, "400": own };
  const requestBody = { content: { "application/json": { schema: { type: "object" } } } };
  const given = operation({ security: [{ personal_api_key: ["query:read"] }], responses, requestBody });
  const { paths } = completed({ "/api/query/": { post: given } });
  expect(paths["/api/query/"]!["post"]!.responses["400"]).toEqual(own);
  expect(paths["/api/query/"]!["post"]!.responses["409"]).toEqual(refusal(409));
});

test("a model is said once, whoever names it; that of a PATCH has a name of its own", () => {
  const request = () => ({
    type: "object",
    title: "ThingRequest",
    properties: {
      name: { type: "string", default: "x", description: "Its name." },
      on: { type: "boolean", default: false },
    },
  });
  const body = () => ({ requestBody: { content: { "application/json": { schema: request() } } } });
  const thing = () => reply({ type: "object", title: "Thing", properties: { id: { type: "integer" } } });
  const { paths, components } = completed({
    "/api/things/": {
      get: operation({ responses: thing() }),
      post: operation({ ...body(), responses: thing() }),
    },
    "/api/things/{id}/": { patch: operation({ ...body(), responses: thing() }) },
  });
  const schemas = components["schemas"] as Record<string, { properties: Record<string, object> }>;
  expect(Object.keys(schemas)).toEqual(["PatchedThing", "Problem", "Thing", "ThingRequest"]);
  expect(paths["/api/things/"]!["get"]!.responses["200"]).toMatchObject({
    content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } },
  });
  // A client that is generated would send a default that nobody chose.
  expect(schemas["ThingRequest"]!.properties["name"]).toEqual({
    type: "string",
    description: 'Its name. Default: `"x"`.',
  });
  expect(schemas["PatchedThing"]!.properties["name"]).toEqual({ type: "string", description: "Its name." });
});

test("every reply has an example, and each tag stands once, in the order of the routes", () => {
  const { paths, tags, security, openapi } = completed({
    "/api/b/": { get: operation({ tags: ["b"] }), post: operation({ tags: ["a", "b"] }) },
  });
  expect(tags).toEqual([{ name: "b" }, { name: "a" }]);
  expect([openapi, security]).toEqual(["3.1.0", [{ personal_api_key: [] }]]);
  expect(paths["/api/b/"]!["get"]!.responses["200"]).toMatchObject({
    content: { "application/json": { example: {} } },
  });
});

test("a home in a path is described, and a description of its own stays", () => {
  const parameters = [
    { name: "project_id", in: "path" },
    { name: "organization_id", in: "path", description: "Ours" },
    { name: "project_id", in: "query" },
  ];
  const { paths } = completed({ "/api/projects/{project_id}/": { get: operation({ parameters }) } });
  expect(
    paths["/api/projects/{project_id}/"]!["get"]!.parameters!.map(({ description }) => description),
  ).toEqual([expect.stringContaining("`@current`"), "Ours", undefined]);
});

test("shared refusals have the form of a problem, each with its code", () => {
  const { components } = completed({});
  const responses = components["responses"] as Record<
    string,
    { content: Record<string, { example: object }> }
  >;
  const codes = Object.values(responses).map(
    ({ content }) => (content["application/json"]!.example as { code: string }).code,
  );
  expect(codes.toSorted()).toEqual(
    "conflict not_authenticated not_found payload_too_large permission_denied required throttled unavailable".split(
      " ",
    ),
  );
});
