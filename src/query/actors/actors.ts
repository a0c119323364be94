// Answers an ActorsQuery: persons, as rows of the selected columns.

import { limits } from "../../core/limits.ts";
import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import { queryKind } from "../kind.ts";
import { behindName } from "../parts/behind_store.ts";
import {
  displayNameText,
  expressionRows,
  type MadeColumn,
  parsedProperties,
  readExpressions,
} from "../parts/expressions.ts";
import { filtersOf } from "../parts/series.ts";
import { refuseInput } from "../refuse_input.ts";
import { behindOf } from "./behind.ts";
import { actorsModel, type ActorsQuery } from "./model.ts";

export const actorsKind = queryKind({
  schema: actorsModel,
  result: "table",
  check,
  title: () => "Persons",
  answer: async (context, { query, attr, filters, filtersOwn, behind }) => {
    const { select, orderBy, limit, offset } = query;
    const search = query.search?.trim() ?? "";
    const list = {
      attr,
      table: behind ? behindName : "persons",
      // Filters of test accounts are of the events behind the number.
      ...(behind && { behind: await behind.persons(context, filters.slice(filtersOwn)) }),
      made,
      select: select?.length ? select : selectDefault,
      conditions: search === "" ? [] : [[searched, "search"] as const],
      values: { search: `%${search.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`, id: search },
      orderBy,
      usualOrder: ["created_at", "id"],
      filters: { properties: filters.slice(0, filtersOwn) },
    };
    const page = { limit: limit ?? limits.pageDefault, offset: offset ?? 0 };
    return await expressionRows(context, list, page);
  },
  read: readExpressions,
});

const person: MadeColumn = {
  reads: ["id", "distinct_ids", "properties", "created_at", "is_identified"],
  cell: (id, distinct_ids, properties, created_at, is_identified) => ({
    id,
    distinct_ids,
    properties: parsedProperties(properties),
    created_at,
    is_identified,
  }),
};

const made: Readonly<Record<string, MadeColumn>> = {
  "*": person,
  person,
  actor: person,
  person_display_name: {
    reads: [displayNameText("properties", "toString(id)"), "id"],
    cell: (display_name, id) => ({ display_name, id }),
  },
  // The button of PostHog's own pages.
  "person.$delete": { reads: [], cell: () => null },
};

const selectDefault = ["person", "id", "created_at", "person.$delete"];

const searched =
  "properties.email ilike {search} or properties.name ilike {search} or toString(id) = {id} or " +
  "arrayExists(one -> one ilike {search}, distinct_ids)";

function check(query: ActorsQuery, attr: string) {
  const filters = filtersOf(query, attr);
  if (!areOfPersons(filters))
    refuseInput("Persons can only be filtered by their own properties.", `${attr}__properties`);
  const behind = behindOf(query.source, `${attr}__source`);
  return {
    attr,
    query: { ...query, filterTestAccounts: behind?.filtersTestAccounts ?? null },
    filters,
    behind,
    filtersOwn: filters.length,
  };
}

function areOfPersons(filters: readonly PropertyFilter[]): boolean {
  return filters.every((one) =>
    "key" in one ? one.type === "person" || one.type === "hogql" : areOfPersons(one.values),
  );
}
