// Answers a FunnelsQuery: how many persons did one thing after the other.

import { limits } from "../../core/limits.ts";
import { addIntervals, listBuckets } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { type Breakdown, requireBreakdownScopes, valuesShown } from "../parts/breakdown.ts";
import { figureLine, type FigureRef, noFigure } from "../parts/figure.ts";
import { nameStarts, refuseNumbers } from "../parts/lines.ts";
import { figureBucket } from "../parts/periods.ts";
import { type FunnelStep, type FunnelTimes, type FunnelTrend, otherValues } from "../result.ts";
import { type QueryContext, readSpan } from "../store.ts";
import type { FunnelScope } from "./attempts.ts";
import { type CheckedFunnel, checkFunnel, funnelsModel } from "./check.ts";
import * as store from "./store.ts";

export const funnelsKind = queryKind({
  schema: funnelsModel,
  result: ({ result }) => result,
  check: checkFunnel,
  title: ({ title }) => title,
  answer: async (context, checked) => {
    const { result, interval, breakdown, query } = checked;
    const isTrend = result === "conversions";
    const scope = await buildScope(context, checked);
    const { span } = scope;
    const bars = query.funnelsFilter?.binCount ?? undefined;
    if (result === "times")
      return { span, results: [toTimes(await store.timesRows(context, scope, bars), bars)] };
    const lines = breakdown && (await chooseLines(context, scope, breakdown));
    if (isTrend) return { interval, span, results: await readTrends(context, scope, lines) };
    const rows = await store.funnelRows(context, scope, lines);
    if (!lines) return { span, results: toSteps(checked, rows[0]) };
    const results = lines.shown.map((value, line) => {
      const row = rows.find((item) => item.line === line);
      return toSteps(checked, row).map((step) => ({ ...step, breakdown: value, breakdown_value: value }));
    });
    return { span, results };
  },
  persons: {
    takes: ["funnelStep", "funnelStepBreakdown", "funnelTrendsDropOff", "funnelTrendsEntrancePeriodStart"],
    of: async (context, checked, figure) => {
      const { breakdown, result } = checked;
      if (result === "times")
        noFigure(figure, "funnelStep", "Steps and trends have lists of persons; times do not.");
      if (checked.groupIndex !== undefined || checked.actorText !== undefined)
        noFigure(figure, "funnelStep", "Only the persons of a funnel are listed.");
      const scope = await buildScope(context, checked);
      const part = result === "steps" ? stepPart(checked, figure) : trendPart(context, scope, figure);
      const value = figure.funnelStepBreakdown ?? undefined;
      if (value === undefined) return store.funnelPersonsText(context, scope, part);
      if (!breakdown) return noFigure(figure, "funnelStepBreakdown", "This query has no breakdown.");
      const lines = await chooseLines(context, scope, breakdown);
      const stored = figureLine(value, lines.lineValues);
      const line = stored < 0 ? figureLine(value, lines.shown) : stored;
      if (line < 0) noFigure(figure, "funnelStepBreakdown", "The result has no line of this value.");
      return store.funnelPersonsText(context, scope, part, { lines, line });
    },
  },
});

/** The persons who came to a step; of a negative one, to the one before it and not to it. */
function stepPart({ series: { length: last } }: CheckedFunnel, figure: FigureRef): store.FunnelPart {
  const step = figure.funnelStep ?? 0;
  if (step === 0 || step === -1 || Math.abs(step) > last)
    noFigure(figure, "funnelStep", `A step is needed: 1 to ${last}, or -2 to -${last}.`);
  return { condition: step > 0 ? `steps >= ${step}` : `steps = ${-step - 1}` };
}

/** The persons of a point of a trend: who began in its interval and converted, or did not. */
function trendPart(
  context: QueryContext,
  { interval, span, from, to }: CheckedFunnel & FunnelScope,
  figure: FigureRef,
): store.FunnelPart {
  const field = "funnelTrendsEntrancePeriodStart";
  const start = figure[field] ?? noFigure(figure, field, "The start of an interval is needed.");
  const starts = listBuckets(interval, span, context.weekStart);
  const bucket = figureBucket({ ...figure, day: start.replace(" ", "T") }, interval, { starts });
  const came = figure.funnelTrendsDropOff ? `steps > ${from} AND steps <= ${to}` : `steps > ${to}`;
  return { condition: `bucket = ${bucket} AND ${came}`, first: starts[0]! };
}

const unitSeconds: Record<string, number> = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  // 31 days, as at PostHog.
  month: 2_678_400,
};

/** The window of a funnel, unless the query has another. */
const windowDefault = { count: 14, unit: "day" };

