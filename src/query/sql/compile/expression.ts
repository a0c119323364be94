// Compiles one expression of a query.

import type { AnySelect, ExpressionNode, FieldNode, Placed } from "../tree.ts";
import { callSql } from "./calls.ts";
import { comparison, inSql, logic, negation, truth } from "./compare.ts";
import { asType, constantSql, type SqlDraft, type SqlScope, toMidnight } from "./draft.ts";
import { hasLength } from "./lists/cost.ts";
import { functionShapes } from "./lists/function_shapes.ts";
import { functionLimits } from "./lists/limits.ts";
import { hasNoStart, placeholderSql } from "./placeholders.ts";
import { fieldSql, memberSql } from "./scope.ts";
import { type PathKey, quotedName, refuse, type Sql } from "./value.ts";
import { windowSql } from "./windows.ts";

export function expressionSql(node: ExpressionNode, scope: SqlScope): Sql {
  const { draft } = scope;
  draft.countPart(node);
  const inner = (item: ExpressionNode): Sql => scope.expression(item);
  switch (node.node) {
    case "Constant":
      return constantSql(draft, toNumber(node.value, node.value_type, node), node);
    case "Field":
      return fieldSql(node, node.chain, scope);
    case "Call":
      return callSql(node, scope);
    case "WindowFunction":
      return windowSql(node, scope);
    case "Alias":
      return nameValue(node.alias, inner(node.expr), node, scope);
    case "CompareOperation":
      return compareSql(node, scope);
    case "And":
    case "Or":
      return logic(node.node, node.exprs, scope);
    case "Not":
      return negation(inner(node.expr));
    case "ArithmeticOperation":
      return arithmeticSql(node.op, inner(node.left), inner(node.right), node);
    case "BetweenExpr":
      return rangeSql(node, scope);
    case "IsDistinctFrom":
      return comparison(draft, node.negated ? "==" : "!=", inner(node.left), inner(node.right), node);
    case "Lambda":
      return lambdaSql(node.args, node.expr, scope);
    case "Array":
      return { sql: `[${unifyItems(node.exprs.map(inner)).join(", ")}]`, type: "array", nullable: false };
    case "Tuple": {
      const items = node.exprs.map((expr) => inner(expr).sql).join(", ");
      return { sql: `tuple(${items})`, type: "unknown", nullable: false };
    }
    case "ArrayAccess":
    case "TupleAccess":
      return accessSql(node, scope);
    case "ArraySlice": {
      const from = node.start_expr ? inner(node.start_expr).sql : "1";
      const array = inner(node.array).sql;
      const length = node.end_expr ? `, ${inner(node.end_expr).sql} - ${from} + 1` : "";
      return { sql: `arraySlice(${array}, ${from}${length})`, type: "array", nullable: false };
    }
    case "TypeCast":
    case "TryCast":
      return castSql(draft, inner(node.expr), node.type_name, node);
    case "SelectQuery":
    case "SelectSetQuery":
      return scalarSql(node, scope);
    case "Placeholder":
      return placeholderSql(node, scope);
    default:
      return refuse(`${refused[node.node] ?? "This"} is not supported.`, node);
  }
}

const refused: Readonly<Record<string, string>> = {
  ColumnsExpr: "COLUMNS(…) outside of the list of SELECT",
  Dict: "A dictionary {…: …}",
  HogQLXTag: "A tag <…>",
  ExprCall: "A call of something that is no function",
  NamedArgument: "An argument with a name",
  GroupingSet: "A grouping set outside of GROUP BY",
};

/** A SELECT as a value. It is the same for all rows, so the engine refuses one that is longer than costs assume. */
function scalarSql(node: AnySelect, scope: SqlScope): Sql {
  const { sql, columns } = scope.select(node);
  const type = columns.length === 1 ? columns[0]!.column.type : "unknown";
  if (!hasLength(type)) return { sql: `(${sql})`, type, nullable: true };
  const names = columns.map(({ column }) => column.sql).join(", ");
  const isLong = `length(toString((${names}))) > ${scope.draft.bind("UInt32", functionLimits.scalarCharsMax)}`;
  const bounded = `SELECT ${names} FROM (${sql}) WHERE empty(repeat('', if(${isLong}, 4294967295, 0)))`;
  return { sql: `(${bounded})`, type, nullable: true };
}

function toNumber(value: unknown, type: string | undefined, at: Placed): unknown {
  if (type !== "number" || typeof value !== "string") return value;
  if (!/^-?\d{1,60}$/.test(value)) refuse("A number is too large, or none.", at);
  return BigInt(value);
}

function compareSql(node: ExpressionNode & { node: "CompareOperation" }, scope: SqlScope): Sql {
  const { op } = node;
  if (op.includes("cohort")) refuse("Cohorts do not exist here: name the properties instead.", node);
  if (hasNoStart(node.left, scope.draft) || hasNoStart(node.right, scope.draft)) return truth("1");
  const left = scope.expression(node.left);
  if (/^(?:global )?(?:not )?in$/.test(op)) return inSql(op.includes("not"), left, node.right, scope);
  return comparison(scope.draft, op, left, scope.expression(node.right), node);
}

/** `x BETWEEN a AND b`; neither it nor its negation holds for null. */
function rangeSql(node: ExpressionNode & { node: "BetweenExpr" }, scope: SqlScope): Sql {
  const value = scope.expression(node.expr);
  const compare = (op: string, bound: ExpressionNode): string =>
    hasNoStart(bound, scope.draft)
      ? String(!node.negated)
      : comparison(scope.draft, op, value, scope.expression(bound), node).sql;
  const [low, high, word] = node.negated ? ["<", ">", "OR"] : [">=", "<=", "AND"];
  return truth(`(${compare(low!, node.low)} ${word} ${compare(high!, node.high)})`);
}

