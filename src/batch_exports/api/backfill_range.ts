// The range of a backfill, and how one is begun.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { wordsIn } from "../../core/words.ts";
import { excerpt } from "../../http/fields/field_fault.ts";
import { toIsoTime } from "../../http/fields/field_time.ts";
import type { Postgres, PostgresTransaction } from "../../storage/postgres/postgres.ts";
import { type Cadence, type Grid, intervalsIn, openGrid } from "../interval.ts";
import { exportLimits } from "../limits.ts";
import { type BackfillRange, createBackfill } from "../stores/backfill_store.ts";
import type { StoredExport } from "../stores/export_store.ts";

/**
 * The range in a request, of events' timestamps.
 * @param of the export: by day or week, it takes dates.
 * @throws Fault, in PostHog's words, for a text that is not a moment, has no offset, or an end before the start or in
 *   the future.
 */
export function readRange(body: { start_at?: unknown; end_at?: unknown }, of: Cadence, now: Date) {
  const grid = openGrid(of);
  const start = readMoment(body.start_at, grid, of);
  const end = readMoment(body.end_at, grid, of);
  if (start && start >= (end ?? now))
    throw wrongRange("The initial backfill datetime 'start_at' happens after 'end_at'");
  if (end && end > now)
    throw wrongRange(`The provided 'end_at' (${excerpt(String(body.end_at))}) is in the future`);
  return { start, end, by_timestamp: true };
}

/**
 * The end of a backfill of this range. Without an end it runs until now, but leaves the unfinished interval to the
 * schedule, if the schedule will run it.
 */
export function findRangeEnd(
  { start, end }: Omit<BackfillRange, "by_timestamp">,
  of: Cadence & Pick<StoredExport, "paused" | "end_at">,
  now: Date,
): Date {
  if (end) return end;
  const grid = openGrid(of);
  const begin = grid.before(now.getTime());
  const goesOn = !of.paused && (of.end_at === null || Date.parse(of.end_at) >= grid.after(begin));
  return goesOn && !(start && start.getTime() >= begin) ? new Date(begin) : now;
}

/**
 * Begins a backfill of this range, which is run up to `end`, in intervals of the export or of the cadence given.
 * @throws Fault when there are too many.
 */
export async function beginBackfill(
  sql: Postgres | PostgresTransaction,
  of: Cadence & { id: string },
  range: BackfillRange,
  end: Date,
  now: Date,
): Promise<string> {
  const { start } = range;
  const runs = start && intervalsIn(start.getTime(), end.getTime(), openGrid(of));
  const most = exportLimits.backfillRunsMax;
  if (runs !== null && runs > most)
    throw wrongRange(`This range has ${runs} intervals; a backfill can have at most ${most}.`);
  return await createBackfill(sql, of, range, { end, total_runs: runs, now });
}

const wrongRange = (detail: string): Fault => new Fault("invalid_input", detail);

const offset = /(?:Z|[+-]\d\d(?::?\d\d)?)$/i;
const dateOnly = /^\d{4}-\d\d-\d\d$/;
const weekdays = wordsIn("Sunday Monday Tuesday Wednesday Thursday Friday Saturday");

/** A date is the boundary on it: of weeks, one on which none begins is refused. */
function readMoment(value: unknown, grid: Grid, { offset_day }: Cadence): Date | null {
  if (value === undefined || value === null || value === "") return null;
  const text = typeof value === "string" ? value.trim() : "";
  const isDate = dateOnly.test(text);
  const time = text.length > 64 ? undefined : toIsoTime(isDate ? `${text}T00:00` : text);
  if (time === undefined) throw wrongRange(`Input ${excerpt(value)} is not a valid ISO formatted datetime.`);
  if (isDate ? !grid.startOn : !offset.test(text)) throw wrongRange(`Input ${text} is naive.`);
  if (!isDate || !grid.startOn) return new Date(time);
  const date = Temporal.PlainDate.from(text);
  if (grid.lengthMs > limits.dayMs && date.dayOfWeek % 7 !== offset_day) {
    const [inputDay, begun] = [date.dayOfWeek % 7, offset_day].map((day) => weekdays[day]);
    throw wrongRange(`Input ${text} is a ${inputDay}; weeks of this export begin on ${begun}s.`);
  }
  return new Date(grid.startOn(date));
}
