// Queries answered the simplest way, over events in memory: what the engine's answers are held against.

import fc from "fast-check";
import type { Stores } from "../../src/storage/stores.ts";

export interface NaiveEvent {
  uuid: string;
  event: string;
  distinct_id: string;
  /** In ms since 1970. */
  at: number;
  properties: Record<string, unknown>;
}

export const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"];

const events = ["seen", "tried", "bought"];
const users = ["ann", "bob", "cid", "dot", "eve", "fay", "gus", "hal"];

/** Events of March and April 2024, when clocks change; some of the same moment, some sent twice. */
export const someEvents = fc.array(
  fc.record({
    uuid: fc.uuid(),
    event: fc.constantFrom(...events),
    distinct_id: fc.constantFrom(...users),
    at: fc
      .integer({ min: Date.UTC(2024, 1, 25) / 900_000, max: Date.UTC(2024, 3, 20) / 900_000 })
      .map((quarter) => quarter * 900_000),
    properties: fc.record(
      {
        plan: fc.constantFrom("free", "pro", "team", "", null, true),
        price: fc.oneof(fc.integer({ min: -5, max: 50 }), fc.constantFrom("12.5", "none", null)),
        $session_id: fc.constantFrom("s1", "s2", "s3", ""),
      },
      { requiredKeys: [] },
    ),
  }),
  { minLength: 250, maxLength: 250 },
);

export async function storeEvents(
  { clickhouse }: Stores,
  project_id: number,
  stored: readonly NaiveEvent[],
): Promise<void> {
  const rows = stored.map(({ at, properties, ...rest }) => ({
    ...rest,
    project_id,
    properties: JSON.stringify(properties),
    timestamp: engineTime(at),
  }));
  // The first twenty twice: a client's retry, stored later.
  for (const part of [rows, rows.slice(0, 20)]) {
    await clickhouse.command(
      `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
       SELECT uuid, {project_id:UInt32}, event, distinct_id, properties,
         parseDateTime64BestEffort(timestamp, 6, 'UTC'), now64(6)
       FROM format(JSONEachRow, 'uuid UUID, event String, distinct_id String, properties String, timestamp String',
         {rows:String})`,
      { project_id, rows: part.map((row) => JSON.stringify(row)).join("\n") },
    );
  }
}

export function engineTime(at: number): string {
  return new Date(at).toISOString().replace("T", " ").replace("Z", "");
}

export type NaiveInterval = "hour" | "day" | "week" | "month";

/** What tells one bucket from another. */
export function bucketKey(at: number, interval: NaiveInterval, zone: string): string {
  const local = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
  const day = local.toPlainDate();
  if (interval === "hour") return String(at - (local.minute * 60 + local.second) * 1000 - local.millisecond);
  if (interval === "week") return day.subtract({ days: day.dayOfWeek % 7 }).toString();
  return interval === "month" ? day.with({ day: 1 }).toString() : day.toString();
}

export function dayStart(day: string, zone: string): number {
  return Temporal.PlainDate.from(day).toZonedDateTime(zone).epochMilliseconds;
}

/** The buckets of all quarters of an hour from the start of one day to the end of another. */
export function bucketKeys(first: string, last: string, interval: NaiveInterval, zone: string): string[] {
  const keys = new Set<string>();
  const end = dayStart(Temporal.PlainDate.from(last).add({ days: 1 }).toString(), zone);
  for (let at = dayStart(first, zone); at < end; at += 900_000) keys.add(bucketKey(at, interval, zone));
  return [...keys];
}

/** A property as text, as filters and breakdowns see it. */
export function textOf(properties: Record<string, unknown>, key: string): string | null {
  const value = properties[key];
  return value === undefined || value === null ? null : String(value);
}

export function numberOf(properties: Record<string, unknown>, key: string): number | undefined {
  const text = textOf(properties, key);
  const number = text === null || text === "" ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

export function aggregateOf(math: string, of: readonly NaiveEvent[]): number {
  const numbers = of
    .map(({ properties }) => numberOf(properties, "price"))
    .filter((one) => one !== undefined)
    .toSorted((a, b) => a - b);
  const sum = numbers.reduce((total, one) => total + one, 0);
  switch (math) {
    case "dau":
      return new Set(of.map(({ distinct_id }) => distinct_id)).size;
    case "unique_session":
      return new Set(of.map(({ properties }) => properties["$session_id"]).filter(Boolean)).size;
    case "unique":
      return new Set(of.map(({ properties }) => textOf(properties, "price")).filter((one) => one !== null))
        .size;
    case "sum":
      return sum;
    case "avg":
      return numbers.length > 0 ? sum / numbers.length : 0;
    case "min":
      return numbers[0] ?? 0;
    case "max":
      return numbers.at(-1) ?? 0;
    case "median":
      return quantileOf(numbers, 0.5);
    case "p90":
      return quantileOf(numbers, 0.9);
    default:
      return of.length;
  }
}

function quantileOf(sorted: readonly number[], part: number): number {
  const place = (sorted.length - 1) * part;
  const below = sorted[Math.floor(place)] ?? 0;
  const above = sorted[Math.ceil(place)] ?? 0;
  return below + (above - below) * (place - Math.floor(place));
}
