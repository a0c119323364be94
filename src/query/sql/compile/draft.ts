// The state of one compilation: parameters, counters of names, required scopes, and its budget.

import { toEngineZone } from "../../../storage/clickhouse/zones.ts";
import type { PropertyFilter } from "../../../storage/events/property_filter.ts";
import { queryLimits } from "../../limits.ts";
import type { AnySelect, CommonTable, ExpressionNode, FieldNode, Placed, WindowExpr } from "../tree.ts";
import { estimateCost } from "./lists/cost.ts";
import { functionLimits } from "./lists/limits.ts";
import type { SqlTable } from "./lists/table.ts";
import {
  type Cost,
  type PathKey,
  type PropertyTypes,
  quotedName,
  refuse,
  type Sql,
  type SqlType,
} from "./value.ts";

/** The context of a query that is compiled: its project, and the values that its text names. */
export interface SqlContext {
  project_id: number;
  timezone: string;
  /** The day on which weeks begin; by default 0, Sunday. */
  weekStart?: number | undefined;
  /** The index of each of the project's group types, which are names of an event's groups. */
  groupTypes?: Readonly<Record<string, number>> | undefined;
  /** Milliseconds since 1970: `now()` means this moment everywhere in the statement. */
  now: number;
  /** The text of the query, for names of columns. */
  text: string;
  /** Values of `{name}`: JSON values. */
  values?: Readonly<Record<string, unknown>> | undefined;
  /** Values of `{variables.name}`, by code name. */
  variables?: Readonly<Record<string, unknown>> | undefined;
  /** The filters that `{filters}` stands for; those of test accounts are among `properties`. */
  filters?: SqlFilters | undefined;
  /** Known types of properties; a property without one is compared as the type of the other side. */
  propertyType?: PropertyTypes | undefined;
  /** The trees of SQL filters among `properties`, by text, and their names in faults. */
  filterTrees?: ReadonlyMap<string, { tree: ExpressionNode; attr: string }> | undefined;
  /** Further tables that the query may name. */
  tables?: Readonly<Record<string, SqlTable>> | undefined;
  /** The prefix of this compilation's names, where the statement also contains another compilation. */
  names?: string | undefined;
  /** The type that whole numbers get where columns of files are made; by default the smallest that holds each. */
  wholeNumbers?: "Int64";
}

export interface SqlFilters {
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC; `from` is included, `to` is not. */
  from?: string | undefined;
  to?: string | undefined;
  properties: readonly PropertyFilter[];
}

/** One use of a table, or a SELECT that another reads from. */
export interface TableLike {
  readonly alias: string;
  /** Whether filters by time or by its properties apply to it. */
  readonly isFiltered: boolean;
  has: (name: string) => boolean;
  /** Whether an event's group has this name, by its type, and nothing else of the table. */
  hasGroup?: (name: string) => boolean;
  names: () => string[];
  /** The columns of `*`. */
  star: () => readonly string[];
  /** The column that `path` names. @throws SqlProblem */
  field: (path: readonly PathKey[], at: FieldNode) => Sql;
  /** The condition that `{filters}` stands for. */
  filters: (at: Placed) => Sql;
  /** The subquery, once the whole query is compiled. */
  subquery: () => string;
}

/** A compiled SELECT, and its columns by the query's names. */
export interface SelectSql {
  sql: string;
  columns: { name: string; column: Sql }[];
}

export interface NamedTable {
  /** Its name in the query; undefined for a subquery without one. */
  name: string | undefined;
  read: TableLike;
  /** Columns that join it to an earlier table: they are read from that one. */
  using: readonly string[];
  /** Another name of it: PostHog's for the events of a question. */
  shortName?: string;
}

/** A WITH, and the meaning of names where it is written. */
export interface KnownCommonTable {
  node: CommonTable;
  scope: SqlScope;
}

/** The names in one SELECT: its tables, aliases, common tables, and the arguments of lambdas. */
export class SqlScope {
  readonly draft: SqlDraft;
  /** The scope of the SELECT around this one, whose columns it cannot name. */
  readonly outer: SqlScope | undefined;
  readonly tables: NamedTable[] = [];
  readonly aliases = new Map<string, Sql>();
  /** Arguments of the enclosing lambdas. */
  readonly lambda: ReadonlyMap<string, Sql> = new Map();
  commonTables: ReadonlyMap<string, KnownCommonTable>;
  /** Windows with a name. */
  windows: Readonly<Record<string, WindowExpr>> = {};
  /** Whether it is a SELECT in FROM: columns that nobody names are harmless there. */
  readonly isFrom: boolean = false;

  constructor(draft: SqlDraft, outer?: SqlScope) {
    this.draft = draft;
    this.outer = outer;
    this.commonTables = outer?.commonTables ?? new Map();
  }

