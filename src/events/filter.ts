// Parses the property filters of a query string, and turns the engine's errors about them into faults.

import { Fault } from "../core/fault.ts";
import { checkPropertyFilters, type PropertyFilter } from "../storage/events/property_filter.ts";
import { ClickHouseError, isTooHeavy } from "../storage/clickhouse/clickhouse.ts";

/**
 * The property filters in the query key `properties`: a JSON list whose filters must all match, or a group.
 * @throws Fault with `properties`, or a path below it, as its attr.
 */
export function readPropertyFilters(query: URLSearchParams): PropertyFilter[] {
  const text = query.get("properties")?.trim();
  if (!text) return [];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Fault("invalid_input", "Expected a JSON list of property filters.", { attr: "properties" });
  }
  return checkPropertyFilters(value);
}

/** A fault for an error of the engine that the client's filters caused; any other error as it is. */
export function refusalOf(thrown: unknown): unknown {
  if (!(thrown instanceof ClickHouseError)) return thrown;
  if (thrown.type === "CANNOT_COMPILE_REGEXP") {
    const detail = "A regular expression in the filters is not valid (RE2 syntax).";
    return new Fault("invalid_input", detail, { attr: "properties" });
  }
  if (!isTooHeavy(thrown)) return thrown;
  const detail = "These filters need too much time or memory. Narrow them with event, after or before.";
  return new Fault("invalid_input", detail, { attr: "properties" });
}
