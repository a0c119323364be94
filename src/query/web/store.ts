// The visits that both queries about a site read. A visit is a session that began in the span and has a page view or a
// screen in it.

import { type PropertyFilter, sessionOfEvent } from "../../storage/events/property_filter.ts";
import { asStored, clickhouseTime, type DateSpan } from "../date_range.ts";
import type { SqlTableRows } from "../results/table_rows.ts";
import { Draft, type QueryContext, spanOf } from "../store.ts";
import type { WebOverviewQuery, WebStatsTableQuery } from "./model.ts";

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

/** The breakdown of visits: an expression over events, or one over sessions. */
export type VisitValue = { event: string } | { session: string };

export async function visitSpans(context: QueryContext, scope: VisitScope): Promise<VisitSpans> {
  const span = await spanOf(context, scope);
  const { compare, compareFilter } = scope.query;
  if (compare !== true && compareFilter?.compare !== true) return { span, before: undefined };
  const days = span.from.until(span.to, { largestUnit: "days" });
  return { span, before: { from: asStored(span.from.subtract(days)), to: span.from } };
}

/**
 * Columns over visits, which have `person`, `start`, `views`, `duration`, `bounced`, `entry`; with a value, a row for
 * each `value` of a visit. Views are counted by session before anything is joined to them: a join of events took twice
 * the time and ten times the memory. A person is named by its main distinct id, which is one for each person.
 * The join leaves out events without a session: a condition before it makes the engine read properties twice.
 * @param rest the text after FROM.
 */
export function visitRows(
  context: QueryContext,
  { filters }: VisitScope,
  { span, before }: VisitSpans,
  { columns, value, rest = "" }: { columns: string; value?: VisitValue; rest?: string },
): Promise<SqlTableRows> {
  const draft = new Draft(context);
  const within = draft.spanCondition({ from: (before ?? span).from, to: span.to });
  draft.params["current"] = clickhouseTime(span.from);
  const ofEvent = value && "event" in value && `${value.event} AS value`;
  const ofSession = value && "session" in value && `${value.session} AS value`;
  const more = (column: string | false | undefined) => (column ? `, ${column}` : "");
  const visits = `(
    SELECT if(m.main_id = '', v.id, m.main_id) AS person, s.start_time AS start, v.views AS views,
      s.duration AS duration, s.is_bounce AS bounced, s.entry_pathname AS entry${more(value && "value")}
    FROM (
      SELECT session, any(distinct_id) AS id, count() AS views${more(ofEvent && "value")}
      FROM (
        SELECT ${sessionOfEvent} AS session, distinct_id${more(ofEvent)} FROM ${draft.eventTable(filters)}
        WHERE ${within} AND event IN ('$pageview', '$screen') AND ${draft.filterCondition(filters)}
      )
      GROUP BY session${more(ofEvent && "value")}
    ) AS v
    INNER JOIN (
      SELECT session_id, start_time, duration, is_bounce, entry_pathname${more(ofSession)} FROM sessions
      WHERE project_id = {project_id:UInt32} AND start_time >= toDateTime64({from:String}, 6, 'UTC')
        AND start_time < toDateTime64({to:String}, 6, 'UTC') AND end_time >= toDateTime64({from:String}, 6, 'UTC')
    ) AS s ON v.session = s.session_id
    LEFT ANY JOIN (
      SELECT distinct_id, main_id FROM merged_ids FINAL WHERE project_id = {project_id:UInt32}
    ) AS m ON v.id = m.distinct_id
  )`;
  return context.table(`SELECT ${columns} FROM ${visits} ${rest}`, draft.params);
}

/**
 * A figure of the span, and that of the span before; null where nothing is compared.
 * @param of makes the figure of the visits under a condition.
 */
export function both(of: (condition: string) => string, { before }: VisitSpans): string {
  const current = "toDateTime64({current:String}, 6, 'UTC')";
  return `${of(`start >= ${current}`)}, ${before ? of(`start < ${current}`) : "NULL"}`;
}

/** A figure; null for the mean of no visits, which is no number. */
export function shownFigure(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