/** A name within an expression, for later parts of its SELECT. */
function nameValue(name: string, value: Sql, at: Placed, scope: SqlScope): Sql {
  // The arguments of a lambda have no value outside of it.
  if (scope.lambda.size > 0) return value;
  const known = scope.aliases.get(name);
  if (known && known.sql !== value.sql) refuse(`${quotedName(name)} names two values.`, at);
  scope.aliases.set(name, value);
  return value;
}

function arithmeticSql(op: string, left: Sql, right: Sql, at: Placed): Sql {
  if (!/^[-+*/%]$/.test(op)) refuse(`The operator ${quotedName(op)} is not supported.`, at);
  const isTime = [left, right].some(({ sql }) => /^toInterval(?:Second|Minute|Hour)\(/.test(sql));
  const [one, two] = [left, right].map((side): Sql => {
    if (side.type === "string") return asType(side, "number");
    return isTime ? toMidnight(side) : side;
  }) as [Sql, Sql];
  const moment = [one, two].find(({ type }) => type === "datetime" || type === "date");
  const isDifference = moment !== undefined && one.type === two.type;
  const type = isDifference ? "number" : (moment?.type ?? (one.type === "interval" ? "interval" : "number"));
  return { sql: `(${one.sql} ${op} ${two.sql})`, type, nullable: one.nullable || two.nullable };
}

/** Items of one array: properties beside numbers are numbers. */
function unifyItems(items: readonly Sql[]): string[] {
  const type = items.find((item) => item.text === undefined)?.type;
  return items.map((item) => (type ? asType(item, type) : item).sql);
}

function lambdaSql(args: readonly string[], body: ExpressionNode, scope: SqlScope): Sql {
  const lambda = new Map(scope.lambda);
  const names = args.map((arg) => {
    const sql = scope.draft.fresh("l");
    lambda.set(arg, { sql, type: "unknown", nullable: true });
    return sql;
  });
  const inner = scope.with({ lambda }).expression(body);
  return { sql: `(${names.join(", ")}) -> ${inner.sql}`, type: inner.type, nullable: false };
}

/** `properties['a'].b`, `properties.a[1]`, `array[1]`, `tuple.1`. */
function accessSql(node: ExpressionNode & { node: "ArrayAccess" | "TupleAccess" }, scope: SqlScope): Sql {
  const path = readPath(node);
  const field = path && fieldSql(path.field, path.field.chain, scope);
  if (field && (field.type === "json" || field.text !== undefined))
    return fieldSql(path.field, [...path.field.chain, ...path.keys], scope);
  if (node.node === "TupleAccess") {
    const tuple = scope.expression(node.tuple);
    return { sql: `tupleElement(${tuple.sql}, ${Math.trunc(node.index)})`, type: "unknown", nullable: true };
  }
  const array = scope.expression(node.array);
  const index = scope.expression(node.property);
  if (array.type === "json" || array.text !== undefined)
    return memberSql(array, [index.type === "number" ? index.sql : `toString(${index.sql})`]);
  return { sql: `arrayElement(${array.sql}, ${index.sql})`, type: "unknown", nullable: true };
}

/** A field and the constant keys behind it. */
function readPath(node: ExpressionNode): { field: FieldNode; keys: PathKey[] } | undefined {
  if (node.node === "Field") return { field: node, keys: [] };
  const index = node.node === "ArrayAccess" && node.property.node === "Constant" && node.property.value;
  if (index === 0 || (node.node === "TupleAccess" && node.index === 0))
    refuse("Indexes begin with 1 in SQL, as in list[1].", node);
  if (node.node === "TupleAccess") {
    const before = readPath(node.tuple);
    return before && { field: before.field, keys: [...before.keys, node.index] };
  }
  if (node.node !== "ArrayAccess" || node.property.node !== "Constant") return undefined;
  const { value } = node.property;
  const before = typeof value === "string" || typeof value === "number" ? readPath(node.array) : undefined;
  return before && { field: before.field, keys: [...before.keys, value as PathKey] };
}

/** SQL's names of types, and the function that converts; empty for toString(). */
const casts: readonly [RegExp, string][] = [
  [/^(?:u?int\d*|integer|bigint|smallint)$/, "toint"],
  [/^(?:float\d*|double|double precision|real|numeric|decimal)(?:\([\d, ]+\))?$/, "tofloat"],
  [/^(?:string|text|varchar|char)(?:\(\d+\))?$/, ""],
  [/^date$/, "todate"],
  [/^(?:datetime|timestamp|datetime64|timestamptz)(?:\(\d\))?$/, "todatetime"],
  [/^bool(?:ean)?$/, "tobool"],
  [/^uuid$/, "touuid"],
];

function castSql(draft: SqlDraft, value: Sql, name: string, at: Placed): Sql {
  const [, converter] = casts.find(([pattern]) => pattern.test(name.slice(0, 40).toLowerCase())) ?? [];
  if (converter === undefined) refuse(`The type ${quotedName(name)} is not supported.`, at);
  if (converter === "") return { sql: `toString(${value.sql})`, type: "string", nullable: value.nullable };
  return functionShapes[converter]!.sql(draft, [value], { ...at, node: "Call", name, args: [] });
}
