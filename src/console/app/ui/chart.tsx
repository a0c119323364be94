// Values over time, drawn by uPlot. The only file that knows it. The numbers it draws are in a table beside it.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { numberText } from "./format.ts";
import { inkAt } from "./ink.ts";
import { useDark } from "./theme.ts";

export interface Line {
  label: string;
  values: readonly (number | null)[];
  dashed?: boolean;
  /** An index into the colours; the line's own index unless it is given. */
  colour?: number;
}

/** How values are drawn: bars and areas stand on each other. */
export type Drawing = "line" | "bar" | "area";

interface ChartProps {
  /** A description for screen readers. */
  label: string;
  /** Seconds since 1970, ascending. */
  times: readonly number[];
  /** What the times are called, beside the values of one; without names no values are shown. */
  names?: readonly string[];
  lines: readonly Line[];
  height?: number;
  /** Without axes and legend. */
  bare?: boolean;
  drawing?: Drawing;
  /** Whether the last interval is not over: it is dashed. */
  unfinished?: boolean;
  /** Called with a line and a time that are clicked or chosen by the keyboard. */
  pick?: (line: number, at: number) => void;
}

/** What arrow keys choose: a time, and one of its lines. */
const ways: Readonly<Record<string, { time?: number; line?: number }>> = {
  ArrowLeft: { time: -1 },
  ArrowRight: { time: 1 },
  ArrowUp: { line: -1 },
  ArrowDown: { line: 1 },
};

/** Of one line of names beneath a chart, in pixels. */
const legendHeight = 30;

export function Chart(props: ChartProps) {
  const {
    label,
    times,
    names,
    lines,
    height = 260,
    bare = false,
    drawing = "line",
    unfinished,
    pick,
  } = props;
  const place = useRef<HTMLDivElement>(null);
  const isDark = useDark();
  const [at, setAt] = useState<number>();
  const picked = useRef(pick);
  picked.current = pick;
  const drawn = useRef<uPlot | null>(null);
  const series = seriesOf(lines, drawing, unfinished === true);
  const data = [[...times], ...series.map(({ values }) => values)] as uPlot.AlignedData;
  const shape = [bare, drawing, ...series.map(({ line, isTail }) => [line.label, line.dashed, isTail])];
  useEffect(() => {
    const target = place.current;
    if (!target) return;
    const size = () => ({ width: Math.max(120, target.clientWidth), height });
    const { color: ink, columnRuleColor: rule } = getComputedStyle(target);
    const options = optionsOf(series, { bare, drawing, ink, rule, isDark });
    const hooks = { setCursor: [({ cursor }: uPlot) => setAt(cursor.idx ?? undefined)] };
    const chart = new uPlot({ ...options, ...size(), hooks }, data, target);
    drawn.current = chart;
    chart.over.addEventListener("click", clicksOf(chart, series, drawing, picked));
    const watching = new ResizeObserver(() => chart.setSize(size()));
    watching.observe(target);
    return () => {
      watching.disconnect();
      chart.destroy();
      drawn.current = null;
    };
  }, [JSON.stringify(shape), height, isDark]);
  useEffect(() => drawn.current?.setData(data), [times, lines]);
  // It is drawn after the page: its room is there before it.
  const minHeight = bare ? height : height + legendHeight;
  const picture = (
    <div
      class={bare ? "chart bare" : "chart"}
      role="img"
      aria-label={label}
      ref={place}
      style={{ minHeight }}
    />
  );
  const { named, choice, press } = useChoice(props, at, drawn);
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
      {at !== undefined && names[at] !== undefined && (
        <Values
          {...{ title: names[at], values: named, isLeft: at > times.length / 2, isDark }}
          {...(pick && named.length > 1 && { choice })}
        />
      )}
    </div>
  );
}

/** The values of a time, and which of them Enter picks. Arrow keys choose another time, and another line. */
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
    const way = ways[event.key];
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

/** Lines whose values are named beside the pointer. */
const namedMax = 12;

