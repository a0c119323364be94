// The intervals of an export: half-open spans of arrival time, aligned to 1970 in UTC. Pure; never asks what time
// it is.

/** Half-open, in ms since 1970; a start of null is the beginning of time. */
export interface ExportInterval {
  start: number | null;
  end: number;
}

const minuteMs = 60_000;

const named: Readonly<Record<string, number>> = {
  hour: 60 * minuteMs,
  day: 24 * 60 * minuteMs,
  // Aligned like all others, which makes weeks begin on Thursdays: 1970 did.
  week: 7 * 24 * 60 * minuteMs,
};

/**
 * The length of `hour`, `day`, `week` or `every N minutes`, in ms.
 * @throws Error for any other text: what rests in the table was checked at the door.
 */
export function intervalMs(name: string): number {
  const known = named[name];
  if (known !== undefined) return known;
  const minutes = Number(/^every ([1-9]\d{0,3}) minutes$/.exec(name)?.[1]);
  if (Number.isNaN(minutes)) throw new Error(`"${name}" is not an interval`);
  return minutes * minuteMs;
}

/** The last moment at or before `moment` at which an interval of this length begins. */
export function alignedBefore(moment: number, lengthMs: number): number {
  return Math.floor(moment / lengthMs) * lengthMs;
}

export interface ExportSchedule {
  lengthMs: number;
  /** Intervals that end at or before it are dealt with. */
  until: number;
  /** No interval that ends before it, or after it. */
  startAt: number | null;
  endAt: number | null;
}

/** The oldest interval that has ended by `now` and is not dealt with; undefined when none is due. */
export function nextDue(
  { lengthMs, until, startAt, endAt }: ExportSchedule,
  now: number,
): ExportInterval | undefined {
  const first = alignedBefore(until, lengthMs) + lengthMs;
  const allowed = startAt === null ? first : -alignedBefore(-startAt, lengthMs);
  const end = Math.max(first, allowed);
  if (end > now || (endAt !== null && end > endAt)) return undefined;
  return { start: end - lengthMs, end };
}

/** How many intervals of this length a backfill's range holds; the last one may be shorter. */
export function intervalsIn(start: number, end: number, lengthMs: number): number {
  return Math.max(0, Math.ceil((end - start) / lengthMs));
}

/** The interval of a backfill that begins at `from`, no longer than to its `end`; undefined when that is reached. */
export function nextOfRange(from: number, end: number, lengthMs: number): ExportInterval | undefined {
  return from < end ? { start: from, end: Math.min(from + lengthMs, end) } : undefined;
}
