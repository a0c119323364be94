// The reader's time.

export function nowMs(): number {
  return Date.now();
}

/** The time `offsetMs` from now, as a date field has it: `YYYY-MM-DDThh:mm` in the reader's time zone. */
export function fieldTime(offsetMs: number): string {
  const then = new Date(nowMs() + offsetMs);
  const local = new Date(then.getTime() - then.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
