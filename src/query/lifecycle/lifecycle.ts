// Answers a LifecycleQuery: of the persons of each interval, who is new, who was active in the one before, who came
// back after a pause; and who of the one before was not active.

import { choice, strictModel } from "../../http/fields/field.ts";
import { addIntervals } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { personsWhere } from "../parts/behind_store.ts";
import { noFigure, shownName } from "../parts/figure.ts";
import { checkPersons, nameStarts, seriesLine } from "../parts/lines.ts";
import * as part from "../parts/model.ts";
import { figureBucket, type Period, readPeriods } from "../parts/periods.ts";
import type { TrendLine } from "../result.ts";
import type { QueryContext } from "../store.ts";
import { type CheckedLifecycle, countStatuses, statuses, statusText } from "./store.ts";

/** The period until the end of its last interval, as at PostHog, unless the range is explicit. */
async function wholePeriod(context: QueryContext, checked: CheckedLifecycle): Promise<Period> {
  const period = await readPeriods(context, checked);
  if (checked.query.dateRange?.explicitDate) return period;
  const to = addIntervals(checked.interval, period.starts.at(-1)!, 1);
  return { ...period, span: { from: period.span.from, to } };
}

export const lifecycleKind = queryKind({
  schema: strictModel("LifecycleQuery", {
    kind: choice(["LifecycleQuery"]),
    series: part.seriesList(1, 1),
    interval: part.interval,
    ...part.insightFields,
    aggregation_group_type_index: part.groupTypeIndex,
    customAggregationTarget: part.unanswered("A table of a data warehouse"),
    ...part.unreadFields(part.drawing, "lifecycleFilter"),
  }),
  result: "series",
  check: (query, attr) => checkPersons(query, attr),
  title: ({ series }) => `Lifecycle of users who did ${shownName(series[0]!)}`,
  answer: async (context, checked) => {
    const { interval } = checked;
    const series = checked.series[0]!;
    const period = await wholePeriod(context, checked);
    const { starts, span } = period;
    const rows = await countStatuses(context, checked, starts, span);
    const results = statuses.map((status): TrendLine => {
      const data = starts.map(() => 0);
      for (const { bucket, persons, ...row } of rows)
        if (row.status === status && bucket in data) data[bucket]! += Number(persons);
      // Dormant persons are negative numbers.
      const signed = status === "dormant" ? data.map((count) => 0 - count) : data;
      const label = `${series.custom_name ?? series.name} - ${status}`;
      return {
        ...seriesLine(series, 0, period, { label, data: signed, ...nameStarts(starts, interval) }),
        status,
      };
    });
    return { interval, span, results };
  },
  persons: {
    takes: ["day", "status"],
    /** Lists those of the whole time without a day, of any status without one. */
    of: async (context, checked, figure) => {
      if (typeof checked.query.aggregation_group_type_index === "number")
        noFigure(figure, "status", "Only the persons of a number are listed.");
      const period = await wholePeriod(context, checked);
      const { day = null, status = null } = figure;
      if (status !== null && !statuses.some((name) => name === status))
        return noFigure(figure, "status", `One of these is needed: ${statuses.join(", ")}.`);
      const conditions = [
        ...(day === null ? [] : ["bucket = {at_bucket:Int32}"]),
        ...(status === null ? [] : ["status = {at_status:String}"]),
      ];
      const bucket = day === null ? 0 : figureBucket(figure, checked.interval, period);
      const statement = statusText(context, checked, period.starts, period.span);
      const values = { at_bucket: bucket, at_status: status ?? "" };
      return personsWhere(statement, conditions.join(" AND ") || "1", values);
    },
  },
});
