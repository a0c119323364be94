// Results of any kind as one table, for a file or a spreadsheet: all rows, and numbers as they are.

import { namesOfTimes } from "../ui/chart/intervals.ts";
import type { Cell, TableData } from "../ui/csv.ts";
import {
  type Cohort,
  type FunnelStep,
  nameOfStep,
  namesOfSeries,
  recognize,
  type Results,
  shownValue,
  type TrendSeries,
} from "./results.ts";
import { namesOfColumns } from "./rows/cells.ts";

/** @param columns of rows. */
export function tableOf(results: Results, columns: readonly string[] = []): TableData {
  const found = recognize(results);
  switch (found.of) {
    case "cohorts":
      return cohortsTable(found.cohorts);
    case "funnels":
      return funnelTable(found.funnels);
    case "times":
      return { name: "times", columns: ["Seconds", "Persons"], rows: found.times.bins };
    case "paths": {
      const rows = found.links.map(({ source, target, value, average_conversion_time: ms }) => [
        source,
        target,
        value,
        ms / 1000,
      ]);
      return { name: "paths", columns: ["From", "To", "Times", "Average seconds"], rows };
    }
    case "figures": {
      const rows = found.figures.map(({ key, value, previous }) => [key, value, previous]);
      return { name: "figures", columns: ["Figure", "Value", "Before"], rows };
    }
    case "totals":
      return totalsTable(found.series);
    case "rows": {
      const rows = results.map((row) => (Array.isArray(row) ? row : [row]) as Cell[]);
      return { name: "query", columns: namesOfColumns(rows, columns), rows };
    }
    default:
      return trendTable(found.series);
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

function cohortsTable(cohorts: readonly Cohort[]): TableData {
  const rows = cohorts.map(({ values }) => values);
  const [longest = []] = rows.toSorted((one, other) => other.length - one.length);
  return {
    name: "retention",
    columns: ["Interval", ...longest.map(({ label }) => label)],
    rows: cohorts.map(({ date, values }) => [date, ...longest.map((_, i) => values[i]?.count)]),
  };
}
