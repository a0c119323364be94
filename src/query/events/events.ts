// An EventsQuery: single events, as rows of the columns asked for. Never holds SQL, and takes none.

import { Fault } from "../../core/fault.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import type { QueryAnswer, QueryContext } from "../answer.ts";
import type { CheckedEvents } from "../checked.ts";
import { momentOf, nowOf, dateSpanOf, type DateSpan } from "../date_range.ts";
import { type Column, type EventRow, readEvent } from "./columns.ts";
import { eventRows } from "./store.ts";

/** @throws Fault where it is too heavy. */
export async function answerEvents(asking: QueryContext, checked: CheckedEvents): Promise<QueryAnswer> {
  const { query, attr, filters, columns, newestFirst } = checked;
  const span = spanBetween(asking, query, attr);
  const { limit: asked, offset: skipped } = query;
  const limit = asked ?? limits.pageDefault;
  const offset = skipped ?? 0;
  const { project_id, now, timezone } = asking;
  const event = query.event || undefined;
  const rows = await eventRows(asking.ask, {
    project_id,
    now,
    timezone,
    event,
    filters,
    span,
    newestFirst,
    limit,
    offset,
  });
  return {
    kind: "EventsQuery",
    interval: undefined,
    span,
    results: await shownOf(rows.slice(0, limit), columns),
    columns: query.select,
    types: columns.map(({ type }) => type),
    hasMore: rows.length > limit,
    limit,
    offset,
  };
}

/** The columns of every event; other requests get their turn between slices of what is read. */
async function shownOf(rows: readonly EventRow[], columns: readonly Column[]): Promise<unknown[][]> {
  const shown: unknown[][] = [];
  let length = 0;
  for (const row of rows) {
    const event = readEvent(row);
    shown.push(columns.map(({ of }) => of(event)));
    length += row.properties.length;
    if (length < limits.replySliceBytes) continue;
    length = 0;
    await yieldToEventLoop();
  }
  return shown;
}

/** Both ends are exclusive where they are moments; the last 24 hours unless told. */
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
  const from = after && after !== "all" ? momentOf(after, at, "start") : undefined;
  if (after && after !== "all" && !from) throw wrong("after");
  const to = before ? momentOf(before, at, "start") : undefined;
  if (before && !to) throw wrong("before");
  const usual = after === "all" ? undefined : at.subtract({ hours: 24 });
  const whole = dateSpanOf({ date_from: "1970-01-03", date_to: "2099-12-31" }, { now, timezone }, { attr });
  return { from: from?.add({ microseconds: 1 }) ?? usual ?? whole.from, to: to ?? at.add({ days: 1 }) };
}
