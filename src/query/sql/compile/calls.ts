// Calls of functions and aggregates: arity, and properties as numbers where numbers are needed.

import { wordsIn } from "../../../core/words.ts";
import type { CallNode, ExpressionNode, WindowFunction } from "../tree.ts";
import { comparison, condition, logic, negation, truth } from "./compare.ts";
import { asType, constantSql, type SqlScope, toMidnight } from "./draft.ts";
import { aggregateNames, type SqlAggregate, sqlAggregate } from "./lists/aggregates.ts";
import { boundItems, checkArguments } from "./lists/arguments.ts";
import { functionShapes, refuseFunction } from "./lists/function_shapes.ts";
import { functionNames, type SqlFunction, sqlFunction } from "./lists/functions.ts";
import { countKinds } from "./lists/kinds.ts";
import { functionLimits } from "./lists/limits.ts";
import { hasNoStart } from "./placeholders.ts";
import { quotedName, refuse, type Sql, type SqlType, suggestion } from "./value.ts";

const signs: Readonly<Record<string, string>> = {
  equals: "==",
  notequals: "!=",
  less: "<",
  greater: ">",
  lessorequals: "<=",
  greaterorequals: ">=",
  like: "like",
  ilike: "ilike",
  notlike: "not like",
  notilike: "not ilike",
};

export function callSql(node: CallNode, scope: SqlScope): Sql {
  const { draft } = scope;
  const name = node.name.toLowerCase();
  const args = node.args;
  if (node.order_by) refuse("ORDER BY within a function is not supported.", node);
  const requireArguments = (kinds: string) => arity(node, args.length, kinds);
  const inner = (i: number): Sql => scope.expression(args[i]!);
  const aggregate = sqlAggregate(name);
  if (!aggregate && (node.params || node.distinct || node.filter_expr)) {
    const near = suggestion(node.name, aggregateNames());
    refuse(`${quotedName(node.name)} takes no parameters, DISTINCT or FILTER.${near}`, node);
  }
  const sign = Object.hasOwn(signs, name) ? signs[name] : undefined;
  if (sign !== undefined) {
    requireArguments("vv");
    if (args.some((arg) => hasNoStart(arg, draft))) return truth("1");
    return comparison(draft, sign, inner(0), inner(1), node);
  }
  if (name === "and" || name === "or") return logic(name === "and" ? "And" : "Or", args, scope);
  if (name === "xor") {
    requireArguments("vv*");
    const parts = args.map((_, i) => inner(i));
    const nullable = parts.some((part) => part.nullable);
    return { ...truth(`xor(${parts.map(condition).join(", ")})`), nullable };
  }
  if (name === "not") {
    requireArguments("v");
    return negation(inner(0));
  }
  if (name === "exists") {
    const [item] = args;
    if (item?.node !== "SelectQuery" && item?.node !== "SelectSetQuery")
      refuse("EXISTS takes a SELECT.", node);
    return truth(`EXISTS (${scope.select(item).sql})`);
  }
  if (name === "_casewithexpression") return compileCase(node, scope);
  const values = args.filter((item) => !isStar(item)).map((item) => scope.expression(item));
  if (values.length < args.length && name !== "count") refuse('"*" is taken by count() only.', node);
  const shape = Object.hasOwn(functionShapes, name) ? functionShapes[name] : undefined;
  if (shape) {
    arity(node, values.length, shape.args);
    return shape.sql(draft, checkArguments(draft, { ...shape, name: node.name }, values, node), node);
  }
  // An aggregate's name before a function's: first_value is one without a window.
  if (aggregate) return aggregateSql(node, aggregate, values, scope);
  const callee = sqlFunction(name);
  if (!callee) {
    const aggregates = [...aggregateNames()].flatMap((text) => [text, `${text}If`]);
    const names = [...functionNames(), ...aggregates, "toDateTime", "toDate"];
    return refuseFunction(node.name, suggestion(node.name, names), node);
  }
  arity(node, values.length, callee.args);
  const converted = values.map((item) => argument(callee, item));
  // Its arrays have one length.
  if (node.args[0]?.node === "Lambda" && callee.name.startsWith("array"))
    converted.push(boundItems(draft, converted.pop()!, values[0]!.cost!.steps));
  const call = plainCall(callee, checkArguments(draft, callee, converted, node));
  // A week without a mode is the project's: ClickHouse's mode 3 is ISO's week.
  const isMonday = callee.name === "toStartOfWeek" && values.length === 1 && draft.context.weekStart === 1;
  return isMonday ? { ...call, sql: `${call.sql.slice(0, -1)}, 3)` } : call;
}

function plainCall(callee: SqlFunction, converted: readonly Sql[]): Sql {
  const texts = converted.map(({ sql, type, nullable }) =>
    callee.noNulls && nullable && type === "string" ? `ifNull(${sql}, '')` : sql,
  );
  const nullable =
    !callee.neverNull && (callee.givesNull === true || converted.some((item) => item.nullable));
  const days = floorDays[callee.name] ?? 0;
  const floor = converted.find((item) => item.floor)?.floor;
  const rounded = floor && days > 0 ? { floor: { ...floor, days: floor.days + days } } : {};
  const type = callee.type === "datetime" ? momentType(callee, converted) : callee.type;
  return { sql: `${callee.name}(${texts.join(", ")})`, type, nullable, ...rounded };
}

