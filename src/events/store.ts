// Queries in ClickHouse for events, by time. Properties are not parsed: a reply has the client's text.

import type { Page } from "../http/pages/page.ts";
import { findMainId } from "../persons/reading/main_id_store.ts";
import { findEventKeys, type ListedEvents } from "../query/events/page.ts";
import type { QueryContext } from "../query/store.ts";
import { unlessTooBig } from "../storage/clickhouse/clickhouse.ts";
import {
  filteredOptions,
  type ProjectReads,
  wholePageOptions,
  withSettings,
} from "../storage/clickhouse/query_options.ts";
import { buildConditions, type Conditions } from "../storage/events/conditions.ts";
import { compilePropertyFilters, readsPersons } from "../storage/events/property_filter.ts";
import { hasKey, keyParams, keyRank } from "../storage/events/stored_properties.ts";
import { blockedEvents, eventText, type PageQuery, plainSlashes } from "./block_store.ts";
import { countDays, countFinalDays, type DayCount } from "./day_store.ts";

interface EventFilter extends Partial<Omit<ListedEvents, "where" | "orderBy">> {
  oldestFirst?: boolean | undefined;
  /** The time that relative dates in `properties` count from, in ms since 1970, and the zone of days. */
  now?: number | undefined;
  timezone?: string | undefined;
}

export interface EventPage {
  count: number;
  /** The page's events: JSON objects, each with a comma before it, in one chunk or, if they are long, in blocks. */
  rows: AsyncGenerator<Uint8Array, void>;
}

/**
 * The page of `limit` events after the first `offset`, by timestamp and then by uuid, descending by default.
 * @throws Fault with attr `limit`, which names a limit that fits, when the properties are too long for one reply.
 */
export async function listEvents(
  reads: ProjectReads,
  filter: EventFilter,
  { limit, offset }: Page,
): Promise<EventPage> {
  const person = await personCondition(reads, filter);
  const { properties = [] } = filter;
  const { where, params } = conditions(reads.project_id, filter, person);
  const order = filter.oldestFirst ? "ASC" : "DESC";
  // `stored_events` avoids the join with persons.
  const view = readsPersons(properties) || person?.joins ? "events" : "stored_events";
  const isPlain = view === "stored_events" && properties.length === 0;
  const days = isPlain
    ? await countDays(reads, { where, params }, order)
    : await countFinalDays(reads, view, { where, params }, order);
  const count = days.reduce((sum, day) => sum + Number(day.count), 0);
  const span = pageSpan(days, limit, offset);
  if (!span) return { count, rows: inOneChunk(new Uint8Array(0)) };
  const page: PageQuery = {
    from: `FROM events
     WHERE ${where}
       AND timestamp >= toDateTime64({from:String}, 6, 'UTC')
       AND timestamp <= toDateTime64({to:String}, 6, 'UTC')
     ORDER BY timestamp ${order}, uuid ${order}
     LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    params: {
      ...params,
      from: `${filter.oldestFirst ? span.last_day : span.first_day} 00:00:00.000000`,
      to: `${filter.oldestFirst ? span.first_day : span.last_day} 23:59:59.999999`,
      limit,
      offset: span.offset,
    },
  };
  return { count, rows: await pageRows(reads, page, span.rows > pageSpanRowsMax) };
}

/** @param isLong whether its properties are read in blocks immediately: its rows are known by their keys only. */
async function pageRows(reads: ProjectReads, page: PageQuery, isLong: boolean) {
  const whole = isLong ? undefined : await wholeEvents(reads, page);
  return whole ? inOneChunk(whole) : await blockedEvents(reads, page);
}

/** Reads events as queries do, with a query's permit. */
export type Within = <Value>(work: (context: QueryContext) => Promise<Value>) => Promise<Value>;

/** Events that are filtered or ordered in SQL: found as by queries, shown like all events. @throws as listEvents. */
export async function listEventsInSql(reads: ProjectReads, within: Within, filter: ListedEvents, page: Page) {
  const { count, keys } = await within((context) => findEventKeys(context, filter, page));
  if (keys.length === 0) return { count, rows: inOneChunk(new Uint8Array(0)) };
  const query: PageQuery = {
    from: `FROM events WHERE project_id = {project_id:UInt32} AND ${hasKey} ORDER BY ${keyRank}`,
    params: keyParams(reads.project_id, keys),
  };
  return { count, rows: await pageRows(reads, query, false) };
}

/** Events on the days of a page above which its keys are read first, and its properties in blocks. */
const pageSpanRowsMax = 100_000;

/** The page read in one statement; undefined when that exceeds limits.readSmallBytesMax. */
async function wholeEvents(
  { clickhouse }: ProjectReads,
  { from, params }: PageQuery,
): Promise<Uint8Array | undefined> {
  const options = withSettings({ ...wholePageOptions.settings, ...plainSlashes }, filteredOptions);
  const text = `SELECT ${eventText} AS line ${from} FORMAT RawBLOB`;
  return await unlessTooBig(clickhouse.bytes(text, params, options));
}

async function* inOneChunk(events: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield events;
}

/**
 * The days of a page, the number of events on them, and the page's offset within them; undefined past the end. Days
 * are part of the sorting key, so properties are read for these days only, however many events the project has.
 * @param days in the order of the events, here and in what is returned newest first.
 */
export function pageSpan(days: readonly DayCount[], limit: number, offset: number) {
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

interface PersonCondition extends Conditions {
  /** Whether it reads `person_id`. */
  joins: boolean;
}

/** Events of a person are found by its distinct ids; a person without a profile, by its id. */
async function personCondition(
  reads: ProjectReads,
  { person_id }: EventFilter,
): Promise<PersonCondition | undefined> {
  if (person_id === undefined) return undefined;
  const main_id = await findMainId(reads, person_id);
  if (main_id === undefined)
    return { where: "person_id = {person_id:UUID}", params: { person_id }, joins: true };
  const ids = `SELECT distinct_id FROM merged_ids FINAL
    WHERE project_id = {project_id:UInt32} AND main_id = {main_id:String}`;
  const where = `(distinct_id = {main_id:String} OR distinct_id IN (${ids}))`;
  return { where, params: { main_id }, joins: false };
}

function conditions(project_id: number, filter: EventFilter, person: PersonCondition | undefined) {
  const { event, distinct_id, after, before, properties = [], now, timezone = "UTC" } = filter;
  const found = buildConditions(project_id, { event, distinct_id }, { after, before });
  const where = person ? `${found.where} AND ${person.where}` : found.where;
  const params = { ...found.params, ...person?.params };
  if (properties.length === 0) return { where, params };
  const propertyCondition = compilePropertyFilters(properties, params, "property", {
    timezone,
    ...(now !== undefined && { now }),
  });
  return { where: `${where} AND ${propertyCondition}`, params };
}
