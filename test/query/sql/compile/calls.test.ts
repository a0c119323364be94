// Calls: how many arguments, what is read as a number, truths and texts, and what an aggregate may have.

import { expect, test } from "bun:test";
import type { CallNode } from "../../../../src/query/sql/tree.ts";
import { call, compare, constant, field, refusalOf, written } from "./trees.ts";

const property = field("props", "a");
const with_ = (node: CallNode, more: Partial<CallNode>): CallNode => ({ ...node, ...more });

test("a name means the same in any case, and a comparison may be called as a function", () => {
  expect(written(call("LoWeR", field("text")))).toBe("lower(text)");
  expect(written(call("equals", field("n"), constant(1)))).toBe('(n = "1")');
  expect(written(call("lessOrEquals", property, constant(1)))).toBe(
    'ifNull(toFloat64OrNull(props.a) <= "1", 0)',
  );
  expect(written(call("notILike", field("maybe"), constant("a%")))).toBe('ifNull(maybe NOT ILIKE "a%", 1)');
});

test("a property is a number where numbers are needed, and a text where texts are", () => {
  expect(written(call("sum", property))).toBe("sum(toFloat64OrNull(props.a))");
  expect(written(call("round", property, constant(1)))).toBe('round(toFloat64OrNull(props.a), "1")');
  const isNumber = { propertyType: () => "Numeric" as const };
  expect(written(call("lower", property), isNumber)).toBe("lower(props.a)");
  expect(written(call("min", property))).toBe("min(props.a)");
});

test("AND, OR and NOT are truths, of a property where it is `true` or `false`; of nothing AND is true and OR is not", () => {
  const truth = "transform(props.a, ['true', 'false'], [true, false], NULL)";
  expect(written(call("and", property, field("n")))).toBe(`(${truth} AND n)`);
  expect(written(call("or", field("n"), property))).toBe(`(n OR ${truth})`);
  expect(written(call("not", property))).toBe(`(NOT ${truth})`);
  expect([written(call("and")), written(call("or"))]).toEqual(["1", "0"]);
});

test("a distinct count is an exact one, a filter is the aggregate's own, a parameter a number", () => {
  expect(written(with_(call("count", field("text")), { distinct: true }))).toBe("uniqExact(text)");
  expect(written(with_(call("groupArray", field("text")), { distinct: true }))).toBe(
    "groupArray(DISTINCT text)",
  );
  expect(written(with_(call("sum", field("n")), { filter_expr: property }))).toBe(
    "sumIf(n, transform(props.a, ['true', 'false'], [true, false], NULL))",
  );
  expect(written(with_(call("quantile", field("n")), { params: [constant(0.9)] }))).toBe("quantile(0.9)(n)");
  expect(written(call("count", field("*")))).toBe("count()");
});

test("windowFunnel takes whole seconds and the names of its modes", () => {
  const funnel = call("windowFunnel", field("at"), compare("==", field("n"), constant(1)));
  expect(written(with_(funnel, { params: [constant(3600), constant("strict_order")] }))).toBe(
    "windowFunnel(3600, 'strict_order')(toDateTime(at), (n = \"1\"))",
  );
});

test("CASE compares its subject with each value, and its last part stands alone", () => {
  const parts = [field("text"), constant("a"), constant(1), constant("b"), constant(2), constant(3)];
  expect(written(call("_caseWithExpression", ...parts))).toBe(
    'multiIf((text = "a"), "1", (text = "b"), "2", "3")',
  );
});

test("a day among the arguments of a function of moments is its midnight in the project's zone", () => {
  expect(written(call("addHours", field("day"), constant(1)))).toBe(
    'addHours(toDateTime64(day, 6, {tz:String}), "1")',
  );
  expect(written(call("addDays", field("day"), constant(1)))).toBe('addDays(day, "1")');
});

test.each([
  [call("lower"), '"lower" takes 1 arguments, not 0.'],
  [call("lower", field("text"), field("text")), '"lower" takes 1 arguments, not 2.'],
  [call("equals", field("text")), '"equals" takes 2 arguments, not 1.'],
  [call("arrayConcat", field("list")), '"arrayConcat" takes at least 2 arguments, not 1.'],
  [call("lower", field("*")), '"*" is taken by count() only.'],
  [call("exists", field("text")), "EXISTS takes a SELECT."],
  [
    with_(call("lower", field("text")), { distinct: true }),
    '"lower" takes no parameters, DISTINCT or FILTER.',
  ],
  [with_(call("sum", field("n")), { order_by: [] }), "ORDER BY within a function is not supported."],
  [
    with_(call("quantile", field("n")), { params: [constant("0.9); --")] }),
    "A parameter of an aggregate is a number.",
  ],
  [
    with_(call("quantile", field("n")), { params: [constant(1), constant(2)] }),
    '"quantile" has at most 1 parameters.',
  ],
  [call("cuont"), 'The function "cuont" is not supported. Did you mean "count"?'],
  [call("constructor"), 'The function "constructor" is not supported.'],
])("%j is refused", (node, message) => {
  expect(refusalOf(node)).toBe(message);
});
