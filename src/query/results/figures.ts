// The numbers that are said about a result, besides those that are drawn: what of it adds up, and over which time. The
// console, mails, webhooks and shared pages read this file, so that all of them say the same.

import { type RetentionCohort, toFields, type TrendLine, unwrapQuery } from "../result.ts";

/** A line, of which only what is drawn is needed. */
export type DrawnLine = Pick<TrendLine, "label" | "data" | "days"> & Partial<TrendLine>;

/** Whether each line is one number. */
export function isTotals(lines: readonly DrawnLine[]): boolean {
  return lines.some(({ data, aggregated_value }) => data.length === 0 && aggregated_value !== undefined);
}

/** Maths whose intervals add up to the whole time, since each event or person is in one interval. */
const summableMaths = new Set(["total", "sum", "first_time_for_user", "first_matching_event_for_user"]);

/** @param display PostHog's name of the drawing. */
export function isSummable({ action, days, status }: DrawnLine, display: string): boolean {
  const isOfTimes = typeof days[0] === "string" && !status && display !== "ActionsLineGraphCumulative";
  return isOfTimes && action !== null && summableMaths.has(action?.math ?? "total");
}

/** The sum of a line whose intervals add up, or its one number; undefined for others. */
export function sumLine(line: DrawnLine, display: string): number | undefined {
  if (line.aggregated_value !== undefined) return line.aggregated_value;
  return isSummable(line, display) ? line.data.reduce((sum, value) => sum + value, 0) : undefined;
}

const isBrokenDown = (lines: readonly DrawnLine[]) =>
  lines.some(({ breakdown_value }) => breakdown_value !== undefined);

/** Whether figures of these results need those of toTotalsQuery(): persons and averages do not add up. */
export function needsTotals(query: unknown, lines: readonly DrawnLine[], display: string): boolean {
  if (unwrapQuery(query)["kind"] !== "TrendsQuery" || isTotals(lines)) return false;
  return isBrokenDown(lines) || lines.some((line) => !isSummable(line, display));
}

/**
 * Asks for one number of each event, of the time that is drawn and of the time before. A range of whole days stays as
 * it is: it decides what the time before is.
 * @param from the chart's first day; "" for none.
 */
export function toTotalsQuery(query: unknown, from: string): object {
  const {
    breakdownFilter: _,
    interval,
    dateRange,
    trendsFilter,
    compareFilter,
    ...source
  } = unwrapQuery(query);
  const range = toFields(dateRange);
  const { date_from = "-7d" } = range;
  // The last letter of -7d or mStart is its unit; a date has none.
  const unit = String(date_from).replace("Start", "").at(-1) ?? "";
  const isDrawnWhole = (interval ?? "day") === "day" && "dwmqy".includes(unit);
  return {
    ...source,
    dateRange: { ...range, ...(from !== "" && !isDrawnWhole && { date_from: from.replace(" ", "T") }) },
    trendsFilter: { ...toFields(trendsFilter), display: "BoldNumber" },
    compareFilter: { ...toFields(compareFilter), compare: true },
  };
}

/** A number of a line's whole time, and that of the time before, or of its part as far as now. */
export interface ResultFigure {
  line: DrawnLine;
  value: number | undefined;
  before?: number | undefined;
  until?: TrendLine["until"];
}

/** The parts of `results` that figures are of. */
export interface FigureParts {
  display?: string;
  /** Results of toTotalsQuery(), where they are known. */
  totals?: readonly DrawnLine[] | undefined;
  /** Whether the figures are those of `totals`: with a breakdown its values are not shown separately. */
  isSplit?: boolean;
}

/** One figure for each line of the current time; without a value where nothing adds up and there are no totals. */
export function readFigures(
  lines: readonly DrawnLine[],
  { display = "", totals = [], isSplit = isBrokenDown(lines) && totals.length > 0 }: FigureParts,
): ResultFigure[] {
  const drawn = pairLines(lines, (line) => sumLine(line, display));
  const whole = pairLines(totals, ({ aggregated_value }) => aggregated_value);
  return [...(isSplit ? whole : drawn)].flatMap(([key, { line }]) => {
    const both = [drawn.get(key), whole.get(key)];
    const value = both.find((figure) => figure?.value !== undefined)?.value;
    const { before, until } = both.find((figure) => figure?.before !== undefined) ?? {};
    return line ? [{ line, value, before, until }] : [];
  });
}

/** The figures by the lines' own keys, each of both times. */
function pairLines(lines: readonly DrawnLine[], read: (line: DrawnLine) => number | undefined) {
  const figures = new Map<string, Partial<ResultFigure>>();
  for (const line of lines) {
    const { action, order, status, breakdown_value, until, compare_label } = line;
    const key = JSON.stringify([action?.order, order, action ? "" : line.label, status, breakdown_value]);
    const value = read(line);
    const before = until && value !== undefined ? (until.aggregated_value ?? until.count) : value;
    const figure = compare_label === "previous" ? { before, until } : { line, value };
    figures.set(key, { ...figures.get(key), ...figure });
  }
  return figures;
}