async function buildScope(context: QueryContext, checked: CheckedFunnel) {
  const { result, interval, query } = checked;
  const span = await readSpan(context, checked, result === "conversions" ? interval : undefined);
  const { funnelWindowInterval: count, funnelWindowIntervalUnit: unit } = query.funnelsFilter ?? {};
  const seconds = (count ?? windowDefault.count) * (unitSeconds[unit ?? windowDefault.unit] ?? 0);
  return { ...checked, span, windowMicros: seconds * 1_000_000 };
}

/** Values of a breakdown, and as replies show them, all others together among them. */
async function chooseLines(
  context: QueryContext,
  scope: Awaited<ReturnType<typeof buildScope>>,
  breakdown: Breakdown,
) {
  requireBreakdownScopes(context, breakdown);
  // As at PostHog: steps by what is computed have all values, as many as a page has rows, and no line of the others.
  const isComputed = breakdown.parts.some(({ type }) => type === "session" || type === "hogql");
  const isWhole = isComputed && scope.result === "steps";
  const kept = isWhole ? { ...breakdown, limit: limits.pageDefault, other: false } : breakdown;
  const top = await store.funnelValues(context, scope, kept);
  const lineValues = valuesShown(kept, top).map((value) => [value].flat());
  // In PostHog's word for others; only values of events, persons and expressions are lists there.
  const shown = lineValues.map((values) => {
    const words = values.includes(otherValues) ? ["Other"] : values;
    return !breakdown.isList && /group|session/.test(breakdown.parts[0]!.type) ? words[0]! : words;
  });
  return { ...kept, values: top.values, lineValues, shown };
}

async function readTrends(
  context: QueryContext,
  scope: CheckedFunnel & FunnelScope,
  lines: Awaited<ReturnType<typeof chooseLines>> | undefined,
): Promise<FunnelTrend[]> {
  const { interval, windowMicros, span } = scope;
  const all = listBuckets(interval, span, context.weekStart);
  const isOver = (start: Temporal.ZonedDateTime) =>
    addIntervals(interval, start, 1).epochMilliseconds + windowMicros / 1000 <= context.now;
  const starts = scope.query.funnelsFilter?.hideIncompleteConversionWindowPeriods ? all.filter(isOver) : all;
  const lineValues = lines?.shown ?? [undefined];
  refuseNumbers(lineValues.length * starts.length, scope.attr);
  const rows = await store.conversionRows(context, scope, all[0]!, lines);
  // As at PostHog the lines are in the order of their values, here that of all others after them.
  const own = lines?.values.length ?? 0;
  const places = lineValues.map((value, line) => ({ value, line, name: JSON.stringify(value) }));
  const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));
  places.sort((a, b) => Number(a.line >= own) - Number(b.line >= own) || compare(a.name, b.name));
  return places.map(({ value, line }) => {
    const data = starts.map(() => 0);
    for (const { bucket, entered, converted, ...row } of rows) {
      const rate = Number(converted) / Number(entered);
      if (row.line === line && bucket in data && Number(entered) > 0)
        data[bucket] = Math.round(rate * 10_000) / 100;
    }
    const trend = { count: starts.length, data, ...nameStarts(starts, interval) };
    return value === undefined ? trend : { ...trend, breakdown_value: value };
  });
}

function toTimes(rows: readonly store.TimesRow[], bars = 1): FunnelTimes {
  const { bins = bars, low = 0, width = 60, average = null } = rows[0] ?? {};
  const counts = new Map(rows.map(({ bin, persons }) => [bin, Number(persons)]));
  return {
    bins: Array.from({ length: Number(bins) + 1 }, (_, i) => [
      Number(low) + i * Number(width),
      counts.get(i) ?? 0,
    ]),
    average_conversion_time: average,
  };
}

function toSteps({ series, order }: CheckedFunnel, row: store.FunnelRow | undefined): FunnelStep[] {
  return series.map((step, i): FunnelStep => ({
    ...(order === "unordered"
      ? completed(i + 1)
      : { action_id: step.event ?? null, name: step.name, custom_name: step.custom_name }),
    order: i,
    people: [],
    count: Number(row?.persons[i] ?? 0),
    type: "events",
    average_conversion_time: i === 0 ? null : (row?.average_seconds[i] ?? null),
    median_conversion_time: i === 0 ? null : (row?.median_seconds[i] ?? null),
  }));
}

/** A step of an unordered funnel is a number of completed steps, in PostHog's words. */
const completed = (steps: number) => ({
  action_id: null,
  name: `Completed ${steps} step${steps === 1 ? "" : "s"}`,
  custom_name: null,
});
