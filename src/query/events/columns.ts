// The columns of a list of events: which there are, and what each shows of an event. Takes no SQL.

import { Fault } from "../../core/fault.ts";
import { isoOfStored } from "../../http/fields/field_time.ts";

/** An event as it is read. */
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

/** An event whose properties were read. */
export interface ReadEvent extends EventRow {
  read: unknown;
}

export interface Column {
  /** The engine's name of what it holds. */
  type: string;
  of: (row: ReadEvent) => unknown;
}

const fixed: Record<string, Column> = {
  uuid: { type: "UUID", of: ({ uuid }) => uuid },
  event: { type: "String", of: ({ event }) => event },
  distinct_id: { type: "String", of: ({ distinct_id }) => distinct_id },
  properties: { type: "String", of: ({ read }) => read },
  timestamp: { type: "DateTime64(6, 'UTC')", of: ({ timestamp }) => isoOfStored(timestamp) },
  created_at: { type: "DateTime64(6, 'UTC')", of: ({ created_at }) => isoOfStored(created_at) },
  person_id: { type: "UUID", of: ({ person_id }) => person_id },
  "*": { type: "Tuple", of: wholeOf },
};

/** A property by name: `properties.plan`, `properties.$browser`, `properties['a name']`. */
const property = /^properties(?:\.([\p{L}_$][\p{L}\p{N}_$]*)|\[(?:'([^'\\]+)'|"([^"\\]+)")\])$/u;

/** @throws Fault for one that is none. */
export function columnsOf(select: readonly string[], attr: string): Column[] {
  return select.map((name, i) => {
    const [, plain, single, double] = property.exec(name) ?? [];
    const key = plain ?? single ?? double;
    if (key !== undefined) return { type: "String", of: ({ read }) => memberOf(read, key) };
    const column = Object.hasOwn(fixed, name) ? fixed[name] : undefined;
    if (column) return column;
    const known = `${Object.keys(fixed).join(", ")}, properties.name`;
    const detail = `"${name.slice(0, 100)}" is not a column. SQL is not supported; these are: ${known}.`;
    throw new Fault("invalid_choice", detail, { attr: `${attr}__select__${i}` });
  });
}

/** Reads each event's properties, once for all columns. */
export function readEvent(row: EventRow): ReadEvent {
  return { ...row, read: jsonOf(row.properties) ?? {} };
}

function memberOf(value: unknown, key: string): unknown {
  const there = typeof value === "object" && value !== null && Object.hasOwn(value, key);
  return there ? (value as Record<string, unknown>)[key] : null;
}

/** @throws Fault for any order but by time. */
export function isNewestFirst(orderBy: readonly string[] | null | undefined, attr: string): boolean {
  const [order = "timestamp DESC", ...others] = orderBy ?? [];
  const [column, direction = "asc", ...rest] = order.trim().toLowerCase().split(/\s+/, 3);
  const isKnown = column === "timestamp" && (direction === "asc" || direction === "desc");
  if (others.length > 0 || rest.length > 0 || !isKnown) {
    const detail = 'Only ["timestamp ASC"] and ["timestamp DESC"] are supported.';
    throw new Fault("invalid_choice", detail, { attr: `${attr}__orderBy` });
  }
  return direction === "desc";
}

function wholeOf(row: ReadEvent): Record<string, unknown> {
  const { uuid, event, distinct_id, person_id, read: properties } = row;
  return { uuid, event, properties, timestamp: isoOfStored(row.timestamp), distinct_id, person_id };
}

function jsonOf(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