/** The values of one time, the largest first. */
function valuesAt(lines: readonly Line[], at: number) {
  return lines
    .map(({ label, values, colour }, line) => ({ label, value: values[at], colour: colour ?? line, line }))
    .filter(({ value }) => typeof value === "number")
    .toSorted((one, other) => other.value! - one.value!);
}

interface ValuesProps {
  title: string;
  values: ReturnType<typeof valuesAt>;
  isLeft: boolean;
  isDark: boolean;
  /** The one that Enter picks. */
  choice?: number;
}

function Values({ title, values, isLeft, isDark, choice }: ValuesProps) {
  return (
    <div class={isLeft ? "values left" : "values"} role="status">
      <strong>{title}</strong>
      {values.slice(0, namedMax).map(({ label, value, colour }, i) => (
        <span key={i} class={i === choice ? "chosen" : ""}>
          <i style={{ background: inkAt(colour, isDark) }} />
          <span class="cut">{label}</span> <b>{numberText(value!)}</b>
        </span>
      ))}
      {values.length > namedMax && <span>and {values.length - namedMax} more</span>}
    </div>
  );
}

/** Makes a click on a chart the choice of a line: the nearest one, or the part of a bar or area that is clicked. */
function clicksOf(
  chart: uPlot,
  series: readonly DrawnSeries[],
  drawing: Drawing,
  picked: { readonly current: ChartProps["pick"] },
): (event: MouseEvent) => void {
  let tapped: number | undefined;
  return (event) => {
    const { idx, top = 0 } = chart.cursor;
    if (typeof idx !== "number") return;
    // A finger that touches a time for the first time asks for its values.
    const isFirst = (event as PointerEvent).pointerType === "touch" && tapped !== idx;
    tapped = idx;
    if (isFirst) return;
    const places = series.flatMap(({ index }, i) => {
      const value = chart.data[i + 1]?.[idx];
      return typeof value === "number" ? [{ index, y: chart.valToPos(value, "y") }] : [];
    });
    const below = places.filter(({ y }) => y <= top);
    const candidates = drawing === "line" || below.length === 0 ? places : below;
    const [nearest] = candidates.toSorted((one, other) => Math.abs(one.y - top) - Math.abs(other.y - top));
    if (nearest) picked.current?.(nearest.index, idx);
  };
}

/** A series as it is drawn. */
interface DrawnSeries {
  line: Line;
  /** Of the line among all. */
  index: number;
  values: (number | null)[];
  colour: number;
  /** The interval that is not over, dashed, as a series of its own. */
  isTail?: boolean;
}

/** In the order of drawing: of a stack the highest first, since the others are drawn over it. */
function seriesOf(lines: readonly Line[], drawing: Drawing, unfinished: boolean): DrawnSeries[] {
  const all = lines.map((line, index) => ({
    line,
    index,
    values: [...line.values],
    colour: line.colour ?? index,
  }));
  if (drawing !== "line") {
    for (const [i, { values }] of all.entries()) {
      const below = all[i - 1]?.values;
      if (below) for (const j of values.keys()) values[j] = (values[j] ?? 0) + (below[j] ?? 0);
    }
    return all.toReversed();
  }
  if (!unfinished) return all;
  return all.flatMap((one) => {
    const { values, line } = one;
    const last = values.length - 1;
    if (line.dashed || last < 1) return [one];
    const whole = values.map((value, i) => (i === last ? null : value));
    const tail = values.map((value, i) => (i < last - 1 ? null : value));
    return [
      { ...one, values: whole },
      { ...one, values: tail, isTail: true },
    ];
  });
}

interface Look {
  bare: boolean;
  drawing: Drawing;
  /** A canvas cannot use variables of a style sheet: colours of text and grid, as the element around it has them. */
  ink: string;
  rule: string;
  isDark: boolean;
}

