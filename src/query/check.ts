// Checks a client's query by its kind, alone or within a node that shows it, and returns the form that insights store.

import { refuseInput } from "../core/fault.ts";
import { isDictionary } from "../core/json/dictionary.ts";
import { checkFields } from "../http/fields/field_check.ts";
import { checkKindFields, type Fields, queryFields, type QuerySchema, type ReadyQuery } from "./kind.ts";
import { queryKinds } from "./kinds.ts";
import { wrapperModels } from "./model.ts";

const wrappers: Readonly<Record<string, QuerySchema>> = wrapperModels;

/** A query with what is known of it before it runs. */
export interface KnownQuery extends ReadyQuery {
  kind: string;
}

/**
 * @param attr the name of the query in a fault; its fields are named below it.
 * @throws Fault for the first thing that is wrong or not supported.
 */
export function checkQuery(query: unknown, attr = "query"): KnownQuery {
  const value = queryFields(query, attr);
  const { kind } = value;
  const wrapper = attr.endsWith("__source") ? undefined : memberNamed(wrappers, kind);
  if (wrapper) {
    const { source, ...fields } = value;
    // The source is checked as a query, not by the wrapper's schema.
    checkKindFields(withoutRequired(wrapper), fields, attr);
    return checkQuery(source, `${attr}__source`);
  }
  const queryKind = memberNamed(queryKinds, kind);
  if (queryKind) return { kind: kind as string, ...queryKind.check(value, attr) };
  if (kind === undefined) refuseInput("This field is required.", `${attr}__kind`, "required");
  return refuseKind(kind, `${attr}__kind`);
}

/**
 * Not a validation error: clients show only the code of those, but the sentence of others.
 * @throws Fault not_supported always.
 */
function refuseKind(kind: unknown, attr: string): never {
  const text = (typeof kind === "string" ? kind : JSON.stringify(kind)).slice(0, 100);
  const wrapperKinds = Object.keys(wrappers).join(" and ");
  const answered = `${Object.keys(queryKinds).join(", ")}, and ${wrapperKinds} around them.`;
  const detail = `"${text}" is not answered by this server. Kinds of queries that are: ${answered}`;
  refuseInput(detail, attr, "not_supported");
}

/**
 * The query as it was sent, with each value as its check reads it: a number that was sent as text is a number, as the
 * API's description says. Nothing is added or left out, so that a client finds what it sent.
 * @param query one that was checked.
 */
export function storedQuery(query: Readonly<Fields>): Fields {
  const wrapper = memberNamed(wrappers, query["kind"]);
  const schema = wrapper ?? memberNamed(queryKinds, query["kind"])?.schema;
  // Some kinds have a `source` field of their own, which is refused where it has a meaning.
  const { source, ...rest } = query;
  const fields = wrapper ? rest : query;
  const read = schema ? asRead(fields, checkFields(withoutRequired(schema), fields, "change")) : fields;
  return {
    ...(read as object),
    ...(wrapper && { source: storedQuery(source as typeof query) }),
  };
}

function asRead(sent: unknown, read: unknown): unknown {
  if (Array.isArray(sent) && Array.isArray(read)) return sent.map((item, i) => asRead(item, read[i]));
  if (!isDictionary(sent) || !isDictionary(read)) return read;
  const members = Object.entries(sent).map(([name, value]) => [
    name,
    Object.hasOwn(read, name) ? asRead(value, read[name]) : value,
  ]);
  return Object.fromEntries(members) as unknown;
}

/** The schema of a query without its source. */
function withoutRequired(schema: QuerySchema): QuerySchema {
  return { ...schema, required: ["kind"] };
}

function memberNamed<Value>(list: Readonly<Record<string, Value>>, kind: unknown): Value | undefined {
  return typeof kind === "string" && Object.hasOwn(list, kind) ? list[kind] : undefined;
}
