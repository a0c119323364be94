// The intervals of an export: half-open spans of arrival time, aligned to 1970 in UTC.

/** Half-open, in ms since 1970; a start of null is the beginning of time. */
export interface ExportInterval {
  start: number | null;
  end: number;
}

const minuteMs = 60_000;

const namedIntervals: Readonly<Record<string, number>> = {
  hour: 60 * minuteMs,
  day: 24 * 60 * minuteMs,
  // Aligned to 1970 like the others, so weeks begin on Thursdays.
  week: 7 * 24 * 60 * minuteMs,
};

/**
 * The length of `hour`, `day`, `week` or `every N minutes`, in ms.
 * @throws Error for any other text: intervals were checked when they were stored.
 */
export function intervalMs(name: string): number {
  const namedMs = namedIntervals[name];
  if (namedMs !== undefined) return namedMs;
  const minutes = Number(/^every ([1-9]\d{0,3}) minutes$/.exec(name)?.[1]);
  if (Number.isNaN(minutes)) throw new Error(`"${name}" is not an interval`);
  return minutes * minuteMs;
}

/** The last boundary of intervals of this length at or before `moment`. */
export function alignedBefore(moment: number, lengthMs: number): number {
  return Math.floor(moment / lengthMs) * lengthMs;
}

export interface ExportSchedule {
  /** Intervals that end at or before it are scheduled already. */
  scheduled_until: Date;
  /** Intervals that end before the start, or after the end, are not run. */
  start_at: Date | null;
  end_at: Date | null;
}

/** The oldest interval that has ended by `now` and is not scheduled; undefined when none is due. */
export function nextDue(
  { scheduled_until, start_at, end_at }: ExportSchedule,
  lengthMs: number,
  now: number,
): ExportInterval | undefined {
  const first = alignedBefore(scheduled_until.getTime(), lengthMs) + lengthMs;
  const end = Math.max(first, start_at === null ? first : -alignedBefore(-start_at.getTime(), lengthMs));
  if (end > now || (end_at !== null && end > end_at.getTime())) return undefined;
  return { start: end - lengthMs, end };
}

/** The number of intervals in a backfill's range; the first and the last one may be shorter. */
export function intervalsIn(start: number, end: number, lengthMs: number): number {
  if (start >= end) return 0;
  return end - start <= lengthMs ? 1 : Math.ceil(end / lengthMs) - Math.floor(start / lengthMs);
}

/**
 * The interval of a backfill from `from` on, up to its `end`; undefined at the end. Intervals are those of the
 * schedule, so that both name the same files; where a longer range begins or ends within one, that part has its own.
 */
export function nextOfRange(from: number, end: number, lengthMs: number): ExportInterval | undefined {
  if (from >= end) return undefined;
  if (end - from <= lengthMs) return { start: from, end };
  return { start: from, end: Math.min(alignedBefore(from, lengthMs) + lengthMs, end) };
}

/** In Python's spelling: 2025-01-07T00:00:00+00:00, with microseconds only where there are some. */
export function isoText(ms: number): string {
  const text = new Date(ms).toISOString();
  const fraction = text.slice(20, 23) === "000" ? "" : `.${text.slice(20, 23)}000`;
  return `${text.slice(0, 19)}${fraction}+00:00`;
}
