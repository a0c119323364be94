// Answers a RetentionQuery: of the persons or groups who did something, how many came back.

import { floorToInterval } from "../../core/dates.ts";
import { addIntervals, earliest, listBuckets, readDateSpan, zonedIso } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { type Breakdown, requireBreakdownScopes, valuesShown } from "../parts/breakdown.ts";
import { figureIndex, figureLine, noFigure, shownName } from "../parts/figure.ts";
import { refuseNumbers } from "../parts/lines.ts";
import type { Interval } from "../parts/model.ts";
import { noValue, type RetentionCohort } from "../result.ts";
import { firstEventMs, type QueryContext } from "../store.ts";
import { type CheckedRetention, checkRetention, retentionModel } from "./check.ts";
import type { RetentionRows } from "./columns_store.ts";
import { countReturns, retentionPersons, retentionValues, returnsText } from "./store.ts";

export const retentionKind = queryKind({
  schema: retentionModel,
  result: "grid",
  check: checkRetention,
  title: ({ target, returning }) =>
    `Retention of users who did ${shownName(target)} and came back for ${shownName(returning)}`,
  answer: async (context, checked) => {
    const rows = await readRows(context, checked);
    const { interval, span, starts } = rows;
    const { breakdown, attr } = checked;
    const lines = breakdown && (await chooseLines(context, checked, rows, breakdown));
    refuseNumbers((lines?.shown.length ?? 1) * rows.count * rows.columns, attr);
    const tables = (lines?.shown ?? [undefined]).map((value) => layCohorts(checked, rows, starts, value));
    const found = await countReturns(context, checked, rows, lines);
    for (const { line = 0, start, later, persons, amount: sum } of found) {
      const cell = tables[line]?.[start]?.values[later];
      if (!cell) continue;
      cell.count += Number(persons);
      if (sum !== undefined) cell.aggregation_value = checked.isMean ? sum / Number(persons) : sum;
    }
    return { interval, span, results: tables.flat() };
  },
  persons: {
    takes: ["interval", "breakdown"],
    of: async (context, checked, figure) => {
      if (checked.groupIndex !== undefined)
        noFigure(figure, "interval", "Only the persons of a number are listed.");
      const rows = await readRows(context, checked);
      const start = figureIndex(figure, "interval", rows.starts);
      const { breakdown } = checked;
      const value = figure.breakdown ?? undefined;
      if (value === undefined) return retentionPersons(returnsText(context, checked, rows), start);
      if (!breakdown) return noFigure(figure, "breakdown", "This query has no breakdown.");
      const lines = await chooseLines(context, checked, rows, breakdown);
      const line = figureLine(value, lines.shown);
      if (line < 0) noFigure(figure, "breakdown", "The result has no rows of this value.");
      return retentionPersons(returnsText(context, checked, rows, lines), start, line);
    },
  },
});

/** The number of columns, the first one included, unless the query has another. */
const columnsDefault = 8;

/** The rows, from `date_from` or as many as there are columns, to `date_to`: as at PostHog. */
async function readRows(
  context: QueryContext,
  { query, attr, brackets }: CheckedRetention,
): Promise<RetentionRows & { period: string; starts: Temporal.ZonedDateTime[] }> {
  const { retentionFilter: filter, dateRange } = query;
  const period = filter.period ?? "Day";
  const interval = period.toLowerCase() as Interval;
  const total = filter.totalIntervals ?? columnsDefault;
  const columns = brackets.length > 0 ? brackets.length + 1 : total;
  const { run, project_id, weekStart } = context;
  const date_from = dateRange?.date_from || undefined;
  const first = date_from === "all" ? await firstEventMs(run, project_id) : undefined;
  const range = { ...dateRange, date_from: date_from ?? earliest };
  const { from, to } = readDateSpan(range, context, { first, attr: `${attr}__dateRange`, interval });
  const last = floorToInterval(interval, to.subtract({ milliseconds: 1 }), weekStart);
  const start = date_from
    ? floorToInterval(interval, from, weekStart)
    : addIntervals(interval, last, 1 - total);
  const span = { from: start, to: addIntervals(interval, last, 1) };
  const starts = listBuckets(interval, span, weekStart);
  return { period, interval, span, starts, count: starts.length, columns };
}

/**
 * Rows without persons. From a `date_from` on they have all columns, as at PostHog, whether or not these are beyond the
 * range; a table that only ends somewhere is a triangle.
 */
function layCohorts(
  { amount, brackets, query }: CheckedRetention,
  { period, columns }: Awaited<ReturnType<typeof readRows>>,
  starts: readonly Temporal.ZonedDateTime[],
  value: string | undefined,
): RetentionCohort[] {
  let end = 0;
  const labels = Array.from({ length: columns }, (_, i) => {
    if (i === 0 || brackets.length === 0) return `${period} ${i}`;
    const begin = end + 1;
    end += brackets[i - 1]!;
    return `${period} ${begin === end ? end : `${begin}-${end}`}`;
  });
  const isTriangle = !query.dateRange?.date_from && brackets.length === 0;
  return starts.map((at, start): RetentionCohort => ({
    label: `${period} ${start}`,
    date: zonedIso(at),
    values: labels.slice(0, isTriangle ? columns - start : columns).map((label) => ({
      count: 0,
      ...(amount !== undefined && { aggregation_value: 0 }),
      label,
    })),
    ...(value !== undefined && { breakdown_value: value }),
  }));
}

/** The values of a breakdown, and as PostHog's retention shows them: none is empty. */
async function chooseLines(
  context: QueryContext,
  checked: CheckedRetention,
  rows: RetentionRows,
  breakdown: Breakdown,
) {
  requireBreakdownScopes(context, breakdown);
  const top = await retentionValues(context, checked, rows, breakdown);
  const shown = valuesShown(breakdown, top).map((value) => {
    const [name = ""] = [value].flat();
    return name === noValue ? "" : name;
  });
  return { ...breakdown, values: top.values, shown };
}
