// Properties of single events by their keys in the table, so that only these rows are read; and their sizes, which are
// read first.

import { textRows } from "../clickhouse/row_binary.ts";

export interface EventKey {
  /** `YYYY-MM-DD` of its timestamp. */
  day: string;
  event: string;
  /** cityHash64 of its distinct id. */
  id_hash: string;
  uuid: string;
  /** Its arrival, in microseconds since 1970; the first one of an event that was sent twice. */
  arrived: string;
}

export const keyColumns =
  "toString(toDate(timestamp)) AS day, event, toString(cityHash64(distinct_id)) AS id_hash, uuid, " +
  "toString(toUnixTimestamp64Micro(created_at)) AS arrived";

/** The day of a moment in microseconds as the sorting key has it: the engine counts days since 1970 in 16 bits. */
export function keyDay(micros: bigint): string {
  const days = Math.floor(Number(micros / 1_000_000n) / 86_400) & 0xffff;
  return new Date(days * 86_400_000).toISOString().slice(0, 10);
}

/** The condition on rows of events with one of the keys, by the table's sorting key. */
export const hasKey = `(toDate(timestamp), event, cityHash64(distinct_id), uuid) IN (
      SELECT arrayJoin(arrayZip(
        {days:Array(Date)}, {events:Array(String)}, {id_hashes:Array(UInt64)}, {uuids:Array(UUID)}
      ))
    )`;

/** The index of a row's key among the keys. */
export const keyRank = `transform(
      toString(uuid), arrayMap(one -> toString(one), {uuids:Array(UUID)}), arrayEnumerate({uuids:Array(UUID)}), 0
    )`;

/** Later arrivals of an event sent twice have another key; duplicates within one batch are equal. */
const ofKeys = `FROM event_rows
  WHERE project_id = {project_id:UInt32}
    AND ${hasKey}
    AND (uuid, toUnixTimestamp64Micro(created_at)) IN (
      SELECT arrayJoin(arrayZip({uuids:Array(UUID)}, {arrived:Array(Int64)}))
    )`;

/** At most so many rows of `uuid` and `bytes`, unordered. The engine reads only the lengths where it stores them. */
export const sizesText = `SELECT uuid, max(length(properties)) AS bytes ${ofKeys} GROUP BY uuid`;

/** Rows of `uuid` as text and `properties`, unordered. */
export const propertiesText = `SELECT toString(uuid) AS uuid, properties ${ofKeys} LIMIT 1 BY uuid`;

/** Small blocks, since each row holds all properties of an event. */
export const propertiesSettings = { max_block_size: 64 };

export function keyParams(project_id: number, keys: readonly EventKey[]): Record<string, unknown> {
  return {
    project_id,
    days: keys.map(({ day }) => day),
    events: keys.map(({ event }) => event),
    id_hashes: keys.map(({ id_hash }) => BigInt(id_hash)),
    uuids: keys.map(({ uuid }) => uuid),
    arrived: keys.map(({ arrived }) => BigInt(arrived)),
  };
}

/** The properties in an answer to `propertiesText` in RowBinary, by uuid; views of the answer's bytes. */
export function propertiesIn(answer: Uint8Array): Map<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  for (const [uuid, properties] of textRows(answer, 2)) found.set(Buffer.from(uuid!).toString(), properties!);
  return found;
}
