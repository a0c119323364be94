// The tables of a SELECT, how they are joined, and finally their text.

import { queryLimits } from "../../limits.ts";
import type { ExpressionNode, JoinExpr, SelectQuery } from "../tree.ts";
import { comparison, condition } from "./compare.ts";
import type { NamedTable, SelectSql, SqlDraft, SqlScope } from "./draft.ts";
import { sqlTables } from "./lists/tables.ts";
import { SubqueryRead } from "./scope.ts";
import { TableRead } from "./table_read.ts";
import { quotedName, refuse, type Sql, suggestion } from "./value.ts";

export interface Joined {
  table: NamedTable;
  /** How it is joined to those before it; empty for the first. */
  join: string;
  on: string;
}

const joinWords = new Set("LEFT RIGHT FULL INNER OUTER CROSS ASOF ANY ALL SEMI ANTI JOIN".split(" "));

/** Adds the tables to the scope. */
export function addTables(first: JoinExpr, scope: SqlScope): Joined[] {
  const joined: Joined[] = [];
  for (let item: JoinExpr | null | undefined = first; item; item = item.next_join) {
    scope.draft.countPart(item);
    if (item.sample && !samplesAll(item.sample))
      refuse("SAMPLE is not supported, but for 1: events have no order by which a part could be read.", item);
    const join = joined.length === 0 ? "" : (item.join_type ?? "CROSS JOIN");
    if (join && !join.split(" ").every((word) => joinWords.has(word)))
      refuse(`${join} is not supported.`, item);
    const table = resolveTable(item, scope);
    const name = table.name;
    if (name !== undefined && scope.tables.some((other) => other.name === name))
      refuse(`There are two tables called ${quotedName(name)}: give one another name with AS.`, item);
    const before = [...scope.tables];
    scope.tables.push(table);
    scope.draft.isJoin = true;
    joined.push({ table, join, on: constraintText(item, before, table, join, scope) });
    scope.draft.isJoin = false;
  }
  return joined;
}

/** Whether it samples the whole, as 1 or a fraction that is 1. */
function samplesAll({
  sample_value: { left, right },
  offset_value,
}: NonNullable<JoinExpr["sample"]>): boolean {
  const [part, whole] = [left, right].map((item) => (item?.node === "Constant" ? item.value : undefined));
  return !offset_value && typeof part === "number" && part === (right ? whole : 1) && part > 0;
}

function constraintText(
  node: JoinExpr,
  before: readonly NamedTable[],
  table: NamedTable,
  join: string,
  scope: SqlScope,
): string {
  if (join === "") return "";
  const { constraint } = node;
  if (join.startsWith("CROSS")) return "";
  if (!constraint) refuse("This JOIN needs ON or USING.", node);
  if (constraint.constraint_type === "ON") return ` ON ${condition(scope.expression(constraint.expr))}`;
  if (/RIGHT|FULL/.test(join)) refuse("USING is for INNER and LEFT joins here: write ON.", node);
  const names = listNames(constraint.expr);
  const conditions = names.map((name) => {
    const field = { node: "Field", chain: [name], start: node.start, end: node.end } as const;
    const left = before.find((item) => item.read.has(name));
    if (!left || !table.read.has(name)) refuse(`${quotedName(name)} is not in both tables.`, constraint.expr);
    const [one, two] = [left, table].map(({ read }) => read.field([name], { ...field, chain: [name] }));
    return comparison(scope.draft, "==", one!, two!, node).sql;
  });
  table.using = names;
  return ` ON ${conditions.join(" AND ")}`;
}

function listNames(node: ExpressionNode): string[] {
  const list = node.node === "Tuple" ? node.exprs : [node];
  return list.map((item) => {
    if (item.node !== "Field" || item.chain.length !== 1) refuse("USING takes names of columns.", item);
    return item.chain[0]!;
  });
}

