// One insight's results as a section of a report.

import { trimToChars } from "../../core/trim.ts";
import {
  type FunnelStep,
  noValue,
  otherValues,
  type QueryDrawing,
  type ResultShapes,
  type ResultType,
  toFunnels,
} from "../../query/result.ts";
import { nameColumns, toChartRows } from "../../query/results/chart_rows.ts";
import {
  countReturned,
  type DrawnLine,
  markUnfinished,
  readFigures,
  type ResultFigure,
  sumLine,
  trimCohorts,
  wallClockAt,
} from "../../query/results/figures.ts";
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
  /** The numbers of the whole time of lines that do not add up. */
  totals?: readonly DrawnLine[] | undefined;
  drawing?: QueryDrawing;
  /** Columns of a table, and their types. */
  columns?: readonly string[] | undefined;
  types?: readonly string[] | undefined;
  timezone?: string;
  /** ISO 8601. */
  computed_at?: string;
  /** Why there are no results. */
  error?: string | null | undefined;
  /** The store did not answer, or was busy: a later read may succeed. */
  isAway?: boolean;
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

function chooseContent(insight: InsightView): Content {
  const { type, results = [], error } = insight;
  if (error || type === null || results.length === 0) return nothing;
  return (contents[type] as (results: unknown[], insight: InsightView) => Content)(results, insight);
}

type Results<Type extends ResultType> = ResultShapes[Type][];

const contents: {
  [Type in ResultType]: (results: Results<Type>, insight: InsightView) => Content;
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

/** `total`: the sum, or the one number, of a line that has one. */
type Line = Chart["series"][number] & { total: number | undefined; isBefore: boolean };

function trendsContent(results: Results<"series">, { drawing = {}, totals }: InsightView): Content {
  const { display = "" } = drawing;
  const all = results.map((line) => {
    const isBefore = line.compare_label === "previous";
    const label = isBefore ? `${toLabel(line.label)} (before)` : toLabel(line.label);
    return { label, values: line.data, total: sumLine(line, display), isBefore, count: line.count };
  });
  const weigh = ({ total, count }: (typeof all)[number]) => total ?? count;
  const sorted = all.toSorted((a, b) => Number(a.isBefore) - Number(b.isBefore) || weigh(b) - weigh(a));
  const labels = results[0]!.labels;
  const rows = all.map(({ label, total }): Cell[] => [label, total ?? null]);
  const table = labels.length < 2 ? { columns: ["Series", "Total"], rows } : trendsTable(all, labels);
  const compares = all.some(({ isBefore }) => isBefore);
  const figures = readFigures(results, { display, totals })
    .flatMap(({ value, ...figure }) => (value === undefined ? [] : [{ ...figure, value }]))
    .toSorted((a, b) => b.value - a.value)
    .slice(0, subscriptionLimits.reportFiguresMax)
    .map(({ line, value, ...earlier }): Figure => {
      return {
        label: toLabel(line.label),
        value,
        unit: "",
        ...(compares ? changeSince(earlier) : { before: null }),
      };
    });
  return { figures, chart: linesChart(sorted, labels, ""), table };
}

/** Names what a figure's change is since: the time before, or the part of it as far as now. */
function changeSince({
  before,
  until,
}: Pick<ResultFigure, "before" | "until">): Pick<Figure, "before" | "since"> {
  if (before === undefined) return { before: null };
  const part = until ? `, until ${until.date_to.slice(11, 16)}` : "";
  return { before, since: `since the time before${part}` };
}

/** The first lines; where they have one value each, as bars. */
function linesChart(
  lines: readonly Pick<Line, "label" | "values" | "total">[],
  labels: string[],
  unit: "" | "%",
) {
  const firstLines = lines.slice(0, subscriptionLimits.reportSeriesMax);
  const series = firstLines.map(({ label, values }) => ({ label, values }));
  if (labels.length > 1) return { kind: "line" as const, labels, series, unit };
  const values = firstLines.map((line) => line.total ?? line.values[0] ?? 0);
  return barChart(
    firstLines.map(({ label }) => label),
    values,
    unit,
  );
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
  const rows = all.map(({ label, values, total }): Cell[] => [label, total ?? null, values.at(-1) ?? null]);
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
      const { count, median_conversion_time: time } = step;
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
    table: { columns: ["Step", "Persons", "Of the first", "Of the step before", "Median time"], rows },
  };
}

