// Comparisons: null equals no value and differs from any, a property is compared as the other side is, moments by the
// stored column.

import { expect, test } from "bun:test";
import type { ExpressionNode } from "../../../../src/query/sql/tree.ts";
import { call, clausesOf, compare, constant, field, refusalOf, select, tuple, written } from "./trees.ts";

const property = field("props", "a");

test.each([
  ["==", 'ifNull(maybe = "x", 0)'],
  ["!=", 'ifNull(maybe != "x", 1)'],
  ["<", 'ifNull(maybe < "x", 0)'],
  ["not like", 'ifNull(maybe NOT LIKE "x", 1)'],
  ["=~", 'ifNull(match(maybe, "x"), 0)'],
  ["!~*", "ifNull(NOT match(maybe, concat('(?i)', \"x\")), 1)"],
])("null %s a value is no null", (op, sql) => {
  expect(written(compare(op, field("maybe"), constant("x")))).toBe(sql);
});

test("null equals null, also where both sides may be one", () => {
  expect(written(compare("==", field("maybe"), constant(null)))).toBe("isNull(maybe)");
  expect(written(compare("!=", constant(null), field("n")))).toBe("isNotNull(n)");
  expect(written(compare("==", field("maybe"), property))).toBe(
    "ifNull(maybe = props.a, isNull(maybe) AND isNull(props.a))",
  );
  expect(written(compare("!=", field("maybe"), property))).toBe(
    "ifNull(maybe != props.a, isNotNull(maybe) OR isNotNull(props.a))",
  );
  expect(written(compare("<", field("n"), field("n")))).toBe("(n < n)");
});

test.each<[ExpressionNode, string]>([
  [constant(5), 'ifNull(toFloat64OrNull(props.a) = "5", 0)'],
  [constant("5"), 'ifNull(props.a = "5", 0)'],
  [constant(true), "ifNull(transform(props.a, ['true', 'false'], [true, false], NULL) = true, 0)"],
  [field("at"), "ifNull(parseDateTime64BestEffortOrNull(props.a, 6, {tz:String}) = at, 0)"],
  [field("uuid"), "ifNull(props.a = toString(uuid), 0)"],
])("a property is compared as %j", (other, sql) => {
  expect(written(compare("==", property, other))).toBe(sql);
});

test("a text beside a property of known type is that type, and a text that is no such value stays a text", () => {
  const numeric = { propertyType: () => "Numeric" as const };
  expect(written(compare(">", property, constant("5")), numeric)).toBe(
    "ifNull(toFloat64OrNull(props.a) > 5, 0)",
  );
  expect(written(compare(">", property, constant("five")), numeric)).toBe('ifNull(props.a > "five", 0)');
});

const whereOf = (where: ExpressionNode) =>
  / WHERE (.*?)(?: LIMIT \d+)?$/.exec(clausesOf(select([field("n")], "rows", { where })))![1];
const day = constant("2024-01-01");
const moment = 'parseDateTime64BestEffort("2024-01-01", 6, {tz:String})';

test("a moment is compared by the column that the index knows, from either side", () => {
  expect(whereOf(compare(">", field("at"), day))).toBe(`(at > toDateTime64(${moment}, 6, {tz:String}))`);
  expect(whereOf(compare("<", day, field("at")))).toBe(`(at > toDateTime64(${moment}, 6, {tz:String}))`);
  expect(whereOf(compare("!=", field("at"), day))).toBe(`(at != ${moment})`);
});

test("what is rounded down is compared as it is, and bounded by the column on both sides", () => {
  const bound = 'toDateTime64(toDate32("2024-01-01"), 6, {tz:String})';
  const rounded = call("toDate", field("at"));
  expect(whereOf(compare("==", rounded, day))).toBe(
    `(toDate(at) = toDate32("2024-01-01") AND at >= ${bound} AND at < ${bound} + toIntervalDay(2))`,
  );
  expect(whereOf(compare("<", rounded, day))).toBe(
    `(toDate(at) < toDate32("2024-01-01") AND at < ${bound} + toIntervalDay(2))`,
  );
  const month = call("toStartOfMonth", field("at"));
  expect(whereOf(compare("<", month, day))).toEndWith("+ toIntervalDay(33))");
});

test("IN of texts or of whole numbers is one parameter, others are compared one by one", () => {
  expect(written(compare("in", field("text"), tuple(constant("a"), constant("b"))))).toBe(
    '(text IN ["a","b"])',
  );
  expect(written(compare("in", property, tuple(constant(1), constant(2))))).toBe(
    "ifNull(toFloat64OrNull(props.a) IN [1,2], 0)",
  );
  expect(written(compare("not in", field("maybe"), tuple(constant("a"), constant("b"))))).toBe(
    '(NOT ifNull(maybe IN ["a","b"], 0))',
  );
  expect(written(compare("in", property, tuple(constant(1), constant("b"))))).toBe(
    '(ifNull(toFloat64OrNull(props.a) = "1", 0) OR ifNull(props.a = "b", 0))',
  );
  expect(written(compare("in", field("n"), tuple()))).toBe("(0)");
  expect(written(compare("in", field("maybe"), tuple(constant("a"), constant(null))))).toBe(
    '(ifNull(maybe IN ("a"), 0) OR isNull(maybe))',
  );
});

test("a name behind IN is a value, never a table", () => {
  expect(written(compare("in", field("text"), field("maybe")))).toBe("ifNull(text = maybe, 0)");
  expect(written(compare("in", field("text"), field("list")))).toBe("has(list, text)");
});

test.each([
  [compare("==", field("uuid"), constant("x")), "A UUID is compared with a text that is none."],
  [
    compare("==", field("at"), constant("yesterday")),
    "A date is needed, like '2024-01-31' or '2024-01-31 12:00:00'.",
  ],
  [
    compare("==", field("at"), constant("2024-02-30")),
    "A date is needed, like '2024-01-31' or '2024-01-31 12:00:00'.",
  ],
  [
    compare("==", field("at"), constant("1899-12-31")),
    "A date is needed, like '2024-01-31' or '2024-01-31 12:00:00'.",
  ],
  [
    compare("==", field("at"), constant("2300-01-01")),
    "A date is needed, like '2024-01-31' or '2024-01-31 12:00:00'.",
  ],
  [compare("<=>", field("n"), constant(1)), "The operator <=> is not supported."],
])("%j is refused", (node, message) => {
  expect(refusalOf(node)).toBe(message);
});

test("the first and the last day that can be compared are", () => {
  for (const bound of ["1900-01-01", "2299-12-31"]) {
    expect(written(compare("==", field("day"), constant(bound)))).toBe(`(day = toDate32("${bound}"))`);
  }
});
