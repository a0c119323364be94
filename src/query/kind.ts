// What a kind of query is. Each has a folder and a line in kinds.ts.

import { Fault } from "../core/fault.ts";
import type { CreateInput } from "../http/fields/field.ts";
import { checkFields } from "../http/fields/field_check.ts";
import type { PropertyFilter } from "../storage/events/property_filter.ts";
import type { TextReader } from "./hogql/run.ts";
import { treesOf, withExpressions } from "./parts/compiled_expressions.ts";
import type { PersonsBehind } from "./parts/figure.ts";
import { type AskedExpression, filterExpressions } from "./parts/row_expressions.ts";
import type { ResultShapes, ResultType } from "./result.ts";
import type { QueryAnswer, QueryContext } from "./store.ts";

export type QuerySchema = Parameters<typeof checkFields>[0];
export type Fields = Record<string, unknown>;

/** What a kind's check returns, with whatever else its answer needs. */
export interface CheckedQuery {
  /** The name of the query in a fault. */
  attr: string;
  query: { filterTestAccounts?: boolean | null };
  /** They apply to every event of the query. The engine adds the project's own for `filterTestAccounts`. */
  filters: readonly PropertyFilter[];
  /** Expressions of SQL that it has beside those in `filters`; undefined where filters are of SQL's own tables. */
  expressions?: readonly AskedExpression[];
}

interface KindParts<Schema extends QuerySchema, Type extends ResultType, Checked extends CheckedQuery> {
  /** Its `kind` is the kind's name. The body has passed it when `check` is called. */
  schema: Schema;
  /** How its results are drawn, where that depends on the query by what it is. */
  result: Type | ((checked: Checked) => Type);
  /** @throws Fault for what the schema cannot refuse, named below `attr`. */
  check(query: CreateInput<Schema>, attr: string): Checked;
  /** What a query is called where nobody gave it a name. */
  title(checked: Checked): string;
  /** @throws Fault when it is too heavy. */
  answer(context: QueryContext, checked: Checked): Promise<QueryAnswer<ResultShapes[Type]>>;
  /** Reads the texts of SQL that it has beside `expressions`. @throws Fault for what is wrong in one, named by it. */
  read?: (reader: TextReader, checked: Checked) => Promise<unknown>;
  /** Of kinds that count persons. */
  persons?: PersonsBehind<QueryContext, Checked>;
}

/** A query that was checked, ready to run. */
export interface ReadyQuery {
  title: string;
  result: ResultType;
  filtersTestAccounts: boolean;
  /** @param filters more of them, for every event. */
  answer(context: QueryContext, filters: readonly PropertyFilter[]): Promise<QueryAnswer>;
  /** Reads its texts of SQL without running it. @throws Fault for what is wrong in one, named by it. */
  read: (reader: TextReader) => Promise<void>;
  persons?: PersonsBehind<QueryContext, readonly PropertyFilter[]>;
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
}: KindParts<Schema, Type, Checked>): QueryKind {
  return {
    schema,
    check: (value, attr) => {
      const checked = check(fieldsOf(schema, value, attr), attr);
      const expressionsOf = (filters: readonly PropertyFilter[]): AskedExpression[] =>
        checked.expressions ? [...filterExpressions(filters), ...checked.expressions] : [];
      const ready = async (context: QueryContext, more: readonly PropertyFilter[]) => {
        const filters = [...checked.filters, ...more];
        return [
          await withExpressions(context, expressionsOf(filters), attr),
          { ...checked, filters },
        ] as const;
      };
      return {
        title: title(checked),
        result: typeof result === "function" ? result(checked) : result,
        filtersTestAccounts: checked.query.filterTestAccounts === true,
        answer: async (context, more) => await answer(...(await ready(context, more))),
        read: async (reader) => {
          await treesOf(reader, expressionsOf(checked.filters), attr);
          await read?.(reader, checked);
        },
        ...(persons && {
          persons: {
            takes: persons.takes,
            of: async (context, more, figure) => await persons.of(...(await ready(context, more)), figure),
          },
        }),
      };
    },
  };
}

/** checkFields, with the field of a fault named below `attr`. */
export function fieldsOf<Schema extends QuerySchema>(schema: Schema, value: Fields, attr: string) {
  try {
    return checkFields(schema, value);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const below = thrown.attr === null ? attr : `${attr}__${thrown.attr}`;
    throw new Fault(thrown.code, thrown.detail, { attr: below });
  }
}
