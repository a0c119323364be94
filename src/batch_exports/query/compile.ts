// Compiles a native_query: the text is parsed, and statements are made of the tree and of fixed lists only. No
// character of the text reaches ClickHouse, since values are parameters.

import { exportLimits } from "../limits.ts";
import { withoutFirst, withoutLast } from "../../core/trim.ts";
import type { ExportModel } from "../export_model.ts";
import { queryFunctions } from "./functions.ts";
import { type Expression, type ParsedQuery, parseQuery, type Selected } from "./parse.ts";
import { refuseQuery, refuseUnsupported } from "./tokenize.ts";

/** For rows of the model's table, already limited to project and interval. */
export interface CompiledQuery {
  /**
   * `alias`: 1 to 64 letters, digits, `_` and `$`, all different. It may be the name of another column, so the
   * statement must select from a subquery that limits the project.
   */
  columns: { expression_sql: string; alias: string }[];
  where_sql: string | undefined;
  /** Named q0, q1, … */
  params: Record<string, unknown>;
  /** The same columns as the owner wrote them. */
  written: { expression: string; alias: string }[];
}

/** @throws Fault invalid_input at `native_query`, with the reason. */
export function compileQuery(text: string, model: ExportModel): CompiledQuery {
  const { named, where } = readQuery(text, model);
  const compiler = new Compiler(model);
  const columns = named.map(({ column, alias }) => ({
    expression_sql: compiler.sqlOf(column.expression),
    alias,
  }));
  const where_sql = where && compiler.sqlOf(where);
  return { columns, where_sql, params: compiler.params, written: named.map(asWritten) };
}

/**
 * The columns of a stored query as the owner wrote them: about 2 ms for the longest query, where compiling takes 5.
 * @throws Fault as compileQuery, when it is not a query.
 */
export function writtenColumns(text: string, model: ExportModel): CompiledQuery["written"] {
  return readQuery(text, model).named.map(asWritten);
}

interface NamedColumn {
  column: Column;
  alias: string;
}

function asWritten({ column, alias }: NamedColumn): CompiledQuery["written"][number] {
  return { expression: column.text, alias };
}

function readQuery(text: string, model: ExportModel): { named: NamedColumn[]; where: ParsedQuery["where"] } {
  const { selected, table, where } = parseQuery(text);
  if (table === undefined) refuseQuery(`Query must SELECT FROM ${model}`);
  if (table.toLowerCase() !== model) refuseQuery(`Query must only SELECT FROM ${model}`);
  const taken = new Set<string>();
  const columns = selected.flatMap((each) => spreadOut(each, model));
  const named = columns.map((column, index) => ({ column, alias: aliasOf(column, index, taken) }));
  return { named, where };
}

type Column = Selected & { expression: Expression };

/** A star is every column. */
function spreadOut(selected: Selected, model: ExportModel): Column[] {
  const { expression } = selected;
  if (expression) return [{ ...selected, expression }];
  return stars[model].map((name) => ({
    expression: { kind: "field", path: [name] },
    alias: undefined,
    text: name,
  }));
}

const aliasShape = /^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/;
/** Columns in the conditions of every statement. */
const ownNames = new Set(["project_id", "team_id", "_batch", "_row", "_version"]);

/** The alias, or a name made from the expression that is still free. */
function aliasOf({ expression, alias, text }: Column, index: number, taken: Set<string>): string {
  if (alias !== undefined) {
    if (!aliasShape.test(alias)) {
      refuseUnsupported(`the alias "${alias.slice(0, 64)}" must be 1 to 64 letters, digits, _ or $.`);
    }
    if (ownNames.has(alias.toLowerCase())) refuseUnsupported(`the alias "${alias}" is reserved.`);
    if (taken.has(alias)) refuseUnsupported(`the column "${alias}" is there twice.`);
    taken.add(alias);
    return alias;
  }
  const last = expression.kind === "field" ? (expression.path.at(-1) ?? "") : text;
  const joined = last.replace(/[^A-Za-z0-9_$]+/g, "_");
  const inner = withoutFirst(joined, "_");
  const before = /^[0-9]/.test(inner) ? 1 : 0;
  const underscores = "_".repeat(Math.min(2, Math.max(before, joined.length - inner.length)));
  const plain = withoutLast(`${underscores}${inner}`, "_").slice(0, 56);
  const stem = aliasShape.test(plain) && !ownNames.has(plain.toLowerCase()) ? plain : `column_${index + 1}`;
  let free = stem;
  for (let number = 2; taken.has(free); number++) free = `${stem}_${number}`;
  taken.add(free);
  return free;
}

/** Column → expression. A column in neither list does not exist. */
const columnsOf: Record<ExportModel, ReadonlyMap<string, string>> = {
  events: new Map([
    ...same("uuid event distinct_id person_id properties timestamp created_at historical_migration"),
    ["elements_chain", "JSONExtractString(properties, '$elements_chain')"],
    ["_inserted_at", "created_at"],
  ]),
  persons: new Map([
    ...same("person_id distinct_id properties person_version person_distinct_id_version created_at"),
    ...same("_inserted_at is_deleted"),
    ["id", "person_id"],
  ]),
};

function same(names: string): [string, string][] {
  return names.split(" ").map((name) => [name, name]);
}

const stars: Record<ExportModel, readonly string[]> = {
  events: ["uuid", "event", "distinct_id", "person_id", "properties", "timestamp", "created_at"],
  persons: ["distinct_id", "person_id", "properties", "created_at"],
};

const comparing = new Set(["=", "!=", "<", "<=", ">", ">="]);
const chaining = new Set(["AND", "OR", "+"]);
const counting = new Set(["+", "-", "*", "/", "%"]);

