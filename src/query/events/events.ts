// Answers an EventsQuery: single events, as rows of the selected columns.

import { Fault } from "../../core/fault.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import { dayStartIn, parseDate, nowOf, type DateSpan } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { filtersOf } from "../parts/series.ts";
import type { QueryAnswer, QueryContext } from "../store.ts";
import { type Column, columnsOf, type EventRow, isNewestFirst, parseEvent } from "./columns.ts";
import { expressionRows } from "./expressions.ts";
import { eventsModel, type EventsQuery } from "./model.ts";
import { eventRows } from "./store.ts";

export const eventsKind = queryKind({
  schema: eventsModel,
  result: "table",
  check,
  title: ({ query }) => (query.event ? `${query.event} events` : "Events"),
  answer,
});

function check(query: EventsQuery, attr: string) {
  const filters = filtersOf(query, attr);
  const newestFirst = isNewestFirst(query.orderBy);
  const columns = columnsOf(query.select);
  const isPlain = !query.where?.length && !query.events?.length && !query.personId;
  const plain = isPlain && columns && newestFirst !== undefined ? { columns, newestFirst } : undefined;
  return { attr, query, filters, plain };
}

/** @throws Fault when it is too heavy, or its events are too large for one page. */
async function answer(
  context: QueryContext,
  checked: ReturnType<typeof check>,
): Promise<QueryAnswer<unknown[]>> {
  const { query, attr, plain, filters } = checked;
  const span = spanBetween(context, query, attr);
  const limit = query.limit ?? limits.pageDefault;
  const offset = query.offset ?? 0;
  if (!plain) return await expressionRows(context, checked, span, { limit, offset });
  const { columns, newestFirst } = plain;
  const rows = await eventRows(context, { query, filters, newestFirst }, span, { limit, offset });
  return {
    span,
    results: await cellsOf(rows.slice(0, limit), columns),
    table: {
      columns: query.select,
      types: columns.map(({ type }) => type),
      hasMore: rows.length > limit,
      limit,
      offset,
    },
  };
}

/** The columns of every event. It yields to other requests after every replySliceBytes of properties. */
async function cellsOf(rows: readonly EventRow[], columns: readonly Column[]): Promise<unknown[][]> {
  const cells: unknown[][] = [];
  let length = 0;
  for (const row of rows) {
    const event = parseEvent(row);
    cells.push(columns.map(({ of }) => of(event)));
    length += row.properties.length;
    if (length < limits.replySliceBytes) continue;
    length = 0;
    await yieldToEventLoop();
  }
  return cells;
}

/** `after` and `before` are exclusive; without them the last 24 hours. */
function spanBetween(context: QueryContext, query: EventsQuery, attr: string): DateSpan {
  const now = nowOf(context);
  const read = (name: "after" | "before") => {
    const text = query[name];
    if (!text || (name === "after" && text === "all")) return undefined;
    const at = parseDate(text, now, "start");
    if (at) return at;
    const detail = "A date is needed, like 2024-01-31, 2024-01-31T12:00:00Z or -7d.";
    throw new Fault("invalid_input", detail, { attr: `${attr}__${name}` });
  };
  const first = query.after === "all" ? dayStartIn(context.timezone) : now.subtract({ hours: 24 });
  const from = read("after")?.add({ microseconds: 1 }) ?? first;
  return { from, to: read("before") ?? now.add({ days: 1 }) };
}
