// The statements of a list of events: first the keys of the page, then the properties of these events, so that
// properties of other events are not read.

import { refuseInput } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { fitting, type Page } from "../../http/pages/page.ts";
import {
  type EventKey,
  keyColumns,
  keyParams,
  propertiesText,
  sizesText,
} from "../../storage/events/stored_properties.ts";
import type { DateSpan } from "../date_range.ts";
import { queryLimits } from "../limits.ts";
import type { Entity } from "../parts/figure.ts";
import { Draft, type QueryContext } from "../store.ts";
import type { EventRow } from "./columns.ts";

/**
 * Events ordered by timestamp and uuid; one more than `limit` when there are more.
 * @throws Fault when their properties are larger than queryLimits.queryPageBytesMax.
 */
export async function eventRows(
  context: QueryContext,
  entity: Pick<Entity, "event" | "filters">,
  span: DateSpan,
  { limit, offset, newestFirst }: Page & { newestFirst: boolean },
): Promise<EventRow[]> {
  const { run, project_id } = context;
  const draft = new Draft(context);
  const which = draft.entityCondition(entity);
  const where = `${draft.spanCondition(span)} AND ${which}`;
  const order = newestFirst ? "DESC" : "ASC";
  const events = await run<EventKey & Omit<EventRow, "properties">>(
    `SELECT ${keyColumns}, distinct_id, timestamp, created_at, person_id FROM events
     WHERE ${where} ORDER BY timestamp ${order}, uuid ${order} LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { ...draft.params, limit: limit + 1, offset },
  );
  if (events.length === 0) return [];
  const keys = keyParams(project_id, events);
  if (events.length * limits.eventBytesMax > queryLimits.queryPageBytesMax) {
    const sizes = await run<{ uuid: string; bytes: string }>(sizesText, keys);
    const bytesOf = new Map(sizes.map(({ uuid, bytes }) => [uuid, Number(bytes)]));
    const fits = fitting(
      events.map(({ uuid }) => bytesOf.get(uuid) ?? 0),
      queryLimits.queryPageBytesMax,
    );
    if (fits !== undefined) {
      // The rows include one after the page, which shows whether there are more.
      const limitFitting = `Use "limit": ${Math.max(1, fits - 1)}.`;
      refuseInput(
        `These events hold more than ${queryLimits.queryPageBytesMax} bytes. ${limitFitting}`,
        "query",
      );
    }
  }
  const read = await run<{ uuid: string; properties: string }>(propertiesText, keys);
  const properties = new Map(read.map((row) => [row.uuid, row.properties]));
  return events.flatMap((row) => {
    const ownProperties = properties.get(row.uuid);
    return ownProperties === undefined ? [] : [{ ...row, properties: ownProperties }];
  });
}