class Compiler {
  readonly params: Record<string, unknown> = {};
  readonly #model: ExportModel;
  #count = 0;
  #growing = 0;
  #parts = 0;

  constructor(model: ExportModel) {
    this.#model = model;
  }

  sqlOf(expression: Expression): string {
    if (++this.#parts > exportLimits.queryPartsMax) {
      refuseUnsupported(`it has more than ${exportLimits.queryPartsMax} parts.`);
    }
    switch (expression.kind) {
      case "string":
        return this.#bind("String", expression.value);
      case "number":
        return this.#number(expression.text);
      case "word":
        return expression.value;
      case "field":
        return this.#field(expression.path);
      case "call":
        return this.#call(expression.name, expression.args);
      case "unary":
        return expression.sign === "NOT"
          ? `(NOT ${this.sqlOf(expression.inner)})`
          : `(-${this.#counted(expression.inner)})`;
      case "binary":
        return this.#binary(expression);
      case "in":
        return this.#in(expression);
      case "null_test":
        return `(${this.sqlOf(expression.inner)} IS ${expression.not ? "NOT " : ""}NULL)`;
    }
  }

  #bind(type: "String" | "Int64" | "Float64", value: string | number): string {
    const name = `q${this.#count++}`;
    this.params[name] = value;
    return `{${name}:${type}}`;
  }

  #number(text: string): string {
    const value = Number(text);
    if (!Number.isFinite(value)) refuseUnsupported(`the number ${text.slice(0, 50)} is too large.`);
    if (!/^-?\d+$/.test(text)) return this.#bind("Float64", value);
    if (!Number.isSafeInteger(value) && (BigInt(text) > int64Max || BigInt(text) < -int64Max)) {
      refuseUnsupported(`the number ${text.slice(0, 50)} is too large.`);
    }
    return this.#bind("Int64", String(BigInt(text)));
  }

  #field(path: readonly string[]): string {
    const [head = "", ...rest] = path[0] === this.#model && path.length > 1 ? path.slice(1) : path;
    const column = columnsOf[this.#model].get(head);
    if (column === undefined || (rest.length > 0 && head !== "properties")) {
      refuseQuery(`Invalid HogQL query: Unable to resolve field: ${path.join(".").slice(0, 200)}`);
    }
    if (rest.length === 0) return column;
    const keys = rest.map((key) => this.#bind("String", key));
    return `JSONExtract(${column}, ${keys.join(", ")}, 'Nullable(String)')`;
  }

  #call(name: string, args: readonly Expression[]): string {
    const found = queryFunctions.get(name.toLowerCase());
    const shown = name.slice(0, 64);
    if (!found) refuseUnsupported(`the function ${shown} is not supported.`);
    const { argsMin, argsMax, grows } = found;
    if (args.length < argsMin || args.length > argsMax) {
      const expected = argsMin === argsMax ? String(argsMin) : `${argsMin} to ${argsMax}`;
      refuseUnsupported(`${shown} takes ${expected} arguments, not ${args.length}.`);
    }
    if (grows && ++this.#growing > exportLimits.queryGrowthMax) {
      const most = exportLimits.queryGrowthMax;
      refuseUnsupported(`more than ${most} functions that make texts longer.`);
    }
    const inner = args.map((one) => this.sqlOf(one));
    return found.sql ? found.sql(inner) : `${found.name}(${inner.join(", ")})`;
  }

  #binary(expression: Expression & { kind: "binary" }): string {
    const { sign, left, right } = expression;
    if (chaining.has(sign)) return this.#chain(expression);
    if (counting.has(sign)) return `(${this.#counted(left)} ${sign} ${this.#counted(right)})`;
    if (!comparing.has(sign)) return `(${this.sqlOf(left)} ${sign} ${this.sqlOf(right)})`;
    return `(${this.#compared(left, right)} ${sign} ${this.#compared(right, left)})`;
  }

  /** As a balanced tree, since the nesting in the engine's parser is limited. */
  #chain(expression: Expression & { kind: "binary" }): string {
    const { sign } = expression;
    const parts: Expression[] = [];
    let rest: Expression = expression;
    while (rest.kind === "binary" && rest.sign === sign) {
      parts.unshift(rest.right);
      rest = rest.left;
    }
    const all = [rest, ...parts].map((one) => (sign === "+" ? this.#counted(one) : this.sqlOf(one)));
    return `(${all.join(` ${sign} `)})`;
  }

  #in({ not, left, list }: Expression & { kind: "in" }): string {
    const [first = left] = list;
    const inner = list.map((one) => {
      const { kind } = one;
      if (kind !== "string" && kind !== "number" && kind !== "word") {
        refuseUnsupported("IN takes a list of texts or numbers.");
      }
      return this.#compared(one, left);
    });
    return `(${this.#compared(left, first)} ${not ? "NOT " : ""}IN (${inner.join(", ")}))`;
  }

  /** Properties are text: beside a number they are compared as numbers, beside true and false as these words. */
  #compared(one: Expression, other: Expression): string {
    if (isProperty(one) && isNumeric(other)) return this.#counted(one);
    if (one.kind === "word" && one.value !== "NULL" && isProperty(other))
      return this.#bind("String", one.value);
    return this.sqlOf(one);
  }

  #counted(one: Expression): string {
    return isProperty(one) ? `toFloat64OrNull(${this.sqlOf(one)})` : this.sqlOf(one);
  }
}

const int64Max = 9_223_372_036_854_775_807n;

function isProperty(one: Expression): boolean {
  if (one.kind !== "field") return false;
  const inner = one.path.indexOf("properties");
  return inner >= 0 && inner < one.path.length - 1;
}

function isNumeric(one: Expression): boolean {
  if (one.kind === "binary") return counting.has(one.sign);
  return one.kind === "number" || (one.kind === "unary" && one.sign === "-");
}
