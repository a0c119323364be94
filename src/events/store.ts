// Queries in ClickHouse for events, newest first. Properties are not parsed: a reply has the client's text.

import { eventListLimits } from "./limits.ts";
import { type ClickHouse, isTooBig } from "../storage/clickhouse/clickhouse.ts";
import { type Conditions, conditionsOf } from "../storage/events/conditions.ts";
import {
  compilePropertyFilters,
  type PropertyFilter,
  readsPersons,
} from "../storage/events/property_filter.ts";
import { blockedEvents, eventText, type PageQuestion } from "./block_store.ts";
import { queryOptions, wholePageOptions } from "../storage/clickhouse/query_options.ts";

/** Absent fields do not filter. `after` and `before` are `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, both exclusive. */
export interface EventFilter {
  project_id: number;
  event?: string | undefined;
  distinct_id?: string | undefined;
  after?: string | undefined;
  before?: string | undefined;
  /** All filters must match. */
  properties?: readonly PropertyFilter[] | undefined;
  /** The time that relative dates in `properties` count from, in ms since 1970. */
  now?: number | undefined;
}

export interface EventPage {
  /** The number of events that match. */
  count: number;
  /** The page's events: JSON objects, each with a comma before it. A page of long events comes in blocks. */
  events: Uint8Array | AsyncGenerator<Uint8Array, void>;
}

/**
 * The page of `limit` events after the first `offset`, newest timestamp first, then by uuid descending.
 * @throws Fault with attr `limit`, which names a limit that fits, when the properties are too long for one reply.
 */
export async function listEvents(
  clickhouse: ClickHouse,
  filter: EventFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<EventPage> {
  const { where, params } = conditions(filter);
  // `stored_events` avoids the join with persons.
  const source = readsPersons(filter.properties ?? []) ? "events" : "stored_events";
  const days = await clickhouse.query<DayCount>(
    `SELECT toString(toDate32(timestamp)) AS day, toUInt64(count()) AS count
     FROM ${source} WHERE ${where} GROUP BY day ORDER BY day DESC`,
    params,
    queryOptions,
  );
  const count = totalOf(days);
  const span = pageSpan(days, limit, offset);
  if (!span) return { count, events: new Uint8Array(0) };
  const page: PageQuestion = {
    from: `FROM events
     WHERE ${where}
       AND timestamp >= toDateTime64({from:String}, 6, 'UTC')
       AND timestamp <= toDateTime64({to:String}, 6, 'UTC')
     ORDER BY timestamp DESC, uuid DESC
     LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    params: {
      ...params,
      from: `${span.first_day} 00:00:00.000000`,
      to: `${span.last_day} 23:59:59.999999`,
      limit,
      offset: span.offset,
    },
  };
  const whole = span.rows > eventListLimits.pageSpanRowsMax ? undefined : await wholeEvents(clickhouse, page);
  return { count, events: whole ?? (await blockedEvents(clickhouse, filter.project_id, page)) };
}

/** The page read in one statement; undefined when that exceeds limits.readSmallBytesMax. */
async function wholeEvents(
  clickhouse: ClickHouse,
  { from, params }: PageQuestion,
): Promise<Uint8Array | undefined> {
  const settings = { ...wholePageOptions.settings, output_format_json_escape_forward_slashes: 0 };
  try {
    return await clickhouse.bytes(`SELECT ${eventText} AS line ${from} FORMAT RawBLOB`, params, {
      ...wholePageOptions,
      settings,
    });
  } catch (thrown) {
    if (isTooBig(thrown)) return undefined;
    throw thrown;
  }
}

/** Events of one day. ClickHouse writes 64-bit numbers as text. */
export interface DayCount {
  day: string;
  count: string | number;
}

/**
 * The days of a page, the number of events on them, and the page's offset within them; undefined past the end. Days
 * are part of the sorting key, so properties are read for these days only, however many events the project has.
 * @param days newest first
 */
export function pageSpan(
  days: readonly DayCount[],
  limit: number,
  offset: number,
): { first_day: string; last_day: string; offset: number; rows: number } | undefined {
  let before = 0;
  let last: { day: string; before: number } | undefined;
  const of = (first_day: string, newest: { day: string; before: number }) => {
    const rows = before - newest.before;
    return { first_day, last_day: newest.day, offset: offset - newest.before, rows };
  };
  for (const { day, count } of days) {
    const through = before + Number(count);
    if (!last && through > offset) last = { day, before };
    before = through;
    if (last && through >= offset + limit) return of(day, last);
  }
  const oldest = days.at(-1)?.day;
  return last && oldest ? of(oldest, last) : undefined;
}

function totalOf(days: readonly DayCount[]): number {
  return days.reduce((sum, { count }) => sum + Number(count), 0);
}

function conditions(filter: EventFilter): Conditions {
  const { project_id, event, distinct_id, after, before, properties = [], now } = filter;
  const { where, params } = conditionsOf(project_id, { event, distinct_id }, { after, before });
  if (properties.length === 0) return { where, params };
  const held = compilePropertyFilters(properties, params, "property", now === undefined ? {} : { now });
  return { where: `${where} AND ${held}`, params };
}
