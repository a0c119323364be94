// Comparisons as at PostHog: null equals no value and differs from any; a property, which is a text, is compared with
// the type of the other side.

import type { ExpressionNode, Placed } from "../tree.ts";
import { asType, type SqlDraft, type SqlScope, toMidnight } from "./draft.ts";
import { checkArguments } from "./lists/arguments.ts";
import { refuse, type Sql } from "./value.ts";

/** When an operator holds for null: where both sides are, where only one is, or never. */
type Nulls = "alike" | "unlike" | "never";

/** Keyed by the parser's names. */
const signs: Readonly<Record<string, [sql: string, nulls: Nulls]>> = {
  "==": ["=", "alike"],
  "!=": ["!=", "unlike"],
  "<": ["<", "never"],
  "<=": ["<=", "never"],
  ">": [">", "never"],
  ">=": [">=", "never"],
  like: ["LIKE", "alike"],
  ilike: ["ILIKE", "alike"],
  "not like": ["NOT LIKE", "unlike"],
  "not ilike": ["NOT ILIKE", "unlike"],
  "=~": ["match", "alike"],
  "=~*": ["match", "alike"],
  "!~": ["NOT match", "unlike"],
  "!~*": ["NOT match", "unlike"],
};

/** The operands may be written twice. */
export function comparison(draft: SqlDraft, op: string, left: Sql, right: Sql, at: Placed): Sql {
  return draft.bounded(compared(draft, op, left, right, at), at);
}

function compared(draft: SqlDraft, op: string, left: Sql, right: Sql, at: Placed): Sql {
  const entry = signs[op];
  if (!entry) refuse(`The operator ${op.toUpperCase()} is not supported.`, at);
  const [sign, nulls] = entry;
  const isPattern = op.includes("~");
  const subject = isPattern || op.endsWith("like") ? asType(left, "string") : left;
  if (nulls !== "never" && (subject.constant === null || right.constant === null)) {
    const operand = subject.constant === null ? right : subject;
    return truth(`${nulls === "alike" ? "isNull" : "isNotNull"}(${operand.sql})`);
  }
  if (isPattern) {
    const [checked] = checkArguments(draft, { args: "r", name: op }, [right], at);
    const regex = op.endsWith("*") ? `concat('(?i)', ${checked!.sql})` : checked!.sql;
    return withNulls(draft, `${sign}(${subject.sql}, ${regex})`, nulls, subject, right);
  }
  const [one, two] = sameTypes(draft, subject, right, at);
  const isConjunct = draft.conjuncts.has(at);
  const indexed = draft.canUseIndex
    ? (indexedComparison(op, one, two, isConjunct) ??
      indexedComparison(flipped[op] ?? op, two, one, isConjunct))
    : undefined;
  return indexed !== undefined
    ? truth(indexed)
    : withNulls(draft, `${one.sql} ${sign} ${two.sql}`, nulls, one, two);
}

/** A comparison of two values of which none, one or both may be null. */
function withNulls(draft: SqlDraft, plain: string, nulls: Nulls, one: Sql, two: Sql): Sql {
  const nullable = one.nullable || two.nullable;
  if (!nullable || draft.isJoin) return { ...truth(`(${plain})`), nullable };
  if (nulls === "never" || !one.nullable || !two.nullable)
    return truth(`ifNull(${plain}, ${nulls === "unlike" ? 1 : 0})`);
  const forNulls =
    nulls === "alike"
      ? `isNull(${one.sql}) AND isNull(${two.sql})`
      : `isNotNull(${one.sql}) OR isNotNull(${two.sql})`;
  return truth(`ifNull(${plain}, ${forNulls})`);
}

/** Comparisons and ranges joined by AND in `where` that have a side which is equal for all rows. */
export function splitConjuncts(where: readonly ExpressionNode[]): ExpressionNode[] {
  return where.flatMap((node) => {
    if (node.node === "And") return splitConjuncts(node.exprs);
    if (node.node === "CompareOperation") return isFixed(node.left) || isFixed(node.right) ? [node] : [];
    const isRange = node.node === "BetweenExpr" && !node.negated;
    return isRange && isFixed(node.low) && isFixed(node.high) ? [node] : [];
  });
}

/** Whether a value names no column, so is one value in the whole statement. */
function isFixed(node: ExpressionNode): boolean {
  if (node.node === "Constant" || node.node === "Placeholder") return true;
  if (node.node === "ArithmeticOperation") return isFixed(node.left) && isFixed(node.right);
  return node.node === "Call" && !/^rand/i.test(node.name) && node.args.every(isFixed);
}

const flipped: Readonly<Record<string, string>> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };

/**
 * Compares an event's moment so that the engine's index applies to the stored column: in the project's zone, or rounded
 * down, the comparison would read all events. Undefined for anything else.
 * @param isConjunct whether every row of the SELECT meets the comparison.
 */
