// The range of a backfill, and how one is begun.

import { Fault } from "../../core/fault.ts";
import { excerpt } from "../../http/fields/field_fault.ts";
import { isoTimeOf } from "../../http/fields/field_time.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { alignedBefore, intervalMs, intervalsIn } from "../interval.ts";
import { exportLimits } from "../limits.ts";
import { type BackfillRange, createBackfill } from "../stores/backfill_store.ts";
import type { StoredExport } from "../stores/export_store.ts";

/**
 * The range in a request, of events' timestamps.
 * @param interval the export's: of whole days, it takes dates.
 * @throws Fault, in PostHog's words, for a text that is not a moment, has no offset, or an end before the start or in
 *   the future.
 */
export function readRange(
  body: { start_at?: unknown; end_at?: unknown },
  interval: string,
  now: Date,
): BackfillRange {
  const takesDates = intervalMs(interval) % intervalMs("day") === 0;
  const start = readMoment(body.start_at, takesDates);
  const end = readMoment(body.end_at, takesDates);
  if (start && start >= (end ?? now)) {
    throw new Fault("invalid_input", "The initial backfill datetime 'start_at' happens after 'end_at'");
  }
  if (end && end > now) {
    const end = String(body.end_at);
    throw new Fault("invalid_input", `The provided 'end_at' (${excerpt(end)}) is in the future`);
  }
  return { start, end, by_timestamp: true };
}

/**
 * The end of a backfill of this range. Without an end it runs until now, but leaves the unfinished interval to the
 * schedule, if the schedule will run it.
 */
export function endOfRange(
  { start, end }: Omit<BackfillRange, "by_timestamp">,
  of: Pick<StoredExport, "interval" | "paused" | "end_at">,
  now: Date,
): Date {
  if (end) return end;
  const lengthMs = intervalMs(of.interval);
  const grid = alignedBefore(now.getTime(), lengthMs);
  const goesOn = !of.paused && (of.end_at === null || Date.parse(of.end_at) >= grid + lengthMs);
  return goesOn && !(start && start.getTime() >= grid) ? new Date(grid) : now;
}

/**
 * Begins a backfill of this range, which is run up to `end`, in intervals of the export or of the length given.
 * @throws Fault when there are too many.
 */
export async function beginBackfill(
  sql: Postgres,
  of: { id: string; interval: string },
  range: BackfillRange,
  end: Date,
  now: Date,
): Promise<string> {
  const { start } = range;
  const runs = start && intervalsIn(start.getTime(), end.getTime(), intervalMs(of.interval));
  const most = exportLimits.backfillRunsMax;
  if (runs !== null && runs > most) {
    const detail = `This range has ${runs} intervals; a backfill can have at most ${most}.`;
    throw new Fault("invalid_input", detail);
  }
  return await createBackfill(sql, of, range, { end, total_runs: runs, now });
}

/** An interval of this length in the spelling of exports; undefined when there is none. */
export function intervalNamed(lengthMs: number): string | undefined {
  const named = ["hour", "day", "week"].find((name) => intervalMs(name) === lengthMs);
  const minutes = lengthMs / 60_000;
  return (
    named ??
    (Number.isInteger(minutes) && minutes > 0 && minutes < 10_000 ? `every ${minutes} minutes` : undefined)
  );
}

const offset = /(?:Z|[+-]\d\d(?::?\d\d)?)$/i;
const dateOnly = /^\d{4}-\d\d-\d\d$/;

function readMoment(value: unknown, takesDates: boolean): Date | null {
  if (value === undefined || value === null || value === "") return null;
  const text = typeof value === "string" ? value.trim() : "";
  const time = text.length > 64 ? undefined : isoTimeOf(dateOnly.test(text) ? `${text}T00:00` : text);
  if (time === undefined) {
    throw new Fault("invalid_input", `Input ${excerpt(value)} is not a valid ISO formatted datetime.`);
  }
  if (dateOnly.test(text) ? !takesDates : !offset.test(text)) {
    throw new Fault("invalid_input", `Input ${text} is naive.`);
  }
  return new Date(time);
}
