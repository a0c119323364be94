// The definition of a kind of query. Each has a folder and a line in kinds.ts.

import { Fault } from "../core/fault.ts";
import { isDictionary } from "../core/json/dictionary.ts";
import type { CreateInput } from "../http/fields/field.ts";
import { checkFields } from "../http/fields/field_check.ts";
import { personKeysIn, refuseUnset } from "../storage/events/lifted_properties.ts";
import { expressionsIn, type PropertyFilter } from "../storage/events/property_filter.ts";
import type { Breakdown } from "./parts/breakdown.ts";
import { parseTrees, type QueryExpression, withExpressions } from "./parts/compiled_expressions.ts";
import type { Entity, PersonsBehind } from "./parts/figure.ts";
import type { ResultShapes, ResultType } from "./result.ts";
import { parseText, sqlFault, type TextReader } from "./sql/run.ts";
import { readShownExpression, type ShownColumns } from "./sql/shown_columns.ts";
import type { QueryAnswer, QueryContext } from "./store.ts";

export type QuerySchema = Parameters<typeof checkFields>[0];
export type Fields = Record<string, unknown>;

/** The result of a kind's check, with whatever else its answer needs. */
export interface CheckedQuery {
  /** The name of the query in a fault. */
  attr: string;
  query: { filterTestAccounts?: boolean | null };
  /** They apply to every event of the query. The engine adds the project's own for `filterTestAccounts`. */
  filters: readonly PropertyFilter[];
  /** Its parts that have filters of their own; undefined where filters are of SQL's own tables. */
  entities?: readonly Pick<Entity, "filters">[];
  breakdown?: Breakdown | undefined;
  /** Properties whose values it shows a figure of, beside those in `maths`. */
  measured?: readonly string[];
  /** Its math in SQL. */
  maths?: readonly QueryExpression[];
}

interface KindParts<Schema extends QuerySchema, Type extends ResultType, Checked extends CheckedQuery> {
  /** Its `kind` is the kind's name. The body has passed it when `check` is called. */
  schema: Schema;
  /** The type of its results, which may depend on the query. */
  result: Type | ((checked: Checked) => Type);
  /** @throws Fault for what the schema cannot refuse, named below `attr`. */
  check(query: CreateInput<Schema>, attr: string): Checked;
  /** The title of a query without a name. */
  title(checked: Checked): string;
  /** @throws Fault when it is too heavy. */
  answer(context: QueryContext, checked: Checked): Promise<QueryAnswer<ResultShapes[Type]>>;
  /**
   * Reads the texts of SQL that it has beside those in filters, breakdown and math.
   * @throws Fault for what is wrong in one, named by it.
   */
  read?: (reader: TextReader, checked: Checked) => Promise<unknown>;
  /** Lists persons, of kinds that count them. */
  persons?: PersonsBehind<QueryContext, Checked>;
  /**
   * Of tables without events and persons: the columns that a link shows, all of them where it is null.
   * @param confirmed the properties that may be shown; all where it is undefined.
   * @throws Fault with the reason for which none is shown.
   */
  shownColumns?:
    ((reader: TextReader, checked: Checked, confirmed?: ReadonlySet<string>) => Promise<ShownColumns>) | null;
}

/** A query that was checked, ready to run. */
export interface ReadyQuery {
  title: string;
  result: ResultType;
  filtersTestAccounts: boolean;
  /** @param filters further ones, for every event. */
  answer(context: QueryContext, filters: readonly PropertyFilter[]): Promise<QueryAnswer>;
  /** Reads its texts of SQL without running it. @throws Fault for what is wrong in one, named by it. */
  read: (reader: TextReader) => Promise<void>;
  persons?: PersonsBehind<QueryContext, readonly PropertyFilter[]>;
  /** The properties that it is broken down by, and those that it shows a figure of. */
  shownProperties: readonly string[];
  /** The columns that a link shows, as a kind has it; null for all. @throws Fault where it shows none. */
  shownColumns(reader: TextReader, confirmed?: ReadonlySet<string>): Promise<ShownColumns | null>;
}

export interface QueryKind {
  schema: QuerySchema;
  /** @throws Fault for the first thing that is wrong or not supported. */
  check(value: Fields, attr: string): ReadyQuery;
}

