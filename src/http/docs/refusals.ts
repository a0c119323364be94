// Refusals in the API's description: by status, each with an example.

import Type from "typebox";
import type { FaultCode } from "../../core/fault.ts";
import { problems } from "../problem.ts";
import { modelNamed } from "./models.ts";

export const problemModel = Type.Object({
  type: Type.String(),
  code: Type.String({ description: "For programs." }),
  detail: Type.String({ description: "For people." }),
  attr: Type.Union([Type.String(), Type.Null()], {
    description: "The field at fault; nested names join with `__`.",
  }),
});

/** Shared replies by status: name and description. */
export const refusals = {
  400: ["BadRequest", "The request is invalid; `attr` names the field."],
  401: ["Unauthenticated", "No API key, or an unknown one."],
  403: ["Forbidden", "The key lacks the scope, or its user the level."],
  404: ["NotFound", "It does not exist, or the key has no access to it."],
  409: ["Conflict", "The client's id belongs to another request, or the query was cancelled by it."],
  413: ["TooLarge", "The body is as large as BODY_BYTES_MAX, or larger."],
  429: ["Throttled", "Too many requests; retry after `Retry-After` seconds."],
  503: ["Unavailable", "Temporarily unavailable; retry after `Retry-After` seconds."],
} as const;

/** Code and detail of the example of each. */
const refusalExamples: Readonly<Record<Refusal, readonly [code: FaultCode, detail: string]>> = {
  400: ["required", "This field is required."],
  401: ["not_authenticated", "Authentication credentials were not provided."],
  403: ["permission_denied", "API key missing required scope 'project:read'"],
  404: ["not_found", "Not found."],
  409: ["conflict", "Another query with this id is running: cancel it, or use another id."],
  413: ["payload_too_large", "The body is too large."],
  429: ["throttled", "Request was throttled. Expected available in 43 seconds."],
  503: ["unavailable", "The account store cannot be reached. Please retry."],
};

export type Refusal = keyof typeof refusals;

export function refusal(status: Refusal): { $ref: string } {
  return { $ref: `#/components/responses/${refusals[status][0]}` };
}

/** The name and the reply that `refusal` refers to. */
export function describeRefusal(status: Refusal) {
  const [[name, text], [code, detail]] = [refusals[status], refusalExamples[status]];
  const example = { type: problems[code].type, code, detail, attr: code === "required" ? "name" : null };
  const content = { "application/json": { schema: modelNamed("Problem"), example } };
  return [name, { description: text, content }] as const;
}
