// How a query asks ClickHouse: always one project's events between two moments, within bounds of time and memory.
// Never lets a name or a value from outside into a statement's text.

import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { type ClickHouse, ClickHouseError, isTooHeavy } from "../storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import {
  compilePropertyFilters,
  type PropertyFilter,
  propertyText,
  readsPersons,
} from "../storage/events/property_filter.ts";
import type { Entity } from "./checked.ts";
import { engineMoment, type DateSpan } from "./date_range.ts";
import type { Interval } from "./model.ts";

/** Rows of a statement. All statements of one query share limits.querySecondsMax. */
export type QueryAsk = <Row>(text: string, params: Record<string, unknown>) => Promise<Row[]>;

/** One query's way to the engine. */
export function openAsk(clickhouse: ClickHouse, clock: Clock): QueryAsk {
  const end = clock.elapsed() + limits.querySecondsMax * 1000;
  return async <Row>(text: string, params: Record<string, unknown>) => {
    const leftMs = end - clock.elapsed();
    if (leftMs <= 0) throw tooHeavy();
    try {
      return await clickhouse.query<Row>(text, params, {
        // The engine gives up first and says why; the client only guards against an engine that says nothing.
        timeoutMs: leftMs + limits.engineSaysMsMax,
        settings: {
          max_execution_time: Math.ceil(leftMs / 1000),
          // One thread: a reader who waits a little longer costs capture nothing, all cores at once would.
          max_threads: 1,
          do_not_merge_across_partitions_select_final: 1,
          date_time_output_format: "simple",
        },
      });
    } catch (thrown) {
      throw refusalOf(thrown);
    }
  };
}

/** What the engine says of a query that is the asker's to mend; anything else stays what it is. */
function refusalOf(thrown: unknown): unknown {
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

/** The project's time zone; undefined when it is gone. */
export async function timezoneOf(sql: Postgres, project_id: number): Promise<string | undefined> {
  const [row] = await sql<{ timezone: string }[]>`SELECT timezone FROM projects WHERE id = ${project_id}`;
  return row?.timezone;
}

/** When the project's first event took place, in ms since 1970; undefined when it has none. */
export async function firstEventMs(ask: QueryAsk, project_id: number): Promise<number | undefined> {
  const [row] = await ask<{ first: string; count: string }>(
    `SELECT toUnixTimestamp64Milli(min(timestamp)) AS first, count() AS count
     FROM event_rows WHERE project_id = {project_id:UInt32}`,
    { project_id },
  );
  return row && Number(row.count) > 0 ? Number(row.first) : undefined;
}

/** A statement in the making. */
export interface Draft {
  params: Record<string, unknown>;
  /** Sets the next filters' parameters apart. */
  filters: number;
  now: number;
  timezone: string;
}

export function draftOf(project_id: number, now: number, timezone: string): Draft {
  return { params: { project_id, tz: timezone }, filters: 0, now, timezone };
}

/** Where events are read. Whatever needs no persons does not pay for looking them up. */
export function source(filters: readonly PropertyFilter[], countsPersons = false): string {
  return countsPersons || readsPersons(filters) ? "events" : "stored_events";
}

/** The condition that always stands: this project, this span. */
export function within(draft: Draft, { from, to }: DateSpan): string {
  draft.params["from"] = engineMoment(from);
  draft.params["to"] = engineMoment(to);
  return `project_id = {project_id:UInt32}
     AND timestamp >= toDateTime64({from:String}, 6, 'UTC')
     AND timestamp < toDateTime64({to:String}, 6, 'UTC')`;
}

/** The condition for an entity's events, without its span. */
export function matching(draft: Draft, { event, filters }: Pick<Entity, "event" | "filters">): string {
  const parts: string[] = [];
  if (event !== undefined) {
    const name = `event_${draft.filters++}`;
    draft.params[name] = event;
    parts.push(`event = {${name}:String}`);
  }
  if (filters.length > 0) parts.push(filtering(draft, filters));
  return parts.length > 0 ? `(${parts.join(" AND ")})` : "1";
}

export function filtering(draft: Draft, filters: readonly PropertyFilter[]): string {
  const { now, timezone } = draft;
  return compilePropertyFilters(filters, draft.params, `f${draft.filters++}_`, { now, timezone });
}

/** Which bucket an event lies in, from 0 on; `first` is the start of the first one. */
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

/** A number in the properties, null where there is none that is finite. */
export function propertyNumber(draft: Draft, property: string): string {
  draft.params["math_property"] = property;
  const number = `toFloat64OrNull(${propertyText("{math_property:String}")})`;
  return `if(isFinite(${number}), ${number}, NULL)`;
}
