// Answers an EventsQuery: single events, as rows of the selected columns.

import { Fault } from "../../core/fault.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import type { QueryAnswer, QueryContext } from "../answer.ts";
import type { CheckedEvents } from "../checked.ts";
import { parseDate, nowOf, dateSpanOf, type DateSpan } from "../date_range.ts";
import { type Column, type EventRow, parseEvent } from "./columns.ts";
import { eventRows } from "./store.ts";

/** @throws Fault when it is too heavy, or its events are too large for one page. */
export async function answerEvents(context: QueryContext, checked: CheckedEvents): Promise<QueryAnswer> {
  const { query, attr, filters, columns, newestFirst } = checked;
  const span = spanBetween(context, query, attr);
  const limit = query.limit ?? limits.pageDefault;
  const offset = query.offset ?? 0;
  const event = query.event || undefined;
  const rows = await eventRows({ ...context, event, filters, span, newestFirst, limit, offset });
  return {
    kind: "EventsQuery",
    interval: undefined,
    span,
    results: await cellsOf(rows.slice(0, limit), columns),
    columns: query.select,
    types: columns.map(({ type }) => type),
    hasMore: rows.length > limit,
    limit,
    offset,
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
function spanBetween(
  { now, timezone }: QueryContext,
  { after, before }: CheckedEvents["query"],
  attr: string,
): DateSpan {
  const at = nowOf({ now, timezone });
  const wrong = (name: string) =>
    new Fault("invalid_input", "A date is needed, like 2024-01-31, 2024-01-31T12:00:00Z or -7d.", {
      attr: `${attr}__${name}`,
    });
  const from = after && after !== "all" ? parseDate(after, at, "start") : undefined;
  if (after && after !== "all" && !from) throw wrong("after");
  const to = before ? parseDate(before, at, "start") : undefined;
  if (before && !to) throw wrong("before");
  const fallback = after === "all" ? undefined : at.subtract({ hours: 24 });
  const whole = dateSpanOf({ date_from: "1970-01-03", date_to: "2099-12-31" }, { now, timezone }, { attr });
  return { from: from?.add({ microseconds: 1 }) ?? fallback ?? whole.from, to: to ?? at.add({ days: 1 }) };
}