/** The type of a function of moments: a day plus days, and the start of a week or longer, are days. */
function momentType({ name }: SqlFunction, [first, second]: readonly Sql[]): SqlType {
  if (/^(?:add|subtract|plus$|minus$)/.test(name)) return first?.type === "date" ? "date" : "datetime";
  const unit = name === "dateTrunc" ? first?.constant : name === "toStartOfInterval" ? second?.sql : "";
  return /week|month|quarter|year/i.test(String(unit)) ? "date" : "datetime";
}

/** For functions of texts, a property of a known type is its text again, like one without a known type. */
function argument(callee: SqlFunction, value: Sql): Sql {
  if (callee.isNumeric) return asType(value, "number");
  if (callee.needsMoment && value.type === "date") return toMidnight(value);
  if (callee.type === "unknown" || callee.neverNull || callee.isOfMoments) return value;
  const givesText = ["string", "array", "boolean"].includes(callee.type);
  return value.type === "datetime" && !givesText ? value : asType(value, "string");
}

const unitsToADay = "Second Minute FiveMinutes TenMinutes FifteenMinutes Hour Day";

/** How many days a moment may be after its rounded value, with a day for changes of clocks and zones. */
const floorDays: Readonly<Record<string, number>> = {
  ...Object.fromEntries(wordsIn(unitsToADay).map((unit) => [`toStartOf${unit}`, 2])),
  toStartOfWeek: 9,
  toMonday: 9,
  toStartOfMonth: 33,
  toStartOfQuarter: 94,
  toStartOfYear: 368,
  dateTrunc: 368,
};

function aggregateSql(node: CallNode, aggregate: SqlAggregate, args: readonly Sql[], scope: SqlScope): Sql {
  arity(node, args.length, aggregate.args);
  const params = parametersText(node, node.params ?? [], aggregate, scope);
  const [first, ...rest] = args;
  const converted = first ? [aggregate.isNumeric ? asType(first, "number") : first, ...rest] : [];
  let { name } = aggregate;
  let isDistinct = node.distinct === true;
  if (isDistinct && name === "count") [name, isDistinct] = ["uniqExact", false];
  const sql = converted.map((value, i) =>
    name.endsWith("If") && i === converted.length - 1 ? condition(value) : value.sql,
  );
  // It accepts whole seconds only.
  if (name.startsWith("windowFunnel") && first?.type === "datetime") sql[0] = `toDateTime(${sql[0]})`;
  if (node.filter_expr) {
    name = `${name}If`;
    sql.push(condition(scope.expression(node.filter_expr)));
  }
  const inner = `${isDistinct ? "DISTINCT " : ""}${sql.join(", ")}`;
  const resultType = aggregate.type === "unknown" && first ? first.type : aggregate.type;
  const type = /(?:Array|ForEach|Map|State|Merge)/.test(name) ? "unknown" : resultType;
  return {
    sql: `${name}${params}(${inner})`,
    type,
    nullable: aggregate.type === "unknown" || converted.some((item) => item.nullable),
  };
}

/** Parameters before the arguments, as literals for the engine. */
export function parametersText(
  node: CallNode | WindowFunction,
  nodes: readonly ExpressionNode[],
  { params, name }: SqlAggregate,
  { draft }: SqlScope,
): string {
  if (nodes.length === 0) return "";
  const most = params === undefined ? 0 : Math.min(countKinds(params).most, functionLimits.parametersMax);
  if (params === undefined || nodes.length > most)
    refuse(`${quotedName(node.name)} has at most ${most} parameters.`, node);
  const values = nodes.map((item) => constantSql(draft, item.node === "Constant" ? item.value : null, item));
  const checked = checkArguments(draft, { args: params, name }, values, node);
  const written = checked.map(({ constant }) => (typeof constant === "string" ? `'${constant}'` : constant));
  return `(${written.join(", ")})`;
}

export function arity(node: CallNode | WindowFunction, count: number, kinds: string): void {
  const { least, most } = countKinds(kinds);
  if (count >= least && count <= most) return;
  const expected = least === most ? String(least) : count < least ? `at least ${least}` : `at most ${most}`;
  refuse(`${quotedName(node.name)} takes ${expected} arguments, not ${count}.`, node);
}

export const isStar = (item: ExpressionNode): boolean => item.node === "Field" && item.chain.at(-1) === "*";

/** `CASE x WHEN a THEN b … ELSE z END` */
function compileCase(node: CallNode, scope: SqlScope): Sql {
  const { draft } = scope;
  const [first, ...others] = node.args;
  const subject = scope.expression(first!);
  const parts = others.map((arg, i) => {
    const value = scope.expression(arg);
    return i % 2 === 0 && i < others.length - 1 ? comparison(draft, "==", subject, value, node) : value;
  });
  return functionShapes["multiif"]!.sql(draft, parts, node);
}
