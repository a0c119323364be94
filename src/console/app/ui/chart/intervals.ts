// The intervals of the API's `days`: their names, and the range before them; and the ticks of a chart's axes.

import { daySeconds } from "../../../../query/results/figures.ts";

/** The names of intervals; an hour that clocks show twice is named as such. */
export function nameTimes(days: readonly (string | number)[]): string[] {
  return days.map((day, i) =>
    i > 0 && day === days[i - 1] ? `${day} (again, clocks went back)` : String(day),
  );
}

const rangeFormat = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });

/** The days from one moment to another, in seconds: `Nov 1 – 7, 2026`. */
export const rangeName = (from: number, to: number) => rangeFormat.formatRange(from * 1000, to * 1000);

const dayMs = daySeconds * 1000;

interface ResolvedRange {
  date_from: string | null;
  date_to: string | null;
}

/** The range of equal length before one that the API has resolved; undefined where that has no definite times. */
export function rangeBefore({ date_from: from, date_to: to }: ResolvedRange): object | undefined {
  if (!from || !to) return undefined;
  // The end is inclusive.
  const lengthMs = Date.parse(to) - Date.parse(from) + 1000;
  const days = Math.round(lengthMs / dayMs);
  if (days >= 1 && from.slice(11, 19) === "00:00:00" && to.slice(11, 16) === "23:59") {
    // Days, not hours: clocks may change in between.
    const dayAt = (back: number) =>
      new Date(Date.parse(from.slice(0, 10)) - back * dayMs).toISOString().slice(0, 10);
    return { date_from: dayAt(days), date_to: dayAt(1) };
  }
  const at = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  const start = Date.parse(from);
  return { date_from: at(start - lengthMs), date_to: at(start), explicitDate: true };
}

const [minute, hour] = [60, 3600];
const daySteps = [1, 2, 7, 14, 28, 91, 182, 364, 728].map((days) => days * daySeconds);
const shortSteps = [1, 5, 15, 30, minute, 5 * minute, 15 * minute, 30 * minute, hour].concat(
  [3, 6, 12].map((hours) => hours * hour),
);

/** Steps between ticks of time, in seconds; where values are days apart, a day at least. */
export function timeSteps(times: ArrayLike<number>): number[] {
  const isDaily = (times[1] ?? 0) - (times[0] ?? 0) >= daySeconds;
  return isDaily ? daySteps : [...shortSteps, ...daySteps];
}

/** Steps between ticks of values; whole numbers where all values are. */
export function valueSteps(lines: readonly ArrayLike<unknown>[]): number[] {
  const isWhole = lines.every((values) => Array.from(values).every((value) => Number.isInteger(value ?? 0)));
  const powers = Array.from({ length: isWhole ? 13 : 19 }, (_, i) => 10 ** (isWhole ? i : i - 6));
  return powers.flatMap((power) => [power, 2 * power, 5 * power]);
}

/** How near two ticks of an axis may be, in steps. */
const ticksApartMin = 0.7;

/** The ticks of an axis, about `step` apart: where intervals are days or longer, at times of the chart, as its bars. */
export function timeTicks(
  times: ArrayLike<number>,
  [min, max]: readonly [number, number],
  step: number,
): number[] {
  const own = times.length > 1 ? times[1]! - times[0]! : daySeconds;
  if (own >= daySeconds) {
    let last = Number.NEGATIVE_INFINITY;
    // Days without a value are missing: the times are not at equal distances.
    return Array.from(times).filter((time) => {
      const isFar = time - last >= ticksApartMin * step;
      if (isFar) last = time;
      return isFar;
    });
  }
  const first = Math.ceil(min / step) * step;
  return Array.from({ length: Math.floor((max - first) / step) + 1 }, (_, i) => first + i * step);
}

const dayFormat = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });

/** The text of a tick: a day, or the time of day where ticks are closer. */
export function tickText(tick: number, ticks: readonly number[]): string {
  const at = new Date(tick * 1000);
  const step = (ticks[1] ?? tick) - (ticks[0] ?? tick);
  const year = ticks.at(-1)! - ticks[0]! > 300 * daySeconds ? ` ’${at.toISOString().slice(2, 4)}` : "";
  return step >= daySeconds || ticks.length === 1
    ? dayFormat.format(at) + year
    : at.toISOString().slice(11, 16);
}
