// The query parameter `properties`: filters on properties.

import { Fault } from "../../core/fault.ts";
import { jsonIn } from "../../core/json/dictionary.ts";
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
    if (text === null) return [];
    // null, which means no filter in a body, is refused in a query: a program that lost its filter sends it.
    const value = jsonIn(text) ?? undefined;
    if (value !== undefined) return checkPropertyFilters(value, name, { types });
    throw new Fault("invalid_input", "Expected a JSON list of property filters.", { attr: name });
  });
}