function indexedComparison(op: string, one: Sql, two: Sql, isConjunct: boolean): string | undefined {
  const { floor } = one;
  const isOrder = op === "==" || flipped[op] !== undefined;
  if (!floor || one.nullable || two.nullable || !isMoment(two) || !isOrder) return undefined;
  const raw = floor.raw();
  const bound = `toDateTime64(${two.sql}, 6, {tz:String})`;
  const implied = (sign: string, value: string): string => {
    if (isConjunct) floor.limit?.(sign, value);
    return `${raw} ${sign} ${value}`;
  };
  if (floor.days === 0) return `(${implied(signs[op]![0], bound)})`;
  const bounds: string[] = [];
  if (op === "==" || op.startsWith(">")) bounds.push(implied(">=", bound));
  if (op === "==" || op.startsWith("<")) bounds.push(implied("<", `${bound} + toIntervalDay(${floor.days})`));
  return `(${one.sql} ${signs[op]![0]} ${two.sql} AND ${bounds.join(" AND ")})`;
}

export function truth(sql: string, isNegated = false): Sql {
  return { sql: isNegated ? `(NOT ${sql})` : sql, type: "boolean", nullable: false };
}

/** `x IN (…)` of single values; a subquery or an array is written as it is. */
function membership(draft: SqlDraft, isNegated: boolean, left: Sql, list: readonly Sql[], at: Placed): Sql {
  const values = list.filter((item) => item.constant !== null);
  const hasNull = values.length < list.length;
  const haveItsType = values.every(
    (item) => typeof item.constant !== "string" || isTypedValue(left, item.constant),
  );
  const comparable = haveItsType ? left : asType(left, "string");
  let subject = left;
  const items: string[] = [];
  for (const each of values) {
    const [one, two] = sameTypes(draft, comparable, each, at);
    subject = one;
    items.push(two.sql);
  }
  const types = new Set(values.map(({ type }) => type));
  if (types.size > 1 && left.text !== undefined) {
    // Values of several types are compared one by one.
    const each = list.map((item) => comparison(draft, "==", left, item, at).sql);
    return truth(`(${each.join(" OR ")})`, isNegated);
  }
  const plain = items.length > 0 ? `${subject.sql} IN (${items.join(", ")})` : "0";
  const amongSql = subject.nullable ? `ifNull(${plain}, 0)` : `(${plain})`;
  const memberSql = hasNull ? `(${amongSql} OR isNull(${left.sql}))` : amongSql;
  return truth(memberSql, isNegated);
}

/** Two values made comparable. @throws SqlProblem for a text that is no such value. */
export function sameTypes(draft: SqlDraft, left: Sql, right: Sql, at: Placed): [Sql, Sql] {
  if (isTypedBeside(left, right)) return [left, convertedText(draft, right, left, at)];
  if (isTypedBeside(right, left)) return [convertedText(draft, left, right, at), right];
  const item = asType(left, right.type);
  const two = asType(right, left.type);
  if (typeof two.constant === "string") return [item, convertedText(draft, two, item, at)];
  if (typeof item.constant === "string") return [convertedText(draft, item, two, at), two];
  if (isMoment(item) && isMoment(two) && item.type !== two.type) return [toMidnight(item), toMidnight(two)];
  if (item.type === "uuid" && two.type === "string") return [toText(item), two];
  if (two.type === "uuid" && item.type === "string") return [item, toText(two)];
  if (isMoment(item) && two.type === "string") return [item, parsedMoment(two)];
  if (isMoment(two) && item.type === "string") return [parsedMoment(item), two];
  return [item, two];
}

const isMoment = ({ type }: Sql): boolean => type === "datetime" || type === "date";
const toText = (item: Sql): Sql => ({ ...item, sql: `toString(${item.sql})`, type: "string" });
const parsedMoment = ({ sql }: Sql): Sql => ({
  sql: `parseDateTime64BestEffortOrNull(${sql}, 6, {tz:String})`,
  type: "datetime",
  nullable: true,
});

const uuidShape = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
export const dateShape = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;

/** A property of a known type beside a text of the query, which is read as that type. */
function isTypedBeside(left: Sql, right: Sql): boolean {
  if (left.text === undefined || left.type === "string") return false;
  return typeof right.constant === "string" && isTypedValue(left, right.constant);
}

function isTypedValue(item: Sql, text: string): boolean {
  if (item.type === "number") return text.trim() !== "" && Number.isFinite(Number(text));
  if (item.type === "boolean") return text === "true" || text === "false";
  return isMoment(item) && dateShape.test(text);
}

/** A text of the query beside a value of another type. */
function convertedText(draft: SqlDraft, text: Sql, operand: Sql, at: Placed): Sql {
  const value = String(text.constant);
  if (operand.type === "uuid") {
    if (!uuidShape.test(value)) refuse("A UUID is compared with a text that is none.", at);
    return { sql: draft.bind("UUID", value), type: "uuid", nullable: false };
  }
  if (isMoment(operand)) return asMoment(draft, text, operand.type === "date", at);
  if (operand.type === "number" && isTypedValue(operand, value))
    return { sql: draft.bind("Float64", Number(value)), type: "number", nullable: false };
  if (operand.type === "boolean" && isTypedValue(operand, value)) return truth(value);
  return text;
}