/**
 * The starts of a series' intervals, in seconds since 1970; empty where its `days` are no times. An hour that clocks
 * show twice is half an interval later.
 */
export function toTimes(series: readonly (string | number)[]): number[] {
  const texts = series.filter((day) => typeof day === "string");
  const times = texts.map((day) => shownTime(day) / 1000);
  const isTwice = (i: number) => i > 0 && texts[i] === texts[i - 1];
  return times.map((time, i) => (isTwice(i) ? (time + (times[i + 1] ?? time + 3600)) / 2 : time));
}

/** The wall-clock time in a moment's text, as if it were UTC: without its offset. */
function shownTime(text: string): number {
  return new Date(text.includes(":") ? `${text.slice(0, 19).replace(" ", "T")}Z` : text).getTime();
}

export const daySeconds = 86_400;

/**
 * The index of the interval that has begun and is not over, if any.
 * @param now by wallClockAt().
 * @param interval the query's; without one it is guessed.
 */
export function unfinishedAt(
  times: readonly number[],
  now: number,
  interval = guessInterval(times),
): number | undefined {
  const at = times.findLastIndex((time) => time <= now);
  const time = times[at];
  if (time === undefined) return undefined;
  return now < (times[at + 1] ?? findEnd(time, interval)) ? at : undefined;
}

const monthsByInterval: Readonly<Record<string, number>> = { month: 1, quarter: 3, year: 12 };
const secondsByInterval: Readonly<Record<string, number>> = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: daySeconds,
  week: 7 * daySeconds,
};

/** When the interval is over that begins at `time`, in seconds. @param interval a name, or seconds. */
export function findEnd(time: number, interval: string): number {
  const months = monthsByInterval[interval];
  if (months === undefined) return time + (secondsByInterval[interval] ?? Number(interval));
  const begin = new Date(time * 1000);
  return begin.setUTCMonth(begin.getUTCMonth() + months) / 1000;
}

/**
 * The interval of rows that have none: below a day the smallest gap in seconds, from there the calendar's, since rows
 * may be missing; a day for a single row.
 */
export function guessInterval(times: readonly number[]): string {
  const gaps = times.slice(1).map((time, i) => time - times[i]!);
  const gap = gaps.reduce((least, value) => (value > 0 ? Math.min(least, value) : least), Infinity);
  if (gap < daySeconds) return String(gap);
  const leastDays = { year: 360, quarter: 89, month: 28, week: 7 };
  const found = Object.entries(leastDays).find(([, days]) => gap >= days * daySeconds && gap < Infinity);
  return found?.[0] ?? "day";
}

/** The wall-clock time of a zone, in seconds, as if it were UTC: comparable with toTimes(). @param ms since 1970. */
export function wallClockAt(ms: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
  return new Date(`${format.format(ms).replace(" ", "T")}Z`).getTime() / 1000;
}

/** The intervals that a row or column of a retention table lies behind the first one: `Day 3`, `Day 1-4`. */
const readOffset = (label = ""): number => Number(label.split(/[ -]/).at(-1));

/** The rows without the columns that lie behind the last one's interval: replies have them, with nobody. */
export function trimCohorts(cohorts: readonly RetentionCohort[]): RetentionCohort[] {
  const last = Math.max(...cohorts.map(({ label }) => readOffset(label)));
  return cohorts.map((cohort) => {
    const { label, values } = cohort;
    return { ...cohort, values: values.filter((cell) => readOffset(label) + readOffset(cell.label) <= last) };
  });
}

/** Whether a cell of a retention table is of the interval that is not over. @param now by wallClockAt(). */
export function markUnfinished(cohorts: readonly RetentionCohort[], now: number) {
  const last = readOffset(cohorts.at(-1)?.label);
  // With a breakdown each value has such rows.
  const starts = cohorts.slice(-last - 1).map(({ date }) => date.slice(0, 19));
  const isOpen = unfinishedAt(toTimes(starts), now) === last;
  const isUnfinished = (row: number, column: number): boolean => {
    const { label, values } = cohorts[row]!;
    return isOpen && readOffset(label) + readOffset(values[column]?.label) === last;
  };
  return { isOpen, isUnfinished };
}

/** How many came back in an interval, and of how many, of all rows where it is over. @param column 1: the next one. */
export function countReturned(cohorts: readonly RetentionCohort[], column: number, now: number) {
  const { isUnfinished } = markUnfinished(cohorts, now);
  const rows = cohorts.filter(({ values }, row) => values.length > column && !isUnfinished(row, column));
  const count = (at: number) => rows.reduce((sum, { values }) => sum + (values[at]?.count ?? 0), 0);
  return { began: count(0), back: count(column), rows: rows.length };
}