function resolveTable(node: JoinExpr, scope: SqlScope): NamedTable {
  const { table } = node;
  const alias = node.alias ?? undefined;
  if (node.column_aliases?.length) refuse("Names of columns after a table are not supported.", node);
  if (table?.node === "SelectQuery" || table?.node === "SelectSetQuery") {
    // A SELECT in FROM cannot name columns of the one around it.
    const inner = scope.with({ tables: [], aliases: new Map(), isFrom: true });
    return subquery(scope.draft, alias, inner.select(table));
  }
  if (table?.node !== "Field") {
    const what =
      table?.node === "Placeholder"
        ? "A table in braces"
        : table?.node.replace(/Expr|Query/, "").toUpperCase();
    return refuse(`${what ?? "This"} is not supported in FROM.`, table ?? node);
  }
  const name = table.chain.join(".");
  if (node.table_args) return series(node, name, scope);
  const common = table.chain.length === 1 ? scope.commonTables.get(name) : undefined;
  if (common) {
    const { node: definition, scope: inner } = common;
    if (definition.expr.node !== "SelectQuery" && definition.expr.node !== "SelectSetQuery")
      return refuse(`${quotedName(name)} is a value, not a table.`, table);
    return subquery(scope.draft, alias ?? name, inner.with({ isFrom: true }).select(definition.expr));
  }
  const tables = { ...sqlTables, ...scope.draft.context.tables };
  const sqlTable = Object.hasOwn(tables, name) ? tables[name] : undefined;
  if (!sqlTable) {
    const names = [...Object.keys(sqlTables), ...scope.commonTables.keys()];
    const hint = suggestion(name, names) || ` There are ${Object.keys(sqlTables).join(", ")}.`;
    return refuse(`Unknown table ${quotedName(name)}.${hint}`, table);
  }
  return { name: alias ?? name, read: new TableRead(scope.draft, sqlTable), using: [] };
}

function subquery(draft: SqlDraft, name: string | undefined, select: SelectSql): NamedTable {
  return { name, read: new SubqueryRead(draft, select), using: [] };
}

/** `numbers(n)`, `numbers(from, n)` and `generateSeries(from, to)`. */
function series(node: JoinExpr, name: string, scope: SqlScope): NamedTable {
  const { draft } = scope;
  const isSeries = /^generate_?series$/i.test(name);
  const isKnown = isSeries || name.toLowerCase() === "numbers";
  const values = (isKnown ? (node.table_args ?? []) : []).map((item) => scope.expression(item));
  const [only] = values;
  if (!isSeries && only && values.length === 1 && only.constant === undefined && !only.nullable)
    return computedSeries(draft, node.alias ?? name, only);
  const args = values.map(({ constant }, i) => {
    if (typeof constant === "number" && Number.isSafeInteger(constant)) return constant;
    return refuse(`${name}() takes whole numbers.`, node.table_args![i]!);
  });
  if (!isKnown || args.length < (isSeries ? 2 : 1) || args.length > 2) {
    refuse(
      `There is no table ${quotedName(`${name}(…)`)}; there are numbers(n) and generateSeries(from, to).`,
      node,
    );
  }
  const [first = 0, second] = args;
  const from = second === undefined ? 0 : first;
  const count = isSeries ? second! - first + 1 : (second ?? first);
  if (count < 0 || count > queryLimits.sqlSeriesMax)
    refuse(`A series has at most ${queryLimits.sqlSeriesMax} numbers.`, node);
  const column = draft.fresh("c");
  // The engine makes it block by block; the items of one array would be one block.
  const value = from === 0 ? "toInt64(number)" : `toInt64(number) + ${draft.bind("Int64", from)}`;
  const sql = `SELECT ${value} AS ${column} FROM numbers(${draft.bind("UInt64", count)})`;
  const number: Sql = { sql: column, type: "number", nullable: false };
  const columns = [{ name: isSeries ? "generate_series" : "number", column: number }];
  return subquery(draft, node.alias ?? name, { sql, columns });
}

/** `numbers(expression)`, whose value the engine knows before it reads rows. */
function computedSeries(draft: SqlDraft, name: string, { sql: count }: Sql): NamedTable {
  const column = draft.fresh("c");
  const most = draft.bind("Int64", queryLimits.sqlSeriesMax);
  const sql = `SELECT toInt64(number) AS ${column} FROM numbers(toInt64(greatest(0, least(${count}, ${most}))))`;
  const number: Sql = { sql: column, type: "number", nullable: false };
  return subquery(draft, name, { sql, columns: [{ name: "number", column: number }] });
}

export function fromText(joined: readonly Joined[]): string {
  return joined
    .map(({ table: { read }, join, on }, i) => {
      return `${i === 0 ? "" : ` ${join} `}${read.subquery()} AS ${read.alias}${on}`;
    })
    .join("");
}

export function arrayJoinText(node: SelectQuery, scope: SqlScope): string {
  if (!node.array_join_list?.length) return "";
  const parts = node.array_join_list.map((item) => {
    const value = scope.expression(item.node === "Alias" ? item.expr : item);
    scope.draft.joinItems(value.cost);
    const sql = scope.draft.fresh("c");
    if (item.node === "Alias")
      scope.aliases.set(item.alias, { sql, type: "unknown", nullable: true, cost: value.cost });
    return `${value.sql} AS ${sql}`;
  });
  return ` ${node.array_join_op === "LEFT ARRAY JOIN" ? "LEFT " : ""}ARRAY JOIN ${parts.join(", ")}`;
}