  /** This scope with other names. */
  with(changes: Partial<Pick<SqlScope, "tables" | "aliases" | "commonTables" | "lambda" | "isFrom">>) {
    return Object.assign(new SqlScope(this.draft), this, changes);
  }

  expression(node: ExpressionNode): Sql {
    return this.draft.measure(node, this);
  }

  /** A SELECT within the statement. */
  select(node: AnySelect): SelectSql {
    return this.draft.bounded(this.draft.compilers.select(node, this), node);
  }
}

interface Compilers {
  expression: (node: ExpressionNode, scope: SqlScope) => Sql;
  select: (node: AnySelect, outer: SqlScope) => SelectSql;
}

export class SqlDraft {
  readonly context: SqlContext;
  readonly compilers: Compilers;
  readonly params: Record<string, unknown>;
  /** Scopes of keys that the query needs beside query:read. */
  readonly scopes = new Set<string>();
  /** Properties of persons, and where each is named. */
  readonly personKeys = new Map<string, FieldNode>();
  /** Time zones that the text names, by their canonical names, and where. */
  readonly zones = new Map<string, Placed>();
  /** Conditions that every row of their SELECT meets. */
  readonly conjuncts = new Set<Placed>();
  /** Whether comparisons are of single rows, where they may also use a moment's stored column. */
  canUseIndex = true;
  /** Whether comparisons are the condition of a JOIN, for which null equals nothing. */
  isJoin = false;
  /** Whether null may be a member of a SELECT behind IN. */
  hasNullMembers = false;
  readonly #writtenValues = new Map<string, string>();
  #characters: readonly string[] | undefined;
  /** The values within the expressions that are compiled, and how many these are. */
  readonly #values: Sql[] = [];
  #depth = 0;
  /** The cost of all expressions for each row, and as many rows as a block has. */
  #steps = 0;
  #chars = 0;
  #blockRows = functionLimits.blockRowsMin;
  #names = 0;
  #parts = 0;
  #valueChars = 0;
  #partChars = 0;

  constructor(context: SqlContext, compilers: Compilers) {
    this.context = context;
    this.compilers = compilers;
    const now = new Date(context.now).toISOString().replace("T", " ").slice(0, 23);
    this.params = { project_id: context.project_id, tz: context.timezone, now };
  }

