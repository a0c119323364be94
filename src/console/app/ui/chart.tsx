// Values over time, drawn by uPlot. The only file that knows it. The numbers it draws are in a table beside it.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { daySeconds } from "../../../query/results/figures.ts";
import { tickText, timeSteps, timeTicks, valueSteps } from "./chart/intervals.ts";
import { ChartNotes, type PlotArea } from "./chart/notes.tsx";
import { type Drawing, type DrawnSeries, type Line, toDrawnSeries } from "./chart/series.ts";
import { numberText } from "./format.ts";
import { earlierInk, inkAt, paleInkAt } from "./ink.ts";
import { useDark } from "./theme.tsx";

interface ChartProps {
  label: string;
  /** Seconds since 1970, ascending. */
  times: readonly number[];
  /** The names of the times, as shown with their values; without names no values are shown. */
  names?: readonly string[];
  lines: readonly Line[];
  height?: number;
  /** Draws neither axes nor legend. */
  bare?: boolean;
  /** Whether the names of lines are beneath; by default those of several. */
  named?: boolean;
  /** Whether times are moments. Otherwise they are days since the first, and the axis has their names. */
  isOfTimes?: boolean;
  drawing?: Drawing;
  /** The interval that is not over, if any: it is dashed. */
  unfinished?: number | undefined;
  /** Called with a line and a time that are clicked or chosen by the keyboard. */
  pick?: (line: number, at: number) => void;
}

/** How arrow keys move: over times, and over the lines of one. */
const arrowMoves: Readonly<Record<string, { time?: number; line?: number }>> = {
  ArrowLeft: { time: -1 },
  ArrowRight: { time: 1 },
  ArrowUp: { line: -1 },
  ArrowDown: { line: 1 },
};

/** Height of one row of names beneath a chart, in pixels. */
const legendHeight = 30;

export function Chart(props: ChartProps) {
  const { label, times, names, lines, height = 260, bare = false, pick, isOfTimes = true } = props;
  const { named: hasNames = lines.length > 1 } = props;
  const { element, drawn, at, area, isDark } = useDrawn(props);
  const { named, choice, press } = useChoice(props, at, drawn);
  const picture = (
    <div
      class={bare ? "chart bare" : "chart"}
      role="img"
      aria-label={label}
      ref={element}
      // The chart is drawn after the page: its height is kept free.
      style={{ minHeight: height + (hasNames && !bare ? legendHeight : 0) }}
    />
  );
  if (!names || bare) return picture;
  return (
    <div
      class={pick ? "pointed picks" : "pointed"}
      tabIndex={0}
      role="group"
      aria-label={`Values of one time: arrow keys${pick ? "; Enter: the persons behind one" : ""}`}
      onKeyDown={press}
    >
      {picture}
      {at !== undefined &&
        names[at] !== undefined &&
        renderValues(
          names[at],
          named,
          at > times.length / 2,
          isDark,
          pick && named.length > 1 ? choice : undefined,
        )}
      {isOfTimes && <ChartNotes {...{ times, names, area, at }} />}
    </div>
  );
}

/** Draws in `element`; `at` is the index of the time under the pointer. */
function useDrawn({
  times,
  lines,
  height = 260,
  bare = false,
  drawing = "line",
  unfinished,
  pick,
  named = lines.length > 1,
  isOfTimes = true,
  names = [],
}: ChartProps) {
  const element = useRef<HTMLDivElement>(null);
  const isDark = useDark();
  const [at, setAt] = useState<number>();
  const [area, setArea] = useState<PlotArea>();
  const pickRef = useRef(pick);
  pickRef.current = pick;
  const drawn = useRef<uPlot | null>(null);
  const series = toDrawnSeries(lines, drawing, unfinished);
  const data = [[...times], ...series.map(({ values }) => values)] as uPlot.AlignedData;
  const shape = [
    bare,
    drawing,
    named,
    !isOfTimes && names,
    unfinished,
    ...series.map(({ line, isTail }) => [line.label, line.dashed, isTail]),
  ];
  useEffect(() => {
    const target = element.current;
    if (!target) return;
    const size = () => ({ width: Math.max(120, target.clientWidth), height });
    const { color: ink, columnRuleColor: rule } = getComputedStyle(target);
    const tickNames = isOfTimes ? undefined : names;
    const options = buildOptions(series, { tickNames, bare, drawing, named, ink, rule, isDark });
    const hooks = {
      setCursor: [({ cursor }: uPlot) => setAt(cursor.idx ?? undefined)],
      draw: [(chart: uPlot) => setArea((before) => measureArea(chart, before))],
    };
    const chart = new uPlot({ ...options, ...size(), hooks }, data, target);
    drawn.current = chart;
    chart.over.addEventListener("click", listenToClicks(chart, series, drawing, pickRef));
    const watching = new ResizeObserver(() => chart.setSize(size()));
    watching.observe(target);
    return () => {
      watching.disconnect();
      chart.destroy();
      drawn.current = null;
    };
  }, [JSON.stringify(shape), height, isDark]);
  useEffect(() => drawn.current?.setData(data), [times, lines]);
  return { element, drawn, at, area, isDark };
}

