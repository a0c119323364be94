// Answers an EventsQuery: single events, as rows of the selected columns.

import { limits } from "../../core/limits.ts";
import { choice, flag, strictModel, text } from "../../http/fields/field.ts";
import { expressionsIn } from "../../storage/events/property_filter.ts";
import { mapInSlices } from "../../work/slices.ts";
import { spanBetween } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { queryLimits } from "../limits.ts";
import { readExpressions, timedRows } from "../parts/expressions.ts";
import { readNodeFilters } from "../parts/figure.ts";
import { readSelect } from "../parts/made_columns.ts";
import * as part from "../parts/model.ts";
import { type EventRow, isNewestFirst, parseEvent, readColumns } from "./columns.ts";
import { eventList } from "./page.ts";
import { eventRows } from "./store.ts";

export const eventsKind = queryKind({
  schema: strictModel("EventsQuery", {
    kind: choice(["EventsQuery"]),
    ...part.timedListFields,
    event: part.maybe(text({ blank: true })),
    events: part.maybe(part.list(text(), { maxItems: queryLimits.eventNamesMax })),
    actionId: part.unanswered("An action"),
    source: part.unanswered("A query inside of this one"),
    properties: part.anything(),
    fixedProperties: part.anything(),
    filterTestAccounts: part.maybe(flag()),
  }),
  result: "table",
  check: (sent, attr) => {
    const query = { ...sent, select: readSelect(sent) };
    const filters = readNodeFilters(query, attr);
    const newestFirst = isNewestFirst(query.orderBy);
    const columns = readColumns(query.select);
    const isPlain = !query.where?.length && !query.events?.length && !query.personId;
    const plain = isPlain && columns && newestFirst !== undefined ? { columns, newestFirst } : undefined;
    return { attr, query, filters, plain };
  },
  title: ({ query }) => (query.event ? `${query.event} events` : "Events"),
  /** @throws Fault when it is too heavy, or its events are too large for one page. */
  answer: async (context, checked) => {
    const { query, attr, plain, filters } = checked;
    const event = query.event || undefined;
    if (!plain || expressionsIn(filters).length > 0) {
      const { personId } = query;
      const events = query.events?.length ? [...query.events, ...(event ? [event] : [])] : undefined;
      const values = events ? { events, personId } : { event, personId };
      return await timedRows(context, checked, { ...eventList, values });
    }
    const span = spanBetween(context, query, attr);
    const limit = query.limit ?? limits.pageDefault;
    const offset = query.offset ?? 0;
    const { columns, newestFirst } = plain;
    const cells = (row: EventRow): unknown[] => {
      const parsed = parseEvent(row);
      return columns.map(({ of }) => of(parsed));
    };
    const rows = await eventRows(context, { event, filters }, span, { limit, offset, newestFirst });
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
  read: (reader, checked) => readExpressions(reader, checked),
});