  /** The characters of the text. */
  characters(): readonly string[] {
    return (this.#characters ??= [...this.context.text]);
  }

  /** A name that nothing else in the statement has. */
  fresh(prefix: string): string {
    return `${prefix}${this.context.names ?? ""}${this.#names++}`;
  }

  /** A parameter of this type, as the statement writes it; equal values share one. */
  bind(type: string, value: string | number | readonly (string | number)[]): string {
    const key = `${type} ${typeof value === "object" ? JSON.stringify(value) : value}`;
    const present = this.#writtenValues.get(key);
    if (present !== undefined) return present;
    this.#valueChars += key.length;
    if (this.#valueChars > queryLimits.sqlValuesCharsMax)
      refuse(`The values of a query have at most ${queryLimits.sqlValuesCharsMax} characters.`);
    const name = this.fresh("p");
    this.params[name] = value;
    const written = `{${name}:${type}}`;
    this.#writtenValues.set(key, written);
    return written;
  }

  /** A time zone that the text names, as a parameter with its canonical name. @throws SqlProblem */
  zone(name: string, at: Placed): string {
    const zone = toEngineZone(name);
    if (zone === undefined)
      return refuse(`${quotedName(name)} is no time zone, such as "Europe/Berlin".`, at);
    this.zones.set(zone, at);
    return this.bind("String", zone);
  }

  /** The rows of a table, or the items of an array, which are rows of one block. */
  joinItems({ count = 0 }: Partial<Cost> = {}): void {
    this.#blockRows = Math.max(this.#blockRows, functionLimits.blockRows, count);
  }

  /** Compiles an expression, with its cost. @throws SqlProblem where the query takes too long for a row. */
  measure(node: ExpressionNode, scope: SqlScope): Sql {
    const before = this.#values.length;
    this.#depth++;
    const value = this.bounded(this.compilers.expression(node, scope), node);
    this.#depth--;
    const cost = estimateCost(
      node,
      value,
      before < this.#values.length ? this.#values.splice(before) : noParts,
    );
    if (node.node === "Call" && node.name.toLowerCase() === "arrayjoin") this.joinItems(cost);
    if (scope.tables.length > 0) this.joinItems();
    const steps = this.#steps + cost.steps;
    const chars = this.#chars + cost.chars;
    const { blockStepsMax, blockCharsMax } = functionLimits;
    if (steps * this.#blockRows > blockStepsMax) this.#refuseLong("calls", blockStepsMax, node);
    if (chars * this.#blockRows > blockCharsMax)
      this.#refuseLong("readings of characters that it makes", blockCharsMax, node);
    const measured = value.cost ? { ...value } : value;
    measured.cost = cost;
    if (this.#depth > 0) this.#values.push(measured);
    else {
      this.#steps = steps;
      this.#chars = chars;
    }
    return measured;
  }

  #refuseLong(what: string, most: number, at: Placed): never {
    const ofRow = Math.floor(most / this.#blockRows);
    refuse(`The query takes too long: here its ${what} exceed ${ofRow} a row.`, at);
  }

  /** Counts a part of the query. @throws SqlProblem beyond queryLimits.sqlPartsMax. */
  countPart(at: Placed | undefined): void {
    if (++this.#parts <= queryLimits.sqlPartsMax) return;
    refuse(`A query has at most ${queryLimits.sqlPartsMax} parts, those of a WITH at each use of it.`, at);
  }

  /**
   * Returns the part. Text that is written twice on each level doubles with each level: it is refused before it is
   * joined.
   * @throws SqlProblem when it, or all parts together, are too long.
   */
  bounded<Part extends { sql: string }>(part: Part, at: Placed | undefined): Part {
    this.#partChars += part.sql.length;
    if (part.sql.length > queryLimits.sqlStatementCharsMax || this.#partChars > queryLimits.sqlMadeCharsMax)
      refuse("The query becomes too long.", at);
    return part;
  }
}

const noParts: readonly Sql[] = [];

/** The engine's type of a whole number; functions depend on it. */
function wholeType(value: bigint, { wholeNumbers }: SqlContext): string {
  if (wholeNumbers && BigInt.asIntN(64, value) === value) return wholeNumbers;
  const bits = [8n, 16n, 32n, 64n].find((size) => value < 2n ** size && value >= -(2n ** (size - 1n)));
  return bits === undefined ? "Int256" : `${value < 0 ? "" : "U"}Int${bits}`;
}

/** A constant of the query: a parameter, or the word true, false or NULL. */
export function constantSql(draft: SqlDraft, value: unknown, at?: Placed): Sql {
  if (value === null || value === undefined)
    return { sql: "NULL", type: "unknown", nullable: true, constant: null };
  if (typeof value === "string") {
    if (value.includes("\0")) refuse("A text has no NUL character.", at);
    return { sql: draft.bind("String", value), type: "string", nullable: false, constant: value };
  }
  if (typeof value === "boolean")
    return { sql: String(value), type: "boolean", nullable: false, constant: value };
  if (typeof value === "bigint" || (typeof value === "number" && Number.isSafeInteger(value))) {
    const whole = BigInt(value);
    const sql = draft.bind(wholeType(whole, draft.context), String(whole));
    return { sql, type: "number", nullable: false, constant: value };
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) refuse("A number is finite.", at);
    return { sql: draft.bind("Float64", value), type: "number", nullable: false, constant: value };
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => {
      draft.countPart(at);
      return constantSql(draft, item, at).sql;
    });
    const size = JSON.stringify(value).length;
    const cost = { size, count: items.length, steps: 1, chars: 0, isFixed: true };
    return { sql: `[${items.join(", ")}]`, type: "array", nullable: false, cost };
  }
  return refuse("A value is a text, a number, true, false, null or a list of these.", at);
}

/** The moment of the query in the project's zone. */
export const nowSql = "toTimeZone(toDateTime64({now:String}, 6, 'UTC'), {tz:String})";

/** A day as its midnight in the project's zone: the engine would add hours to a day in UTC. */
export function toMidnight(item: Sql): Sql {
  return item.type === "date"
    ? { ...item, sql: `toDateTime64(${item.sql}, 6, {tz:String})`, type: "datetime" }
    : item;
}

/** A property, which is text, read as another type; null where the text is no such value. */
export function textAs(text: string, type: SqlType): string {
  if (type === "number") return `toFloat64OrNull(${text})`;
  if (type === "boolean") return `transform(${text}, ['true', 'false'], [true, false], NULL)`;
  if (type === "datetime") return `parseDateTime64BestEffortOrNull(${text}, 6, {tz:String})`;
  if (type === "date") return `toDate(parseDateTime64BestEffortOrNull(${text}, 6, {tz:String}))`;
  return text;
}

/** A property beside a value of another type is compared as that type; everything else as it is. */
export function asType(item: Sql, type: SqlType): Sql {
  if (item.text === undefined || item.type === type) return item;
  // A boolean is 0 or 1.
  if (item.type === "boolean" && type === "number") return item;
  if (type === "string") return { sql: item.text, type, nullable: true, text: item.text };
  if (!["number", "boolean", "datetime", "date"].includes(type)) return item;
  return { sql: textAs(item.text, type), type, nullable: true, text: item.text };
}
