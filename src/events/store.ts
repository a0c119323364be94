// Events read back from ClickHouse, newest first. Never parses their properties: the client's text goes out
// as it came in.

import { limits } from "../core/limits.ts";
import type { ClickHouse, QueryOptions } from "../storage/clickhouse.ts";
import { type Conditions, conditionsOf } from "../storage/conditions.ts";
import { compilePropertyFilters, type PropertyFilter, readsPersons } from "../storage/property_filter.ts";

/**
 * Which events: absent fields do not filter. Moments as `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, both exclusive.
 */
export interface EventFilter {
  project_id: number;
  event?: string | undefined;
  distinct_id?: string | undefined;
  after?: string | undefined;
  before?: string | undefined;
  /** All of them must hold. */
  properties?: readonly PropertyFilter[] | undefined;
  /** What relative dates in those count from, in ms since 1970. */
  now?: number | undefined;
}

export interface EventPage {
  /** All events that match. */
  count: number;
  /** Those of the page: JSON objects with a comma before each of them. */
  events: Uint8Array;
}

const queryOptions: QueryOptions = {
  // The engine gives up first and says why; the client only guards against an engine that says nothing.
  timeoutMs: (limits.querySecondsMax + 5) * 1000,
  // One thread: a reader who waits a little longer costs capture nothing, all cores at once would.
  settings: { max_execution_time: limits.querySecondsMax, date_time_output_format: "simple", max_threads: 1 },
};

/**
 * An event as its reply shows it, written by the engine: a thousand of them, read here and written again, would hold up
 * every capture beside them. `properties` are the client's text: reading them would round long numbers and drop
 * repeated keys.
 */
const eventText = `concat(
  ',{"id":"', toString(uuid), '","uuid":"', toString(uuid),
  '","event":', toJSONString(event), ',"distinct_id":', toJSONString(distinct_id),
  ',"properties":', if(properties = '', '{}', properties),
  ',"timestamp":"', ${isoText("timestamp")}, '","created_at":"', ${isoText("created_at")},
  '","person_id":"', toString(person_id), '","historical_migration":', toString(historical_migration), '}')`;

/** `2024-01-02T03:04:05.600000Z`; a fraction of zero is left out. */
function isoText(moment: string): string {
  return `concat(replaceOne(replaceOne(toString(${moment}), '.000000', ''), ' ', 'T'), 'Z')`;
}

/** The page of `limit` events after the first `offset`, ordered by timestamp and uuid, both falling. */
export async function listEvents(
  clickhouse: ClickHouse,
  filter: EventFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<EventPage> {
  const { where, params } = conditions(filter);
  // Whatever needs no persons does not pay for looking them up.
  const source = readsPersons(filter.properties ?? []) ? "events" : "stored_events";
  const days = await clickhouse.query<DayCount>(
    `SELECT toString(toDate32(timestamp)) AS day, toUInt64(count()) AS count
     FROM ${source} WHERE ${where} GROUP BY day ORDER BY day DESC`,
    params,
    queryOptions,
  );
  const span = pageSpan(days, limit, offset);
  if (!span) return { count: totalOf(days), events: new Uint8Array(0) };
  const events = await clickhouse.bytes(
    `SELECT ${eventText} AS line
     FROM events
     WHERE ${where}
       AND timestamp >= toDateTime64({from:String}, 6, 'UTC')
       AND timestamp <= toDateTime64({to:String}, 6, 'UTC')
     ORDER BY timestamp DESC, uuid DESC
     LIMIT {limit:UInt64} OFFSET {offset:UInt64}
     FORMAT RawBLOB`,
    {
      ...params,
      from: `${span.first_day} 00:00:00.000000`,
      to: `${span.last_day} 23:59:59.999999`,
      limit,
      offset: span.offset,
    },
    { ...queryOptions, settings: { ...queryOptions.settings, output_format_json_escape_forward_slashes: 0 } },
  );
  return { count: totalOf(days), events };
}

/** How many events one day has; the engine writes 64-bit numbers as text. */
export interface DayCount {
  day: string;
  count: string | number;
}

/**
 * The days a page lies in, and how far into the newest of them it begins; undefined for a page past the end.
 * Days are in the sorting key: only these are read with their properties, however many events the project
 * has.
 * @param days newest first
 */
export function pageSpan(
  days: readonly DayCount[],
  limit: number,
  offset: number,
): { first_day: string; last_day: string; offset: number } | undefined {
  let before = 0;
  let last: { day: string; before: number } | undefined;
  for (const { day, count } of days) {
    const through = before + Number(count);
    if (!last && through > offset) last = { day, before };
    if (last && through >= offset + limit)
      return { first_day: day, last_day: last.day, offset: offset - last.before };
    before = through;
  }
  const oldest = days.at(-1)?.day;
  return last && oldest ? { first_day: oldest, last_day: last.day, offset: offset - last.before } : undefined;
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
