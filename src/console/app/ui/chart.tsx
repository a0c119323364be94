// Lines over time, drawn by uPlot. The only file that knows it. The numbers it draws are in a table beside it.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useDark } from "./theme.ts";

export interface Line {
  label: string;
  values: readonly (number | null)[];
  dashed?: boolean;
  /** An index into the colours; the line's own index unless it is given. */
  colour?: number;
}

interface ChartProps {
  /** A description for screen readers. */
  label: string;
  /** Seconds since 1970, ascending. */
  times: readonly number[];
  lines: readonly Line[];
  height?: number;
  /** Without axes and legend. */
  bare?: boolean;
}

/**
 * Colours of lines that most people can tell apart, colour-blind people included. Each has a contrast of at least 4.5
 * to 1 with its background.
 */
const colours = {
  light: ["#2563eb", "#b45309", "#047857", "#be185d", "#6d28d9", "#0e7490", "#b91c1c", "#4d7c0f"],
  dark: ["#7aa2ff", "#fbbf24", "#34d399", "#f472b6", "#b794f6", "#22d3ee", "#f87171", "#a3e635"],
};

export function Chart({ label, times, lines, height = 260, bare = false }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const isDark = useDark();
  const shape = `${bare} ${lines.map((line) => `${line.label}${line.dashed}`).join("\n")}`;
  const data = [[...times], ...lines.map(({ values }) => [...values])] as uPlot.AlignedData;
  const drawn = useRef<uPlot | null>(null);
  useEffect(() => {
    const target = place.current;
    if (!target) return;
    const width = () => Math.max(120, target.clientWidth);
    const chart = new uPlot(
      optionsOf(lines, bare, coloursOf(target, isDark), { width: width(), height }),
      data,
      target,
    );
    drawn.current = chart;
    const watching = new ResizeObserver(() => chart.setSize({ width: width(), height }));
    watching.observe(target);
    return () => {
      watching.disconnect();
      chart.destroy();
      drawn.current = null;
    };
  }, [shape, height, isDark]);
  useEffect(() => drawn.current?.setData(data), [times, lines]);
  return <div class={bare ? "chart bare" : "chart"} role="img" aria-label={label} ref={place} />;
}

interface Colours {
  ink: string;
  rule: string;
  /** Of the lines, in their order. */
  lines: readonly string[];
}

/** A canvas cannot use variables of a style sheet: text and grid colours are read from the element around it. */
function coloursOf(place: HTMLElement, isDark: boolean): Colours {
  const { color, columnRuleColor } = getComputedStyle(place);
  return { ink: color, rule: columnRuleColor, lines: isDark ? colours.dark : colours.light };
}

function optionsOf(
  lines: readonly Line[],
  bare: boolean,
  { ink, rule, lines: strokes }: Colours,
  size: { width: number; height: number },
): uPlot.Options {
  const grid = { stroke: rule, width: 1 };
  const strokeOf = (line: Line, i: number) => strokes[(line.colour ?? i) % strokes.length]!;
  const axis = { stroke: ink, grid, ticks: grid, show: !bare };
  return {
    ...size,
    legend: {
      show: !bare,
      live: false,
      markers: { dash: (_, i) => (lines[i - 1]?.dashed ? "dashed" : "solid") },
    },
    cursor: { show: !bare, y: false },
    padding: bare ? [4, 0, 0, 0] : [12, 24, 0, 0],
    // The API's days are shown as they are, not in the reader's time zone.
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      { ...axis, incrs: timeSteps, values: (_, ticks) => ticks.map((tick) => tickText(tick, ticks)) },
      { ...axis, size: 56, incrs: valueSteps },
    ],
    series: [
      {},
      ...lines.map((line, i) => ({
        label: line.label,
        stroke: strokeOf(line, i),
        width: 2,
        ...(line.dashed && { dash: [6, 4] }),
        ...(bare && { fill: `${strokeOf(line, i)}22` }),
        points: { show: !bare && line.values.length < 40, size: 5 },
      })),
    ],
  };
}

const [minute, hour, day] = [60, 3600, 86_400];
const daySteps = [1, 2, 7, 14, 28, 91, 182, 364, 728].map((days) => days * day);
const shortSteps = [
  1,
  5,
  15,
  30,
  minute,
  5 * minute,
  15 * minute,
  30 * minute,
  hour,
  3 * hour,
  6 * hour,
  12 * hour,
];

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

/** A day, or the time of day where ticks are closer. */
function tickText(tick: number, ticks: readonly number[]): string {
  const text = new Date(tick * 1000).toISOString();
  const step = (ticks[1] ?? tick) - (ticks[0] ?? tick);
  return step >= 86_400 ? text.slice(5, 10) : text.slice(11, 16);
}
