// Statements of queries: a runner that bounds their time, and the parts that several kinds share. Names and values
// from a client are always parameters, never text of a statement.

import type { Clock } from "../core/clock.ts";
import { clickhouseTime, monthly, timed } from "../core/dates.ts";
import { Fault, unavailable } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import {
  type ClickHouse,
  ClickHouseError,
  isOfServer,
  isTooHeavy,
  type QueryOptions,
  WorkExceeded,
} from "../storage/clickhouse/clickhouse.ts";
import { queryOptions } from "../storage/clickhouse/query_options.ts";
import { inWrittenOrder } from "../storage/clickhouse/read.ts";
import { groupKeyAt } from "../storage/events/event_columns.ts";
import {
  compilePropertyFilters,
  eventPropertyText,
  type PropertyFilter,
  readsPersons,
} from "../storage/events/property_filter.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { openRecent } from "../work/maps.ts";
import { type QueryBounds, type QueryStore, tooHeavy } from "./bounds.ts";
import { type DateSpan, readDateSpan } from "./date_range.ts";
import { queryLimits } from "./limits.ts";
import type { Entity } from "./parts/figure.ts";
import type { DateRange, Interval } from "./parts/model.ts";
import type { ResultType } from "./result.ts";
import { readTableRows, type SqlTableRows, tableRowSettings } from "./results/table_rows.ts";
import type { SqlParser } from "./sql/parser/parser.ts";

/**
 * Runs a statement and returns its rows. All statements of one query share its CPU-seconds, and its time.
 * @throws Fault invalid_input when the query is too heavy or has a wrong regular expression; unavailable when a busy
 *   store did not come to its end in time.
 */
export type QueryRunner = <Row>(text: string, params: Record<string, unknown>) => Promise<Row[]>;

/** Runs a statement of a client's own SQL. @throws as QueryRunner; SqlFailure for what is wrong in the SQL itself. */
export type TableRunner = (text: string, params: Record<string, unknown>) => Promise<SqlTableRows>;

/** The engine's name of an error. Its message is dropped: it may show values of the rows that were read. */
export class SqlFailure extends Error {
  readonly type: string;

  constructor(type: string) {
    super(type);
    this.type = type;
  }
}

/** Runners for the statements of one query, whose time starts now. */
export function openQueryRunners(
  clickhouse: ClickHouse,
  clock: Clock,
  { work, seconds, threads, check }: QueryBounds,
): Pick<QueryContext, "run" | "table" | "elapsed"> {
  const began = clock.elapsed();
  const end = began + seconds * 1000;
  const within = async <Answer>(
    text: string,
    params: Record<string, unknown>,
    send: (options: QueryOptions) => Promise<Answer>,
  ): Promise<Answer> => {
    const { secondsMax, seconds: used = 0, uncountedSeconds = 0 } = work;
    if (used >= secondsMax) throw tooHeavy(new WorkExceeded(used, secondsMax));
    if (used + uncountedSeconds >= secondsMax) throw tooBusy();
    await check(text, params);
    const leftMs = end - clock.elapsed();
    if (leftMs <= 0) throw tooBusy();
    try {
      return await send({
        // ClickHouse's own limit ends first, with a reason; the client's is for a server that does not answer.
        timeoutMs: leftMs + limits.engineSaysMsMax,
        kind: "query",
        work,
        settings: {
          ...queryOptions.settings,
          max_threads: threads(),
          max_execution_time: Math.ceil(leftMs / 1000),
          do_not_merge_across_partitions_select_final: 1,
        },
      });
    } catch (thrown) {
      throw toFault(thrown);
    }
  };
  return {
    elapsed: () => clock.elapsed() - began,
    run: (text, params) => within(text, params, (options) => clickhouse.query(text, params, options)),
    table: async (text, params) => {
      const bytes = await within(text, params, ({ settings, ...options }) =>
        clickhouse.bytes(`${text}\nFORMAT JSONCompactEachRowWithNamesAndTypes`, params, {
          ...options,
          settings: { ...settings, ...tableRowSettings },
        }),
      ).catch(throwSqlFailure);
      return await readTableRows(bytes);
    },
  };
}

