// A list of events in expressions of SQL.

import type { Page } from "../../http/pages/page.ts";
import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import { clickhouseTime, type DateSpan } from "../date_range.ts";
import { displayNameText, expressionRows, type MadeColumn, parsedProperties } from "../parts/expressions.ts";
import type { QueryAnswer, QueryContext } from "../store.ts";
import type { EventsQuery } from "./model.ts";

/** Columns of lists of events that are no SQL. */
export const madeColumns: Readonly<Record<string, MadeColumn>> = {
  "*": {
    reads: ["uuid", "event", "properties", "timestamp", "distinct_id", "person_id"],
    cell: (uuid, event, properties, timestamp, distinct_id, person_id) => ({
      uuid,
      event,
      properties: parsedProperties(properties),
      timestamp,
      distinct_id,
      person_id,
    }),
  },
  person: {
    reads: ["person_id", "person.created_at", "person.properties", "distinct_id"],
    cell: (uuid, created_at, properties, distinct_id) => ({
      uuid,
      created_at,
      properties: parsedProperties(properties),
      distinct_id,
    }),
  },
  person_display_name: {
    reads: [displayNameText("person.properties", "distinct_id"), "person_id", "distinct_id"],
    cell: (display_name, id, distinct_id) => ({ display_name, id, distinct_id }),
  },
};

/** No two events have both in common. */
export const eventOrder = ["timestamp", "uuid"];

/** @throws Fault, as expressionRows. */
export async function eventExpressionRows(
  context: QueryContext,
  { query, attr, filters }: { attr: string; query: EventsQuery; filters: readonly PropertyFilter[] },
  span: DateSpan,
  page: Page,
): Promise<QueryAnswer<unknown[]>> {
  const { select, event, events, personId, where, orderBy } = query;
  const conditions = [
    ...(event ? [["event = {event}", "event"] as const] : []),
    ...(events?.length ? [["event in {events}", "events"] as const] : []),
    ...(personId ? [["person_id = {personId}", "personId"] as const] : []),
    ...(where ?? []).map((text, i) => [text, `where__${i}`] as const),
  ];
  const [from, to] = [clickhouseTime(span.from), clickhouseTime(span.to)];
  const list = { attr, table: "events", made: madeColumns, select, conditions, orderBy };
  const inputs = { values: { event, events, personId }, filters: { from, to, properties: filters } };
  return {
    span,
    ...(await expressionRows(context, { ...list, ...inputs, usualOrder: eventOrder }, page)),
  };
}
