// The visits that both queries about a site read. A visit is a session that began in the span and has a page view or a
// screen in it.

import { asStored, clickhouseTime, isBefore } from "../../core/dates.ts";
import { type PropertyFilter, sessionOfEvent } from "../../storage/events/property_filter.ts";
import { type DateSpan } from "../date_range.ts";
import { type Period, readPeriods } from "../parts/periods.ts";
import type { SqlTableRows } from "../results/table_rows.ts";
import { Draft, type QueryContext } from "../store.ts";
import type { WebOverviewQuery, WebStatsTableQuery } from "./model.ts";

export interface VisitScope<Query = WebOverviewQuery | WebStatsTableQuery> {
  attr: string;
  query: Query;
  filters: readonly PropertyFilter[];
}

/** The span of a query and, where it compares, the period before it. */
export interface VisitSpans {
  span: DateSpan;
  before: Period | undefined;
}

/** The breakdown of visits: an expression over events, or one over sessions. */
export type VisitValue = { event: string } | { session: string };

export async function visitSpans(context: QueryContext, scope: VisitScope): Promise<VisitSpans> {
  const { compare, compareFilter } = scope.query;
  const isCompared = compare === true || compareFilter?.compare === true;
  const query = { ...scope.query, compareFilter: { ...compareFilter, compare: isCompared } };
  const { attr } = scope;
  const { span, periods } = await readPeriods(context, { attr, query, interval: "day", isTotal: true });
  return { span, before: periods[1] };
}

/**
 * Columns over visits, which have `person`, `start`, `views`, `duration`, `bounced`, `entry`, with a goal their
 * `conversions`; with a value, a row for each `value` of a visit. Views are counted by session before anything is
 * joined to them: a join of events took twice the time and ten times the memory. A person is named by its main
 * distinct id, which is one for each person.
 * The join leaves out events without a session: a condition before it makes the engine read properties twice.
 * @param rest the text after FROM.
 */
export function visitRows(
  context: QueryContext,
  { filters, query }: VisitScope,
  { span, before }: VisitSpans,
  { columns, value, rest = "" }: { columns: string; value?: VisitValue; rest?: string },
): Promise<SqlTableRows> {
  const draft = new Draft(context);
  // Spans with a gap between them, as this week and that of last year, are read apart.
  const isApart = before && isBefore(before.span.to, span.from);
  const spans = isApart ? [before.span, span] : [{ from: (before?.span ?? span).from, to: span.to }];
  const isWithin = (column: string) =>
    `(${spans.map((_, i) => inSpan(column, `read_${i}_from`, `read_${i}_to`)).join(" OR ")})`;
  for (const [i, { from, to }] of spans.entries())
    Object.assign(draft.params, momentParams({ [`read_${i}_from`]: from, [`read_${i}_to`]: to }));
  const { from, to } = span;
  const ofBefore = before && { before_from: before.span.from, before_to: before.span.to };
  const until = before?.until && { until: before.until };
  Object.assign(draft.params, momentParams({ current_from: from, current_to: to, ...ofBefore, ...until }));
  const seen = until
    ? {
        ofVisit: "v.seen AS seen,",
        ofSession: "sum(early) AS seen,",
        ofEvent: `timestamp < ${readMoment("until")} AS early,`,
      }
    : { ofVisit: "", ofSession: "", ofEvent: "" };
  const ofEvent = value && "event" in value && `${value.event} AS value`;
  const ofSession = value && "session" in value && `${value.session} AS value`;
  const more = (column: string | false | null | undefined) => (column ? `, ${column}` : "");
  const goal = query.conversionGoal?.customEventName;
  if (goal) draft.params["goal"] = goal;
  const events = ["'$pageview'", "'$screen'", ...(goal ? ["{goal:String}"] : [])];
  const isGoal = "event = {goal:String}";
  // With a goal, events of it alone make no visit, as they make none without.
  const [ofGoal, isVisit] = goal
    ? ["SELECT *, sum(shown) OVER (PARTITION BY session) AS all_shown FROM", "WHERE v.all_shown > 0"]
    : ["SELECT * FROM", ""];
  const sums =
    more(ofEvent && "value") +
    more(goal && `countIf(${isGoal}) AS conversions`) +
    more(goal && "countIf(event IN ('$pageview', '$screen')) AS shown") +
    more(goal && until && `countIf(${isGoal} AND early) AS seen_conversions`);
  const visits = `(
    SELECT if(m.main_id = '', v.id, m.main_id) AS person, s.start_time AS start, v.views AS views,
      ${seen.ofVisit} s.duration AS duration, s.is_bounce AS bounced, s.entry_pathname AS entry
      ${more(value && "value")}${more(goal && "v.conversions AS conversions")}
      ${more(goal && until && "v.seen_conversions AS seen_conversions")}
    FROM (${ofGoal} (
      SELECT session, any(distinct_id) AS id, ${seen.ofSession} count() AS views${sums}
      FROM (
        SELECT ${sessionOfEvent} AS session, ${seen.ofEvent} distinct_id${more(ofEvent)}${more(goal && "event")}
        FROM ${draft.eventTable(filters)}
        WHERE project_id = {project_id:UInt32} AND ${isWithin("timestamp")}
          AND event IN (${events.join(", ")}) AND ${draft.filterCondition(filters)}
      )
      GROUP BY session${more(ofEvent && "value")}
    )) AS v
    INNER JOIN (
      SELECT session_id, start_time, duration, is_bounce, entry_pathname${more(ofSession)} FROM sessions
      WHERE project_id = {project_id:UInt32} AND ${isWithin("start_time")}
        AND end_time >= ${readMoment("read_0_from")}
    ) AS s ON v.session = s.session_id
    LEFT ANY JOIN (
      SELECT distinct_id, main_id FROM merged_ids FINAL WHERE project_id = {project_id:UInt32}
    ) AS m ON v.id = m.distinct_id
    ${isVisit}
  )`;
  return context.table(`SELECT ${columns} FROM ${visits} ${rest}`, draft.params);
}

const readMoment = (name: string) => `toDateTime64({${name}:String}, 6, 'UTC')`;
const inSpan = (column: string, from: string, to: string) =>
  `(${column} >= ${readMoment(from)} AND ${column} < ${readMoment(to)})`;
const momentParams = (moments: Record<string, Temporal.ZonedDateTime>) =>
  Object.fromEntries(Object.entries(moments).map(([name, at]) => [name, clickhouseTime(asStored(at))]));

/**
 * A figure of the span, that of the period before, and that as far as now; null where nothing is compared.
 * @param of makes the figure of the visits under a condition, with this column of their views.
 */
export function countPeriods(of: (condition: string, views: string) => string, { before }: VisitSpans) {
  return [
    of(inSpan("start", "current_from", "current_to"), "views"),
    before ? of(inSpan("start", "before_from", "before_to"), "views") : "NULL",
    before?.until ? of(inSpan("start", "before_from", "until"), "seen") : "NULL",
  ];
}

/** A figure; null for the mean of no visits, which is no number. */
export function shownFigure(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
