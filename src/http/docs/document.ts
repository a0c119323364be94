// Common parts of the operations in the API's description: names, authentication, required scopes.

import { type JsonSchema, makeExample } from "./example.ts";
import { hoisted, type Models } from "./models.ts";
import { describeRefusal, problemModel, type Refusal, refusal, refusals } from "./refusals.ts";

export interface ApiDocument {
  openapi: string;
  info: { title: string; version: string; description?: string };
  servers?: { url: string }[];
  tags?: { name: string }[];
  /** Security of operations that set none themselves. */
  security?: Record<string, string[]>[];
  paths: Record<string, Record<string, ApiOperation>>;
  components: Record<string, Record<string, unknown>>;
}

export interface ApiOperation {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  deprecated?: boolean;
  /** Only where it differs from the document's. */
  security?: Record<string, string[]>[];
  "x-required-scopes"?: string[];
  parameters?: { name: string; in: string; schema?: JsonSchema; required?: boolean; description?: string }[];
  requestBody?: { content: Content; required?: boolean };
  responses: Record<string, ApiReply>;
}

export type Content = Record<string, { schema?: JsonSchema; example?: unknown }>;

type ApiReply = { $ref: string } | { description: string; content?: Content };

/** Completes the routes' descriptions into an OpenAPI 3.1 document; changes `document`. */
export function completeDocument(document: ApiDocument): ApiDocument {
  const models: Models = {};
  hoisted({ ...(JSON.parse(JSON.stringify(problemModel)) as JsonSchema), title: "Problem" }, models);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  for (const { method, path, operation } of operations) {
    completeOperation(method, path, operation);
    hoistModels(method, operation, models);
  }
  for (const media of operations.flatMap(({ operation }) => listMedia(operation)))
    if (media.schema && !("example" in media)) media.example = makeExample(media.schema, models);
  const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags ?? []))];
  const schemas = Object.entries(models).toSorted(([text], [otherText]) => (text < otherText ? -1 : 1));
  return {
    ...document,
    openapi: "3.1.0",
    info: { ...document.info, description },
    servers: [{ url: "/" }],
    tags: tags.map((name) => ({ name })),
    security: [{ personal_api_key: [] }],
    components: {
      securitySchemes: { personal_api_key: { type: "http", scheme: "bearer", description: bearer } },
      schemas: Object.fromEntries(schemas),
      responses: Object.fromEntries(
        Object.keys(refusals).map((status) => describeRefusal(Number(status) as Refusal)),
      ),
    },
  };
}

function completeOperation(method: string, path: string, operation: ApiOperation): void {
  operation.operationId = nameOperation(method, path, answersList(operation));
  for (const parameter of operation.parameters ?? []) {
    const text = parameter.in === "path" ? homes[parameter.name] : undefined;
    if (text !== undefined) parameter.description ??= text;
  }
  const required = operation.security?.[0]?.["personal_api_key"];
  if (required) describeScopes(path, operation, required);
}

function describeScopes(path: string, operation: ApiOperation, required: string[]): void {
  const named = required.map((scope) => `\`${scope}\``).join(", ");
  const requirement =
    named === "" ? "Any personal API key works." : `Scope${required.length > 1 ? "s" : ""}: ${named}.`;
  operation.description = [operation.description, requirement].filter(Boolean).join("\n\n");
  // The document states the authentication once.
  delete operation.security;
  operation["x-required-scopes"] = required;
  // 400: a parameter that is not described here is refused.
  const possible: Refusal[] = [400, 401, 403, 429, 503];
  if (path.includes("{")) possible.push(404);
  // A background query has an id, which the client may set.
  if (operation.responses["202"] && operation.requestBody) possible.push(409);
  for (const status of possible) operation.responses[status] ??= refusal(status);
}

const homes: Record<string, string> = {
  project_id: "A project's id, or `@current`: the one that the key's user chose last.",
  organization_id: "An organization's id, or `@current`: the one that the key's user chose last.",
};