/** @throws SqlFailure for what is wrong in the SQL, else what was thrown. */
export function throwSqlFailure(thrown: unknown): never {
  if (!(thrown instanceof ClickHouseError)) throw thrown;
  throw isOfServer(thrown) ? thrown : new SqlFailure(thrown.type);
}

export function openQueryStore(clickhouse: ClickHouse, clock: Pick<Clock, "elapsed">): QueryStore {
  const { rowsKeptMs: ageMsMax, rowsKeptMax: sizeMax } = queryLimits;
  const recent = openRecent<number, number>(clock, { ageMsMax, sizeMax });
  // An estimate computes the statement's scalar subqueries.
  const estimating: QueryOptions["settings"] = { ...inWrittenOrder, max_threads: 1, readonly: 2 };
  const count = async (text: string, params: Record<string, unknown>, settings = estimating) => {
    const options = { ...queryOptions, timeoutMs: queryLimits.estimateMsMax, settings };
    const parts = await clickhouse.query<{ rows: string }>(text, params, options);
    return parts.reduce((sum, { rows }) => sum + Number(rows), 0);
  };
  const ofProject = "SELECT event FROM event_rows WHERE project_id = {project_id:UInt32}";
  let cores = 0;
  return {
    // The engine's default, which its operator may have lowered: no setting of ours for it goes with it. A store that
    // does not say it for a moment has as many as before.
    countCores: async () => {
      const counting = recent(0, () => count("SELECT getSetting('max_threads') AS rows", {}, inWrittenOrder));
      cores = await counting.catch((thrown) => cores || Promise.reject(thrown));
      return cores;
    },
    countRows: (project_id) =>
      recent(project_id, () => count(`EXPLAIN ESTIMATE ${ofProject}`, { project_id })).catch(() => 0),
    countRead: (text, params) => count(`EXPLAIN ESTIMATE ${text}`, params).catch(() => 0),
  };
}

/** The fault for an error that the client can correct; any other error unchanged. */
function toFault(thrown: unknown): unknown {
  if (!(thrown instanceof ClickHouseError)) return thrown;
  if (isTooHeavy(thrown)) return tooHeavy(thrown);
  if (thrown.type === "TIMEOUT_EXCEEDED") return tooBusy();
  if (thrown.type !== "CANNOT_COMPILE_REGEXP") return thrown;
  return new Fault("invalid_input", "A regular expression in the query is not valid (RE2 syntax).", {
    attr: "query",
  });
}

function tooBusy(): Fault {
  const detail = "The server is busy; the query ran out of time. Please retry.";
  return unavailable(detail, queryLimits.busyRetrySeconds);
}

/** Facts on which a result depends besides events. */
export interface QueriedProject {
  timezone: string;
  /** The day on which its weeks begin, from 0 for Sunday on. */
  weekStart: number;
  /** The index of each of its group types, by name. */
  groupTypes: Readonly<Record<string, number>>;
  /** The last order to delete persons, and when the last recording was deleted within some minutes. */
  deletion: string;
  /** Whether such an order is still being carried out, or a cached result may have a recording that was deleted. */
  isDeleting: boolean;
}

/** undefined when there is no such project. */
export async function queriedProject(sql: Postgres, project_id: number): Promise<QueriedProject | undefined> {
  const [row] = await sql<QueriedProject[]>`
    SELECT timezone, coalesce((settings->>'week_start_day')::integer, 0) AS "weekStart",
      (SELECT coalesce(jsonb_object_agg(name, place), '{}') FROM group_types WHERE project_id = p.id) AS "groupTypes",
      concat_ws(' ', (SELECT max(id) FROM person_deletion_orders WHERE project_id = p.id), r.latest) AS deletion,
      r.latest IS NOT NULL OR EXISTS (
        SELECT 1 FROM person_deletion_orders WHERE project_id = p.id AND finished_at IS NULL) AS "isDeleting"
    FROM projects p, LATERAL (
      SELECT max(deleted_at) AS latest FROM session_recording_deletions
      WHERE project_id = p.id AND deleted_at > now() - ${queryLimits.resultKeptMs} * interval '1 ms' * 2) r
    WHERE id = ${project_id}`;
  return row;
}

