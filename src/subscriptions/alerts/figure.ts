// The figure of an insight that an alert judges, and the one before it: of intervals that are over, unless it asks for
// the one that is not.

import {
  type FunnelStep,
  type FunnelTrend,
  type RetentionCohort,
  toFunnels,
  type TrendLine,
} from "../../query/result.ts";
import { nameColumns, toChartRows } from "../../query/results/chart_rows.ts";
import {
  countReturned,
  findEnd,
  guessInterval,
  sumLine,
  toTimes,
  trimCohorts,
  unfinishedAt,
  wallClockAt,
} from "../../query/results/figures.ts";
import { type InsightView, labelText, toPercent } from "../report/section.ts";
import type { Alert } from "./model.ts";

export interface AlertFigure {
  label: string;
  value: number;
  /** Of the interval before; null where there is none, or the figure has no intervals. */
  before: number | null;
  unit: "" | "%";
  /** The interval. */
  span?: string | undefined;
}

/** The insight has no figure to judge: the check failed. */
export class NoFigure extends Error {}

/** Its first interval is still running: there is nothing to judge yet. */
export class NoneOver extends Error {}

/**
 * @param now ms since 1970.
 * @param every how often it is checked.
 * @throws NoFigure, NoneOver
 */
export function readAlertFigures(
  view: InsightView,
  config: Alert["config"],
  now: number,
  every: Alert["calculation_interval"] = "daily",
): AlertFigure[] {
  const { type, results = [], error, timezone = "UTC", computed_at, drawing } = view;
  const interval = view.interval ?? undefined;
  const isTable = type === "table";
  // A row alone may be of as long a time as lies between two checks.
  const single = every === "weekly" ? "week" : every === "monthly" ? "month" : "day";
  if (error || type === null) throw new NoFigure(error || "Its query failed.");
  const { series_index: index = 0, check_ongoing_interval: isOngoing } = config ?? {};
  // Of a result that was kept for a while, what was the last interval then was not over.
  const wallClock = wallClockAt(computed_at ? Math.min(now, Date.parse(computed_at)) : now, timezone);
  const pick = (data: readonly (number | null)[], days: readonly (string | number)[]) =>
    pickInterval(data, days, { now: wallClock, isOngoing: isOngoing ?? false, interval, isTable, single });
  switch (type) {
    case "series":
      return pickLines(results as TrendLine[], index).map((line) => {
        const total = line.data.length === 0 ? sumLine(line, drawing?.display ?? "") : line.aggregated_value;
        const figure = { label: line.label, unit: "" as const };
        return total === undefined
          ? { ...figure, ...pick(line.data, line.days) }
          : { ...figure, value: total, before: null };
      });
    case "steps":
      return readSteps(results as FunnelStep[], config);
    case "conversions":
      return (results as FunnelTrend[]).map(({ data, days, breakdown_value }) => {
        return {
          label: breakdown_value === undefined ? "conversion" : labelText(breakdown_value),
          unit: "%",
          ...pick(data, days),
        };
      });
    case "grid": {
      const cohorts = trimCohorts(results as RetentionCohort[]);
      const { began, back, rows } = countReturned(cohorts, 1, wallClock);
      if (cohorts.length > 0 && rows === 0) throw new NoneOver();
      return [{ label: "came back", value: toPercent(back, began), before: null, unit: "%" }];
    }
    case "table":
      return [readRows(results as unknown[][], view, index, pick)];
    default:
      throw new NoFigure("It has no figure that an alert can judge.");
  }
}

/** Lines of the series; of a breakdown each of its values. */
function pickLines(lines: readonly TrendLine[], index: number): TrendLine[] {
  const current = lines.filter(({ compare_label }) => compare_label !== "previous");
  const isSplit = current.some(({ breakdown_value }) => breakdown_value !== undefined);
  const found = current.filter(
    (line, i) => (isSplit ? (line.action?.order ?? line.order ?? 0) : i) === index,
  );
  if (found.length === 0) throw new NoFigure(`It has no series ${index}, or that has no values.`);
  return found;
}

interface PickedInterval {
  /** By wallClockAt(). */
  now: number;
  /** Whether the interval that is not over is judged. */
  isOngoing: boolean;
  interval: string | undefined;
  /** Rows of SQL. */
  isTable: boolean;
  /** The longest time of a row that is alone. */
  single: string;
}

function pickInterval(
  data: readonly (number | null)[],
  days: readonly (string | number)[],
  { now, isOngoing, interval, isTable, single }: PickedInterval,
) {
  const times = toTimes(days);
  const begun = times.findLastIndex((time) => time <= now);
  const at = !isOngoing && unfinishedAt(times, now, interval) === begun ? begun - 1 : begun;
  if (at < begun && at < 0) throw new NoneOver();
  const value = data[at];
  if (value === undefined || value === null) throw new NoFigure("Its last interval has no value.");
  // Rows of SQL may be missing where there were no events: the last one is not of the last interval then.
  const step = interval ?? guessInterval(times);
  const longest = times.length === 1 ? single : step;
  if (isTable && findEnd(findEnd(times[at]!, longest), longest) <= now)
    throw new NoFigure("It has no row for its last interval.");
  const isNext = at > 0 && findEnd(times[at - 1]!, step) >= times[at]!;
  return { value, before: isNext ? (data[at - 1] ?? null) : null, span: String(days[at]) };
}

/** Conversion of each funnel, in percent. */
function readSteps(results: FunnelStep[], config: Alert["config"]): AlertFigure[] {
  const figures = toFunnels(results).flatMap((steps) => {
    const at = config?.funnel_step ?? steps.length - 1;
    const [reached, base] = [
      steps[at],
      config?.metric === "conversion_from_previous" ? steps[at - 1] : steps[0],
    ];
    if (!reached || !base) throw new NoFigure(`The funnel has no step ${at}.`);
    if (base.count === 0) return [];
    const { breakdown_value } = reached;
    const group = breakdown_value === undefined ? "" : labelText(breakdown_value);
    const value = toPercent(reached.count, base.count);
    return { label: group ? `${group}: conversion` : "conversion", value, before: null, unit: "%" as const };
  });
  if (figures.length === 0) throw new NoFigure("Nobody came so far in the funnel.");
  return figures;
}

type Pick = (data: readonly (number | null)[], days: readonly string[]) => ReturnType<typeof pickInterval>;

/** A column of rows over time, else a number of the first row. */
function readRows(
  rows: unknown[][],
  { columns = [], types = [] }: InsightView,
  index: number,
  pick: Pick,
): AlertFigure {
  const names = nameColumns(rows, columns);
  const chart = toChartRows(names, types, rows);
  if (chart?.isTime) {
    const series = chart.series[index];
    if (!series) throw new NoFigure(`It has no column ${index} of numbers.`);
    return { label: series.label, unit: "", ...pick(series.values, chart.names) };
  }
  const numbers = (rows[0] ?? []).flatMap((cell, i) => {
    const value = typeof cell === "string" && cell.trim() !== "" ? Number(cell) : cell;
    return typeof value === "number" && Number.isFinite(value) ? [{ label: names[i]!, value }] : [];
  });
  const figure = numbers[index];
  if (!figure) throw new NoFigure(`Its first row has no number ${index}.`);
  return { ...figure, before: null, unit: "" };
}
