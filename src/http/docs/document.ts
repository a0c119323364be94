// What every operation of the API's description shares: how a key is sent, how a refusal looks, which scope
// is
// asked for. Never invents an operation, a summary or a schema of a room.

import Type from "typebox";
import { type JsonSchema, sampleOf } from "./sample.ts";
import { pageParameters } from "../fields/schema.ts";

export interface ApiDocument {
  openapi: string;
  info: { title: string; version: string; description?: string };
  servers?: { url: string }[];
  tags?: { name: string }[];
  paths: Record<string, Record<string, ApiOperation>>;
  components: Record<string, Record<string, unknown>>;
}

export interface ApiOperation {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  deprecated?: boolean;
  security?: Record<string, string[]>[];
  parameters?: { name: string; in: string; schema?: JsonSchema; required?: boolean; description?: string }[];
  requestBody?: { content: Content; required?: boolean };
  responses: Record<string, ApiReply>;
}

export type Content = Record<string, { schema?: JsonSchema; example?: unknown }>;

export type ApiReply = { $ref: string } | { description: string; content?: Content };

/** How every refusal looks. */
const problemModel = Type.Object({
  type: Type.String(),
  code: Type.String({ description: "For programs." }),
  detail: Type.String({ description: "For people." }),
  attr: Type.Union([Type.String(), Type.Null()], {
    description: "The field at fault; nested names join with `__`.",
  }),
});

/** Replies that operations name by reference, by status: name, when, and `type code detail` of an example. */
const refusals = {
  400: [
    "BadRequest",
    "The request says something wrong; `attr` names the field.",
    "validation_error required",
  ],
  401: ["Unauthenticated", "No API key, or one nobody has.", "authentication_error not_authenticated"],
  403: [
    "Forbidden",
    "The key lacks the scope, or its user may not.",
    "authentication_error permission_denied",
  ],
  404: ["NotFound", "There is no such thing, or not for this key.", "invalid_request not_found"],
  413: [
    "TooLarge",
    "The body is as large as BODY_BYTES_MAX, or larger.",
    "invalid_request payload_too_large",
  ],
  429: ["Throttled", "Too many requests; `Retry-After` says when to come back.", "throttled_error throttled"],
  503: ["Unavailable", "Not now; `Retry-After` says when to come back.", "server_error unavailable"],
} as const;

/** What a person reads in the examples of these. */
const details: Record<string, string> = {
  required: "This field is required.",
  not_authenticated: "Authentication credentials were not provided.",
  permission_denied: "API key missing required scope 'project:read'",
  not_found: "Not found.",
  payload_too_large: "The body is larger than it may be.",
  throttled: "Request was throttled. Expected available in 43 seconds.",
  unavailable: "The account store cannot be reached. Please retry.",
};

type Refusal = keyof typeof refusals;

/** One entry of an operation's `responses`: a refusal, said in one place. */
export function refusal(status: Refusal): { $ref: string } {
  return { $ref: `#/components/responses/${refusals[status][0]}` };
}

/**
 * Completes what the routes said of themselves into a whole OpenAPI 3.1 document. Changes what it is given.
 */
export function completeDocument(document: ApiDocument): ApiDocument {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, operation })),
  );
  for (const { path, operation } of operations) completeOperation(path, operation);
  const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags ?? []))];
  return {
    ...document,
    openapi: "3.1.0",
    info: { ...document.info, description },
    servers: [{ url: "/" }],
    tags: tags.map((name) => ({ name })),
    components: {
      securitySchemes: { personal_api_key: { type: "http", scheme: "bearer", description: bearer } },
      schemas: { Problem: JSON.parse(JSON.stringify(problemModel)) as JsonSchema },
      responses: Object.fromEntries(Object.values(refusals).map((one) => [one[0], problem(one)])),
    },
  };
}

function problem([, text, types]: readonly [string, string, string]): ApiReply {
  const [type, code = ""] = types.split(" ");
  const schema = { $ref: "#/components/schemas/Problem" };
  const example = { type, code, detail: details[code], attr: code === "required" ? "name" : null };
  return { description: text, content: { "application/json": { schema, example } } };
}

function completeOperation(path: string, operation: ApiOperation): void {
  if (isList(operation)) {
    const told = new Set(operation.parameters?.map(({ name }) => name));
    const rest = pageParameters("Rows").filter(({ name }) => !told.has(name));
    operation.parameters = [...(operation.parameters ?? []), ...rest];
  }
  const required = operation.security?.[0]?.["personal_api_key"];
  if (required) {
    const named = required.map((scope) => `\`${scope}\``).join(", ");
    const asked =
      named === "" ? "Any personal API key will do." : `Scope${required.length > 1 ? "s" : ""}: ${named}.`;
    operation.description = [operation.description, asked].filter(Boolean).join("\n\n");
    const possible: Refusal[] = [401, 403, 429, 503];
    if (path.includes("{")) possible.push(404);
    if (operation.requestBody || operation.parameters?.some(isWanting)) possible.push(400);
    for (const status of possible) operation.responses[status] ??= refusal(status);
  }
  for (const content of contentsOf(operation)) {
    for (const media of Object.values(content)) {
      if (media.schema && !("example" in media)) media.example = sampleOf(media.schema);
    }
  }
}

/** Whether the parameter can be wrong. */
function isWanting({ in: place }: { in: string }): boolean {
  return place === "query";
}

function isList({ responses }: ApiOperation): boolean {
  const reply = responses["200"];
  const content = reply && "content" in reply ? reply.content : undefined;
  const { properties } = content?.["application/json"]?.schema ?? {};
  // Lists without a count are followed by their links.
  return properties?.["next"] !== undefined && properties["count"] !== undefined;
}

function contentsOf({ requestBody, responses }: ApiOperation): Content[] {
  const replies = Object.values(responses).map((reply) => ("content" in reply ? reply.content : undefined));
  return [requestBody?.content, ...replies].filter((content) => content !== undefined);
}

const bearer =
  "A personal API key (`phx_…`) in `Authorization: Bearer`. What each operation requires of it is its scope.";

const description = `Events come in through \`/capture/\` and \`/batch/\`, with a project API key in the body.
Everything below \`/api\` takes a personal API key in \`Authorization: Bearer\`; the key's scopes say what it may do.

A trailing slash makes no difference. \`@current\` stands for the key owner's own project or organization.
\`/api/environments/{project_id}/…\` is the same as \`/api/projects/{project_id}/…\`. Lists take \`limit\` and
\`offset\` and answer \`count\`, \`next\`, \`previous\` and \`results\`.`;
