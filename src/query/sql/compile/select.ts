// Compiles a SELECT: names become numbers first; tables are written last, when all columns that are read are known.

import type { AnySelect, ExpressionNode, OrderExpr, SelectQuery, SelectSetQuery } from "../tree.ts";
import { columnName, starColumns } from "./columns.ts";
import { condition, splitConjuncts } from "./compare.ts";
import { type KnownCommonTable, type SelectSql, SqlScope } from "./draft.ts";
import { addTables, arrayJoinText, fromText } from "./from.ts";
import { SubqueryRead } from "./scope.ts";
import { quotedName, refuse, type Sql } from "./value.ts";
import { toDirection } from "./windows.ts";

const setOperators = /^(?:UNION (?:ALL|DISTINCT)|(?:INTERSECT|EXCEPT)(?: DISTINCT)?)$/;

export function selectSql(node: AnySelect, outer: SqlScope): SelectSql {
  outer.draft.countPart(node);
  return node.node === "SelectQuery" ? selectQuerySql(node, outer) : selectSetSql(node, outer);
}

/** After a set without brackets, the parser attributes the LIMIT to the last SELECT, but the OFFSET to all. */
export function refuseSplitLimit({ subsequent_select_queries: parts, limit, offset }: SelectSetQuery): void {
  const last = parts.at(-1)?.select_query;
  if (!offset || limit || !last?.limit || last.offset) return;
  refuse("LIMIT and OFFSET after a set need brackets around it: (… UNION ALL …) LIMIT 10 OFFSET 10.", offset);
}

function selectSetSql(node: SelectSetQuery, outer: SqlScope): SelectSql {
  refuseSplitLimit(node);
  // The WITH of the first SELECT applies to the others.
  const { draft } = outer;
  const scope = new SqlScope(draft, outer);
  const first = node.initial_select_query;
  if (first.node === "SelectQuery") scope.commonTables = withCommonTables(first, scope);
  const initial = selectSql(first, outer.with({ isFrom: false }));
  const parts = node.subsequent_select_queries.map(({ select_query, set_operator }) => {
    if (!setOperators.test(set_operator))
      refuse(`${quotedName(set_operator)} is not supported.`, select_query);
    const next = selectSql(select_query, scope);
    if (next.columns.length !== initial.columns.length) {
      refuse(
        `This SELECT has ${next.columns.length} columns, the first ${initial.columns.length}.`,
        select_query,
      );
    }
    return ` ${set_operator} (${next.sql})`;
  });
  const union = `(${initial.sql})${parts.join("")}`;
  const columns = initial.columns.map(({ name, column }) => ({
    name,
    column: { ...column, nullable: true },
  }));
  if (!node.order_by && !node.limit && !node.offset) return { sql: union, columns };
  const read = new SubqueryRead(draft, { sql: union, columns });
  scope.tables.push({ name: undefined, read, using: [] });
  const orders = node.order_by ? ordersText(node.order_by, columns, scope) : "";
  const listed = columns.map(({ column }) => `${read.alias}.${column.sql} AS ${column.sql}`).join(", ");
  return {
    sql: `SELECT ${listed} FROM (${union}) AS ${read.alias}${orders}${limitText(node, scope)}`,
    columns,
  };
}

function withCommonTables(node: SelectQuery, scope: SqlScope): ReadonlyMap<string, KnownCommonTable> {
  const ctes = new Map(scope.commonTables);
  for (const item of node.ctes ?? []) {
    if (item.recursive) refuse("WITH RECURSIVE is not supported.", item);
    if (item.columns?.length)
      refuse("Names of columns after a WITH are not supported: name them in its SELECT.", item);
    const inner = new SqlScope(scope.draft, scope).with({ commonTables: new Map(ctes) });
    ctes.set(item.name, { node: item, scope: inner });
  }
  return ctes;
}

