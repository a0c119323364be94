// What the query string of a request about groups names: a type by its index, a key, a property.

import { checkInteger } from "../http/fields/field_rule.ts";
import { integerParameter, parameter, searchParameter, textParameter } from "../http/fields/query.ts";
import { readRequiredText } from "../http/fields/required_parameter.ts";
import type { GroupType } from "../persons/group_type_store.ts";
import type { GroupFilter } from "./store.ts";

/** Any integer: an index that no type has names no groups. */
export const typeIndexParameter = integerParameter(
  "Only groups of the type with this index; none of an index that no type has.",
  {},
);

export const requiredTypeIndex = parameter(
  "Required: the index of the groups' type.",
  (query, name) => checkInteger({}, readRequiredText(query, name), [name]),
  { type: "integer" },
);

export const groupFilterParameters = {
  group_type_index: typeIndexParameter,
  group_type: textParameter("Only groups of the type with this name."),
  group_key: textParameter(
    "With group_type_index: only groups whose key contains this text, in large or small letters. " +
      "Without: only the group with exactly this key.",
  ),
  search: searchParameter(
    "Only groups whose key, or a value of whose properties, contains this text, in large or small letters.",
  ),
};

interface GroupQuery {
  group_type_index: number | undefined;
  group_type: string | undefined;
  group_key: string | undefined;
  search: string | undefined;
}

/**
 * The filter of a list. A type is named by its index as at PostHog, and then the list has PostHog's order and meaning
 * of a key; a request without it is our own.
 */
export function groupFilterOf(types: readonly GroupType[], query: GroupQuery): GroupFilter {
  const { group_type_index: index, group_type, group_key, search } = query;
  const names = types
    .filter(({ place, name }) => (index ?? place) === place && (group_type ?? name) === name)
    .map(({ name }) => name);
  const byIndex = index !== undefined;
  return { types: names, [byIndex ? "key_part" : "group_key"]: group_key, search, newestFirst: byIndex };
}
