// Answers a RetentionQuery: of the persons who did something, how many came back.

import { wordsIn } from "../../core/words.ts";
import { choice, type CreateInput, flag, integer, strictModel, text } from "../../http/fields/field.ts";
import { addIntervals, earliest, floorToInterval, readDateSpan, zonedIso } from "../date_range.ts";
import { queryKind } from "../kind.ts";
import { queryLimits } from "../limits.ts";
import { personCounts } from "../parts/behind_store.ts";
import {
  type Entity,
  entityNamed,
  figureIndex,
  readNodeFilters,
  refuseBreakdown,
  shownName,
} from "../parts/figure.ts";
import type { Interval } from "../parts/model.ts";
import * as part from "../parts/model.ts";
import type { RetentionCohort } from "../result.ts";
import type { QueryContext } from "../store.ts";
import { retentionPersons, returnsText } from "./store.ts";

const entity = strictModel("RetentionEntity", {
  id: part.maybe(text({ blank: true })),
  kind: part.maybe(choice(["EventsNode"])),
  type: part.maybe(choice(["events"])),
  table_name: part.unanswered("A table of a data warehouse"),
  timestamp_field: part.unanswered("A table of a data warehouse"),
  aggregation_target_field: part.unanswered("A table of a data warehouse"),
  properties: part.anything(),
  ...part.unreadFields(part.drawing, "name custom_name order"),
  ...part.unreadFields(part.aboutSender, "uuid"),
});

const retentionTypes = wordsIn(`
  retention_recurring retention_first_time retention_first_occurrence_matching_filters retention_first_ever_occurrence
`);

const retentionModel = strictModel("RetentionQuery", {
  kind: choice(["RetentionQuery"]),
  ...part.insightFields,
  breakdownFilter: part.breakdownFilter,
  retentionFilter: strictModel("RetentionFilter", {
    period: part.maybe(choice(["Hour", "Day", "Week", "Month"])),
    totalIntervals: part.maybe(integer({ minimum: 1, maximum: queryLimits.retentionIntervalsMax })),
    retentionType: part.maybe(choice(retentionTypes)),
    targetEntity: part.maybe(entity),
    returningEntity: part.maybe(entity),
    cumulative: part.maybe(flag()),
    aggregationType: part.unanswered("Retention of anything but persons", ["count"]),
    aggregationProperty: part.unanswered("Retention of anything but persons"),
    minimumOccurrences: part.maybe(integer({ minimum: 1, maximum: 1_000_000 })),
    retentionCustomBrackets: part.unanswered("A bracket of one's own"),
    customAggregationTarget: part.unanswered("A table of a data warehouse"),
    timeWindowMode: part.unanswered("A window of 24 hours", ["strict_calendar_dates"]),
    ...part.unreadFields(
      part.drawing,
      `cohortLabelStartIndex dashboardDisplay display goalLines legendPosition meanRetentionCalculation
      retentionReference selectedInterval showLegend showMean showTrendLines`,
    ),
    ...part.unreadFields("The type of a property that is refused itself.", "aggregationPropertyType"),
  }),
});

type RetentionQuery = CreateInput<typeof retentionModel>;

export const retentionKind = queryKind({
  schema: retentionModel,
  result: "grid",
  check,
  title: ({ target, returning }) =>
    `Retention of users who did ${shownName(target)} and came back for ${shownName(returning)}`,
  answer: async (context, checked) => {
    const { period, interval, count, span } = readRows(context, checked);
    const statement = returnsText(context, checked, interval, span);
    const rows = await personCounts<{ start: number; later: number }>(context, statement, "start, later");
    const results = Array.from({ length: count }, (_, start): RetentionCohort => ({
      label: `${period} ${start}`,
      date: zonedIso(addIntervals(interval, span.from, start)),
      values: Array.from({ length: count - start }, (__, i) => ({ count: 0, label: `${period} ${i}` })),
    }));
    for (const { start, later: i, persons } of rows) {
      const cell = results[start]?.values[i];
      if (cell) cell.count = Number(persons);
    }
    return { interval, span, results };
  },
  persons: {
    takes: ["interval"],
    of: (context, checked, figure) => {
      const { interval, count, span } = readRows(context, checked);
      const start = figureIndex(figure, "interval", Array.from({ length: count }));
      return retentionPersons(returnsText(context, checked, interval, span), start);
    },
  },
});

function check(query: RetentionQuery, attr: string) {
  refuseBreakdown(query, attr);
  const { targetEntity, returningEntity, retentionType, minimumOccurrences, cumulative } =
    query.retentionFilter;
  const at = `${attr}__retentionFilter`;
  const target = readEntity(targetEntity, `${at}__targetEntity`);
  const returning = readEntity(returningEntity, `${at}__returningEntity`);
  return {
    attr,
    query,
    target,
    returning,
    entities: [target, returning],
    filters: readNodeFilters(query, attr),
    isFirstTime: (retentionType ?? "retention_recurring") !== "retention_recurring",
    isFirstEver: retentionType === "retention_first_ever_occurrence",
    isCumulative: cumulative === true,
    least: minimumOccurrences ?? 1,
  };
}

/** Page views when the query names none. */
function readEntity(entity: RetentionQuery["retentionFilter"]["targetEntity"], attr: string): Entity {
  const event = entity ? (entity.id ?? undefined) : "$pageview";
  return { ...entityNamed(event), custom_name: null, filters: readNodeFilters(entity ?? {}, attr) };
}

/** The number of intervals, the one of date_to included, unless the query has another. */
const intervalsDefault = 8;

/** The number of rows, the length of their interval, and the span from the first to the last. */
function readRows(context: QueryContext, { query, attr }: ReturnType<typeof check>) {
  const { retentionFilter: filter, dateRange } = query;
  const period = filter.period ?? "Day";
  const interval = period.toLowerCase() as Interval;
  const count = filter.totalIntervals ?? intervalsDefault;
  // The end comes from the query, and the start follows from the number of intervals.
  const until = { ...dateRange, date_from: earliest };
  const { to } = readDateSpan(until, context, { attr: `${attr}__dateRange`, interval });
  const last = floorToInterval(interval, to.subtract({ milliseconds: 1 }), context.weekStart);
  const first = addIntervals(interval, last, 1 - count);
  return { period, interval, count, span: { from: first, to: addIntervals(interval, last, 1) } };
}