function selectQuerySql(node: SelectQuery, outer: SqlScope): SelectSql {
  const { draft } = outer;
  const scope = new SqlScope(draft, outer);
  scope.commonTables = withCommonTables(node, scope);
  scope.windows = node.window_exprs ?? {};
  const { canUseIndex } = draft;
  draft.canUseIndex = true;
  const joins = node.select_from ? addTables(node.select_from, scope) : [];
  const arrays = arrayJoinText(node, scope);
  const columns: SelectSql["columns"] = [];
  const listed: string[] = [];
  const keepsRows = outer.isFrom && !node.distinct && !node.group_by?.length && !node.group_by_mode;
  const addColumn = (name: string, { floor, ...value }: Sql, isNamed: boolean): void => {
    const sql = draft.fresh("c");
    listed.push(`${value.sql} AS ${sql}`);
    const column: Sql = { ...value, sql };
    if (keepsRows && floor?.days === 0) {
      // With a moment, its stored column is selected for conditions of the outer SELECT: the engine's index needs it.
      const raw = draft.fresh("c");
      listed.push(`${floor.raw()} AS ${raw}`);
      column.floor = { raw: () => raw, days: 0 };
    }
    columns.push({ name, column });
    const text = value.text === undefined || value.type !== "string" ? {} : { text: sql };
    const { type, nullable, cost } = value;
    if (isNamed) scope.aliases.set(name, { sql, type, nullable, cost, ...text, ...(floor && { floor }) });
  };
  draft.canUseIndex = false;
  for (const item of node.select) {
    const star = starColumns(item, scope);
    if (star) for (const { name, sql } of star) addColumn(name, sql, false);
    else if (item.node === "Alias") addColumn(item.alias, scope.expression(item.expr), true);
    else addColumn(columnName(draft, item), scope.expression(item), false);
  }
  const where = [node.prewhere, node.where].filter((item) => item !== null && item !== undefined);
  for (const item of splitConjuncts(where)) draft.conjuncts.add(item);
  const conditionText = (word: string, nodes: readonly ExpressionNode[]): string =>
    nodes.length > 0
      ? ` ${word} ${nodes.map((item) => condition(scope.expression(item))).join(" AND ")}`
      : "";
  draft.canUseIndex = true;
  const whereText = conditionText("WHERE", where);
  draft.canUseIndex = false;
  const text = [
    whereText,
    groupText(node, columns, scope),
    conditionText("HAVING", node.having ? [node.having] : []),
    conditionText("QUALIFY", node.qualify ? [node.qualify] : []),
    node.order_by ? ordersText(node.order_by, columns, scope) : "",
    limitByText(node, scope),
    limitText(node, scope),
  ].join("");
  if (node.limit_percent || node.limit_with_ties)
    refuse("LIMIT takes a number of rows, without WITH TIES or percent.", node.limit ?? node);
  draft.canUseIndex = canUseIndex;
  const from = joins.length > 0 ? ` FROM ${fromText(joins)}` : "";
  return {
    sql: `SELECT ${node.distinct ? "DISTINCT " : ""}${listed.join(", ")}${from}${arrays}${text}`,
    columns,
  };
}

/** An item of GROUP BY or ORDER BY: an expression, or the number of a column from 1. */
function expressionOrColumn(node: ExpressionNode, columns: SelectSql["columns"], scope: SqlScope): string {
  if (node.node !== "Constant" || typeof node.value !== "number") return scope.expression(node).sql;
  const column = columns[node.value - 1];
  if (!column) refuse(`There is no column ${node.value}: the SELECT has ${columns.length}.`, node);
  return column.column.sql;
}

function groupText(node: SelectQuery, columns: SelectSql["columns"], scope: SqlScope): string {
  const mode = node.group_by_mode;
  if (mode === "all") return " GROUP BY ALL";
  if (!node.group_by?.length) return "";
  const list = (nodes: readonly ExpressionNode[]) =>
    nodes.map((item) => expressionOrColumn(item, columns, scope)).join(", ");
  if (mode === "rollup") return ` GROUP BY ROLLUP(${list(node.group_by)})`;
  if (mode === "cube") return ` GROUP BY CUBE(${list(node.group_by)})`;
  if (mode) refuse("GROUPING SETS are not supported: use ROLLUP, CUBE, or several SELECTs.", node);
  return ` GROUP BY ${list(node.group_by)}`;
}

function ordersText(orders: readonly OrderExpr[], columns: SelectSql["columns"], scope: SqlScope): string {
  if (orders.length === 0) return "";
  const parts = orders.map((order) => {
    if (order.with_fill) refuse("WITH FILL is not supported: join a series of numbers() instead.", order);
    return `${expressionOrColumn(order.expr, columns, scope)} ${toDirection(order.order)}`;
  });
  return ` ORDER BY ${parts.join(", ")}`;
}

function limitByText({ limit_by: by }: SelectQuery, scope: SqlScope): string {
  if (!by) return "";
  const skipped = by.offset_value ? ` OFFSET ${limitRows(by.offset_value, scope)}` : "";
  const exprs = by.exprs.map((expr) => scope.expression(expr).sql).join(", ");
  return ` LIMIT ${limitRows(by.n, scope)}${skipped} BY ${exprs}`;
}

function limitText({ limit, offset }: Pick<SelectQuery, "limit" | "offset">, scope: SqlScope): string {
  const rows = limit ? ` LIMIT ${limitRows(limit, scope)}` : "";
  return `${rows}${offset ? ` OFFSET ${limitRows(offset, scope)}` : ""}`;
}

/** The number of rows in a LIMIT or OFFSET. */
export function limitRows(node: ExpressionNode, scope: SqlScope): number {
  const { constant } = scope.expression(node);
  if (typeof constant === "number" && Number.isSafeInteger(constant) && constant >= 0) return constant;
  return refuse("LIMIT and OFFSET take a whole number.", node);
}
