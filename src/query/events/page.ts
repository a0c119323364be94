// Lists of events in expressions of SQL, and the API's: conditions, order and columns. Its problems are named by its
// parameters.

import { Fault } from "../../core/fault.ts";
import type { Page } from "../../http/pages/page.ts";
import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import { type EventKey, keyDay } from "../../storage/events/stored_properties.ts";
import { type ExpressionList, expressionRows } from "../parts/expressions.ts";
import { displayNameText, objectColumn } from "../parts/made_columns.ts";
import type { QueryAnswer, QueryContext } from "../store.ts";

/** Absent fields do not filter. */
export interface ListedEvents {
  /** Expressions that must all hold. */
  where: readonly string[];
  /** Expressions, each with a direction after it or "-" before it; by default the newest first. */
  orderBy: readonly string[];
  event?: string | undefined;
  distinct_id?: string | undefined;
  person_id?: string | undefined;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, both exclusive. */
  after?: string | undefined;
  before?: string | undefined;
  properties: readonly PropertyFilter[];
}

/** Parts that all lists of events have in common. */
export const eventList = {
  table: "events",
  made: {
    "*": objectColumn(["uuid", "event", "properties", "timestamp", "distinct_id", "person_id"]),
    person: objectColumn({
      uuid: "person_id",
      created_at: "person.created_at",
      properties: "person.properties",
      distinct_id: "distinct_id",
    }),
    person_display_name: objectColumn({
      display_name: displayNameText("person.properties", "distinct_id"),
      id: "person_id",
      distinct_id: "distinct_id",
    }),
  },
  compared: {
    event: "event = {event}",
    events: "event in {events}",
    distinct_id: "distinct_id = {distinct_id}",
    personId: "person_id = {personId}",
    person_id: "person_id = {person_id}",
    after: "timestamp > {after}",
    before: "timestamp < {before}",
  },
  /** No two events have both in common. */
  usualOrder: ["timestamp", "uuid"],
};

const keyParts = [
  "uuid",
  "event",
  "toString(cityHash64(distinct_id))",
  "toString(toUnixTimestamp64Micro(timestamp))",
  "toString(toUnixTimestamp64Micro(created_at))",
];

/**
 * Keys of the events of a page in their order, and the number of all events.
 * @throws Fault for what is wrong in an expression, named by its parameter, and for a scope that the key lacks.
 */
export async function findEventKeys(context: QueryContext, filter: ListedEvents, page: Page) {
  return await named(filter.where.length > 0 ? "where" : "orderBy", async () => {
    const counted = buildList({ ...filter, orderBy: [] }, ["count()"]);
    const [[count] = []] = (await expressionRows(context, counted, { limit: 1, offset: 0 })).results;
    const { results } = await expressionRows(context, buildList(filter, keyParts), page);
    const keys = results.map(([uuid, event, id_hash, at, arrived]) => {
      return { day: keyDay(BigInt(String(at))), event, id_hash, uuid, arrived } as EventKey;
    });
    return { count: Number(count), keys };
  });
}

/** The columns of a page of events, or of groups of them where one is an aggregate. @throws as findEventKeys. */
export async function eventColumnRows(
  context: QueryContext,
  filter: ListedEvents & { select: readonly string[] },
  page: Page,
): Promise<QueryAnswer<unknown[]>> {
  return await named("select", () => expressionRows(context, buildList(filter, filter.select), page));
}

function buildList(filter: ListedEvents, select: readonly string[]): ExpressionList {
  const { where, orderBy, after, before, properties } = filter;
  return {
    ...eventList,
    attr,
    select,
    where,
    values: { ...filter, after: isoMoment(after), before: isoMoment(before) },
    // On a line of its own: a comment at the end of the expression cannot hide it.
    orderBy: orderBy.map((text) => (text.startsWith("-") ? `${text.slice(1)}\nDESC` : text)),
    filters: { properties },
  };
}

const attr = "query";

/** @param whole the parameter that made a query of it. */
async function named<Value>(whole: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof Fault) || !thrown.attr?.startsWith(attr)) throw thrown;
    const ownAttr = thrown.attr === attr ? whole : thrown.attr.slice(attr.length + 2);
    throw new Fault(thrown.code, thrown.detail, { attr: ownAttr });
  }
}

function isoMoment(stored: string | undefined): string | undefined {
  return stored && `${stored.replace(" ", "T")}Z`;
}
