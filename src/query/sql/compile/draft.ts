// What one compilation carries: parameters, numbers of names, scopes that it asks for, and its budget.

import type { PropertyFilter } from "../../../storage/events/property_filter.ts";
import { queryLimits } from "../../limits.ts";
import type { CommonTable, ExpressionNode, FieldNode, Placed, SelectQuery, SelectSetQuery } from "../tree.ts";
import type { SqlTable } from "./lists/table.ts";
import { refuse } from "./problem.ts";
import type { KnownType, Sql, SqlType } from "./value.ts";

/** The type that is known of a property, of what has it. */
export type PropertyTypes = (owner: "event" | "person" | "group", name: string) => KnownType | undefined;

/** What a query is asked about, and by whom. */
export interface SqlContext {
  project_id: number;
  timezone: string;
  /** In ms since 1970: `now()` is this moment in all of the statement. */
  now: number;
  /** The text of the query, for names of columns. */
  text: string;
  /** Values of `{name}`: JSON values. */
  values?: Readonly<Record<string, unknown>> | undefined;
  /** Values of `{variables.name}`, by code name. */
  variables?: Readonly<Record<string, unknown>> | undefined;
  /** What `{filters}` stands for; filters of test accounts are among `properties`. */
  filters?: SqlFilters | undefined;
  /** The type that is known of a property; properties without one are compared by what stands beside them. */
  propertyType?: PropertyTypes | undefined;
  /** Of filters in SQL among `properties` the trees, and what they are called in faults, by text. */
  filterTrees?: ReadonlyMap<string, { tree: ExpressionNode; attr: string }> | undefined;
  /** Tables that it can name beside all others. */
  tables?: Readonly<Record<string, SqlTable>> | undefined;
  /** Begins the names of a compilation whose statement has those of another, too. */
  names?: string | undefined;
  /** The type of whole numbers that it can hold, where columns of files are made; else the least that holds each. */
  wholeNumbers?: "Int64";
}

export interface SqlFilters {
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC: from is within, to is not. */
  from?: string | undefined;
  to?: string | undefined;
  properties: readonly PropertyFilter[];
}

/** One use of a table. */
export interface TableLike {
  readonly table: SqlTable;
  readonly alias: string;
  has: (name: string) => boolean;
  names: () => string[];
  field: (path: readonly (string | number)[], at: FieldNode) => Sql;
  /** The condition that `{filters}` stands for. */
  filters: (at: Placed) => Sql;
  /** The subquery, after all of the query was compiled. */
  subquery: () => string;
}

/** A compiled SELECT, and its columns by the names that the query gives them. */
export interface SelectSql {
  sql: string;
  columns: { name: string; column: Sql }[];
}

/** A SELECT that another reads from. `column.sql` is the name of its column. */
export interface SubqueryRead extends SelectSql {
  alias: string;
}

export interface NamedTable {
  /** What the query calls it; undefined for a subquery without a name. */
  name: string | undefined;
  read: TableLike | SubqueryRead;
  /** Columns by which it is joined to a table before it: there they are read. */
  using: readonly string[];
}

/** A WITH, and what names meant where it stands. */
export interface KnownCommonTable {
  node: CommonTable;
  scope: SqlScope;
}

export interface SqlScope {
  tables: NamedTable[];
  aliases: Map<string, Sql>;
  commonTables: ReadonlyMap<string, KnownCommonTable>;
  /** Arguments of the lambdas around. */
  lambda: ReadonlyMap<string, Sql>;
  /** Whether this is a SELECT within another, whose columns it cannot name. */
  outer?: SqlScope | undefined;
  /** Whether a SELECT of it stands in FROM: more columns than it names do no harm. */
  isFrom?: boolean;
}

export interface SqlDraft {
  context: SqlContext;
  /** The characters of the text. */
  characters: () => readonly string[];
  params: Record<string, unknown>;
  /** Scopes of keys that the query needs beside query:read. */
  scopes: Set<string>;
  /** Properties of persons that PostHog takes from their events, and where each is named. */
  lifted: Map<string, FieldNode>;
  /** A parameter of this type, as the statement writes it; one for all places of a value. */
  bind: (type: string, value: string | number | readonly (string | number)[]) => string;
  /** A name that nothing else in the statement has. */
  fresh: (prefix: string) => string;
  /** Conditions that every row of their SELECT meets. */
  conjuncts: Set<Placed>;
  /** Counts a part of the query. */
  spend: (at: Placed | undefined) => void;
  /** A part that was made, if neither it nor all of them together are too long. */
  made: <Part extends { sql: string }>(part: Part, at: Placed | undefined) => Part;
  expression: (node: ExpressionNode, scope: SqlScope) => Sql;
  /** A SELECT within the statement. */
  select: (node: SelectQuery | SelectSetQuery, scope: SqlScope) => SelectSql;
}

