// One insight's results as a section of a report.

import { trimToChars } from "../../core/trim.ts";
import {
  type FunnelStep,
  type ResultShapes,
  type ResultType,
  toFunnels,
  type TrendLine,
} from "../../query/result.ts";
import { subscriptionLimits } from "../limits.ts";
import type { Cell, Chart, Figure, Section, Table } from "./model.ts";
import { durationText } from "./numbers.ts";

export interface InsightView {
  id: number;
  name: string;
  /** The type of its results; null where it failed. */
  type: ResultType | null;
  interval?: string | null;
  /** ISO 8601, or a day. */
  date_from?: string | null;
  date_to?: string | null;
  results?: unknown[];
  /** Columns of a list of events. */
  columns?: readonly string[] | undefined;
  /** Why there are no results. */
  error?: string | null | undefined;
}

/**
 * @param before this insight's section in the last delivery.
 * @param rowsMax the most rows of its table, at most subscriptionLimits.reportRowsMax.
 */
export function buildSection(
  insight: InsightView,
  before: Section | undefined,
  rowsMax: number = subscriptionLimits.reportRowsMax,
): Section {
  const { chart, table, figures } = chooseContent(insight);
  return {
    insight: insight.id,
    name: cut(insight.name || `Insight ${insight.id}`),
    span: describeSpan(insight),
    error: insight.error ? cut(insight.error) : null,
    chart,
    table: table && {
      columns: table.columns.map(cut),
      rows: table.rows.slice(0, rowsMax),
      more: Math.max(0, table.rows.length - rowsMax),
    },
    figures: figures.map((figure) => ({
      ...figure,
      before:
        figure.before ??
        before?.figures.find(({ label, unit }) => label === figure.label && unit === figure.unit)?.value ??
        null,
    })),
  };
}

type Rows = Pick<Table, "columns" | "rows">;
type Content = Pick<Section, "figures" | "chart"> & { table: Rows | null };

const nothing: Content = { figures: [], chart: null, table: null };

function chooseContent({ type, results = [], columns, error }: InsightView): Content {
  if (error || type === null || results.length === 0) return nothing;
  return (contents[type] as (results: unknown[], columns?: readonly string[]) => Content)(results, columns);
}

type Results<Type extends ResultType> = ResultShapes[Type][];

const contents: {
  [Type in ResultType]: (results: Results<Type>, columns?: readonly string[]) => Content;
} = {
  series: trendsContent,
  steps: funnelContent,
  conversions: ratesContent,
  times: timesContent,
  flow: pathsContent,
  grid: retentionContent,
  figures: figuresContent,
  table: rowsContent,
};

/** `isBefore`, `earlier`: for a query that compares, whether it is of the time before, and the line of that. */
type Line = Chart["series"][number] & { total: number; isBefore?: boolean; earlier?: TrendLine | undefined };

function trendsContent(results: Results<"series">): Content {
  const all = results.map((line) => {
    const isBefore = line.compare_label === "previous";
    const label = isBefore ? `${toLabel(line.label)} (before)` : toLabel(line.label);
    return { label, values: line.data, labels: line.labels, total: readTotal(line), isBefore, line };
  });
  const earlier = new Map(all.filter(({ isBefore }) => isBefore).map(({ label, line }) => [label, line]));
  const sorted = all
    .map((item) => ({ ...item, earlier: earlier.get(`${item.label} (before)`) }))
    .toSorted((a, b) => Number(a.isBefore) - Number(b.isBefore) || b.total - a.total);
  const labels = sorted[0]?.labels ?? [];
  const totals = all.map(({ label, total }): Cell[] => [label, total]);
  const table = labels.length < 2 ? { columns: ["Series", "Total"], rows: totals } : trendsTable(all, labels);
  return linesContent(sorted, labels, "", table);
}

/** A line's number of its whole time, or of a part of it. */
const readTotal = ({ aggregated_value, count }: Pick<TrendLine, "aggregated_value" | "count">): number =>
  aggregated_value ?? count;

/** Names what a figure's change is since: the time before, or the part of it as far as now. */
function changeSince(earlier: TrendLine | undefined): Pick<Figure, "before" | "since"> {
  if (!earlier) return { before: null };
  const { until } = earlier;
  if (!until) return { before: readTotal(earlier), since: "since the time before" };
  return {
    before: readTotal(until),
    since: `since the time before, until ${until.date_to.slice(11, 16)}`,
  };
}

