// The query parameter `properties`: filters on properties.

import { Fault } from "../../core/fault.ts";
import {
  checkPropertyFilters,
  type FilterRules,
  type PropertyFilter,
} from "../../storage/events/property_filter.ts";
import { parameter } from "./query.ts";

/** A JSON list whose filters must all match, or a group. @param types what its filters may be about. */
export function propertiesParameter(description: string, types: FilterRules["types"]) {
  return parameter(description, (query, name): PropertyFilter[] => {
    const text = query.get(name);
    return text === null ? [] : checkPropertyFilters(jsonIn(text, name), name, { types });
  });
}

/** null, which a body may have for no filter, is none of a query: a program that lost its filter sends it. */
function jsonIn(text: string, attr: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null) return value;
  } catch {
    // Refused below.
  }
  throw new Fault("invalid_input", "Expected a JSON list of property filters.", { attr });
}
