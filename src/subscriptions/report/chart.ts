// A chart as SVG, in the font that png_worker.ts loads. All text is escaped.

import { trimToChars } from "../../core/trim.ts";
import { subscriptionLimits } from "../limits.ts";
import type { Chart } from "./model.ts";
import { numberText, shortText } from "./numbers.ts";

/** CSS pixels; the PNG has twice as many. */
export const chartWidth = 600;
export const chartFont = "DejaVu Sans";

const colours = ["#2563eb", "#db2777", "#059669", "#d97706", "#7c3aed", "#0891b2", "#dc2626", "#4b5563"];
const ink = "#374151";
const faint = "#e5e7eb";
/** The mean width of a character of DejaVu Sans, as a fraction of the font size. */
const characterWidth = 0.62;

/** The SVG of a chart; undefined without one, or when it has no values. */
export function chartSvg(chart: Chart | null | undefined): string | undefined {
  const points = Math.max(0, ...(chart?.series.map(({ values }) => values.length) ?? []));
  if (!chart || points === 0) return undefined;
  const series = chart.series.map((item) => ({ ...item, values: item.values.map(drawable) }));
  return chart.kind === "line" ? lineSvg({ ...chart, series }, points) : barSvg({ ...chart, series });
}

/** A number whose differences and ticks are numbers, too. */
function drawable(value: number): number {
  return Math.min(1e300, Math.max(-1e300, value)) || 0;
}

/** The alternative text of a chart. */
export function chartWords({ kind, series, labels }: Chart): string {
  const names = series.map(({ label }) => label).filter(Boolean);
  const what = kind === "line" ? "Line chart" : "Bar chart";
  const span = labels.length > 1 ? ` from ${labels[0]} to ${labels.at(-1)}` : "";
  return `${what}${names.length > 0 ? ` of ${names.join(", ")}` : ""}${span}`;
}

function lineSvg({ series, labels, unit }: Chart, points: number): string {
  const legend = series.length > 1 ? legendSvg(series) : { svg: "", height: 0 };
  const top = 16 + legend.height;
  const plot = { left: 56, right: chartWidth - 20, top, bottom: top + 190 };
  const ticks = ticksFor(series.flatMap(({ values }) => values));
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)];
  const x = (i: number): number =>
    points === 1 ? (plot.left + plot.right) / 2 : plot.left + ((plot.right - plot.left) * i) / (points - 1);
  const y = (value: number): number =>
    plot.bottom - ((plot.bottom - plot.top) * (value - low)) / (high - low || 1);
  const grid = ticks.map((tick) => {
    const at = round(y(tick));
    return (
      `<line x1="${plot.left}" x2="${plot.right}" y1="${at}" y2="${at}" stroke="${faint}"/>` +
      text(plot.left - 8, at + 4, shortText(tick, unit), "end")
    );
  });
  const lines = series.map(({ values }, i) => {
    const colour = colours[i % colours.length] ?? ink;
    const path = values.map((value, at) => `${round(x(at))},${round(y(value))}`);
    const area =
      series.length === 1 && path.length > 1
        ? `<polygon points="${round(x(0))},${round(y(Math.max(0, low)))} ${path.join(" ")} ` +
          `${round(x(path.length - 1))},${round(y(Math.max(0, low)))}" fill="${colour}" fill-opacity="0.1"/>`
        : "";
    const stroke = `fill="none" stroke="${colour}" stroke-width="2" stroke-linejoin="round"`;
    const line = `<polyline points="${path.join(" ")}" ${stroke}/>`;
    const last = path.at(-1)?.split(",") ?? [];
    return `${area}${line}<circle cx="${last[0]}" cy="${last[1]}" r="3.5" fill="${colour}"/>`;
  });
  // Labels may be visitors' texts: the renderer takes more than its time for a long one.
  const shortLabels = labels.slice(0, points).map((label) => shortened(label, 160, 11));
  const labelled = labelledPoints(shortLabels).map((i) => {
    const anchor = i === 0 ? "start" : i === points - 1 ? "end" : "middle";
    const at = i === 0 ? plot.left - 4 : i === points - 1 ? plot.right + 4 : x(i);
    return text(round(at), plot.bottom + 20, shortLabels[i] ?? "", anchor);
  });
  return framed([...grid, ...lines, ...labelled, legend.svg], plot.bottom + 34);
}

