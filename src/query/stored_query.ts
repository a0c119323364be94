// A query as an insight keeps it.

import { checkFields } from "../http/fields/field_check.ts";
import { eventsModel, funnelsModel, retentionModel, trendsModel, wrapperModels } from "./model.ts";

const models = new Map<unknown, Parameters<typeof checkFields>[0]>(
  Object.entries({
    TrendsQuery: trendsModel,
    FunnelsQuery: funnelsModel,
    RetentionQuery: retentionModel,
    EventsQuery: eventsModel,
    ...wrapperModels,
  }),
);

/**
 * The query as it was sent, with each value as its check reads it: a number that was sent as text is a number, as the
 * API's description says. Nothing is added or left out, so that whoever compares finds what they sent.
 * @param query one that was checked.
 */
export function storedQuery(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { source, ...own } = query;
  const model = models.get(query["kind"]);
  const read = model ? asRead(own, checkFields({ ...model, required: ["kind"] }, own, "change")) : own;
  return {
    ...(read as object),
    ...(source !== undefined && { source: storedQuery(source as typeof query) }),
  };
}

function asRead(sent: unknown, read: unknown): unknown {
  if (Array.isArray(sent) && Array.isArray(read)) return sent.map((one, i) => asRead(one, read[i]));
  if (!isObject(sent) || !isObject(read)) return read;
  const members = Object.entries(sent).map(([name, value]) => [
    name,
    Object.hasOwn(read, name) ? asRead(value, read[name]) : value,
  ]);
  return Object.fromEntries(members) as unknown;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
