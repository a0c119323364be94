// The columns that a list of events can have, and the value of each.

import { formatStored } from "../../http/fields/field_time.ts";
import { readGroupIndex } from "../../storage/events/event_columns.ts";
import { findRefusal } from "../../storage/events/session_property.ts";
import { parseJson } from "../parts/made_columns.ts";

export interface EventRow {
  uuid: string;
  event: string;
  distinct_id: string;
  /** JSON text. */
  properties: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, like created_at. */
  timestamp: string;
  created_at: string;
  person_id: string;
}

interface ParsedEvent extends EventRow {
  parsed: unknown;
}

export interface Column {
  /** The ClickHouse type. */
  type: string;
  of: (row: ParsedEvent) => unknown;
}

const fixed: Record<string, Column> = {
  uuid: { type: "UUID", of: ({ uuid }) => uuid },
  event: { type: "String", of: ({ event }) => event },
  distinct_id: { type: "String", of: ({ distinct_id }) => distinct_id },
  properties: { type: "String", of: ({ parsed }) => parsed },
  timestamp: { type: "DateTime64(6, 'UTC')", of: ({ timestamp }) => formatStored(timestamp) },
  created_at: { type: "DateTime64(6, 'UTC')", of: ({ created_at }) => formatStored(created_at) },
  person_id: { type: "UUID", of: ({ person_id }) => person_id },
  "*": { type: "Tuple", of: toWholeEvent },
};

/** A property by name: `properties.plan`, `properties.$browser`, `properties['a name']`. */
const property = /^properties(?:\.([\p{L}_$][\p{L}\p{N}_$]*)|\[(?:'([^'\\]+)'|"([^"\\]+)")\])$/u;

/** undefined when one of them is an expression. */
export function readColumns(select: readonly string[]): Column[] | undefined {
  const columns = select.map((name): Column | undefined => {
    const [, plain, single, double] = property.exec(name) ?? [];
    const key = plain ?? single ?? double;
    // `$group_0` and the like are not among the properties that were sent; SQL refuses those that are computed.
    if (key !== undefined && (readGroupIndex(key) !== undefined || findRefusal(key))) return undefined;
    if (key !== undefined) return { type: "Nullable(String)", of: ({ parsed }) => readProperty(parsed, key) };
    return Object.hasOwn(fixed, name) ? fixed[name] : undefined;
  });
  return columns.every((column) => column !== undefined) ? columns : undefined;
}

/** Parses an event's properties, once for all columns. */
export function parseEvent(row: EventRow): ParsedEvent {
  return { ...row, parsed: parseJson(row.properties) ?? {} };
}

function readProperty(value: unknown, key: string): unknown {
  const has = typeof value === "object" && value !== null && Object.hasOwn(value, key);
  return has ? (value as Record<string, unknown>)[key] : null;
}

/** Whether the order is by descending time, as without `orderBy`; undefined for other orders than by time. */
export function isNewestFirst(orderBy: readonly string[] | null | undefined): boolean | undefined {
  const [order = "timestamp DESC", ...others] = orderBy ?? [];
  const [column, direction = "asc", ...rest] = order.trim().toLowerCase().split(/\s+/, 3);
  const isKnown = column === "timestamp" && (direction === "asc" || direction === "desc");
  return others.length > 0 || rest.length > 0 || !isKnown ? undefined : direction === "desc";
}

function toWholeEvent(row: ParsedEvent): Record<string, unknown> {
  const { uuid, event, distinct_id, person_id, parsed: properties } = row;
  return { uuid, event, properties, timestamp: formatStored(row.timestamp), distinct_id, person_id };
}