/** The time of the project's first event, in ms since 1970; undefined when it has none. */
export async function firstEventMs(run: QueryRunner, project_id: number): Promise<number | undefined> {
  const [row] = await run<{ first: string; count: string }>(
    `SELECT toUnixTimestamp64Milli(min(timestamp)) AS first, count() AS count
     FROM event_rows WHERE project_id = {project_id:UInt32}`,
    { project_id },
  );
  return row && Number(row.count) > 0 ? Number(row.first) : undefined;
}

/** The compiled expressions of SQL in a query's filters, math and breakdowns. Its statements read such rows. */
interface RowExpressions {
  /** The events as text after FROM. */
  rows: (withPersons: boolean) => string;
  /** Columns that rows have for the expressions. */
  columns: readonly string[];
  params: Readonly<Record<string, unknown>>;
  condition: (text: string) => string;
  /** Value as text; null where it is null. */
  value: (text: string) => string;
  /** Null where it is no finite number. */
  number: (text: string) => string;
}

/** The context in which a kind answers a query. */
export interface QueryContext {
  run: QueryRunner;
  table: TableRunner;
  parse: SqlParser["parse"];
  /** Milliseconds since it has its permit. */
  elapsed(): number;
  /** Scopes of the caller's key; none for a scheduled query. */
  scopes: readonly string[];
  project_id: number;
  /** The canonical name of the project's zone. */
  timezone: string;
  /** The day on which the project's weeks begin, from 0 for Sunday on. */
  weekStart?: number;
  /** The index of each of the project's group types, by name. */
  groupTypes?: Readonly<Record<string, number>> | undefined;
  /** Whether the engine may be sent this zone, too. */
  admitZone(zone: string): boolean;
  /** The time at which it is answered, in ms since 1970. */
  now: number;
  /** The query's SQL expressions. */
  expressions?: RowExpressions;
}

/** A step, and its seconds. */
export interface QueryTiming {
  k: string;
  t: number;
}

/** A kind's answer: results of its type, in PostHog's format. */
export interface QueryAnswer<Result = unknown> {
  /** The interval, of kinds that have some. */
  interval?: Interval;
  /** undefined: without a definite time range. */
  span?: DateSpan;
  results: Result[];
  table?: ShownTable;
}

/** The result of a query. */
export interface QueryResult extends Pick<QueryAnswer, "results" | "table"> {
  kind: string;
  /** How `results` are drawn. */
  type: ResultType;
  interval: string | null;
  /** ISO 8601 in the project's time zone; the end is inclusive. Null for a query without a definite time range. */
  date_from: string | null;
  date_to: string | null;
  timezone: string;
  /** When it was computed, ISO 8601. */
  computed_at: string;
  /** A name of the query as it was sent. */
  cache_key?: string;
}

/** The columns of a table's rows, and the page. */
export interface ShownTable {
  columns: string[];
  /** ClickHouse's types of the columns. */
  types: string[];
  hasMore: boolean;
  limit: number;
  offset: number;
  /** SQL only: the query as sent, the statement (for keys with all scopes), and the durations of its steps. */
  hogql?: string;
  clickhouse?: string;
  timings?: QueryTiming[];
}

/** The span of a query. @throws Fault, as readDateSpan. */
export async function readSpan(
  context: QueryContext,
  { query: { dateRange }, attr }: { query: { dateRange?: DateRange }; attr: string },
  interval?: Interval,
): Promise<DateSpan> {
  const { run, project_id } = context;
  const first = dateRange?.date_from === "all" ? await firstEventMs(run, project_id) : undefined;
  return readDateSpan(dateRange, context, { first, attr: `${attr}__dateRange`, interval });
}

/** A statement over events that is being composed: each part writes the values that it names into `params`. */
export class Draft {
  readonly params: Record<string, unknown>;
  readonly expressions: RowExpressions | undefined;
  readonly #context: QueryContext;
  /** How many sets of filters there are: it makes the names of their parameters unique. */
  #filters = 0;

