// Kinds that count the persons of each interval: Lifecycle, Stickiness.

import type { DateRange, EventsNode, Interval } from "./model.ts";
import { filtersOf, refuseField, seriesOf } from "./series.ts";

interface PersonsQuery {
  series: EventsNode[];
  interval?: string | null;
  dateRange?: DateRange;
  properties?: unknown;
}

export type CheckedPersons<Query extends PersonsQuery> = ReturnType<typeof checkPersons<Query>>;

/** @throws Fault for math that is not the number of persons: these kinds count nothing else. */
export function checkPersons<Query extends PersonsQuery>(query: Query, attr: string) {
  const series = query.series.map((node, i) => {
    const one = seriesOf(node, `${attr}__series__${i}`);
    if (one.math === "total" || one.math === "dau") return one;
    return refuseField(
      `The math "${one.math}" in a query that counts persons`,
      `${attr}__series__${i}__math`,
    );
  });
  const interval = (query.interval ?? "day") as Interval;
  return { attr, query, interval, series, entities: series, filters: filtersOf(query, attr) };
}
