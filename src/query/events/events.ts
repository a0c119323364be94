// An EventsQuery: single events, as rows of the columns asked for. Never holds SQL, and takes none.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import type { Answered, Asking } from "../answer.ts";
import type { CheckedEvents } from "../check.ts";
import { momentOf, nowOf, spanOf, type Span } from "../date_range.ts";
import { type EventRow, eventRows } from "./store.ts";

const columns: Record<string, { type: string; of: (row: EventRow) => unknown }> = {
  uuid: { type: "UUID", of: ({ uuid }) => uuid },
  event: { type: "String", of: ({ event }) => event },
  distinct_id: { type: "String", of: ({ distinct_id }) => distinct_id },
  properties: { type: "String", of: ({ properties }) => jsonOf(properties) },
  timestamp: { type: "DateTime64(6, 'UTC')", of: ({ timestamp }) => isoOf(timestamp) },
  created_at: { type: "DateTime64(6, 'UTC')", of: ({ created_at }) => isoOf(created_at) },
  person_id: { type: "UUID", of: ({ person_id }) => person_id },
  "*": { type: "Tuple", of: wholeOf },
};

/** A property by name: `properties.plan`, `properties.$browser`, `properties['a name']`. */
const property = /^properties(?:\.([\p{L}_$][\p{L}\p{N}_$]*)|\[(?:'([^'\\]+)'|"([^"\\]+)")\])$/u;

/** @throws Fault for a column that is none, and where it is too heavy. */
export async function answerEvents(
  asking: Asking,
  { query, attr, filters }: CheckedEvents,
): Promise<Answered> {
  const keys: string[] = [];
  const read = query.select.map((name, i) => {
    const [, plain, single, double] = property.exec(name) ?? [];
    const key = plain ?? single ?? double;
    const place = keys.length;
    if (key !== undefined) keys.push(key);
    if (key !== undefined)
      return { type: "String", of: ({ picked }: EventRow) => jsonOf(picked[place] ?? "") };
    const column = Object.hasOwn(columns, name) ? columns[name] : undefined;
    if (column) return column;
    const known = `${Object.keys(columns).join(", ")}, properties.name`;
    const detail = `"${name.slice(0, 100)}" is not a column. SQL is not supported; these are: ${known}.`;
    throw new Fault("invalid_choice", detail, { attr: `${attr}__select__${i}` });
  });
  const span = spanBetween(asking, query, attr);
  const { limit: asked, offset: skipped } = query;
  const limit = asked ?? limits.pageDefault;
  const offset = skipped ?? 0;
  const { project_id, now, timezone } = asking;
  const newestFirst = isNewestFirst(query.orderBy, attr);
  const event = query.event || undefined;
  const rows = await eventRows(
    asking.ask,
    { project_id, now, timezone, event, filters, span, newestFirst, limit, offset },
    keys,
  );
  return {
    kind: "EventsQuery",
    interval: undefined,
    span,
    results: rows.slice(0, limit).map((row) => read.map(({ of }) => of(row))),
    columns: query.select,
    types: read.map(({ type }) => type),
    hasMore: rows.length > limit,
    limit,
    offset,
  };
}

/** Both ends are exclusive where they are moments; the last 24 hours unless told. */
function spanBetween(
  { now, timezone }: Asking,
  { after, before }: CheckedEvents["query"],
  attr: string,
): Span {
  const at = nowOf({ now, timezone });
  const wrong = (name: string) =>
    new Fault("invalid_input", "A date is needed, like 2024-01-31, 2024-01-31T12:00:00Z or -7d.", {
      attr: `${attr}__${name}`,
    });
  const from = after && after !== "all" ? momentOf(after, at, "start") : undefined;
  if (after && after !== "all" && !from) throw wrong("after");
  const to = before ? momentOf(before, at, "start") : undefined;
  if (before && !to) throw wrong("before");
  const usual = after === "all" ? undefined : at.subtract({ hours: 24 });
  const whole = spanOf({ date_from: "1970-01-03", date_to: "2099-12-31" }, { now, timezone }, { attr });
  return { from: from?.add({ microseconds: 1 }) ?? usual ?? whole.from, to: to ?? at.add({ days: 1 }) };
}

function isNewestFirst(orderBy: readonly string[] | null | undefined, attr: string): boolean {
  const [order = "timestamp DESC", ...others] = orderBy ?? [];
  const [, direction] = /^\s*timestamp(?:\s+(ASC|DESC))?\s*$/i.exec(order) ?? [];
  if (others.length > 0 || !/^\s*timestamp(\s+(ASC|DESC))?\s*$/i.test(order)) {
    const detail = 'Only ["timestamp ASC"] and ["timestamp DESC"] are supported.';
    throw new Fault("invalid_choice", detail, { attr: `${attr}__orderBy` });
  }
  return direction?.toUpperCase() === "DESC";
}

function wholeOf(row: EventRow): Record<string, unknown> {
  const { uuid, event, distinct_id, person_id } = row;
  const properties = jsonOf(row.properties) ?? {};
  return { uuid, event, properties, timestamp: isoOf(row.timestamp), distinct_id, person_id };
}

function jsonOf(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `2024-01-02 03:04:05.600000` as `2024-01-02T03:04:05.600000Z`; a fraction of zero is left out. */
function isoOf(moment: string): string {
  return `${moment.replace(" ", "T").replace(/\.0+$/, "")}Z`;
}
