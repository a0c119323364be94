// The persons behind a number of a trend.

import { requireBreakdownScopes } from "../parts/breakdown.ts";
import {
  figureDay,
  figureLine,
  type AskedFigure,
  noFigure,
  type PersonStatement,
  figurePlace,
} from "../parts/figure.ts";
import { namesOf } from "../parts/lines.ts";
import type { QueryContext } from "../store.ts";
import type { CheckedTrends } from "./check.ts";
import { periodsOf, valuesShown } from "./periods.ts";
import { breakdownValues, trendPersonsText, type TrendScope } from "./store.ts";

/**
 * Those of all values where no breakdown is named, of the whole time where no day is.
 * @throws Fault, as PersonsBehind.
 */
export async function trendPersons(
  context: QueryContext,
  checked: CheckedTrends,
  figure: AskedFigure,
): Promise<PersonStatement> {
  const { interval, filters, breakdown } = checked;
  const place = figurePlace(figure, "series", checked.series, 0);
  const series = checked.series[place]!;
  if (series.math === "unique_group") noFigure(figure, "series", "Groups behind a number are not supported.");
  const { periods } = await periodsOf(context, checked);
  const period = periods.find(({ label }) => (label ?? "current") === (figure.compare ?? "current"));
  if (!period) return noFigure(figure, "compare", "This query does not compare with the time before.");
  const { starts, span } = period;
  const [first] = starts;
  const buckets = first && { interval, first, count: starts.length };
  const scope: TrendScope = { context, series, filters, span, buckets };
  const isGiven = (value: unknown) => value !== undefined && value !== null;
  const { days } = namesOf(starts, interval);
  const bucket = isGiven(figure.day) ? figureDay(figure, days) : undefined;
  if (!isGiven(figure.breakdown)) return trendPersonsText(scope, { bucket });
  if (!breakdown) return noFigure(figure, "breakdown", "This query has no breakdown.");
  requireBreakdownScopes(context, breakdown);
  const found = await breakdownValues(scope, breakdown);
  const line = figureLine(figure, "breakdown", valuesShown(breakdown, found));
  return trendPersonsText(scope, { bucket, line, breakdown: { ...breakdown, values: found.values } });
}
