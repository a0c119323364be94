// Names in ClickHouse: written, read back, and read from stored events.

import { toBytes } from "../../core/bytes.ts";
import type { ClickHouse, QueryOptions } from "../../storage/clickhouse/clickhouse.ts";
import { nativeBlock, type NativeColumns } from "../../storage/native/native_block.ts";
import { personMode } from "../fields/row.ts";
import type { NamedEvent } from "./event_shape.ts";
import { definitionLimits } from "./limits.ts";
import type { DetectedType } from "./property_type.ts";

/** Same as in `definitions.kind`. */
export const definitionKind = { event: 0, eventProperty: 1, personProperty: 2, groupProperty: 3 } as const;

export interface Definition {
  project_id: number;
  kind: number;
  group_type: string;
  name: string;
  /** Undefined while no value has shown it, and for an event. */
  type: DetectedType | undefined;
  /** When the event arrived, in microseconds since 1970. */
  at: number;
}

/** An event and a property that it had, set, or set once. */
export interface EventProperty {
  project_id: number;
  event: string;
  property: string;
}

/** A pair as a number of 53 bits, the same as in readKnown(). */
export function pairNumber({ event, property }: Pick<EventProperty, "event" | "property">): number {
  return Number(Bun.hash.xxHash64(`${event}\0${property}`) & 0x1f_ffff_ffff_ffffn);
}

const definitionColumns: NativeColumns<Definition> = [
  ["project_id", "UInt32", (out, row) => out.u32(row.project_id)],
  ["kind", "UInt8", (out, row) => out.u8(row.kind)],
  ["group_type", "String", (out, row) => out.text(row.group_type)],
  ["name", "String", (out, row) => out.text(row.name)],
  ["created_at", "DateTime64(6, 'UTC')", (out, row) => out.i64(row.at)],
  [
    "typed",
    "String",
    (out, row) => out.text(row.type ? `${String(row.at).padStart(20, "0")} ${row.type}` : "~"),
  ],
];

const pairColumns: NativeColumns<EventProperty> = [
  ["project_id", "UInt32", (out, row) => out.u32(row.project_id)],
  ["event", "String", (out, row) => out.text(row.event)],
  ["property", "String", (out, row) => out.text(row.property)],
];

/** Writes names; existing ones do not change. */
export async function insertDefinitions(clickhouse: ClickHouse, rows: readonly Definition[]): Promise<void> {
  await clickhouse.insertNative("definitions", { bytes: [nativeBlock(rows, definitionColumns)] });
}

/** Writes pairs of an event and a property, as insertDefinitions() writes names. */
export async function insertEventProperties(
  clickhouse: ClickHouse,
  rows: readonly EventProperty[],
): Promise<void> {
  await clickhouse.insertNative("event_properties", { bytes: [nativeBlock(rows, pairColumns)] });
}

/** The stored names and pairs of a project, at most as many as are allowed. */
export async function readKnown(clickhouse: ClickHouse, project_id: number) {
  const { eventsMax, propertiesMax, pairsMax } = definitionLimits;
  const names = await clickhouse.query<{ kind: number; group_type: string; name: string; type: string }>(
    `SELECT kind, group_type, name, substring(min(typed), 22) AS type
     FROM definitions
     WHERE project_id = {project_id:UInt32}
     GROUP BY kind, group_type, name
     LIMIT {most:UInt32}`,
    { project_id, most: 2 * (eventsMax + propertiesMax) },
    { kind: "flush" },
  );
  const pairs = await clickhouse.query<{ number: string }>(
    `SELECT DISTINCT bitAnd(xxHash64(concat(event, '\\0', property)), 0x1FFFFFFFFFFFFF) AS number
     FROM event_properties
     WHERE project_id = {project_id:UInt32}
     LIMIT {most:UInt32}`,
    { project_id, most: 2 * pairsMax },
    { kind: "flush" },
  );
  return {
    names: names.map((row) => ({ ...row, type: (row.type || undefined) as DetectedType | undefined })),
    pairs: pairs.map(({ number }) => Number(number)),
  };
}

interface Shape {
  project_id: number;
  name: string;
  /** Properties of one of them. */
  sample: string;
  at: string;
  pk: string[];
  pw: number[];
  values: string[];
  gt: string[];
  person_mode: number;
}

/**
 * One event of each shape among those stored of which `which` is true. Properties that the engine's JSON functions do
 * not accept are a shape of their own each.
 */
export async function readShapes(
  clickhouse: ClickHouse,
  which: string,
  params: Record<string, unknown>,
  options: QueryOptions = { kind: "flush" },
): Promise<NamedEvent[]> {
  const showsNone = (value: string) => `substring(${value}, 1, 1) IN ('n', '[', '{')`;
  const rows = await clickhouse.query<Shape>(
    `WITH JSONExtractKeysAndValuesRaw(properties) AS members
     SELECT
       project_id, toString(event) AS name, any(properties) AS sample,
       toUnixTimestamp64Micro(min(created_at)) AS at, pk, pw, any(pv) AS values, gt, person_mode
     FROM event_rows
     WHERE ${which}
     GROUP BY project_id, event, pk, pw, gt, person_mode,
       cityHash64(
         arrayMap(member -> (member.1, ${showsNone("member.2")}), members),
         if(empty(members), properties, ''),
         arrayMap(value -> ${showsNone("value")}, pv))`,
    params,
    options,
  );
  return rows.map(namedEvent);
}

function namedEvent({ project_id, name, sample, at, pk, pw, values, gt, person_mode }: Shape): NamedEvent {
  const toRange = (text: string) => {
    const source = toBytes(text);
    return { source, from: 0, to: source.length };
  };
  const keys = pk.map(toRange);
  const source = toBytes(values.join(""));
  const valueTo: number[] = [];
  for (const value of values) valueTo.push((valueTo.at(-1) ?? 0) + Buffer.byteLength(value));
  return {
    project_id,
    event: toRange(name),
    properties: toRange(sample),
    created_at: Number(at),
    changes: {
      count: keys.length,
      ops: Uint8Array.from(pw),
      keySource: (which) => keys[which]!.source,
      keyFrom: new Int32Array(keys.length),
      keyTo: Int32Array.from(keys, ({ to }) => to),
      source,
      valueFrom: Int32Array.from([0, ...valueTo].slice(0, keys.length)),
      valueTo: Int32Array.from(valueTo),
    },
    groups: { identified: person_mode === personMode.group, types: gt.map(toRange) },
  };
}