/** A text of the query as a moment, or as a day. @param zone of a moment that names none; the project's by default. */
export function asMoment(draft: SqlDraft, text: Sql, isDay: boolean, at: Placed, zone = "{tz:String}"): Sql {
  const value = String(text.constant).trim();
  const day = value.slice(0, 10);
  const exists = dateShape.test(value) && new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day);
  if (!exists || day < "1900" || day >= "2300")
    refuse("A date is needed, like '2024-01-31' or '2024-01-31 12:00:00'.", at);
  if (isDay && value.length === 10)
    return { sql: `toDate32(${draft.bind("String", value)})`, type: "date", nullable: false };
  const sql = `parseDateTime64BestEffort(${draft.bind("String", value)}, 6, ${zone})`;
  return { sql, type: "datetime", nullable: false };
}

/** `x IN (…)`: values, an array, or a SELECT. */
export function inSql(isNegated: boolean, left: Sql, right: ExpressionNode, scope: SqlScope): Sql {
  const { draft } = scope;
  if (right.node === "SelectQuery" || right.node === "SelectSetQuery") {
    const inner = scope.select(right);
    const [column] = inner.columns;
    const subject = column ? asType(left, column.column.type) : left;
    draft.hasNullMembers ||= subject.nullable && column?.column.nullable === true;
    const needsText = subject.type === "uuid" && column?.column.type === "string";
    const sql = `${needsText ? `toString(${subject.sql})` : subject.sql} IN (${inner.sql})`;
    return truth(subject.nullable ? `ifNull(${sql}, 0)` : `(${sql})`, isNegated);
  }
  const isCall = right.node === "Call" && ["tuple", "array"].includes(right.name.toLowerCase());
  const list =
    right.node === "Tuple" || right.node === "Array"
      ? right.exprs
      : isCall && right.node === "Call"
        ? right.args
        : undefined;
  if (!list || (list.length > 0 && list.every((node) => node.node === "Tuple"))) {
    const whole = scope.expression(right);
    const isArray = whole.type === "array" || (!list && whole.type === "unknown");
    if (isArray && whole.constant === undefined) return truth(`has(${whole.sql}, ${left.sql})`, isNegated);
    if (list) return truth(`(${left.sql} IN ${whole.sql})`, isNegated);
    if (whole.constant !== undefined) return membership(draft, isNegated, left, [whole], right);
    // Behind IN the engine would read a name as a table.
    return truth(comparison(draft, "==", left, whole, right).sql, isNegated);
  }
  const item = oneParameter(draft, left, list);
  if (item) return truth(item, isNegated);
  const values = list.map((each) => scope.expression(each));
  if (!left.floor && values.every((item) => item.constant !== undefined))
    return membership(draft, isNegated, left, values, right);
  const each = values.map((item) => comparison(draft, "==", left, item, right).sql);
  return truth(`(${each.join(" OR ")})`, isNegated);
}

/**
 * `x IN (…)` of texts beside a text, or of whole numbers beside a number, with one parameter for all of them: thousands
 * of parameters take the engine and the request tens of milliseconds. Undefined for any other list.
 */
function oneParameter(draft: SqlDraft, left: Sql, list: readonly ExpressionNode[]): string | undefined {
  const values = list.map((node) => (node.node === "Constant" && !node.value_type ? node.value : undefined));
  const isText = values.every((item) => typeof item === "string" && !item.includes("\0"));
  if (values.length < 2 || (isText ? left.type !== "string" : !values.every(Number.isSafeInteger)))
    return undefined;
  const subject = isText ? left : asType(left, "number");
  if (!isText && subject.type !== "number") return undefined;
  for (const node of list) draft.countPart(node);
  const memberSql = `${subject.sql} IN ${draft.bind(isText ? "Array(String)" : "Array(Int64)", values as string[])}`;
  return subject.nullable ? `ifNull(${memberSql}, 0)` : `(${memberSql})`;
}

/** A condition: a text is true or false where it is one of these words, and null, which counts as false, otherwise. */
export function condition(value: Sql): string {
  return value.type === "number" && value.text !== undefined
    ? `(${value.sql} != 0)`
    : asType(value, "boolean").sql;
}

/** NOT of a value: null for null, as for a property without a value. */
export function negation(value: Sql): Sql {
  return { ...truth(`(NOT ${condition(value)})`), nullable: value.nullable };
}

export function logic(op: "And" | "Or", exprs: readonly ExpressionNode[], scope: SqlScope): Sql {
  const parts = exprs.map((expr) => scope.expression(expr));
  if (parts.length === 0) return truth(op === "And" ? "1" : "0");
  const joined = parts.map(condition).join(op === "And" ? " AND " : " OR ");
  return {
    sql: `(${joined})`,
    type: "boolean",
    nullable: parts.some(({ nullable }) => nullable),
  };
}