export function newSqlDraft(
  context: SqlContext,
  compilers: Pick<SqlDraft, "expression" | "select">,
): SqlDraft {
  const now = new Date(context.now).toISOString().replace("T", " ").slice(0, 23);
  const params: Record<string, unknown> = { project_id: context.project_id, tz: context.timezone, now };
  let names = 0;
  let parts = 0;
  let chars = 0;
  let madeChars = 0;
  const bound = new Map<string, string>();
  let characters: readonly string[] | undefined;
  const own = context.names ?? "";
  const fresh = (prefix: string): string => `${prefix}${own}${names++}`;
  /** What is written twice for each level of a query doubles with each: it ends before it is joined to one text. */
  const made: SqlDraft["made"] = (part, at) => {
    madeChars += part.sql.length;
    if (part.sql.length > queryLimits.sqlStatementCharsMax || madeChars > queryLimits.sqlMadeCharsMax) {
      refuse("The query becomes too long.", at);
    }
    return part;
  };
  return {
    expression: (node, scope) => made(compilers.expression(node, scope), node),
    select: (node, scope) => made(compilers.select(node, scope), node),
    made,
    context,
    characters: () => (characters ??= [...context.text]),
    params,
    scopes: new Set(),
    lifted: new Map(),
    conjuncts: new Set(),
    fresh,
    bind: (type, value) => {
      const key = `${type} ${typeof value === "object" ? JSON.stringify(value) : value}`;
      const before = bound.get(key);
      if (before !== undefined) return before;
      chars += key.length;
      if (chars > queryLimits.sqlValuesCharsMax) {
        refuse(`The values of a query have at most ${queryLimits.sqlValuesCharsMax} characters.`, undefined);
      }
      const name = fresh("p");
      params[name] = value;
      const written = `{${name}:${type}}`;
      bound.set(key, written);
      return written;
    },
    spend: (at) => {
      if (++parts > queryLimits.sqlPartsMax) {
        refuse(
          `A query has at most ${queryLimits.sqlPartsMax} parts, those of a WITH at each use of it.`,
          at,
        );
      }
    },
  };
}

/** The type that the engine gives a whole number; functions depend on it. */
function wholeType(value: bigint, { wholeNumbers }: SqlContext): string {
  if (wholeNumbers && BigInt.asIntN(64, value) === value) return wholeNumbers;
  const bits = [8n, 16n, 32n, 64n].find((size) => value < 2n ** size && value >= -(2n ** (size - 1n)));
  return bits === undefined ? "Int256" : `${value < 0 ? "" : "U"}Int${bits}`;
}

/** A constant of the query as a parameter, or as one of the words true, false and NULL. */
export function constantSql(draft: SqlDraft, value: unknown, at?: Placed): Sql {
  if (value === null || value === undefined) {
    return { sql: "NULL", type: "unknown", nullable: true, constant: null };
  }
  if (typeof value === "string") {
    if (value.includes("\0")) refuse("A text has no NUL character.", at);
    return { sql: draft.bind("String", value), type: "string", nullable: false, constant: value };
  }
  if (typeof value === "boolean") {
    return { sql: String(value), type: "boolean", nullable: false, constant: value };
  }
  if (typeof value === "bigint" || (typeof value === "number" && Number.isSafeInteger(value))) {
    const whole = BigInt(value);
    return {
      sql: draft.bind(wholeType(whole, draft.context), String(whole)),
      type: "number",
      nullable: false,
      constant: value,
    };
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) refuse("A number is finite.", at);
    return { sql: draft.bind("Float64", value), type: "number", nullable: false, constant: value };
  }
  if (Array.isArray(value)) {
    const items = value.map((one) => {
      draft.spend(at);
      return constantSql(draft, one, at).sql;
    });
    return { sql: `[${items.join(", ")}]`, type: "array", nullable: false };
  }
  return refuse("A value is a text, a number, true, false, null or a list of these.", at);
}

/** The moment of the query in the project's zone. */
export const nowSql = "toTimeZone(toDateTime64({now:String}, 6, 'UTC'), {tz:String})";

/** A property as text, as an expression of another type; null where it is none of it. */
export function textAs(text: string, type: SqlType): string {
  if (type === "number") return `toFloat64OrNull(${text})`;
  if (type === "boolean") return `transform(${text}, ['true', 'false'], [true, false], NULL)`;
  if (type === "datetime") return `parseDateTime64BestEffortOrNull(${text}, 6, {tz:String})`;
  if (type === "date") return `toDate(parseDateTime64BestEffortOrNull(${text}, 6, {tz:String}))`;
  return text;
}

/** A property beside something of another type is compared as that; anything else as it is. */
export function asType(one: Sql, type: SqlType): Sql {
  if (one.text === undefined || one.type === type) return one;
  // A truth counts as 0 and 1.
  if (one.type === "boolean" && type === "number") return one;
  if (type === "string") return { sql: one.text, type, nullable: true, text: one.text };
  if (!["number", "boolean", "datetime", "date"].includes(type)) return one;
  return { sql: textAs(one.text, type), type, nullable: true, text: one.text };
}
