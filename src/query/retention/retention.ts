// Answers a RetentionQuery: of the persons who did something, how many came back.

import { addIntervals, earliest, floorToInterval, readDateSpan, zonedIso } from "../date_range.ts";
import { queryKind } from "../kind.ts";
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
import type { RetentionCohort } from "../result.ts";
import type { QueryContext } from "../store.ts";
import { retentionModel, type RetentionQuery } from "./model.ts";
import { retentionPersons, returnsText } from "./store.ts";

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
  const { targetEntity, returningEntity } = query.retentionFilter;
  const at = `${attr}__retentionFilter`;
  const target = readEntity(targetEntity, `${at}__targetEntity`);
  const returning = readEntity(returningEntity, `${at}__returningEntity`);
  const entities = [target, returning];
  return { attr, query, target, returning, entities, filters: readNodeFilters(query, attr) };
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
  const { to } = readDateSpan(until, context, { attr: `${attr}__dateRange`, hourly: interval === "hour" });
  const last = floorToInterval(interval, to.subtract({ milliseconds: 1 }), context.weekStart);
  const first = addIntervals(interval, last, 1 - count);
  return { period, interval, count, span: { from: first, to: addIntervals(interval, last, 1) } };
}
