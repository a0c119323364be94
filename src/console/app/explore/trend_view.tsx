// Lines over time, with a table of their numbers.

import {
  type DrawnLine,
  isSummable,
  sumLine,
  toTimes,
  unfinishedAt,
  wallClockAt,
} from "../../../query/results/figures.ts";
import { linePersons, useFigureHref } from "../actors/figures.tsx";
import { nowMs } from "../clock.ts";
import { navigate } from "../session/route.ts";
import { useZone } from "../session/session.ts";
import { Chart } from "../ui/chart.tsx";
import { nameTimes } from "../ui/chart/intervals.ts";
import type { Drawing, Line } from "../ui/chart/series.ts";
import { dayText, numberText, shortText } from "../ui/format.ts";
import { FigureLink } from "../ui/parts.tsx";
import { type Bar, Bars, Table } from "../ui/table.tsx";
import { Headline, wholeTime } from "./headline.tsx";
import { nameAllSeries, nameDays, nameSeries } from "./results.ts";

export interface TrendProps {
  series: DrawnLine[];
  display: string;
  small: boolean;
  height: number;
  /** The query of the lines, where further queries may be sent; otherwise their numbers of the whole time. */
  query?: unknown;
  totals?: readonly DrawnLine[] | undefined;
  /** The query's: of what it is the lines have a value each. */
  interval?: string | undefined;
  /** Whether no number above the chart names a line: an only one has its name beneath, too. */
  isUnnamed?: boolean;
}

const drawings: Readonly<Record<string, Drawing>> = {
  ActionsBar: "bar",
  ActionsStackedBar: "bar",
  ActionsUnstackedBar: "beside",
  ActionsAreaGraph: "area",
};

/** Series that do not add up, or are of different times, are not stacked: their bars are side by side. */
function chooseDrawing(series: readonly DrawnLine[], display: string): Drawing {
  // A lifecycle is stacked: active persons above the axis, dormant ones below.
  if (series.some(({ status }) => status)) return "bar";
  const drawing = drawings[display] ?? "line";
  const isStackable =
    series.length === 1 || series.every((item) => !item.compare_label && isSummable(item, display));
  if (drawing === "bar" && !isStackable) return "beside";
  const isBelow = series.some(({ data }) => data.some((value) => value < 0));
  return drawing === "area" && (isBelow || !isStackable) ? "line" : drawing;
}

const sum = "Sum";

/** Letters of a line's name beneath the chart; the table's head has the whole name. */
const legendLettersMax = 60;

/** A table with more rows is closed at first. */
const openRowsMax = 31;

export function TrendView({
  series,
  display,
  small,
  height,
  query,
  totals,
  interval,
  isUnnamed,
}: TrendProps) {
  const now = wallClockAt(nowMs(), useZone());
  const days = series[0]?.days ?? [];
  const times = toTimes(days);
  const names = nameAllSeries(series);
  const data = series.map((item) =>
    item.data.map((value, i) => (isToCome(item, times[i], now) ? null : value)),
  );
  const at = unfinishedAt(times, now, interval);
  const sums = series.map((item) => sumLine(item, display));
  if (times.length === 0 && series.every(({ data: values }) => values.every((value) => value === 0)))
    return <p class="notice">No such events in this time.</p>;
  const rowNames =
    times.length > 0 ? nameTimes(days) : cutZeros(series[0]?.labels ?? days.map(String), series);
  const rows = rowNames.map((name, i) => ({
    name: i === at ? `${name} (in progress)` : name,
    values: data.map((values) => values[i] ?? undefined),
    at: i,
  }));
  const total = sums.some((item) => item !== undefined)
    ? { name: sum, values: sums, at: rows.length }
    : undefined;
  const { hrefAt, pick } = useHrefs(series, rowNames);
  const chart = {
    lines: toLines(series, names, data).map((line, i) => ({
      ...line,
      label: shortText(line.label, legendLettersMax) + nameDays(series[i]!, now, interval),
    })),
    times,
    names: rows.map(({ name }) => dayText(name)),
    height,
    drawing: chooseDrawing(series, display),
    unfinished: at,
    named: isUnnamed || series.length > 1,
    ...(pick && { pick }),
  };
  const label = chart.lines.map((line) => line.label).join(", ");
  return (
    <>
      <Headline series={series} display={display} query={query} totals={totals} />
      {times.length > 0 ? (
        <Chart label={`Lines from ${days[0] ?? ""} to ${days.at(-1) ?? ""}: ${label}`} {...chart} />
      ) : (
        <Bars
          caption="Persons by the number of intervals in which they were active"
          bars={toBars(rows, names)}
        />
      )}
      <details class="numbers" open={!small && rows.length <= openRowsMax}>
        <summary>Numbers</summary>
        <Table
          caption="The numbers of the lines"
          rows={rows}
          foot={total}
          id={({ name }) => name}
          columns={({ numberColumn, fixedColumn }) => [
            fixedColumn(times.length > 0 ? "Time" : "Active in", ({ name }) =>
              name === sum ? <strong>{sum}</strong> : dayText(name),
            ),
            ...names.map((name, i) =>
              numberColumn(
                name,
                ({ values, at: row }: Row) =>
                  values[i] !== undefined && (
                    <FigureLink href={hrefAt(i, row)}>{numberText(values[i])}</FigureLink>
                  ),
              ),
            ),
          ]}
        />
      </details>
    </>
  );
}

/** Stickiness: the names up to the last interval count that anybody has. */
function cutZeros(names: readonly string[], series: readonly DrawnLine[]): string[] {
  return names.slice(0, 1 + names.findLastIndex((_, i) => series.some(({ data }) => data[i])));
}

interface Row {
  name: string;
  values: (number | undefined)[];
  at: number;
}

/** Whether a value is of an interval that has not begun. */
const isToCome = ({ compare_label }: DrawnLine, time: number | undefined, now: number) =>
  time !== undefined && time > now && compare_label !== "previous";

/** The time before has the colour of its series and a dashed line. */
function toLines(
  series: readonly DrawnLine[],
  names: readonly string[],
  data: readonly (number | null)[][],
): Line[] {
  const current = nameAllSeries(series.map((item) => ({ ...item, compare_label: "current" as const })));
  const colours = [...new Set(current)];
  return series.map((item, i) => ({
    label: names[i]!,
    values: data[i]!,
    dashed: item.compare_label === "previous",
    colour: colours.indexOf(current[i]!),
  }));
}

/** Draws stickiness, which is not over time. */
function toBars(rows: readonly Row[], names: readonly string[]): Bar[] {
  return rows.flatMap(({ name, values }) =>
    values.map((value = 0, i) => ({
      label: names.length > 1 ? `${name} · ${names[i]}` : name,
      value,
      text: numberText(value),
    })),
  );
}

/** The links of lines' values; beyond the last value, that of the whole line. `pick` opens one, where there is any. */
function useHrefs(series: readonly DrawnLine[], names: readonly string[]) {
  const hrefOfFigure = useFigureHref();
  const hrefAt = (line: number, at: number) => {
    const item = series[line]!;
    const title = `${nameSeries(item)}, ${dayText(names[at] ?? wholeTime)}`;
    return hrefOfFigure((query) => linePersons(query, item, item.days[at]), title, item.data[at]);
  };
  const pick = (line: number, at: number) => {
    const href = hrefAt(line, at);
    if (href !== undefined) navigate(href);
  };
  const isAny = series.some(({ data }, line) => data.some((_, at) => hrefAt(line, at) !== undefined));
  return { hrefAt, pick: isAny ? pick : undefined };
}