/** The first lines; where they have one value each, as bars. */
function linesContent(lines: readonly Line[], labels: string[], unit: "" | "%", table: Rows): Content {
  const firstLines = lines.slice(0, subscriptionLimits.reportSeriesMax);
  const names = firstLines.map(({ label }) => label);
  const totals = firstLines.map(({ total }) => total);
  const series = firstLines.map(({ label, values }) => ({ label, values }));
  return {
    figures: firstLines
      .filter(({ isBefore }) => !isBefore)
      .slice(0, subscriptionLimits.reportFiguresMax)
      .map(({ label, total, earlier }) => ({ label, value: total, unit, ...changeSince(earlier) })),
    chart: labels.length < 2 ? barChart(names, totals, unit) : { kind: "line", labels, series, unit },
    table,
  };
}

/** A site's figures: their changes come from the query's own comparison, not from the last delivery. */
function figuresContent(results: Results<"figures">): Content {
  const rows = results.map(({ key, kind, value: current, previous, until }): Cell[] => [
    toLabel(key),
    ...[current, until ? until.value : previous].map((value) => {
      if (value === null) return "";
      const shown = Math.round(value * 10) / 10;
      return kind === "duration_s" ? durationText(value) : kind === "percentage" ? `${shown}%` : shown;
    }),
  ]);
  const [first] = results;
  const before = first?.until ? `Before, until ${first.until.date_to.slice(11, 16)}` : "Before";
  return { ...nothing, table: { columns: ["Figure", "Value", before], rows } };
}

/** One row for each date, newest first, when the series fit as columns; otherwise one row for each series. */
function trendsTable(all: readonly Line[], labels: string[]): Rows {
  if (all.length <= subscriptionLimits.reportColumnsMax - 1) {
    const rows = labels.map((label, i): Cell[] => [label, ...all.map(({ values }) => values[i] ?? null)]);
    return { columns: ["Date", ...all.map(({ label }) => label)], rows: rows.toReversed() };
  }
  const rows = all.map(({ label, values, total }): Cell[] => [label, total, values.at(-1) ?? null]);
  return { columns: ["Series", "Total", labels.at(-1) ?? "Last"], rows };
}

function funnelContent(results: Results<"steps">): Content {
  const funnels = toFunnels(results);
  const rows: Cell[][] = [];
  const figures: Figure[] = [];
  for (const steps of funnels) {
    const first = steps[0]?.count ?? 0;
    const group = funnels.length > 1 ? `${toLabel(steps[0]?.breakdown_value)}: ` : "";
    steps.forEach((step, i) => {
      const { count, average_conversion_time: time } = step;
      const earlier = steps[i - 1]?.count ?? count;
      const percents = [toPercent(count, first), toPercent(count, earlier)].map((percent) => `${percent}%`);
      const name = `${group}${stepName(step, i)}`;
      rows.push([name, count, ...percents, time === null ? "" : durationText(time)]);
    });
    const value = toPercent(steps.at(-1)?.count ?? 0, first);
    figures.push({ label: `${group}conversion`, value, unit: "%", before: null });
  }
  const steps = funnels[0]!;
  const counts = steps.map(({ count }) => count);
  const groups = figures.map(({ label }) => label.replace(/: conversion$/, ""));
  const percents = figures.map(({ value }) => value);
  return {
    figures: figures.slice(0, subscriptionLimits.reportFiguresMax),
    chart: funnels.length === 1 ? barChart(steps.map(stepName), counts, "") : barChart(groups, percents, "%"),
    table: { columns: ["Step", "Persons", "Of the first", "Of the step before", "Average time"], rows },
  };
}

/** Conversion over time: rates do not add up, so the figure is the last one. */
function ratesContent(results: Results<"conversions">): Content {
  const all = results.map(({ data: values, breakdown_value }) => {
    const label = breakdown_value === undefined ? "conversion" : toLabel(breakdown_value);
    return { label, values, total: values.at(-1) ?? 0 };
  });
  const { labels } = results[0]!;
  const wide = all.slice(0, subscriptionLimits.reportColumnsMax - 1);
  const rows = labels.map((label, i): Cell[] => [label, ...wide.map(({ values }) => `${values[i] ?? 0}%`)]);
  const table = { columns: ["Date", ...wide.map(({ label }) => label)], rows: rows.toReversed() };
  return linesContent(all, labels, "%", table);
}

