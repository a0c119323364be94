// Trees of queries as PostHog's parser makes them, written by hand, and what they compile to.

import {
  type CompiledSelect,
  compileSelect,
  type SqlContext,
  SqlProblem,
} from "../../../../src/query/sql/compile/compile.ts";
import type { SqlTable } from "../../../../src/query/sql/compile/lists/table.ts";
import type { ExpressionNode, JoinExpr, SelectQuery } from "../../../../src/query/sql/tree.ts";

export const constant = (value: string | number | boolean | null): ExpressionNode => ({
  node: "Constant",
  value,
});
export const field = (...chain: string[]) => ({ node: "Field", chain }) as const;
export const call = (name: string, ...args: ExpressionNode[]) => ({ node: "Call", name, args }) as const;
export const compare = (op: string, left: ExpressionNode, right: ExpressionNode): ExpressionNode => ({
  node: "CompareOperation",
  op,
  left,
  right,
});
export const tuple = (...exprs: ExpressionNode[]): ExpressionNode => ({ node: "Tuple", exprs });
export const table = (name: string, more: Partial<JoinExpr> = {}): JoinExpr => ({
  node: "JoinExpr",
  table: field(name),
  ...more,
});

/** A SELECT from a table; none for "". */
export function select(
  columns: ExpressionNode[],
  from: string | JoinExpr = "",
  more: Partial<SelectQuery> = {},
): SelectQuery {
  const select_from = typeof from === "string" ? (from === "" ? undefined : table(from)) : from;
  return { node: "SelectQuery", select: columns, ...(select_from && { select_from }), ...more };
}

export function compiled(tree: SelectQuery, context: Partial<SqlContext> = {}): CompiledSelect {
  return compileSelect(tree, { project_id: 1, timezone: "Europe/Berlin", now: 0, text: "", ...context });
}

/** The statement with each of its values where its parameter stands. */
export function statementOf(tree: SelectQuery, context: Partial<SqlContext> = {}): string {
  const { statement, parameters } = compiled(tree, context);
  return statement.replace(/\{(p\d+):[\w()]+\}/g, (_, name: string) => JSON.stringify(parameters[name]));
}

/** A table with a column of each type, called by it. */
const rows: SqlTable = {
  source: "rows",
  owner: "event",
  star: ["text", "n"],
  columns: {
    text: { sql: "text", type: "string" },
    maybe: { sql: "maybe", type: "string", nullable: true },
    n: { sql: "n", type: "number" },
    uuid: { sql: "uuid", type: "uuid" },
    day: { sql: "day", type: "date" },
    at: { sql: "toTimeZone(at, {tz:String})", type: "datetime" },
    list: { sql: "list", type: "array" },
    props: { sql: "props", type: "json" },
  },
};

/** What an expression over that table is in the statement: `props.a` is the text of a property, `at` the moment. */
export function written(node: ExpressionNode, context: Partial<SqlContext> = {}): string {
  return clausesOf(select([node], "rows"), context).replace(
    /^SELECT (.*?) AS c\d+( FROM rows)?( LIMIT 101)?$/s,
    "$1",
  );
}

/** A statement over that table, with its columns by their names and without the subqueries that limit it. */
export function clausesOf(tree: SelectQuery, context: Partial<SqlContext> = {}): string {
  const names = new Map<string, string>();
  return statementOf(tree, { tables: { rows }, ...context })
    .replaceAll(/JSONExtract\(props, ("\w+"(?:, "\w+")*), 'Nullable\(String\)'\)/g, (_, keys: string) =>
      ["props", ...keys.replaceAll('"', "").split(", ")].join("."),
    )
    .replaceAll("toTimeZone(at, {tz:String})", "at")
    .replaceAll("toTimeZone(toDateTime64({now:String}, 6, 'UTC'), {tz:String})", "NOW")
    .replaceAll(
      /\(SELECT ([\w., ]+) FROM rows WHERE project_id = \{project_id:UInt32\}\) AS t\d+/g,
      (_, columns: string) => {
        for (const [, sql, name] of columns.matchAll(/([\w.]+) AS (v\d+)/g)) names.set(name!, sql!);
        return "rows";
      },
    )
    .replaceAll(/\bt\d+\.(v\d+)/g, (whole, name: string) => names.get(name) ?? whole);
}

/** Why an expression over that table is refused. @throws where it is not */
export function refusalOf(node: ExpressionNode, context: Partial<SqlContext> = {}): string {
  return refusalOfTree(select([node], "rows"), context);
}

export function refusalOfTree(tree: SelectQuery, context: Partial<SqlContext> = {}): string {
  try {
    compiled(tree, { tables: { rows }, ...context });
  } catch (thrown) {
    if (thrown instanceof SqlProblem) return thrown.message;
    throw thrown;
  }
  throw new Error("it was compiled");
}
