// The filters, the order and the columns of a request for events.

import type { Clock } from "../core/clock.ts";
import { textsParameter } from "../http/fields/list_parameters.ts";
import { propertiesParameter } from "../http/fields/property_parameter.ts";
import * as query from "../http/fields/query.ts";
import { formatParameter } from "../http/pages/csv.ts";
import { queryLimits } from "../query/limits.ts";

export function eventParameters(clock: Clock) {
  return {
    event: query.textParameter("Only events of this name."),
    distinct_id: query.textParameter("Only events of this distinct id."),
    person_id: query.uuidParameter("Only events of this person."),
    after: query.momentParameter("Only later events: ISO 8601, or relative like -7d.", clock, {
      end: "before",
    }),
    before: query.momentParameter("Only earlier events, likewise.", clock, { start: "after" }),
    properties: propertiesParameter("Only events that match: a JSON list of property filters.", [
      "event",
      "person",
      "group",
      "session",
      "element",
      "hogql",
    ]),
    orderBy: orderParameter(),
    select: {
      ...expressionsParameter("Columns to show instead of whole events, as those of an EventsQuery."),
      hidden: true,
    },
    where: expressionsParameter(
      "Only events for which these SQL expressions are true, as in an EventsQuery.",
      0,
    ),
    include_person: query.flagParameter(
      "true: each with its person, which also requires the scope `person:read`.",
    ),
    format: formatParameter,
    ...query.pageParameters("Events"),
  };
}

export type EventQuery = query.QueryValues<ReturnType<typeof eventParameters>>;

function expressionsParameter(description: string, minItems = 1) {
  const { queryColumnsMax: maxItems, expressionCharsMax: maxLength } = queryLimits;
  return textsParameter(description, { minItems, maxItems, maxLength });
}

/** The spellings of an order by time alone, in small letters. */
const timeOrders: ReadonlyMap<string, string> = new Map([
  ["timestamp", "timestamp"],
  ["timestamp asc", "timestamp"],
  ["-timestamp", "-timestamp"],
  ["timestamp desc", "-timestamp"],
]);

/** An order by time alone becomes `timestamp` or `-timestamp`. */
function orderParameter(): query.Parameter<string[]> {
  const expressions = expressionsParameter(
    'SQL expressions, descending with "-" before or DESC after one; "-timestamp" by default.',
  );
  const read = (query: URLSearchParams, name: string) => {
    const [first, ...others] = expressions.read(query, name);
    if (first === undefined) return [];
    const byTime = others.length > 0 ? undefined : timeOrders.get(first.trim().toLowerCase());
    return byTime === undefined ? [first, ...others] : [byTime];
  };
  return { ...expressions, read };
}

/** Whether events are by time alone, as they are by default. */
export function isByTime(orderBy: readonly string[]): boolean {
  return orderBy.length === 0 || (orderBy.length === 1 && timeOrders.has(orderBy[0]!));
}
