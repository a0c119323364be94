// Statements of queries: a runner that bounds their time, and the parts that several kinds share. Names and values
// from a client are always parameters, never text of a statement.

import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { type ClickHouse, ClickHouseError, isTooHeavy } from "../storage/clickhouse/clickhouse.ts";
import { queryOptions } from "../storage/clickhouse/query_options.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import {
  compilePropertyFilters,
  type PropertyFilter,
  propertyText,
  readsPersons,
} from "../storage/events/property_filter.ts";
import type { CheckedQuery, Entity } from "./check.ts";
import { clickhouseTime, type DateSpan, dateSpanOf } from "./date_range.ts";
import type { DateRange, Interval } from "./model.ts";

/**
 * Runs a statement and returns its rows. All statements of one query share limits.querySecondsMax.
 * @throws Fault invalid_input when the query is too heavy or has a wrong regular expression.
 */
export type QueryRunner = <Row>(text: string, params: Record<string, unknown>) => Promise<Row[]>;

/** A runner for the statements of one query, whose time starts now. */
export function openQueryRunner(clickhouse: ClickHouse, clock: Clock): QueryRunner {
  const end = clock.elapsed() + limits.querySecondsMax * 1000;
  return async <Row>(text: string, params: Record<string, unknown>) => {
    const leftMs = end - clock.elapsed();
    if (leftMs <= 0) throw tooHeavy();
    try {
      return await clickhouse.query<Row>(text, params, {
        // ClickHouse's own limit ends first, with a reason; the client's is for a server that does not answer.
        timeoutMs: leftMs + limits.engineSaysMsMax,
        settings: {
          ...queryOptions.settings,
          max_execution_time: Math.ceil(leftMs / 1000),
          do_not_merge_across_partitions_select_final: 1,
        },
      });
    } catch (thrown) {
      throw faultOf(thrown);
    }
  };
}

/** The fault for an error that the client can correct; any other error unchanged. */
function faultOf(thrown: unknown): unknown {
  if (!(thrown instanceof ClickHouseError)) return thrown;
  if (isTooHeavy(thrown)) return tooHeavy();
  if (thrown.type !== "CANNOT_COMPILE_REGEXP") return thrown;
  return new Fault("invalid_input", "A regular expression in the query is not valid (RE2 syntax).", {
    attr: "query",
  });
}

function tooHeavy(): Fault {
  const detail = "The query takes more than it may. Narrow it, for example with a shorter date range.";
  return new Fault("invalid_input", detail, { attr: "query" });
}

/** The project's time zone; undefined when there is no such project. */
export async function timezoneOf(sql: Postgres, project_id: number): Promise<string | undefined> {
  const [row] = await sql<{ timezone: string }[]>`SELECT timezone FROM projects WHERE id = ${project_id}`;
  return row?.timezone;
}

/** The time of the project's first event, in ms since 1970; undefined when it has none. */
async function firstEventMs(run: QueryRunner, project_id: number): Promise<number | undefined> {
  const [row] = await run<{ first: string; count: string }>(
    `SELECT toUnixTimestamp64Milli(min(timestamp)) AS first, count() AS count
     FROM event_rows WHERE project_id = {project_id:UInt32}`,
    { project_id },
  );
  return row && Number(row.count) > 0 ? Number(row.first) : undefined;
}

/** What the code of each kind of query receives. */
export interface QueryContext {
  run: QueryRunner;
  project_id: number;
  timezone: string;
  /** The time at which it is answered, in ms since 1970. */
  now: number;
}

/** What the code of each kind of query returns. */
export interface QueryAnswer {
  kind: CheckedQuery["kind"];
  interval: Interval | undefined;
  span: DateSpan;
  /** In PostHog's format for this kind of query. */
  results: unknown[];
  /** The following are there for a list of events only. */
  columns?: string[];
  types?: string[];
  hasMore?: boolean;
  limit?: number;
  offset?: number;
}

/** The span of a query. @throws Fault, as dateSpanOf. */
export async function spanOf(
  context: QueryContext,
  { query: { dateRange }, attr }: { query: { dateRange?: DateRange }; attr: string },
  hourly = false,
): Promise<DateSpan> {
  const { run, project_id } = context;
  const first = dateRange?.date_from === "all" ? await firstEventMs(run, project_id) : undefined;
  return dateSpanOf(dateRange, context, { first, attr: `${attr}__dateRange`, hourly });
}

/** The parameters of a statement that is being composed. */
export interface Draft extends Pick<QueryContext, "now" | "timezone"> {
  params: Record<string, unknown>;
  /** How many sets of filters there are: it makes the names of their parameters unique. */
  filters: number;
}

export function newDraft({ project_id, now, timezone }: QueryContext): Draft {
  return { params: { project_id, tz: timezone }, filters: 0, now, timezone };
}

/** The table to read: `events` joins persons, which costs time, so it is used only where persons are needed. */
export function eventTable(filters: readonly PropertyFilter[], countsPersons = false): string {
  return countsPersons || readsPersons(filters) ? "events" : "stored_events";
}

/** The condition of every statement: the project and the span. */
export function spanCondition(draft: Draft, { from, to }: DateSpan): string {
  draft.params["from"] = clickhouseTime(from);
  draft.params["to"] = clickhouseTime(to);
  return `project_id = {project_id:UInt32}
     AND timestamp >= toDateTime64({from:String}, 6, 'UTC')
     AND timestamp < toDateTime64({to:String}, 6, 'UTC')`;
}

/** The condition for the events of an entity. */
export function entityCondition(draft: Draft, { event, filters }: Pick<Entity, "event" | "filters">): string {
  const parts: string[] = [];
  if (event !== undefined) {
    const name = `event_${draft.filters++}`;
    draft.params[name] = event;
    parts.push(`event = {${name}:String}`);
  }
  if (filters.length > 0) parts.push(filterCondition(draft, filters));
  return parts.length > 0 ? `(${parts.join(" AND ")})` : "1";
}

/** The condition for events that pass all filters; `1` without filters. */
export function filterCondition(draft: Draft, filters: readonly PropertyFilter[]): string {
  if (filters.length === 0) return "1";
  const { now, timezone } = draft;
  return compilePropertyFilters(filters, draft.params, `f${draft.filters++}_`, { now, timezone });
}

/** The index of an event's bucket, from 0; `first` is the start of the first bucket. */
export function bucketIndex(draft: Draft, interval: Interval, first: Temporal.ZonedDateTime): string {
  if (interval === "hour") {
    draft.params["first_second"] = Math.floor(first.epochMilliseconds / 1000);
    return `intDiv(toUnixTimestamp(timestamp) - {first_second:Int64}, 3600)`;
  }
  draft.params["first_day"] = first.toPlainDate().toString();
  const day = "toDate(timestamp, {tz:String})";
  if (interval === "day") return `(${day} - {first_day:Date})`;
  if (interval === "week") return `intDiv(${day} - {first_day:Date}, 7)`;
  return `(toInt64(toRelativeMonthNum(${day})) - toInt64(toRelativeMonthNum({first_day:Date})))`;
}

/** A property as a number; null when it is not a finite number. */
export function propertyNumber(draft: Draft, property: string): string {
  draft.params["math_property"] = property;
  const number = `toFloat64OrNull(${propertyText("{math_property:String}")})`;
  return `if(isFinite(${number}), ${number}, NULL)`;
}