function answersList({ responses }: ApiOperation): boolean {
  const { content } = (responses["200"] ?? {}) as { content?: Content };
  const { type, properties } = content?.["application/json"]?.schema ?? {};
  return type === "array" || properties?.["results"] !== undefined;
}

function hoistModels(method: string, operation: ApiOperation, models: Models): void {
  for (const media of Object.values(operation.requestBody?.content ?? {})) {
    media.example ??= makeExample(media.schema ?? {});
    if (media.schema) asRequest(method, media.schema);
  }
  for (const media of listMedia(operation)) if (media.schema) media.schema = hoisted(media.schema, models);
}

/**
 * Names a request's model by its method, and moves defaults into descriptions: generated clients would send default
 * values of fields that the user did not set, or require those fields.
 */
function asRequest(method: string, schema: JsonSchema): void {
  if (method === "patch" && schema.title !== undefined) {
    schema.title = `Patched${schema.title.replace(/Request$/, "")}`;
  }
  for (const field of Object.values(schema.properties ?? {})) {
    const { default: value, description } = field;
    delete field.default;
    if (value === undefined || value === null || method === "patch") continue;
    field.description = [description, `Default: \`${JSON.stringify(value)}\`.`].filter(Boolean).join(" ");
  }
}

function listMedia({ requestBody, responses }: ApiOperation): Content[string][] {
  const replies = Object.values(responses).map((reply) => ("content" in reply ? reply.content : undefined));
  return [requestBody?.content, ...replies].flatMap((content) => Object.values(content ?? {}));
}

const verbs: Record<string, string> = {
  post: "create",
  put: "update",
  patch: "partial_update",
  delete: "destroy",
};

/** PostHog's verbs that do not follow from the form of the answer, by the last word of the path. */
const reading: Record<string, string> = {
  activity: "retrieve",
  logs: "retrieve",
  values: "retrieve",
  property_definitions: "retrieve",
  sharing: "list",
};

/**
 * For example `batch_exports_runs_list` for GET /api/projects/{project_id}/batch_exports/{id}/runs/. Ids of paths
 * elsewhere begin with their home: `environments_batch_exports_runs_list`.
 * @param isList whether the answer is a list.
 */
function nameOperation(method: string, path: string, isList: boolean): string {
  const words = path
    .split("/")
    .filter((word) => word !== "" && word !== "api" && !word.startsWith("{"))
    .map((word) => word.replace(/\W/g, ""));
  const last = words.at(-1) ?? "";
  // PostHog's name of the activity of all, beside that of one.
  if (last === "activity" && !path.endsWith("}/activity/")) words.splice(-1, 1, "all", last);
  // The view of one insight, beside those of several, which keep PostHog's name.
  if (method === "post" && path.endsWith("}/viewed/")) words.splice(-1, 1, "one", last);
  // An action on a project itself keeps its name.
  if (words[0] === "projects" && words.length > 1 && words[1] !== "reset_token") words.shift();
  const isOwn = words.filter((word) => word !== "environments").length === 1;
  const verb = (isOwn ? undefined : reading[last]) ?? (isList ? "list" : "retrieve");
  return [...words, method === "get" ? verb : (verbs[method] ?? method)].join("_");
}

const bearer =
  "A personal API key (`phx_…`) in `Authorization: Bearer`. Each operation names the scope that it requires.";

const description = `Send events to \`/capture/\` or \`/batch/\`, with a project API key in the body. Everything below
\`/api\` requires a personal API key in \`Authorization: Bearer\`, limited by its scopes.

A trailing slash makes no difference. \`@current\` is the key owner's own project or organization.
\`/api/environments/{project_id}/…\` is the same as \`/api/projects/{project_id}/…\`. Lists take \`limit\` and
\`offset\` and answer \`count\`, \`next\`, \`previous\` and \`results\`.`;
