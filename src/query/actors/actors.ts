// Answers an ActorsQuery: persons, as rows of the selected columns.

import { refuseInput } from "../../core/fault.ts";
import { isDictionary } from "../../core/json/dictionary.ts";
import { choice, strictModel, text } from "../../http/fields/field.ts";
import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import { funnelsKind } from "../funnel/funnel.ts";
import { readSelectedPersons } from "../hogql/hogql.ts";
import { checkKindFields, type Fields, queryFields, type QueryKind, queryKind } from "../kind.ts";
import { lifecycleKind } from "../lifecycle/lifecycle.ts";
import { behindName } from "../parts/behind_store.ts";
import { expressionRows, readExpressions } from "../parts/expressions.ts";
import { type FigureRef, isGiven, readNodeFilters } from "../parts/figure.ts";
import { displayNameText, type MadeColumn, objectColumn } from "../parts/made_columns.ts";
import * as part from "../parts/model.ts";
import { pathsKind } from "../paths/paths.ts";
import { retentionKind } from "../retention/retention.ts";
import { stickinessKind } from "../stickiness/stickiness.ts";
import type { QueryContext } from "../store.ts";
import { trendsKind } from "../trends/trends.ts";

export const actorsKind = queryKind({
  schema: strictModel("ActorsQuery", {
    kind: choice(["ActorsQuery"]),
    select: part.maybe(part.expressionList()),
    search: part.maybe(text({ blank: true, maxLength: 200 })),
    properties: part.anything(),
    fixedProperties: part.anything(),
    source: part.anything(),
    ...part.listFields,
  }),
  result: "table",
  check: (query, attr) => {
    const filters = readNodeFilters(query, attr);
    if (!arePersonFilters(filters))
      refuseInput("Persons can only be filtered by their own properties.", `${attr}__properties`);
    const behind = readBehind(query.source, `${attr}__source`);
    const filterTestAccounts = behind?.filtersTestAccounts ?? null;
    // PostHog's own pages write two orders in one text.
    const orderBy = (query.orderBy ?? []).flatMap((order) => {
      const orders = order.split(", ");
      return orders.every((item) => /^\w+(?: (?:asc|desc))?$/i.test(item)) ? orders : order;
    });
    const actorsQuery = { ...query, orderBy, filterTestAccounts };
    return { attr, query: actorsQuery, filters, behind, filtersOwn: filters.length };
  },
  title: () => "Persons",
  answer: async (context, { query, attr, filters, filtersOwn, behind }) => {
    const { select, orderBy } = query;
    const search = query.search?.trim() ?? "";
    // Filters of test accounts are of the events behind the number.
    const persons = await behind?.persons(context, filters.slice(filtersOwn));
    const appearances = persons?.adds === "appearances" ? ["length(appearances)"] : [];
    const list = {
      attr,
      table: behind ? behindName : "persons",
      ...(persons && { behind: persons }),
      made: madeColumns,
      select: select?.length ? select : ["person", "id", "created_at", "person.$delete"],
      compared: { search: searched },
      values: search ? { search: `%${search.replaceAll(/[\\%_]/g, String.raw`\$&`)}%` } : {},
      orderBy,
      usualOrder: [...appearances, "created_at", "id"],
      isByFirst:
        appearances.length === 0 &&
        !!select?.length &&
        !(select[0]! in madeColumns) &&
        !select.includes("created_at"),
      filters: { properties: filters.slice(0, filtersOwn) },
    };
    return await expressionRows(context, list, query);
  },
  read: (reader, checked) => readExpressions(reader, checked),
});

const person = objectColumn(["id", "distinct_ids", "properties", "created_at", "is_identified"]);

const madeColumns: Readonly<Record<string, MadeColumn>> = {
  "*": person,
  person,
  actor: person,
  person_display_name: objectColumn({
    display_name: displayNameText("properties", "toString(id)"),
    id: "id",
  }),
  // The button of PostHog's own pages.
  "person.$delete": { reads: [], cell: () => null },
};

const searched =
  "properties.email ilike {search} or properties.name ilike {search} or toString(id) ilike {search} or " +
  "arrayExists(one -> one ilike {search}, distinct_ids)";

function arePersonFilters(filters: readonly PropertyFilter[]): boolean {
  return filters.every((filter) =>
    "key" in filter ? filter.type === "person" || filter.type === "hogql" : arePersonFilters(filter.values),
  );
}

const shared = {
  /** Checked as a query. */
  source: part.anything(),
  ...part.unreadFields("Without effect: persons are listed without their recordings.", "includeRecordings"),
  ...part.ofEveryQuery,
};

/** Identify the figure whose persons are listed. */
const figureModels = {
  InsightActorsQuery: strictModel("InsightActorsQuery", {
    kind: choice(["InsightActorsQuery"]),
    ...part.figureOfInsight,
    ...shared,
  }),
  StickinessActorsQuery: strictModel("StickinessActorsQuery", {
    kind: choice(["StickinessActorsQuery"]),
    ...part.figureOfStickiness,
    ...shared,
  }),
  FunnelsActorsQuery: strictModel("FunnelsActorsQuery", {
    kind: choice(["FunnelsActorsQuery"]),
    ...part.figureOfFunnel,
    funnelCustomSteps: part.unanswered("Steps of one's own"),
    ...shared,
  }),
};

const kinds: Readonly<Record<string, Readonly<Record<string, QueryKind>>>> = {
  InsightActorsQuery: {
    TrendsQuery: trendsKind,
    RetentionQuery: retentionKind,
    LifecycleQuery: lifecycleKind,
    StickinessQuery: stickinessKind,
    PathsQuery: pathsKind,
  },
  StickinessActorsQuery: { StickinessQuery: stickinessKind },
  FunnelsActorsQuery: { FunnelsQuery: funnelsKind },
};

/** The persons behind a figure; undefined without one. @throws Fault for what is none, named below `attr`. */
function readBehind(source: unknown, attr: string) {
  if (!isGiven(source) || (isDictionary(source) && Object.keys(source).length === 0)) return undefined;
  const fields = queryFields(source, attr);
  if (fields["kind"] === "HogQLQuery") return readSelectedPersons(fields, attr);
  const [name, answered] = findNamed(kinds, fields["kind"], `${attr}__kind`);
  const model = figureModels[name as keyof typeof figureModels];
  const { source: inner, ...figure } = checkKindFields(model, fields, attr) as Fields;
  const at = `${attr}__source`;
  const query = queryFields(inner, at);
  const [kindName, kind] = findNamed(answered, query["kind"], `${at}__kind`);
  const { persons, filtersTestAccounts } = kind.check(query, at);
  const { takes, of } = persons!;
  for (const field of part.figureFields) {
    if (figure[field] === undefined || figure[field] === null || takes.includes(field)) continue;
    refuseInput(`"${field}" does not apply to a ${kindName}; use ${takes.join(", ")}.`, `${attr}__${field}`);
  }
  return {
    filtersTestAccounts,
    /** @param testFilters of test accounts. */
    persons: async (context: QueryContext, testFilters: readonly PropertyFilter[]) =>
      await of(context, testFilters, { ...figure, attr } satisfies FigureRef),
  };
}

function findNamed<Value>(list: Readonly<Record<string, Value>>, name: unknown, attr: string) {
  if (typeof name === "string" && Object.hasOwn(list, name)) return [name, list[name]!] as const;
  const text = String(name).slice(0, 100);
  const known = Object.keys(list).join(", ");
  refuseInput(`"${text}" has no persons here; ${known} have.`, attr, "not_supported");
}
