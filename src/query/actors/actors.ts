// Answers an ActorsQuery: persons, as rows of the selected columns.

import { refuseInput } from "../../core/fault.ts";
import { isDictionary } from "../../core/json/dictionary.ts";
import { limits } from "../../core/limits.ts";
import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import { funnelsKind } from "../funnel/funnel.ts";
import { checkKindFields, type Fields, queryFields, type QueryKind, queryKind } from "../kind.ts";
import { lifecycleKind } from "../lifecycle/lifecycle.ts";
import { behindName } from "../parts/behind_store.ts";
import {
  displayNameText,
  expressionRows,
  type MadeColumn,
  parsedProperties,
  readExpressions,
} from "../parts/expressions.ts";
import { type FigureRef, isGiven, type PersonStatement, readNodeFilters } from "../parts/figure.ts";
import { figureFields } from "../parts/model.ts";
import { pathsKind } from "../paths/paths.ts";
import { retentionKind } from "../retention/retention.ts";
import { stickinessKind } from "../stickiness/stickiness.ts";
import type { QueryContext } from "../store.ts";
import { trendsKind } from "../trends/trends.ts";
import { actorsModel, type ActorsQuery, figureModels } from "./model.ts";

export const actorsKind = queryKind({
  schema: actorsModel,
  result: "table",
  check,
  title: () => "Persons",
  answer: async (context, { query, attr, filters, filtersOwn, behind }) => {
    const { select, orderBy, limit, offset } = query;
    const search = query.search?.trim() ?? "";
    // Filters of test accounts are of the events behind the number.
    const persons = await behind?.persons(context, filters.slice(filtersOwn));
    const appearances = persons?.hasAppearances ? ["length(appearances)"] : [];
    const list = {
      attr,
      table: behind ? behindName : "persons",
      ...(persons && { behind: persons }),
      made,
      select: select?.length ? select : selectDefault,
      conditions: search === "" ? [] : [[searched, "search"] as const],
      values: { search: `%${search.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`, id: search },
      orderBy,
      usualOrder: [...appearances, "created_at", "id"],
      isByFirst:
        appearances.length === 0 &&
        !!select?.length &&
        !(select[0]! in made) &&
        !select.includes("created_at"),
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
  const filters = readNodeFilters(query, attr);
  if (!arePersonFilters(filters))
    refuseInput("Persons can only be filtered by their own properties.", `${attr}__properties`);
  const behind = readBehind(query.source, `${attr}__source`);
  return {
    attr,
    query: { ...query, filterTestAccounts: behind?.filtersTestAccounts ?? null },
    filters,
    behind,
    filtersOwn: filters.length,
  };
}

function arePersonFilters(filters: readonly PropertyFilter[]): boolean {
  return filters.every((filter) =>
    "key" in filter ? filter.type === "person" || filter.type === "hogql" : arePersonFilters(filter.values),
  );
}

interface Behind {
  filtersTestAccounts: boolean;
  /** @param filters of test accounts. */
  persons: (context: QueryContext, filters: readonly PropertyFilter[]) => Promise<PersonStatement>;
}

const ofInsights: Readonly<Record<string, QueryKind>> = {
  TrendsQuery: trendsKind,
  RetentionQuery: retentionKind,
  LifecycleQuery: lifecycleKind,
  StickinessQuery: stickinessKind,
  PathsQuery: pathsKind,
};
const kinds: Readonly<Record<string, Readonly<Record<string, QueryKind>>>> = {
  InsightActorsQuery: ofInsights,
  StickinessActorsQuery: { StickinessQuery: stickinessKind },
  FunnelsActorsQuery: { FunnelsQuery: funnelsKind },
};

/** undefined: of no query. @throws Fault for what is none, named below `attr`. */
function readBehind(source: unknown, attr: string): Behind | undefined {
  if (!isGiven(source) || (isDictionary(source) && Object.keys(source).length === 0)) return undefined;
  const fields = queryFields(source, attr);
  const [name, answered] = findNamed(kinds, fields["kind"], `${attr}__kind`);
  const model = figureModels[name as keyof typeof figureModels];
  const { source: inner, ...figure } = checkKindFields(model, fields, attr) as Fields;
  const at = `${attr}__source`;
  const query = queryFields(inner, at);
  const [kindName, kind] = findNamed(answered, query["kind"], `${at}__kind`);
  const { persons, filtersTestAccounts } = kind.check(query, at);
  const { takes, of } = persons!;
  for (const field of figureFields) {
    if (figure[field] === undefined || figure[field] === null || takes.includes(field)) continue;
    refuseInput(`"${field}" does not apply to a ${kindName}; use ${takes.join(", ")}.`, `${attr}__${field}`);
  }
  return {
    filtersTestAccounts,
    persons: async (context, filters) => await of(context, filters, { ...figure, attr } satisfies FigureRef),
  };
}

function findNamed<Value>(
  list: Readonly<Record<string, Value>>,
  name: unknown,
  attr: string,
): [string, Value] {
  if (typeof name === "string" && Object.hasOwn(list, name)) return [name, list[name]!];
  const text = String(name).slice(0, 100);
  const known = Object.keys(list).join(", ");
  refuseInput(`"${text}" has no persons here; ${known} have.`, attr, "not_supported");
}
