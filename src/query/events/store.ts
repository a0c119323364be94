// Single events, asked of ClickHouse: which are on the page first, then what is in them, so that properties are read
// of the page alone. Never shapes a reply.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { queryLimits } from "../limits.ts";
import { fitting } from "../../http/pages/page.ts";
import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import {
  type EventKey,
  keyColumns,
  keyParams,
  propertiesText,
  sizesText,
} from "../../storage/events/stored_properties.ts";
import type { DateSpan } from "../date_range.ts";
import type { EventRow } from "./columns.ts";
import { type QueryAsk, draftOf, matching, within } from "../store.ts";

export interface EventsQuestion {
  project_id: number;
  now: number;
  timezone: string;
  event: string | undefined;
  filters: PropertyFilter[];
  span: DateSpan;
  newestFirst: boolean;
  limit: number;
  offset: number;
}

/** An event before its properties are read. */
type Placed = EventKey & Omit<EventRow, "properties">;

/** Ordered by timestamp and uuid, one more than `limit` where there are more. */
export async function eventRows(ask: QueryAsk, asked: EventsQuestion): Promise<EventRow[]> {
  const draft = draftOf(asked.project_id, asked.now, asked.timezone);
  const where = `${within(draft, asked.span)} AND ${matching(draft, asked)}`;
  const order = asked.newestFirst ? "DESC" : "ASC";
  const placed = await ask<Placed>(
    `SELECT ${keyColumns}, distinct_id, timestamp, created_at, person_id FROM events
     WHERE ${where} ORDER BY timestamp ${order}, uuid ${order} LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { ...draft.params, limit: asked.limit + 1, offset: asked.offset },
  );
  if (placed.length === 0) return [];
  const params = keyParams(asked.project_id, placed);
  if (placed.length * limits.eventBytesMax > queryLimits.queryPageBytesMax) {
    const sizes = await ask<{ uuid: string; bytes: string }>(sizesText, params);
    const bytesOf = new Map(sizes.map(({ uuid, bytes }) => [uuid, Number(bytes)]));
    const fits = fitting(
      placed.map(({ uuid }) => bytesOf.get(uuid) ?? 0),
      queryLimits.queryPageBytesMax,
    );
    // One row more than the page has is read, to know whether there are more.
    if (fits !== undefined) throw tooBig(Math.max(1, fits - 1));
  }
  const read = await ask<{ uuid: string; properties: string }>(propertiesText, params);
  const properties = new Map(read.map((row) => [row.uuid, row.properties]));
  return placed.flatMap((row) => {
    const own = properties.get(row.uuid);
    return own === undefined ? [] : [{ ...row, properties: own }];
  });
}

function tooBig(fits: number): Fault {
  const detail = `These events hold more than ${queryLimits.queryPageBytesMax} bytes. Ask with "limit": ${fits}.`;
  return new Fault("invalid_input", detail, { attr: "query" });
}