/** Conversion over time: rates do not add up, so there is no figure. */
function ratesContent(results: Results<"conversions">): Content {
  const all = results.map(({ data: values, breakdown_value }) => {
    const label = breakdown_value === undefined ? "conversion" : toLabel(breakdown_value);
    return { label, values, total: undefined };
  });
  const { labels } = results[0]!;
  const wide = all.slice(0, subscriptionLimits.reportColumnsMax - 1);
  const rows = labels.map((label, i): Cell[] => [label, ...wide.map(({ values }) => `${values[i] ?? 0}%`)]);
  const table = { columns: ["Date", ...wide.map(({ label }) => label)], rows: rows.toReversed() };
  return { figures: [], chart: linesChart(all, labels, "%"), table };
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

/** An interval that is not over counts in no percentage. */
function retentionContent(cohorts: Results<"grid">, { computed_at, timezone = "UTC" }: InsightView): Content {
  const results = trimCohorts(cohorts);
  const now = computed_at ? wallClockAt(Date.parse(computed_at), timezone) : Number.POSITIVE_INFINITY;
  const { isUnfinished } = markUnfinished(results, now);
  const periodNames = (results[0]?.values ?? []).map(({ label }) => toLabel(label));
  const periods = periodNames.length;
  const curve = Array.from({ length: periods }, (_, i) => countReturned(results, i, now))
    .filter(({ began }, i) => i === 0 || began > 0)
    .map(({ began, back }) => toPercent(back, began));
  const columnNames = periodNames.slice(0, subscriptionLimits.reportColumnsMax + 1);
  const rows = results.map(
    ({ date, label, breakdown_value, values: [size = { count: 0 }, ...later] }, row): Cell[] => {
      const percents = columnNames.slice(1).map((_, i) => {
        const percent = `${toPercent(later[i]?.count ?? 0, size.count)}%`;
        return i >= later.length ? "" : isUnfinished(row, i + 1) ? `${percent} so far` : percent;
      });
      const name = readDay(date) ?? toLabel(label);
      return [
        breakdown_value === undefined ? name : `${toLabel(breakdown_value)} · ${name}`,
        size.count,
        ...percents,
      ];
    },
  );
  return {
    figures: curve.slice(1, 2).map((value): Figure => {
      return { label: `came back: ${columnNames[1]}`, value, unit: "%", before: null };
    }),
    chart: {
      kind: "line",
      labels: periodNames.slice(0, curve.length),
      series: [{ label: "came back", values: curve }],
      unit: "%",
    },
    table: { columns: ["Cohort", "Size", ...columnNames.slice(1)], rows },
  };
}

/** Rows of SQL as the page has them: those of a time newest first, and where it draws a chart with that. */
function rowsContent(results: Results<"table">, { columns = [], types = [], drawing }: InsightView): Content {
  const names = nameColumns(results, columns).slice(0, subscriptionLimits.reportColumnsMax);
  const isDrawn = ["ActionsLineGraph", "ActionsBar"].includes(drawing?.display ?? "");
  const found = toChartRows(nameColumns(results, columns), types, results);
  const rows = found?.isTime && isAscending(results) ? results.toReversed() : results;
  const table = { columns: names, rows: rows.map((row) => row.slice(0, names.length).map(toCell)) };
  if (!isDrawn || !found) return { ...nothing, table };
  const series = found.series
    .slice(0, subscriptionLimits.reportSeriesMax)
    .map(({ label, values }) => ({ label, values: values.map((value) => value ?? 0) }));
  const chart: Chart =
    found.isTime && found.names.length > 1
      ? { kind: "line", labels: found.names, series, unit: "" }
      : barChart(found.names, series[0]!.values, "");
  return { figures: [], chart, table };
}

const isAscending = (rows: readonly unknown[][]) => String(rows[0]?.[0]) < String(rows.at(-1)?.[0]);

function barChart(labels: string[], values: number[], unit: "" | "%"): Chart {
  const names = labels.slice(0, subscriptionLimits.reportBarsMax);
  return { kind: "bar", labels: names, series: [{ label: "", values: values.slice(0, names.length) }], unit };
}

/** Percent, rounded to a tenth. */
export function toPercent(part: number, whole: number): number {
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
  return cut(labelText(value));
}

/** The values of a breakdown in words; an empty one is none. */
export const labelText = (value: string | string[] | undefined): string =>
  [value]
    .flat()
    .map((item) => (item === otherValues ? "(other)" : item === noValue ? "" : item) || "(none)")
    .join(", ");

function toCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return value;
  return cut(typeof value === "string" ? value : JSON.stringify(value));
}

const cut = (text: string): string => trimToChars(text, subscriptionLimits.reportCellCharsMax);
