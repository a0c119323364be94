// Expressions: arithmetic over properties and days, members of JSON, casts, lambdas, and what is refused.

import { expect, test } from "bun:test";
import type { ExpressionNode } from "../../../../src/query/sql/tree.ts";
import { call, constant, field, refusalOf, select, table, written } from "./trees.ts";

const property = field("props", "a");
const arithmetic = (op: string, left: ExpressionNode, right: ExpressionNode): ExpressionNode => ({
  node: "ArithmeticOperation",
  op,
  left,
  right,
});
const at = (array: ExpressionNode, index: ExpressionNode): ExpressionNode => ({
  node: "ArrayAccess",
  array,
  property: index,
});

test("a property counts as a number in arithmetic, and a day beside hours as its midnight", () => {
  expect(written(arithmetic("+", property, constant(1)))).toBe('(toFloat64OrNull(props.a) + "1")');
  const hours = call("toIntervalHour", constant(2));
  expect(written(arithmetic("-", field("day"), hours))).toBe(
    '(toDateTime64(day, 6, {tz:String}) - toIntervalHour("2"))',
  );
  expect(written(arithmetic("-", field("day"), call("toIntervalDay", constant(2))))).toBe(
    '(day - toIntervalDay("2"))',
  );
});

test("the difference of two moments is a number, and a moment with an interval is a moment", () => {
  const difference = arithmetic("-", field("at"), field("at"));
  expect(written({ node: "CompareOperation", op: ">", left: difference, right: property })).toBe(
    "ifNull((at - at) > toFloat64OrNull(props.a), 0)",
  );
  const later = arithmetic("+", field("at"), call("toIntervalDay", constant(1)));
  expect(written({ node: "CompareOperation", op: ">", left: later, right: property })).toBe(
    'ifNull((at + toIntervalDay("1")) > parseDateTime64BestEffortOrNull(props.a, 6, {tz:String}), 0)',
  );
});

test("a member of JSON is one path, however it is written; a place in a list is one too", () => {
  const wanted = "props.a.b";
  expect(written(field("props", "a", "b"))).toBe(wanted);
  expect(written(at(field("props", "a"), constant("b")))).toBe(wanted);
  expect(written(at(at(field("props"), constant("a")), constant("b")))).toBe(wanted);
  expect(written({ node: "TupleAccess", tuple: field("props", "a"), index: 1 })).toBe("props.a.1");
});

test("a key that is computed is a member of the text, and of a list a place", () => {
  expect(written(at(property, field("text")))).toBe(
    "JSONExtract(ifNull(props.a, ''), toString(text), 'Nullable(String)')",
  );
  expect(written(at(field("list"), field("n")))).toBe("arrayElement(list, n)");
  expect(written({ node: "TupleAccess", tuple: call("tuple", field("n")), index: 1 })).toBe(
    "tupleElement(tuple(n), 1)",
  );
});

test("a part of a list has its first and its last place, either of which may be absent", () => {
  const slice = (more: object): ExpressionNode => ({ node: "ArraySlice", array: field("list"), ...more });
  expect(written(slice({ start_expr: constant(2), end_expr: constant(4) }))).toBe(
    'arraySlice(list, "2", "4" - "2" + 1)',
  );
  expect(written(slice({}))).toBe("arraySlice(list, 1)");
});

test("the items of an array are alike: properties beside numbers are numbers", () => {
  const array = (...exprs: ExpressionNode[]): ExpressionNode => ({ node: "Array", exprs });
  expect(written(array(property, field("n")))).toBe("[toFloat64OrNull(props.a), n]");
  expect(written(array(property, field("props", "b")))).toBe("[props.a, props.b]");
});

test("an argument of a lambda hides a column of its name, within the lambda alone", () => {
  const lambda: ExpressionNode = { node: "Lambda", args: ["n"], expr: call("lower", field("n")) };
  const tuple: ExpressionNode = {
    node: "Tuple",
    exprs: [call("arrayMap", lambda, field("list")), field("n")],
  };
  expect(written(tuple)).toMatch(/^tuple\(arrayMap\(\((l\d+)\) -> lower\(\1\), list\), n\)$/);
});

test.each([
  ["Integer", "accurateCastOrNull(props.a, 'Int64')"],
  ["Float64", "accurateCastOrNull(props.a, 'Float64')"],
  ["varchar(20)", "toString(props.a)"],
  ["date", "toDate(parseDateTime64BestEffortOrNull(toString(props.a), 6, {tz:String}))"],
  ["UUID", "accurateCastOrNull(props.a, 'UUID')"],
])("a cast to %s gives null where it cannot", (type_name, sql) => {
  expect(written({ node: "TypeCast", expr: property, type_name })).toBe(sql);
});

test("a range is two comparisons, and IS DISTINCT FROM is one that null does not escape", () => {
  const between = (negated: boolean): ExpressionNode => ({
    node: "BetweenExpr",
    negated,
    expr: field("n"),
    low: constant(1),
    high: constant(2),
  });
  expect(written(between(false))).toBe('((n >= "1") AND (n <= "2"))');
  expect(written(between(true))).toBe('((n < "1") OR (n > "2"))');
  const distinct: ExpressionNode = {
    node: "IsDistinctFrom",
    negated: false,
    left: field("maybe"),
    right: constant("a"),
  };
  expect(written(distinct)).toBe('ifNull(maybe != "a", 1)');
});

test("a SELECT among expressions has the type of its only column", () => {
  const inner = select([call("count")], table("rows"));
  expect(written({ node: "CompareOperation", op: ">", left: inner, right: property })).toMatch(
    /^ifNull\(\(SELECT count\(\) AS c\d+ FROM .*\) > toFloat64OrNull\(props\.a\), 0\)$/,
  );
});

const number = (value: string): ExpressionNode => ({ node: "Constant", value, value_type: "number" });

test("a number of any length keeps its digits, up to sixty", () => {
  expect(written(number("-9007199254740993"))).toBe('"-9007199254740993"');
  expect(written(number("9".repeat(60)))).toBe(`"${"9".repeat(60)}"`);
  expect(refusalOf(number("9".repeat(61)))).toBe("A number is too large, or none.");
  expect(refusalOf(number("inf"))).toBe("A number is too large, or none.");
});

test.each<[ExpressionNode, string]>([
  [{ node: "Dict" }, "A dictionary {…: …} is not supported."],
  [{ node: "SpreadExpr" }, "This is not supported."],
  [
    { node: "TypeCast", expr: property, type_name: "AggregateFunction(sum)" },
    'The type "AggregateFunction(sum)" is not supported.',
  ],
  [
    { node: "CompareOperation", op: "in cohort", left: property, right: constant(1) },
    "Cohorts do not exist here: name the properties instead.",
  ],
  [arithmetic("^", constant(1), constant(2)), 'The operator "^" is not supported.'],
  [field("text", "member"), '"text" has no members.'],
])("%j is refused", (node, message) => {
  expect(refusalOf(node)).toBe(message);
});
