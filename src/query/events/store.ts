// The statements of a list of events: first the keys of the page, then the properties of these events, so that
// properties of other events are not read.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { queryLimits } from "../limits.ts";
import { fitting } from "../../http/pages/page.ts";
import {
  type EventKey,
  keyColumns,
  keyParams,
  propertiesText,
  sizesText,
} from "../../storage/events/stored_properties.ts";
import type { QueryContext } from "../answer.ts";
import type { EventRow } from "./columns.ts";
import { type EventsScope, newDraft, entityCondition, spanCondition } from "../store.ts";

interface EventsParams extends EventsScope, Pick<QueryContext, "run"> {
  event: string | undefined;
  newestFirst: boolean;
  limit: number;
  offset: number;
}

/** An event without its properties. */
type KeyedEvent = EventKey & Omit<EventRow, "properties">;

/**
 * Events ordered by timestamp and uuid; one more than `limit` when there are more.
 * @throws Fault when their properties are larger than queryLimits.queryPageBytesMax.
 */
export async function eventRows(params: EventsParams): Promise<EventRow[]> {
  const draft = newDraft(params);
  const where = `${spanCondition(draft, params.span)} AND ${entityCondition(draft, params)}`;
  const order = params.newestFirst ? "DESC" : "ASC";
  const events = await params.run<KeyedEvent>(
    `SELECT ${keyColumns}, distinct_id, timestamp, created_at, person_id FROM events
     WHERE ${where} ORDER BY timestamp ${order}, uuid ${order} LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { ...draft.params, limit: params.limit + 1, offset: params.offset },
  );
  if (events.length === 0) return [];
  const keys = keyParams(params.project_id, events);
  if (events.length * limits.eventBytesMax > queryLimits.queryPageBytesMax) {
    const sizes = await params.run<{ uuid: string; bytes: string }>(sizesText, keys);
    const bytesOf = new Map(sizes.map(({ uuid, bytes }) => [uuid, Number(bytes)]));
    const fits = fitting(
      events.map(({ uuid }) => bytesOf.get(uuid) ?? 0),
      queryLimits.queryPageBytesMax,
    );
    // The rows include one after the page, which tells whether there are more.
    if (fits !== undefined) throw tooBig(Math.max(1, fits - 1));
  }
  const read = await params.run<{ uuid: string; properties: string }>(propertiesText, keys);
  const properties = new Map(read.map((row) => [row.uuid, row.properties]));
  return events.flatMap((row) => {
    const own = properties.get(row.uuid);
    return own === undefined ? [] : [{ ...row, properties: own }];
  });
}

function tooBig(fits: number): Fault {
  const detail = `These events hold more than ${queryLimits.queryPageBytesMax} bytes. Ask with "limit": ${fits}.`;
  return new Fault("invalid_input", detail, { attr: "query" });
}