export function queryKind<Schema extends QuerySchema, Type extends ResultType, Checked extends CheckedQuery>({
  schema,
  result,
  check,
  title,
  answer,
  read,
  persons,
  shownColumns,
}: KindParts<Schema, Type, Checked>): QueryKind {
  return {
    schema,
    check: (value, attr) => {
      const checked = check(checkKindFields(schema, value, attr), attr);
      const prepare = async (context: QueryContext, more: readonly PropertyFilter[]) => {
        const withMore = { ...checked, filters: [...checked.filters, ...more] };
        // The properties of persons that it is filtered and broken down by.
        const parts = checked.breakdown?.parts.filter(({ type }) => type === "person") ?? [];
        const keys = [...personKeysIn(filtersWithin(withMore)), ...parts.map(({ property }) => property)];
        await refuseUnset(context.run, context.project_id, keys, attr);
        return [await withExpressions(context, listExpressions(withMore), attr), withMore] as const;
      };
      const resolved = { result: typeof result === "function" ? result(checked) : result };
      return {
        ...resolved,
        title: title(checked),
        filtersTestAccounts: checked.query.filterTestAccounts === true,
        shownProperties: [
          ...(checked.breakdown?.parts ?? []).flatMap(({ type, property }) =>
            type === "hogql" ? [] : property,
          ),
          ...(checked.measured ?? []),
        ],
        answer: async (context, more) => await answer(...(await prepare(context, more))),
        read: async (reader) => {
          await parseTrees(reader, listExpressions(checked), attr);
          await read?.(reader, checked);
        },
        shownColumns: async (reader, confirmed) => {
          if (shownColumns) return await shownColumns(reader, checked, confirmed);
          if (shownColumns !== null && resolved.result === "table")
            throw new Fault("invalid_input", listOfRows, { attr });
          return await readShownValues(reader, checked, confirmed);
        },
        ...(persons && {
          persons: {
            takes: persons.takes,
            of: async (context, more, figure) => await persons.of(...(await prepare(context, more)), figure),
          },
        }),
      };
    },
  };
}

const listOfRows = "A list of events, persons or sessions is not shown by a link.";

function filtersWithin({ filters, entities = [] }: CheckedQuery): PropertyFilter[] {
  return [...filters, ...entities.flatMap((entity) => entity.filters)];
}

/** The expressions of SQL in its filters, math and breakdown. */
function listExpressions(checked: CheckedQuery): QueryExpression[] {
  if (!checked.entities) return [];
  return [
    ...expressionsIn(filtersWithin(checked)).map(({ key: text, attr }) => ({ text, attr })),
    ...(checked.maths ?? []),
    ...listBreakdowns(checked),
  ];
}

function listBreakdowns({ breakdown }: CheckedQuery): QueryExpression[] {
  const parts = breakdown?.parts.filter(({ type }) => type === "hogql") ?? [];
  return parts.map(({ property: text, attr }) => ({ text, attr, isShown: true }));
}

/**
 * The properties that a link shows of a query that is no SQL; null where its expressions name none.
 * @throws Fault for one that reads what no link shows.
 */
async function readShownValues(reader: TextReader, checked: CheckedQuery, confirmed?: ReadonlySet<string>) {
  const properties = new Set<string>();
  for (const { text, attr, isAggregate, isShown } of [...(checked.maths ?? []), ...listBreakdowns(checked)]) {
    if (!isAggregate && !isShown) continue;
    const tree = await parseText(reader, text, "expression", attr);
    try {
      for (const name of readShownExpression(tree, confirmed)) properties.add(name);
    } catch (thrown) {
      throw sqlFault(thrown, attr, text);
    }
  }
  return properties.size > 0 ? { names: [], areFigures: [], properties } : null;
}

/** @throws Fault for what has no fields. */
export function queryFields(value: unknown, attr: string): Fields {
  if (isDictionary(value)) return value;
  const detail = "Expected a query: an object with a kind.";
  throw new Fault(value === null || value === undefined ? "required" : "not_a_dict", detail, { attr });
}

/** checkFields, with the field of a fault named below `attr`. */
export function checkKindFields<Schema extends QuerySchema>(schema: Schema, value: Fields, attr: string) {
  try {
    return checkFields(schema, value);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const below = thrown.attr === null ? attr : `${attr}__${thrown.attr}`;
    throw new Fault(thrown.code, thrown.detail, { attr: below });
  }
}
