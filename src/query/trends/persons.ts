// The persons of a number of a trend.

import { requireBreakdownScopes, valuesShown } from "../parts/breakdown.ts";
import {
  figureDay,
  figureIndex,
  figureLine,
  type FigureRef,
  noFigure,
  type PersonStatement,
} from "../parts/figure.ts";
import { namesOf } from "../parts/lines.ts";
import { figurePeriod, periodsOf } from "../parts/periods.ts";
import type { QueryContext } from "../store.ts";
import type { CheckedTrends } from "./check.ts";
import { breakdownValues, trendPersonsText, trendScope } from "./store.ts";

/**
 * Without a breakdown value those of all values, without a day those of the whole time.
 * @throws Fault, as PersonsBehind.
 */
export async function trendPersons(
  context: QueryContext,
  checked: CheckedTrends,
  figure: FigureRef,
): Promise<PersonStatement> {
  const { interval, breakdown } = checked;
  const index = figureIndex(figure, "series", checked.series, 0);
  const series = checked.series[index]!;
  if (series.math === "unique_group") noFigure(figure, "series", "The groups of a number are not supported.");
  const { periods } = await periodsOf(context, checked);
  const period = figurePeriod(figure, periods);
  const scope = trendScope(context, checked, series, period);
  const isGiven = (value: unknown) => value !== undefined && value !== null;
  const { days } = namesOf(period.starts, interval);
  const bucket = isGiven(figure.day) ? figureDay(figure, days) : undefined;
  if (!isGiven(figure.breakdown)) return trendPersonsText(scope, { bucket });
  if (!breakdown) return noFigure(figure, "breakdown", "This query has no breakdown.");
  requireBreakdownScopes(context, breakdown);
  const top = await breakdownValues(scope, breakdown);
  const line = figureLine(figure, "breakdown", valuesShown(breakdown, top));
  return trendPersonsText(scope, { bucket, line, breakdown: { ...breakdown, values: top.values } });
}