function barSvg({ series, labels, unit }: Chart): string {
  const values = series[0]?.values ?? [];
  const rows = labels.slice(0, Math.min(values.length, subscriptionLimits.reportBarsMax));
  const most = Math.max(1e-9, ...values.map(Math.abs));
  const [left, right, step] = [210, chartWidth - 90, 34];
  const bars = rows.flatMap((label, i) => {
    const value = values[i] ?? 0;
    const y = 12 + i * step;
    const width = Math.max(2, ((right - left) * Math.abs(value)) / most);
    return [
      text(left - 10, y + 17, shortened(label, 190, 12), "end", 12),
      `<rect x="${left}" y="${y}" width="${right - left}" height="24" rx="4" fill="#f3f4f6"/>`,
      `<rect x="${left}" y="${y}" width="${round(width)}" height="24" rx="4" fill="${colours[0]}"/>`,
      text(right + 8, y + 17, numberText(value, unit).slice(0, 12), "start", 12),
    ];
  });
  return framed(bars, 12 + rows.length * step + 4);
}

function legendSvg(series: Chart["series"]): { svg: string; height: number } {
  let [x, y] = [56, 16];
  const parts = series.map(({ label }, i) => {
    const name = shortened(label, 180, 12);
    const width = 32 + [...name].length * 12 * characterWidth;
    if (x + width > chartWidth - 10 && x > 56) [x, y] = [56, y + 20];
    const part =
      `<rect x="${round(x)}" y="${y - 9}" width="10" height="10" rx="2" fill="${colours[i % colours.length]}"/>` +
      text(round(x + 15), y, name, "start", 12);
    x += width;
    return part;
  });
  return { svg: parts.join(""), height: y + 6 };
}

/** Round numbers from the least to the greatest value, zero included. */
export function ticksFor(values: readonly number[]): number[] {
  const low = Math.min(0, ...values);
  const highest = Math.max(0, ...values);
  const high = highest > low ? highest : low + 1;
  const span = high - low;
  const magnitude = 10 ** Math.floor(Math.log10(span / 4));
  const step =
    [1, 2, 2.5, 5, 10].map((value) => value * magnitude).find((value) => span / value <= 5) ?? 10 * magnitude;
  const first = Math.floor(low / step);
  const last = Math.max(first + 1, Math.ceil(high / step));
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** The indexes of the labels that fit beside each other, with the first and the last. */
function labelledPoints(labels: readonly string[]): number[] {
  const longest = Math.max(1, ...labels.map((label) => [...label].length));
  const countMax = Math.max(2, Math.floor((chartWidth - 80) / (longest * 11 * characterWidth + 16)));
  if (labels.length <= countMax) return labels.map((_, i) => i);
  const gaps = countMax - 1;
  return Array.from({ length: countMax }, (_, i) => Math.round((i * (labels.length - 1)) / gaps));
}

const shortened = (label: string, width: number, size: number): string =>
  trimToChars(label, Math.floor(width / (size * characterWidth)));

function framed(parts: string[], height: number): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${chartWidth}" height="${height}" ` +
    `viewBox="0 0 ${chartWidth} ${height}">` +
    `<rect width="${chartWidth}" height="${height}" fill="#ffffff"/>${parts.join("")}</svg>`
  );
}

function text(x: number, y: number, content: string, anchor: "start" | "middle" | "end", size = 11): string {
  return (
    `<text x="${x}" y="${y}" text-anchor="${anchor}" font-family="${chartFont}" font-size="${size}" fill="${ink}">` +
    `${escaped(content)}</text>`
  );
}

/** XML allows no control characters and no single surrogates, not even escaped. */
function escaped(content: string): string {
  // oxlint-disable-next-line no-control-regex
  return Bun.escapeHTML(content.toWellFormed().replace(/[\x00-\x1f\x7f\ufffe\uffff]/g, " "));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
