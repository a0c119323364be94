// Results of any kind as one table, for a file or a spreadsheet: all rows, and numbers as they are.

import {
  type FunnelStep,
  type RetentionCohort,
  toFunnels,
  type TypedResults,
} from "../../../query/result.ts";
import { namesOfTimes } from "../ui/chart/intervals.ts";
import type { Cell, TableData } from "../ui/csv.ts";
import { isTotals, nameOfStep, namesOfSeries, shownValue, toLines, type TrendSeries } from "./results.ts";
import { namesOfColumns } from "./rows/cells.ts";

/** @param columns of rows. */
export function tableOf({ type, results }: TypedResults, columns: readonly string[] = []): TableData {
  switch (type) {
    case "series":
      return isTotals(results) ? totalsTable(results) : trendTable(results);
    case "conversions":
      return trendTable(toLines(results));
    case "grid":
      return cohortsTable(results);
    case "steps":
      return funnelTable(toFunnels(results));
    case "times":
      return { name: "times", columns: ["Seconds", "Persons"], rows: results[0]!.bins };
    case "flow": {
      const rows = results.map(({ source, target, value, average_conversion_time: ms }) => [
        source,
        target,
        value,
        ms / 1000,
      ]);
      return { name: "paths", columns: ["From", "To", "Times", "Average seconds"], rows };
    }
    case "figures": {
      const rows = results.map(({ key, value, previous, until }) => [
        key,
        value,
        previous,
        until?.value ?? null,
      ]);
      return { name: "figures", columns: ["Figure", "Value", "Before", "Before, as far as now"], rows };
    }
    default:
      return { name: "query", columns: namesOfColumns(results, columns), rows: results as Cell[][] };
  }
}

function trendTable(series: readonly TrendSeries[]): TableData {
  const days = series[0]?.days ?? [];
  const isOfTimes = typeof days[0] === "string";
  const names = isOfTimes ? namesOfTimes(days) : (series[0]?.labels ?? days.map(String));
  return {
    name: "trend",
    columns: [isOfTimes ? "Time" : "Active in", ...namesOfSeries(series)],
    rows: names.map((name, i) => [name, ...series.map(({ data }) => data[i])]),
  };
}

function totalsTable(series: readonly TrendSeries[]): TableData {
  const names = namesOfSeries(series);
  const rows = series.map((one, i) => [names[i], one.aggregated_value]);
  return { name: "totals", columns: ["Series", "Number"], rows };
}

function funnelTable(funnels: readonly FunnelStep[][]): TableData {
  const isBrokenDown = funnels.some(([first]) => first?.breakdown_value !== undefined);
  const columns = ["Step", "Name", "Persons", "Median seconds since the step before"];
  const rows = funnels.flat().map((step): Cell[] => {
    const cells = [step.order + 1, nameOfStep(step), step.count, step.median_conversion_time];
    return isBrokenDown ? [shownValue(step.breakdown_value), ...cells] : cells;
  });
  return { name: "funnel", columns: isBrokenDown ? ["Value", ...columns] : columns, rows };
}

function cohortsTable(cohorts: readonly RetentionCohort[]): TableData {
  const rows = cohorts.map(({ values }) => values);
  const [longest = []] = rows.toSorted((one, other) => other.length - one.length);
  return {
    name: "retention",
    columns: ["Interval", ...longest.map(({ label }) => label)],
    rows: cohorts.map(({ date, values }) => [date, ...longest.map((_, i) => values[i]?.count)]),
  };
}