function optionsOf(series: readonly DrawnSeries[], { bare, drawing, ink, rule, isDark }: Look) {
  const grid = { stroke: rule, width: 1 };
  const axis = { stroke: ink, grid, ticks: grid, show: !bare };
  const values = series[0]?.values.length ?? 0;
  return {
    legend: {
      show: !bare,
      live: false,
      markers: {
        width: 8,
        dash: (_: uPlot, i: number) => (series[i - 1]?.line.dashed ? "dashed" : "solid"),
      },
    },
    // A zoom by dragging would need a way back that everybody finds.
    cursor: { show: !bare, y: false, drag: { x: false, y: false } },
    padding: bare ? ([4, 0, 0, 0] as uPlot.Padding) : ([12, 24, 0, 0] as uPlot.Padding),
    // The API's days are shown as they are, not in the reader's time zone.
    tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    scales: {
      // A bar is as wide as its interval: half of the first and of the last lie beyond their times.
      ...(drawing === "bar" && {
        x: {
          range: ({ data: [times] }: uPlot, min: number, max: number): uPlot.Range.MinMax => {
            const steps = Array.from(times.slice(1), (time, i) => time - times[i]!);
            const half = Math.min(...steps, day) / 2;
            return [min - half, max + half];
          },
        },
      }),
      y: {
        range: (_: uPlot, min: number, max: number): uPlot.Range.MinMax => [
          Math.min(0, min * 1.1),
          max > 0 ? max * 1.1 : 1,
        ],
      },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        incrs: timeSteps,
        values: (_: uPlot, ticks: number[]) => ticks.map((tick) => tickText(tick, ticks)),
      },
      { ...axis, size: 56, incrs: valueSteps },
    ],
    series: [
      {},
      ...series.map(({ line, colour, isTail }): uPlot.Series => {
        const stroke = inkAt(colour, isDark);
        return {
          label: line.label,
          stroke,
          width: 2,
          ...((line.dashed || isTail) && { dash: [6, 4] }),
          ...(isTail && { class: "tail" }),
          ...(bare && { fill: `${stroke}22` }),
          ...(drawing !== "line" && { fill: stroke, width: 0 }),
          ...(drawing === "bar" && { paths: uPlot.paths.bars!({ size: [0.7, 60] }) }),
          points: { show: !bare && drawing === "line" && values < 40, size: 5 },
        };
      }),
    ],
  };
}

const [minute, hour, day] = [60, 3600, 86_400];
const daySteps = [1, 2, 7, 14, 28, 91, 182, 364, 728].map((days) => days * day);
const shortSteps = [1, 5, 15, 30, minute, 5 * minute, 15 * minute, 30 * minute, hour].concat(
  [3, 6, 12].map((hours) => hours * hour),
);

/** Steps between ticks of time, in seconds: none finer than from one value to the next where those are days. */
function timeSteps({ data: [times] }: uPlot): number[] {
  const isDaily = (times[1] ?? 0) - (times[0] ?? 0) >= day;
  return isDaily ? daySteps : [...shortSteps, ...daySteps];
}

/** Steps between ticks of values: whole ones where all values are whole, since there is no half an event. */
function valueSteps({ data: [, ...lines] }: uPlot): number[] {
  const isWhole = lines.every((values) =>
    Array.from<unknown>(values).every((value) => Number.isInteger(value ?? 0)),
  );
  const powers = Array.from({ length: isWhole ? 13 : 19 }, (_, i) => 10 ** (isWhole ? i : i - 6));
  return powers.flatMap((power) => [power, 2 * power, 5 * power]);
}

const dayFormat = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });

/** A day, or the time of day where ticks are closer. */
function tickText(tick: number, ticks: readonly number[]): string {
  const at = new Date(tick * 1000);
  const step = (ticks[1] ?? tick) - (ticks[0] ?? tick);
  const year = ticks.at(-1)! - ticks[0]! > 300 * day ? ` ’${at.toISOString().slice(2, 4)}` : "";
  return step >= day || ticks.length === 1 ? dayFormat.format(at) + year : at.toISOString().slice(11, 16);
}
