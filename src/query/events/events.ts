// Answers an EventsQuery: single events, as rows of the selected columns.

import { limits } from "../../core/limits.ts";
import { expressionsIn } from "../../storage/events/property_filter.ts";
import { mapInSlices } from "../../work/slices.ts";
import { spanBetween } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { readExpressions } from "../parts/expressions.ts";
import { readNodeFilters } from "../parts/figure.ts";
import { type EventRow, isNewestFirst, parseEvent, readColumns } from "./columns.ts";
import { eventExpressionRows } from "./expressions.ts";
import { eventsModel, type EventsQuery } from "./model.ts";
import { eventRows } from "./store.ts";

export const eventsKind = queryKind({
  schema: eventsModel,
  result: "table",
  check,
  title: ({ query }) => (query.event ? `${query.event} events` : "Events"),
  /** @throws Fault when it is too heavy, or its events are too large for one page. */
  answer: async (context, checked) => {
    const { query, attr, plain, filters } = checked;
    const span = spanBetween(context, query, attr);
    const limit = query.limit ?? limits.pageDefault;
    const offset = query.offset ?? 0;
    if (!plain || expressionsIn(filters).length > 0)
      return await eventExpressionRows(context, checked, span, { limit, offset });
    const { columns, newestFirst } = plain;
    const cells = (row: EventRow): unknown[] => {
      const event = parseEvent(row);
      return columns.map(({ of }) => of(event));
    };
    const rows = await eventRows(context, { query, filters, newestFirst }, span, { limit, offset });
    return {
      span,
      results: await mapInSlices(rows.slice(0, limit), cells, ({ properties }) => properties.length),
      table: {
        columns: query.select,
        types: columns.map(({ type }) => type),
        hasMore: rows.length > limit,
        limit,
        offset,
      },
    };
  },
  read: readExpressions,
});

function check(query: EventsQuery, attr: string) {
  const filters = readNodeFilters(query, attr);
  const newestFirst = isNewestFirst(query.orderBy);
  const columns = readColumns(query.select);
  const isPlain = !query.where?.length && !query.events?.length && !query.personId;
  const plain = isPlain && columns && newestFirst !== undefined ? { columns, newestFirst } : undefined;
  return { attr, query, filters, plain };
}
