// Queries in ClickHouse for one event by its uuid, and for the values of a property.

import { readIdMoment } from "../core/id.ts";
import { type ProjectReads, withSettings } from "../storage/clickhouse/query_options.ts";
import { groupKeyAt, readGroupIndex } from "../storage/events/event_columns.ts";
import { type FrequentValue, frequentValues } from "../storage/events/frequent_values.ts";
import { eventText, plainSlashes } from "./block_store.ts";
import { eventLimits } from "./limits.ts";

export interface FoundEvent {
  /** The event's JSON, with a comma before it. */
  text: string;
  distinct_id: string;
  /** JSON text and text of its properties, empty where it has none. */
  elements: string;
  chain: string;
}

interface Located {
  at: string;
  event: string;
  distinct_id: string;
}

/**
 * The event of a uuid; undefined when there is none. The uuid is last in the sorting key, so a search by it alone reads
 * the uuids of all the project's events. Most uuids contain the time of their creation: events of that time, and those
 * that arrived then, are searched first.
 */
export async function findEvent(reads: ProjectReads, uuid: string): Promise<FoundEvent | undefined> {
  const time = readIdMoment(uuid);
  const near = (column: string) => `${column} >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND ${column} <= fromUnixTimestamp64Milli({to:Int64}, 'UTC')`;
  const { uuidTimeMsMax } = eventLimits;
  const times =
    time === undefined ? undefined : { from: BigInt(time - uuidTimeMsMax), to: BigInt(time + uuidTimeMsMax) };
  for (const where of times ? [near("timestamp"), near("created_at"), "1"] : ["1"]) {
    const [located] = await reads.query<Located>(
      `SELECT toString(toUnixTimestamp64Micro(timestamp)) AS at, event, distinct_id FROM event_rows
       WHERE project_id = {project_id:UInt32} AND uuid = {uuid:UUID} AND ${where}
       ORDER BY created_at LIMIT 1`,
      { uuid, ...(where !== "1" && times) },
    );
    if (located) return await readEvent(reads, uuid, located);
  }
  return undefined;
}

/** With all of the sorting key but the hash, few rows are read. */
async function readEvent(
  reads: ProjectReads,
  uuid: string,
  { at, event, distinct_id }: Located,
): Promise<FoundEvent | undefined> {
  const [found] = await reads.query<FoundEvent>(
    `SELECT ${eventText} AS text, distinct_id,
       JSONExtractRaw(properties, '$elements') AS elements,
       JSONExtractString(properties, '$elements_chain') AS chain
     FROM events
     WHERE project_id = {project_id:UInt32} AND uuid = {uuid:UUID} AND event = {event:String}
       AND distinct_id = {distinct_id:String} AND timestamp = fromUnixTimestamp64Micro({at:Int64}, 'UTC')
     LIMIT 1`,
    { uuid, event, distinct_id, at: BigInt(at) },
    withSettings(plainSlashes),
  );
  return found;
}

/** A property's JSON; `$group_0` to `$group_4` are the keys of the event's groups, as for filters. */
function rawProperty(key: string): string {
  const rawSql = "JSONExtractRaw(properties, {key:String})";
  const index = readGroupIndex(key);
  if (index === undefined) return rawSql;
  const group = groupKeyAt(index);
  return `if(${group} = '', ${rawSql}, toJSONString(${group}))`;
}

/** The most frequent values of a property among the events of the last days. */
export function listEventValues(
  reads: ProjectReads,
  filter: { key: string; search: string | undefined; events: readonly string[]; now: number },
): Promise<FrequentValue[]> {
  const { key, search, events, now } = filter;
  // PostHog's word for the names of the project's own events.
  const isName = key === "custom_event";
  const raw = isName ? "toJSONString(event)" : rawProperty(key);
  const values = `SELECT arrayJoin(if(startsWith(${raw} AS own, '['), JSONExtractArrayRaw(own), [own])) AS value
    FROM stored_events
    WHERE project_id = {project_id:UInt32} AND timestamp >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
      ${isName ? "AND NOT startsWith(event, '$')" : ""}
      ${events.length === 0 ? "" : "AND event IN {events:Array(String)}"}`;
  const from = BigInt(now - eventLimits.valuesDays * 86_400_000);
  return frequentValues(reads, { values, params: { key, from, events }, search });
}
