// Functions whose SQL is not a plain call of the engine's.

import { expect, test } from "bun:test";
import { call, constant, field, refusalOf, written } from "../trees.ts";

const property = field("props", "a");
const text = (value: string) => constant(value);

test.each([
  ["now", call("now"), "NOW"],
  ["today", call("today"), "toDate(NOW)"],
  ["yesterday", call("yesterday"), "(toDate(NOW) - 1)"],
  [
    "a moment of a text",
    call("toDateTime", text("2024-01-01")),
    'parseDateTime64BestEffort("2024-01-01", 6, {tz:String})',
  ],
  [
    "a moment in another zone",
    call("toDateTime", text("2024-01-01"), text("UTC")),
    'parseDateTime64BestEffort("2024-01-01", 6, "UTC")',
  ],
  [
    "a moment of a property",
    call("toDateTime", property),
    "parseDateTime64BestEffortOrNull(toString(props.a), 6, {tz:String})",
  ],
  ["a moment of a number", call("toDateTime", field("n")), "toDateTime(n, {tz:String})"],
  ["a moment of a day", call("toDateTime", field("day")), "toDateTime64(day, 6, {tz:String})"],
  ["a day of a moment", call("toDate", field("at")), "toDate(at)"],
  ["a day of a text", call("toDate", text("2024-01-01")), 'toDate32("2024-01-01")'],
  ["a number of a property", call("toFloat", property), "accurateCastOrNull(props.a, 'Float64')"],
  [
    "milliseconds",
    call("fromUnixTimestamp64Milli", property),
    "fromUnixTimestamp64Milli(toInt64(toFloat64OrNull(props.a)), {tz:String})",
  ],
  [
    "a part of a text",
    call("split_part", field("maybe"), text(","), constant(2)),
    'arrayElement(splitByString(",", ifNull(maybe, \'\')), "2")',
  ],
  [
    "items of two lists of columns",
    call("hasAny", field("list"), field("list")),
    "notEmpty(arrayIntersect(list, list))",
  ],
  [
    "all items of one list in another",
    call("hasAll", field("list"), field("list")),
    "(length(arrayIntersect(list, list)) = arrayUniq(list))",
  ],
  [
    "items of a list of the query",
    call("hasAny", field("list"), { node: "Array", exprs: [constant("a")] }),
    'hasAny(list, ["a"])',
  ],
  ["a list as JSON", call("json_agg", field("n")), "toJSONString(groupArray(n))"],
])("%s", (_, node, sql) => {
  expect(written(node)).toBe(sql);
});

test("a shift by hours of a day begins at its midnight, one by days is a day; units may be many", () => {
  expect(written(call("dateAdd", text("hours"), constant(3), field("day")))).toBe(
    '(toDateTime64(day, 6, {tz:String}) + toIntervalHour("3"))',
  );
  expect(written(call("dateSub", text("DAY"), property, field("day")))).toBe(
    "(day - toIntervalDay(toFloat64OrNull(props.a)))",
  );
  expect(written(call("dateAdd", field("at"), call("toIntervalDay", constant(1))))).toBe(
    '(at + toIntervalDay("1"))',
  );
});

test("values of which one is the result are alike: properties beside numbers are numbers, among themselves texts", () => {
  expect(written(call("if", field("n"), property, constant(2)))).toBe('if(n, toFloat64OrNull(props.a), "2")');
  expect(written(call("multiIf", field("n"), property, field("n"), field("n"), constant(2)))).toBe(
    'multiIf(n, toFloat64OrNull(props.a), n, n, "2")',
  );
  expect(written(call("coalesce", property, field("props", "b")))).toBe("coalesce(props.a, props.b)");
  const types = {
    propertyType: (_: string, name: string) => (name === "a" ? ("Numeric" as const) : ("Boolean" as const)),
  };
  expect(written(call("coalesce", property, field("props", "b")), types)).toBe("coalesce(props.a, props.b)");
});

test("the result may be null where every value may be, or one is", () => {
  const isNull = (...args: Parameters<typeof call>) =>
    written({ node: "CompareOperation", op: "==", left: call(...args), right: field("text") });
  expect(isNull("coalesce", field("maybe"), field("text"))).toBe("(coalesce(maybe, text) = text)");
  expect(isNull("coalesce", field("maybe"), field("maybe"))).toStartWith("ifNull(");
  expect(isNull("if", field("n"), field("maybe"), field("text"))).toStartWith("ifNull(");
  expect(isNull("nullIf", field("text"), field("text"))).toStartWith("ifNull(");
});

test("a text that is joined of null is one without it", () => {
  expect(written(call("concat", field("maybe"), field("n")))).toBe(
    "concat(ifNull(maybe, ''), toString(n), '')",
  );
});

test("JSONExtract takes plain types, bound as a value", () => {
  expect(written(call("JSONExtract", field("maybe"), text("k"), text("Array(Nullable(Int64))")))).toBe(
    'JSONExtract(ifNull(maybe, \'\'), "k", "Array(Nullable(Int64))")',
  );
  for (const type of [
    "AggregateFunction(sum, Int64)",
    "Decimal(76, 2)",
    "Int64); DROP",
    "LowCardinality(String)",
    "",
  ]) {
    expect(refusalOf(call("JSONExtract", field("maybe"), text("k"), text(type)))).toStartWith(
      "The type is a text of",
    );
  }
  const long = `Array(${"Int64, ".repeat(40)}Int64)`;
  expect(refusalOf(call("JSONExtract", field("maybe"), text("k"), text(long)))).toStartWith(
    "The type is a text of",
  );
});

test.each([
  [
    call("dateAdd", text("fortnight"), constant(1), field("at")),
    "The unit is one of second, minute, hour, day, week, month, quarter, year.",
  ],
  [call("toDateTime", text("yesterday")), "A date is needed, like '2024-01-31' or '2024-01-31 12:00:00'."],
  [
    call("matchesAction", text("x")),
    'The function "matchesAction" is not supported. Actions do not exist here: name the events and properties instead.',
  ],
  [call("SLEEP", constant(3)), 'The function "SLEEP" is not supported. A query does not wait.'],
  [
    call("arrayFold", constant(1)),
    'The function "arrayFold" is not supported. It works too long on one row.',
  ],
  [call("if", field("n"), field("n")), '"if" takes 3 arguments, not 2.'],
  [call("toDecimal", field("n"), constant(19)), "A decimal has at most 18 digits behind its point."],
])("%j is refused", (node, message) => {
  expect(refusalOf(node)).toBe(message);
});
