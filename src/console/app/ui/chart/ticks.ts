// The ticks of a chart's axes, and their texts.

const [minute, hour] = [60, 3600];
/** In seconds. */
export const day = 86_400;
const daySteps = [1, 2, 7, 14, 28, 91, 182, 364, 728].map((days) => days * day);
const shortSteps = [1, 5, 15, 30, minute, 5 * minute, 15 * minute, 30 * minute, hour].concat(
  [3, 6, 12].map((hours) => hours * hour),
);

/** Steps between ticks of time, in seconds; where values are days apart, a day at least. */
export function timeSteps(times: ArrayLike<number>): number[] {
  const isDaily = (times[1] ?? 0) - (times[0] ?? 0) >= day;
  return isDaily ? daySteps : [...shortSteps, ...daySteps];
}

/** Steps between ticks of values; whole numbers where all values are. */
export function valueSteps(lines: readonly ArrayLike<unknown>[]): number[] {
  const isWhole = lines.every((values) => Array.from(values).every((value) => Number.isInteger(value ?? 0)));
  const powers = Array.from({ length: isWhole ? 13 : 19 }, (_, i) => 10 ** (isWhole ? i : i - 6));
  return powers.flatMap((power) => [power, 2 * power, 5 * power]);
}

const dayFormat = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });

/** The text of a tick: a day, or the time of day where ticks are closer. */
export function tickText(tick: number, ticks: readonly number[]): string {
  const at = new Date(tick * 1000);
  const step = (ticks[1] ?? tick) - (ticks[0] ?? tick);
  const year = ticks.at(-1)! - ticks[0]! > 300 * day ? ` ’${at.toISOString().slice(2, 4)}` : "";
  return step >= day || ticks.length === 1 ? dayFormat.format(at) + year : at.toISOString().slice(11, 16);
}