  constructor(context: QueryContext) {
    const { project_id, timezone, expressions } = context;
    this.#context = context;
    this.expressions = expressions;
    this.params = { ...expressions?.params, project_id, tz: timezone };
  }

  /** Runs the composed statement. @throws as QueryRunner. */
  run<Row>(text: string): Promise<Row[]> {
    return this.#context.run<Row>(text, this.params);
  }

  /**
   * The events to read, as text after FROM. The view `events` joins persons, which costs time, so it is read only where
   * persons are needed.
   */
  eventTable(filters: readonly PropertyFilter[], countsPersons = false): string {
    const withPersons = countsPersons || readsPersons(filters);
    return this.expressions?.rows(withPersons) ?? (withPersons ? "events" : "stored_events");
  }

  /** The condition of every statement: the project and the span. */
  spanCondition({ from, to }: DateSpan): string {
    this.params["from"] = clickhouseTime(from);
    this.params["to"] = clickhouseTime(to);
    return `project_id = {project_id:UInt32}
     AND timestamp >= toDateTime64({from:String}, 6, 'UTC')
     AND timestamp < toDateTime64({to:String}, 6, 'UTC')`;
  }

  /** The condition for the events of an entity. @param more filters of the query. */
  entityCondition(
    { event, filters: ownFilters }: Pick<Entity, "event" | "filters">,
    more: readonly PropertyFilter[] = [],
  ): string {
    const filters = [...more, ...ownFilters];
    const parts: string[] = [];
    if (event !== undefined) {
      const name = `event_${this.#filters++}`;
      this.params[name] = event;
      parts.push(`event = {${name}:String}`);
    }
    if (filters.length > 0) parts.push(this.filterCondition(filters));
    return parts.length > 0 ? `(${parts.join(" AND ")})` : "1";
  }

  /** The condition for events that pass all filters; `1` without filters. */
  filterCondition(filters: readonly PropertyFilter[]): string {
    if (filters.length === 0) return "1";
    const { now, timezone } = this.#context;
    const expression = this.expressions?.condition;
    const options = { now, timezone, ...(expression && { expression }) };
    return compilePropertyFilters(filters, this.params, `f${this.#filters++}_`, options);
  }

  /**
   * The index of a moment's bucket, from 0.
   * @param first the start of the first bucket.
   * @param column the moment; by default the event's.
   */
  bucketIndex(interval: Interval, first: Temporal.ZonedDateTime, column = "timestamp"): string {
    const seconds = timed.get(interval);
    if (seconds) {
      this.params["first_second"] = Math.floor(first.epochMilliseconds / 1000);
      return `intDiv(toUnixTimestamp(${column}) - {first_second:Int64}, ${seconds})`;
    }
    // A Date begins in 1970, and the bucket before the first of that year ends there.
    const day = `toDate32(${column}, {tz:String})`;
    this.params["first_day"] = Temporal.PlainDate.from("1970-01-01").until(first.toPlainDate()).days;
    if (interval === "day") return `(toInt32(${day}) - {first_day:Int32})`;
    if (interval === "week") return `intDiv(toInt32(${day}) - {first_day:Int32}, 7)`;
    const month = (date: string) => `toInt64(toRelativeMonthNum(${date}))`;
    return `intDiv(${month(day)} - ${month("toDate32({first_day:Int32})")}, ${monthly.get(interval)})`;
  }

  /** The key of an event's group of a type; null without one. */
  groupKey(typeIndex: number): string {
    this.params["group_index"] = typeIndex;
    return `nullIf(${groupKeyAt("{group_index:UInt8}")}, '')`;
  }

  /** The property that math is of. */
  property(name: string): string {
    this.params["math_property"] = name;
    return eventPropertyText(name, "{math_property:String}");
  }

  /** A property as a number; null when it is not a finite number. */
  propertyNumber(name: string): string {
    return finiteNumber(this.property(name));
  }
}

/** A text as a number; null when it is not a finite number. */
export function finiteNumber(text: string): string {
  const number = `toFloat64OrNull(${text})`;
  return `if(isFinite(${number}), ${number}, NULL)`;
}
