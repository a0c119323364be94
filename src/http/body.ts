// The body of a management request: received within a bound, read as its content type says, checked against the schema
// that the API's description shows. A field that the schema does not name is dropped, or refused by a strict one.

import type { TObject } from "typebox";
import { toBytes } from "../core/bytes.ts";
import { yieldToEventLoop } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { jsonIn } from "../core/json/dictionary.ts";
import { formFault, shapeFault } from "../core/json/json_shape.ts";
import { limits } from "../core/limits.ts";
import { toReason } from "../core/log.ts";
import { leaseFor, receiveSmall } from "../work/bodies/charged_request.ts";
import type { MemoryLease } from "../work/bodies/memory_budget.ts";
import { acceptsAny, checkFields, type Input, plainRule, type Purpose } from "./fields/field_check.ts";
import type { Rule } from "./fields/field_rule.ts";
import { httpLimits } from "./limits.ts";

/**
 * The fields of a body; no body at all is an empty object, whatever its content type.
 * @throws Fault parse_error, unsupported_media_type, payload_too_large, upload_timeout, or the first wrong field's.
 */
export async function readFields<Schema extends TObject, For extends Purpose = "make">(
  request: Request,
  schema: Schema,
  purpose?: For,
): Promise<Input<Schema, For>> {
  const lease = leaseFor(request);
  try {
    const bytes = await receive(request, lease);
    // Each turn of the event loop reads one of many long bodies that arrive at once.
    if (bytes.length > limits.parseAtOnceCharsMax) await yieldToEventLoop();
    const body = bytes.length === 0 ? {} : await readAs(request, schema as Rule, bytes);
    return checkFields(schema, body, purpose);
  } finally {
    lease.close();
  }
}

async function readAs(request: Request, rule: Rule, bytes: Uint8Array): Promise<unknown> {
  const type = request.headers.get("content-type") ?? "";
  switch (type.split(";", 1)[0]?.trim().toLowerCase()) {
    case "application/json":
      return asMember(rule, readJson(bytes));
    case "application/x-www-form-urlencoded":
      if (formFault(bytes)) throw new Fault("parse_error", `Form parse error - ${formFault(bytes)}`);
      return readFormFields(rule, new URLSearchParams(new TextDecoder().decode(bytes)));
    case "multipart/form-data":
      return readFormFields(rule, await readParts(bytes, type));
    default:
      throw new Fault("unsupported_media_type", `Unsupported media type "${type}" in request.`);
  }
}

/** A list where PostHog's body is one: it becomes the only member of the body. */
function asMember(rule: Rule, body: unknown): unknown {
  const [list] = Object.entries(rule.properties ?? {}).filter(([, field]) => field["x-list"]);
  return list && Array.isArray(body) ? { [list[0]]: body } : body;
}

function readJson(bytes: Uint8Array): unknown {
  const wrong = shapeFault(bytes);
  if (wrong) throw new Fault("parse_error", `JSON parse error - ${wrong}`);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (thrown) {
    const reason = thrown instanceof SyntaxError ? toReason(thrown) : "the body is not UTF-8";
    // The parser's own message begins with the same words.
    throw new Fault("parse_error", `JSON parse error - ${reason.replace(/^JSON Parse error: /i, "")}`);
  }
}

async function readParts(bytes: Uint8Array, type: string): Promise<URLSearchParams> {
  try {
    const form = await new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData();
    const fields = new URLSearchParams();
    // No resource takes a file.
    for (const [name, value] of form.entries()) if (typeof value === "string") fields.append(name, value);
    return fields;
  } catch {
    throw new Fault("parse_error", "Multipart form parse error - the body is not what its boundary says.");
  }
}

/**
 * The fields of a form as the object that JSON would have been: a repeated name is a list, an empty text is null, and
 * fields with members are JSON.
 */
export function readFormFields(rule: Rule, form: URLSearchParams): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(rule.properties ?? {})) {
    const values = form.getAll(name);
    const last = values.at(-1);
    if (last === undefined) continue;
    const { rule: plain, isNullable } = plainRule(field);
    if (last === "" && isNullable) fields[name] = null;
    else if (last === "" && field.default !== undefined) continue;
    else if (plain.type === "array") fields[name] = values;
    else fields[name] = plain.type === "object" || acceptsAny(plain) ? jsonOrText(last) : last;
  }
  if (rule.additionalProperties !== false) return fields;
  // Names that the schema does not have are refused with it.
  for (const [name, text] of form) if (!Object.hasOwn(rule.properties ?? {}, name)) fields[name] = text;
  return fields;
}

function jsonOrText(text: string): unknown {
  const wrong = shapeFault(toBytes(text));
  if (wrong) throw new Fault("parse_error", `JSON parse error - ${wrong}`);
  const value = jsonIn(text);
  return value === undefined ? text : value;
}

/** @throws Fault as receiveSmall(). */
async function receive(request: Request, lease: MemoryLease): Promise<Uint8Array> {
  const bytesMax = httpLimits.managementBodyBytesMax;
  return await receiveSmall(request, lease, bytesMax).catch((thrown: unknown) => {
    if (!(thrown instanceof Fault) || thrown.code !== "payload_too_large") throw thrown;
    throw new Fault("payload_too_large", `The body must not be larger than ${bytesMax} bytes.`);
  });
}
