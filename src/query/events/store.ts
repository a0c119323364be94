// Single events, asked of ClickHouse: which are on the page first, then what is in them, so that properties are read
// of the page alone. Never shapes a reply.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import type { PropertyFilter } from "../../storage/property_filter.ts";
import type { Span } from "../date_range.ts";
import type { EventRow } from "./columns.ts";
import { type Ask, draftOf, matching, source, within } from "../store.ts";

export interface EventsAsked {
  project_id: number;
  now: number;
  timezone: string;
  event: string | undefined;
  filters: PropertyFilter[];
  span: Span;
  newestFirst: boolean;
  limit: number;
  offset: number;
}

interface Place {
  uuid: string;
  timestamp: string;
}

/** Ordered by timestamp and uuid, one more than `limit` where there are more. */
export async function eventRows(ask: Ask, asked: EventsAsked): Promise<EventRow[]> {
  const draft = draftOf(asked.project_id, asked.now, asked.timezone);
  const where = `${within(draft, asked.span)} AND ${matching(draft, asked)}`;
  const order = asked.newestFirst ? "DESC" : "ASC";
  const places = await ask<Place>(
    `SELECT uuid, timestamp FROM ${source(asked.filters)}
     WHERE ${where} ORDER BY timestamp ${order}, uuid ${order} LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { ...draft.params, limit: asked.limit + 1, offset: asked.offset },
  );
  const moments = places.map(({ timestamp }) => timestamp).toSorted();
  if (moments.length === 0) return [];
  const onPage = `project_id = {project_id:UInt32}
       AND timestamp >= toDateTime64({oldest:String}, 6, 'UTC')
       AND timestamp <= toDateTime64({newest:String}, 6, 'UTC')
       AND has({uuids:Array(UUID)}, uuid)`;
  const params = {
    project_id: asked.project_id,
    oldest: moments[0],
    newest: moments.at(-1),
    uuids: places.map(({ uuid }) => uuid),
  };
  if (places.length * limits.eventBytesMax > limits.queryPageBytesMax) {
    const [size] = await ask<{ bytes: string }>(
      `SELECT sum(length(properties)) AS bytes FROM stored_events WHERE ${onPage}`,
      params,
    );
    if (Number(size?.bytes) > limits.queryPageBytesMax) throw tooBig();
  }
  return await ask<EventRow>(
    `SELECT uuid, event, distinct_id, properties, timestamp, created_at, person_id
     FROM events WHERE ${onPage} ORDER BY timestamp ${order}, uuid ${order}`,
    params,
  );
}

function tooBig(): Fault {
  const detail = `These events hold more than ${limits.queryPageBytesMax} bytes. Ask for fewer of them at once.`;
  return new Fault("invalid_input", detail, { attr: "query" });
}
