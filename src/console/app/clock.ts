// The reader's time.

export function nowMs(): number {
  return Date.now();
}

/** The time `offsetMs` from now, as `YYYY-MM-DDThh:mm` in the reader's time zone: what a date field takes. */
export function fieldTime(offsetMs: number): string {
  const then = new Date(nowMs() + offsetMs);
  const own = new Date(then.getTime() - then.getTimezoneOffset() * 60_000);
  return own.toISOString().slice(0, 16);
}
