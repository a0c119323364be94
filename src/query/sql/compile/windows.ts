// Functions over windows.

import type { ExpressionNode, WindowExpr, WindowFrame, WindowFunction } from "../tree.ts";
import { arity, isStar, parametersText } from "./calls.ts";
import { asType, type SqlScope } from "./draft.ts";
import { sqlAggregate } from "./lists/aggregates.ts";
import { checkArguments } from "./lists/arguments.ts";
import { refuseFunction } from "./lists/function_shapes.ts";
import { sqlFunction } from "./lists/functions.ts";
import { quotedName, refuse, type Sql, suggestion } from "./value.ts";

export function windowSql(node: WindowFunction, scope: SqlScope): Sql {
  const name = node.name.toLowerCase();
  const aggregate = sqlAggregate(name);
  const hasParameters = aggregate?.params !== undefined && (node.args ?? []).length > 0;
  const nodes = hasParameters ? (node.args ?? []) : [...(node.exprs ?? []), ...(node.args ?? [])];
  const args = nodes.filter((item) => !isStar(item)).map((item) => scope.expression(item));
  const callee = aggregate ?? sqlFunction(name);
  if (!callee) return refuseFunction(node.name, "", { ...node, node: "Call", args: [] });
  arity(node, args.length, callee.args);
  const params = hasParameters ? parametersText(node, node.exprs ?? [], aggregate, scope) : "";
  const checked = checkArguments(scope.draft, callee, args, node);
  const isUnknown = callee.type === "unknown";
  const converted = checked.map((value, i) => {
    if (i > 0) return value;
    if (callee.isNumeric) return asType(value, "number");
    return isUnknown ? withNull(value) : value;
  });
  const called = `${callee.name}${params}(${converted.map((item) => item.sql).join(", ")})`;
  const type = isUnknown ? (converted[0]?.type ?? "unknown") : callee.type;
  const isShifted = callee.name === "lagInFrame" || callee.name === "leadInFrame";
  return {
    sql: `${called} OVER (${windowText(findWindow(node, scope), scope, isShifted)})`,
    type,
    nullable: isUnknown || converted.some((item) => item.nullable),
  };
}

/** A value of a type that has null, which functions of a window return beyond its edge. */
function withNull(value: Sql): Sql {
  const isScalar = value.type !== "array" && !value.sql.startsWith("tuple(");
  return isScalar && !value.nullable ? { ...value, sql: `toNullable(${value.sql})`, nullable: true } : value;
}

/** The window behind OVER, or the one that it names. */
function findWindow(node: WindowFunction, { windows }: SqlScope): WindowExpr | undefined {
  const { over_identifier: name } = node;
  if (!name) return node.over_expr ?? undefined;
  if (Object.hasOwn(windows, name)) return windows[name];
  return refuse(`There is no WINDOW ${quotedName(name)}.${suggestion(name, Object.keys(windows))}`, node);
}

function windowText(over: WindowExpr | undefined, scope: SqlScope, isShifted: boolean): string {
  const parts: string[] = [];
  const list = (nodes: readonly ExpressionNode[]) =>
    nodes.map((node) => scope.expression(node).sql).join(", ");
  if (over?.partition_by?.length) parts.push(`PARTITION BY ${list(over.partition_by)}`);
  if (over?.order_by?.length) {
    const orders = over.order_by.map(
      (item) => `${scope.expression(item.expr).sql} ${toDirection(item.order)}`,
    );
    parts.push(`ORDER BY ${orders.join(", ")}`);
  }
  if (over?.frame_method) {
    const start = frameText(over.frame_start ?? undefined, "PRECEDING");
    const frame = over.frame_end ? `BETWEEN ${start} AND ${frameText(over.frame_end, "FOLLOWING")}` : start;
    parts.push(`${over.frame_method === "ROWS" ? "ROWS" : "RANGE"} ${frame}`);
  } else if (isShifted) {
    // lag() and lead() of other databases see the whole partition.
    parts.push("ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING");
  }
  return parts.join(" ");
}

export const toDirection = (order: string | null | undefined): "ASC" | "DESC" =>
  order === "DESC" ? "DESC" : "ASC";

function frameText(frame: WindowFrame | undefined, side: "PRECEDING" | "FOLLOWING"): string {
  if (frame?.frame_type === "CURRENT ROW") return "CURRENT ROW";
  const direction =
    frame?.frame_type === "PRECEDING" || frame?.frame_type === "FOLLOWING" ? frame.frame_type : side;
  const rows = frame?.frame_value;
  if (rows === null || rows === undefined) return `UNBOUNDED ${direction}`;
  if (typeof rows === "number" && Number.isSafeInteger(rows) && rows >= 0) return `${rows} ${direction}`;
  return refuse("The bounds of a window are whole numbers, UNBOUNDED or CURRENT ROW.", frame);
}
