// The filters and the order of a list of recordings, as PostHog's clients send them. Unsupported ones are refused by
// name.

import { Fault } from "../../core/fault.ts";
import { choiceParameter, flagParameter, parameter, type QueryValues } from "../../http/fields/query.ts";
import type { ProjectReads } from "../../storage/clickhouse/query_options.ts";
import { personKeysIn, refuseUnset } from "../../storage/events/lifted_properties.ts";
import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import { type EventFilter, orders, readEvents, readFilters, readJson } from "./filter_check.ts";

/** Conditions of a recording besides its dates, persons and ids. */
export interface RecordingConditions {
  /** Whether all or any of `events`, `properties` and `logged` must match. */
  operand: "AND" | "OR";
  events: readonly EventFilter[];
  properties: readonly PropertyFilter[];
  logged: readonly PropertyFilter[];
  /** These must match whatever the operand is. */
  having: readonly PropertyFilter[];
}

export interface RecordingOrder {
  column: string;
  ascending: boolean;
}

export const conditionParameters = {
  properties: parameter(
    "Only recordings that match: a JSON list of property filters of type event, person, group, session, recording " +
      "or log_entry, or a group of them. One of an event or its group matches when the session has such an event, " +
      "a negated one when it has none that the filter excludes. visited_page is the $current_url of its events.",
    (query, name) => readFilters(query, name),
  ),
  events: parameter(
    'Only recordings with such events: a JSON list like [{"id":"$pageview","type":"events","properties":[]}].',
    readEvents,
  ),
  console_log_filters: parameter(
    'Only recordings that logged at a level: a JSON list like [{"type":"log_entry","key":"level","value":["error"]}].',
    (query, name) => readFilters(query, name, ["log_entry"]),
  ),
  having_predicates: parameter(
    'Only recordings with such figures: a JSON list like [{"key":"duration","operator":"gt","value":60}].',
    (query, name) => readFilters(query, name, ["recording"]),
  ),
  operand: choiceParameter(
    "Whether all (AND) or any (OR) of properties, events and console_log_filters must match; by default AND.",
    ["AND", "OR"],
  ),
  filter_test_accounts: flagParameter("true: only recordings that pass the project's test_account_filters."),
  actions: parameter("Refused unless empty: there are no actions here.", refuseActions),
};

export const orderParameters = {
  order: choiceParameter("The field to order by; by default start_time.", Object.keys(orders)),
  order_direction: choiceParameter("By default DESC.", ["ASC", "DESC", "asc", "desc"]),
};

/** undefined: the newest first, which is the tables' order. */
export function readOrder(order = "start_time", direction = "DESC"): RecordingOrder | undefined {
  const ascending = direction.toUpperCase() === "ASC";
  return order === "start_time" && !ascending ? undefined : { column: orders[order]!, ascending };
}

/** undefined when there is no filter. @param required filters of the project that recordings must pass, too. */
export function readConditions(
  query: QueryValues<typeof conditionParameters>,
  required: readonly PropertyFilter[],
): RecordingConditions | undefined {
  const { operand = "AND", events, properties, console_log_filters: logged } = query;
  const having = [...query.having_predicates, ...required];
  if ([events, properties, logged, having].every((list) => list.length === 0)) return undefined;
  return { operand, events, properties, logged, having };
}

/** @throws Fault as refuseUnset(). */
export async function refuseUnsetIn(reads: ProjectReads, conditions: RecordingConditions): Promise<void> {
  const { events, properties, having } = conditions;
  const filters = [...events.flatMap((event) => event.filters), ...properties, ...having];
  await refuseUnset(reads.query, reads.project_id, personKeysIn(filters), chooseAttr(conditions));
}

/** The parameter that caused a refusal of the engine. */
export function chooseAttr({ properties, events, logged }: RecordingConditions): string {
  if (properties.length > 0) return "properties";
  return events.length > 0 ? "events" : logged.length > 0 ? "console_log_filters" : "having_predicates";
}

function refuseActions(query: URLSearchParams, name: string): undefined {
  const value = readJson(query, name);
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return undefined;
  throw new Fault("invalid_input", "There are no actions here: filter by events instead.", { attr: name });
}
