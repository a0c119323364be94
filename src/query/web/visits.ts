// What both queries about a site read: visits. A visit is a session that began in the span and has a page view or a
// screen in it. They are asked for in SQL, as PostHog does.

import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import { asStored, clickhouseTime, type DateSpan } from "../date_range.ts";
import { runTree, sqlFault, type SqlRows } from "../hogql/run.ts";
import { type QueryContext, spanOf } from "../store.ts";
import type { WebOverviewQuery, WebStatsTableQuery } from "./model.ts";

/** As the check of these kinds gives it. */
export interface VisitScope<Query = WebOverviewQuery | WebStatsTableQuery> {
  attr: string;
  query: Query;
  filters: readonly PropertyFilter[];
}

/** The span of a query and the one of the same length before it, where it compares. */
export interface VisitSpans {
  span: DateSpan;
  before: DateSpan | undefined;
}

export async function visitSpans(context: QueryContext, scope: VisitScope): Promise<VisitSpans> {
  const span = await spanOf(context, scope);
  const { compare, compareFilter } = scope.query;
  if (compare !== true && compareFilter?.compare !== true) return { span, before: undefined };
  const days = span.from.until(span.to, { largestUnit: "days" });
  return { span, before: { from: asStored(span.from.subtract(days)), to: span.from } };
}

/** A visit: `person`, `start`, `views`, `duration`, `bounced`, `entry`; with `value`, a row for each value of it. */
export function visitsText(value?: string): string {
  return `(
    select any(person_id) as person, min(session.$start_timestamp) as start, count() as views,
      any(session.$session_duration) as duration, any(session.$is_bounce) as bounced,
      any(session.$entry_pathname) as entry${value === undefined ? "" : `, ${value} as value`}
    from events
    where event in ('$pageview', '$screen') and $session_id != '' and timestamp >= {first} and timestamp < {end}
      and {filters}
    group by $session_id${value === undefined ? "" : ", value"}
    having start >= {first}
  )`;
}

/**
 * A figure of the span, and the same of the one before; null where nothing is compared.
 * @param of the figure of the visits under a condition.
 */
export function both(of: (condition: string) => string, { before }: VisitSpans): string {
  return `${of("start >= {from}")}, ${before ? of("start < {from}") : "null"}`;
}

/** The mean of nothing is no number. */
export function shownFigure(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** @param text names the moments {first}, {from} and {end}, and {filters}. */
export async function runVisits(
  context: QueryContext,
  { attr, filters }: VisitScope,
  { span, before }: VisitSpans,
  text: string,
): Promise<SqlRows> {
  const moment = (at: Temporal.ZonedDateTime) => `${clickhouseTime(at).replace(" ", "T")}Z`;
  try {
    return await runTree(context, await context.parse(text, "select", context.project_id), {
      text,
      values: { first: moment((before ?? span).from), from: moment(span.from), end: moment(span.to) },
      filters: { properties: filters },
    });
  } catch (thrown) {
    throw sqlFault(thrown, attr);
  }
}