/** The area of the values, in CSS pixels; `before` where it has not changed. */
function measureArea({ over, scales }: uPlot, before: PlotArea | undefined): PlotArea {
  const { offsetLeft: left, offsetTop: top, clientWidth: width, clientHeight: height } = over;
  const { min = 0, max = 1 } = scales["x"]!;
  const area = { left, top, width, height, min: min!, max: max! };
  return JSON.stringify(area) === JSON.stringify(before) ? before! : area;
}

/** The values of a time, and the one that Enter opens. Arrow keys choose another time or line. */
function useChoice(
  { times, lines, pick }: ChartProps,
  at: number | undefined,
  drawn: { readonly current: uPlot | null },
) {
  const [chosen, setChosen] = useState(0);
  const move = (to: number) => {
    const chart = drawn.current;
    chart?.setCursor({ left: chart.valToPos(times[to]!, "x"), top: 0 });
  };
  const named = at === undefined ? [] : valuesAt(lines, at);
  const choice = Math.min(chosen, named.length - 1, namedMax - 1);
  const press = (event: KeyboardEvent) => {
    const way = arrowMoves[event.key];
    if (way?.time)
      move(Math.min(times.length - 1, Math.max(0, (at ?? (way.time > 0 ? -1 : times.length)) + way.time)));
    if (!pick || at === undefined) return;
    if (event.key === "Enter" && named[choice]) pick(named[choice].line, at);
    if (!way?.line) return;
    event.preventDefault();
    setChosen(Math.max(0, choice + way.line));
  };
  return { named, choice, press };
}

/** Lines whose values are shown beside the pointer. */
const namedMax = 12;

/** The values of one time, the largest first. */
function valuesAt(lines: readonly Line[], at: number) {
  return lines
    .map(({ label, values, colour, dashed }, line, { length }) => ({
      label,
      value: values[at],
      colour: colour ?? line,
      line,
      isEarlier: dashed && length === 2,
    }))
    .filter(({ value }) => typeof value === "number")
    .toSorted((left, right) => right.value! - left.value!);
}

/** @param choice the one that Enter opens. */
function renderValues(
  title: string,
  values: ReturnType<typeof valuesAt>,
  isLeft: boolean,
  isDark: boolean,
  choice?: number,
) {
  return (
    <div class={isLeft ? "values left" : "values"} role="status">
      <strong>{title}</strong>
      {values.slice(0, namedMax).map(({ label, value, colour, isEarlier }, i) => (
        <span key={i} class={i === choice ? "chosen" : ""}>
          <i style={{ background: isEarlier ? earlierInk(isDark) : inkAt(colour, isDark) }} />
          <span class="cut">{label}</span> <b>{numberText(value!)}</b>
        </span>
      ))}
      {values.length > namedMax && <span>and {values.length - namedMax} more</span>}
    </div>
  );
}

/** Turns a click into the choice of a line: the nearest one, or that of the clicked part of a bar or area. */
function listenToClicks(
  chart: uPlot,
  series: readonly DrawnSeries[],
  drawing: Drawing,
  pickRef: { readonly current: ChartProps["pick"] },
): (event: MouseEvent) => void {
  let tapped: number | undefined;
  return (event) => {
    const { idx, top = 0 } = chart.cursor;
    if (typeof idx !== "number") return;
    // A finger's first touch of a time shows its values.
    const isFirst = (event as PointerEvent).pointerType === "touch" && tapped !== idx;
    tapped = idx;
    if (isFirst) return;
    if (drawing === "beside") {
      const count = countSeries(series);
      const { from, width } = measureBars(chart, count);
      const offset = chart.posToVal(chart.cursor.left ?? 0, "x") - chart.data[0][idx]! - from;
      pickRef.current?.(Math.min(count - 1, Math.max(0, Math.floor(offset / width))), idx);
      return;
    }
    const points = series.flatMap(({ index }, i) => {
      const value = chart.data[i + 1]?.[idx];
      return typeof value === "number" ? [{ index, y: chart.valToPos(value, "y") }] : [];
    });
    const below = points.filter(({ y }) => y <= top);
    const candidates = drawing === "line" || below.length === 0 ? points : below;
    const [nearest] = candidates.toSorted((left, right) => Math.abs(left.y - top) - Math.abs(right.y - top));
    if (nearest) pickRef.current?.(nearest.index, idx);
  };
}

/** The number of lines; each may be several series. */
const countSeries = (series: readonly DrawnSeries[]) => new Set(series.map(({ index }) => index)).size;

/** The offset of the first bar of a time, and the width of each, in units of the time axis. */
function measureBars(chart: uPlot, count: number): { from: number; width: number } {
  const [times] = chart.data;
  const steps = Array.from(times.slice(1), (time, i) => time - times[i]!);
  const { min = 0, max = 1 } = chart.scales["x"]!;
  const pixel = (max! - min!) / Math.max(1, chart.over.clientWidth);
  const width = Math.min((0.7 * Math.min(...steps, max! - min!)) / count, barPixelsMax * pixel);
  return { from: (-count * width) / 2, width };
}

