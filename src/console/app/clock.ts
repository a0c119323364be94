// The reader's time.

export function nowMs(): number {
  return Date.now();
}

/** The time `offsetMs` from now, as a date field has it: `YYYY-MM-DDThh:mm` in the reader's time zone. */
export function fieldTime(offsetMs: number): string {
  const then = new Date(nowMs() + offsetMs);
  const own = new Date(then.getTime() - then.getTimezoneOffset() * 60_000);
  return own.toISOString().slice(0, 16);
}

/** The reader's time zone. */
export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** What clocks in a time zone show now, in seconds, as if it were in UTC: comparable with timesOfDays(). */
export function shownNow(timeZone: string): number {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
  return new Date(`${format.format(nowMs()).replace(" ", "T")}Z`).getTime() / 1000;
}
