// What the statements of a page of events share: how an event is written, and how long asking may take.

import { limits } from "../core/limits.ts";
import type { QueryOptions } from "../storage/clickhouse/clickhouse.ts";

/** Which events are on a page, for a SELECT to begin with what of them. */
export interface PageQuestion {
  from: string;
  params: Record<string, unknown>;
}

export const eventQueryOptions: QueryOptions = {
  // The engine gives up first and says why; the client only guards against an engine that says nothing.
  timeoutMs: limits.querySecondsMax * 1000 + limits.engineSaysMsMax,
  // One thread: a reader who waits a little longer costs capture nothing, all cores at once would.
  settings: { max_execution_time: limits.querySecondsMax, date_time_output_format: "simple", max_threads: 1 },
};

/**
 * An event as its reply shows it, written by the engine: a thousand of them, read here and written again, would hold up
 * every capture beside them. `properties` are the client's text: reading them would round long numbers and drop
 * repeated keys. What stands before them, and behind.
 */
export const eventHead = `concat(
  ',{"id":"', toString(uuid), '","uuid":"', toString(uuid),
  '","event":', toJSONString(event), ',"distinct_id":', toJSONString(distinct_id), ',"properties":')`;

export const eventTail = `concat(
  ',"timestamp":"', ${isoText("timestamp")}, '","created_at":"', ${isoText("created_at")},
  '","person_id":"', toString(person_id), '","historical_migration":', toString(historical_migration), '}')`;

export const eventText = `concat(${eventHead}, if(properties = '', '{}', properties), ${eventTail})`;

/** `2024-01-02T03:04:05.600000Z`; a fraction of zero is left out. */
function isoText(moment: string): string {
  return `concat(replaceOne(replaceOne(toString(${moment}), '.000000', ''), ' ', 'T'), 'Z')`;
}