function timesContent(results: Results<"times">): Content {
  const { bins, average_conversion_time: average } = results[0]!;
  if (bins.length === 0) return nothing;
  const names = bins.map(([seconds]) => `from ${durationText(seconds)}`);
  const counts = bins.map(([, persons]) => persons);
  const rows = names.map((name, i): Cell[] => [name, counts[i] ?? 0]);
  if (average !== null) rows.push(["on average", durationText(average)]);
  return { figures: [], chart: barChart(names, counts, ""), table: { columns: ["Time", "Persons"], rows } };
}

function pathsContent(results: Results<"flow">): Content {
  const rows = results.map(({ source, target, value, average_conversion_time: ms }): Cell[] => {
    return [toLabel(source), toLabel(target), value, durationText(ms / 1000)];
  });
  return { ...nothing, table: { columns: ["From", "To", "Times", "Average time"], rows } };
}

function stepName({ custom_name, name }: FunnelStep, i: number): string {
  return `${i + 1}. ${toLabel(custom_name ?? name)}`;
}

function retentionContent(results: Results<"grid">): Content {
  const cohorts = results.map(({ label, date, values }) => ({
    label: toLabel(label),
    date: readDay(date),
    counts: values.map(({ count }) => count),
  }));
  const periods = Math.max(0, ...cohorts.map(({ counts }) => counts.length));
  // A period counts only the cohorts that have reached it.
  const curve = Array.from({ length: periods }, (_, i) => {
    const reached = cohorts.filter(({ counts }) => counts.length > i);
    const sum = (at: number) => reached.reduce((total, { counts }) => total + (counts[at] ?? 0), 0);
    return toPercent(sum(i), sum(0));
  });
  const names = Array.from({ length: periods }, (_, i) => cohorts[i]?.label ?? String(i));
  const columnNames = names.slice(0, subscriptionLimits.reportColumnsMax + 1);
  const rows = cohorts.map(({ label, date, counts: [size = 0, ...later] }): Cell[] => {
    const percents = columnNames
      .slice(1)
      .map((_, i) => (i < later.length ? `${toPercent(later[i] ?? 0, size)}%` : ""));
    return [date ?? label, size, ...percents];
  });
  const figures = curve.slice(1, 2).map((value): Figure => {
    return { label: `came back: ${names[1]}`, value, unit: "%", before: null };
  });
  return {
    figures,
    chart: { kind: "line", labels: names, series: [{ label: "came back", values: curve }], unit: "%" },
    table: { columns: ["Cohort", "Size", ...columnNames.slice(1)], rows },
  };
}

function rowsContent(results: Results<"table">, columns: readonly string[] = []): Content {
  const names = columns.slice(0, subscriptionLimits.reportColumnsMax);
  const rows = results.map((row) => row.slice(0, names.length).map(toCell));
  return { ...nothing, table: { columns: names, rows } };
}

function barChart(labels: string[], values: number[], unit: "" | "%"): Chart {
  const names = labels.slice(0, subscriptionLimits.reportBarsMax);
  return { kind: "bar", labels: names, series: [{ label: "", values: values.slice(0, names.length) }], unit };
}

/** Percent, rounded to a tenth. */
function toPercent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 1000) / 10;
}

function describeSpan({ date_from, date_to, interval }: InsightView): string {
  const [from, to] = [readDay(date_from), readDay(date_to)];
  const days = from && to ? (from === to ? from : `${from} to ${to}`) : (from ?? "");
  return [days, interval ? `by ${cut(interval)}` : ""].filter(Boolean).join(", ");
}

function readDay(value: unknown): string | undefined {
  return typeof value === "string" ? /^\d{4}-\d\d-\d\d/.exec(value)?.[0] : undefined;
}

function toLabel(value: string | string[] | undefined): string {
  return cut(Array.isArray(value) ? value.join(", ") : value || "(none)");
}

function toCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return value;
  return cut(typeof value === "string" ? value : JSON.stringify(value));
}

const cut = (text: string): string => trimToChars(text, subscriptionLimits.reportCellCharsMax);
