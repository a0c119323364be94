// Intervals as the API's days name them: their times, what they are called, which is not over, and the time before.

/**
 * Seconds since 1970 of the starts of intervals, as the days of a series name them; none where these are no times. What
 * clocks show twice is half an interval apart.
 */
export function timesOfDays(series: readonly (string | number)[]): number[] {
  const texts = series.filter((day) => typeof day === "string");
  const times = texts.map((day) => shownTime(day) / 1000);
  const isTwice = (i: number) => i > 0 && texts[i] === texts[i - 1];
  return times.map((time, i) => (isTwice(i) ? (time + (times[i + 1] ?? time + 3600)) / 2 : time));
}

/** What a text of a moment shows, as if it were in UTC: without its offset. */
function shownTime(text: string): number {
  return new Date(text.includes(":") ? `${text.slice(0, 19).replace(" ", "T")}Z` : text).getTime();
}

/** What intervals are called: an hour that clocks show twice says so. */
export function namesOfTimes(days: readonly (string | number)[]): string[] {
  return days.map((day, i) =>
    i > 0 && day === days[i - 1] ? `${day} (again, clocks went back)` : String(day),
  );
}

const daySeconds = 86_400;

/** In ms. */
const dayMs = daySeconds * 1000;

interface ResolvedRange {
  date_from: string | null;
  date_to: string | null;
}

/** The range of the same length before one that the API has resolved; undefined where that has no certain time. */
export function rangeBefore({ date_from: from, date_to: to }: ResolvedRange): object | undefined {
  if (!from || !to) return undefined;
  // The end is inclusive.
  const lengthMs = Date.parse(to) - Date.parse(from) + 1000;
  const days = Math.round(lengthMs / dayMs);
  if (days >= 1 && from.slice(11, 19) === "00:00:00" && to.slice(11, 16) === "23:59") {
    // Days, not hours: clocks may change between.
    const dayAt = (back: number) =>
      new Date(Date.parse(from.slice(0, 10)) - back * dayMs).toISOString().slice(0, 10);
    return { date_from: dayAt(days), date_to: dayAt(1) };
  }
  const at = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  const start = Date.parse(from);
  return { date_from: at(start - lengthMs), date_to: at(start), explicitDate: true };
}

/** Which interval has begun and is not over, if any. @param now by shownNow(). */
export function unfinishedAt(times: readonly number[], now: number): number | undefined {
  const at = times.findLastIndex((time) => time <= now);
  const [time, next] = [times[at], times[at + 1]];
  if (time === undefined) return undefined;
  const step = at > 0 ? time - times[at - 1]! : daySeconds;
  // Months differ in their days.
  const later = new Date(time * 1000);
  const end = step >= 28 * daySeconds ? later.setUTCMonth(later.getUTCMonth() + 1) / 1000 : time + step;
  return now < (next ?? end) ? at : undefined;
}