const barPixelsMax = 60;

/** A round number a little above the value: axes have about five steps. */
function stepAbove(value: number): number {
  const size = 10 ** Math.floor(Math.log10(value / 4));
  const step = [1, 2, 5, 10].find((factor) => factor * size * 4 >= value)! * size;
  return Math.ceil((value * 1.02) / step) * step;
}

/** Paths of bars beside `count - 1` others; `index` is their position among these. */
function barPaths(count: number, index: number): uPlot.Series.PathBuilder {
  const x0 = (chart: uPlot) => {
    const { from, width } = measureBars(chart, count);
    return Array.from(chart.data[0], (time) => time + from + index * width);
  };
  const size = (chart: uPlot) => Array.from(chart.data[0], () => measureBars(chart, count).width);
  return uPlot.paths.bars!({ disp: { x0: { unit: 1, values: x0 }, size: { unit: 1, values: size } } });
}

interface ChartStyle {
  tickNames: readonly string[] | undefined;
  bare: boolean;
  named: boolean;
  drawing: Drawing;
  /** Colours of text and grid. They are read from the element: a canvas cannot use a style sheet's variables. */
  ink: string;
  rule: string;
  isDark: boolean;
}

function buildOptions(series: readonly DrawnSeries[], style: ChartStyle) {
  const { tickNames, bare, drawing, named, ink, rule, isDark } = style;
  const grid = { stroke: rule, width: 1 };
  const axis = { stroke: ink, grid, ticks: grid, show: !bare };
  return {
    legend: {
      show: !bare && named,
      live: false,
      markers: { width: 8, dash: (_: uPlot, i: number) => (series[i - 1]?.line.dashed ? "dashed" : "solid") },
    },
    // Zooming by dragging would need an obvious way back.
    cursor: { show: !bare, y: false, drag: { x: false, y: false } },
    padding: bare ? ([4, 0, 0, 0] as uPlot.Padding) : ([12, 24, 0, 0] as uPlot.Padding),
    // The API's days are shown as they are, not in the reader's time zone.
    tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    scales: {
      // A bar is as wide as its interval: half of the first and of the last are beyond their times.
      ...((drawing === "bar" || drawing === "beside") && {
        x: {
          range: ({ data: [times] }: uPlot, min: number, max: number): uPlot.Range.MinMax => {
            const steps = Array.from(times.slice(1), (time, i) => time - times[i]!);
            const half = (steps.length > 0 ? Math.min(...steps) : daySeconds) / 2;
            return [min - half, max + half];
          },
        },
      }),
      y: {
        range: (_: uPlot, min: number, max: number): uPlot.Range.MinMax => [
          Math.min(0, min * 1.1),
          // The axis reaches the next step above the highest value.
          max > 0 ? stepAbove(max) : 1,
        ],
      },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        incrs: ({ data }: uPlot) => timeSteps(data[0]),
        splits: ({ data }: uPlot, _: number, min: number, max: number, step: number) =>
          timeTicks(data[0], [min, max], step),
        values: (_: uPlot, ticks: number[]) =>
          ticks.map((tick) => tickNames?.[tick / daySeconds] ?? tickText(tick, ticks)),
      },
      { ...axis, size: 56, incrs: ({ data }: uPlot) => valueSteps(data.slice(1)) },
    ],
    series: [
      {},
      ...series.map((item) => buildSeriesOptions(item, countSeries(series), { bare, drawing, isDark })),
    ],
  };
}

function buildSeriesOptions(
  { line, index, values, colour, isTail }: DrawnSeries,
  count: number,
  { bare, drawing, isDark }: Pick<ChartStyle, "bare" | "drawing" | "isDark">,
): uPlot.Series {
  const isFilled = drawing !== "line";
  // Several earlier lines have the colours of their own.
  const isEarlier = line.dashed && !isFilled && count === 2;
  const stroke = isEarlier ? earlierInk(isDark) : inkAt(colour, isDark);
  const isPale = isTail || (line.dashed && isFilled);
  return {
    label: line.label,
    stroke,
    width: isEarlier ? 1.5 : 2,
    ...((line.dashed || isTail) && { dash: [6, 4] }),
    ...(isTail && { class: "tail" }),
    ...((bare || (drawing === "line" && count === 1)) && { fill: `${stroke}${bare ? "22" : "14"}` }),
    ...(isFilled && { fill: isPale ? paleInkAt(colour, isDark) : stroke, width: isPale ? 1 : 0 }),
    ...(drawing === "bar" && { paths: barPaths(1, 0) }),
    ...(drawing === "beside" && { paths: barPaths(count, index) }),
    points: { show: !bare && drawing === "line" && values.length < 40, size: 5 },
  };
}
