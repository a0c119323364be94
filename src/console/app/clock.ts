// The time of whoever looks, for relative times and for waiting.

export function nowMs(): number {
  return Date.now();
}

/** A day from now or before, as `YYYY-MM-DDThh:mm` in the reader's own zone: what a field for a time takes. */
export function fieldTime(offsetMs: number): string {
  const then = new Date(nowMs() + offsetMs);
  const own = new Date(then.getTime() - then.getTimezoneOffset() * 60_000);
  return own.toISOString().slice(0, 16);
}
