// What one compilation carries: parameters, constants of each type, names, and its budget.

import { expect, test } from "bun:test";
import { queryLimits } from "../../../../src/query/limits.ts";
import {
  asType,
  constantSql,
  type SqlContext,
  SqlDraft,
  textAs,
} from "../../../../src/query/sql/compile/draft.ts";
import { type Sql, SqlProblem } from "../../../../src/query/sql/compile/value.ts";

function openDraft(more: Partial<SqlContext> = {}) {
  const compilers = {
    expression: () => ({ sql: "", type: "unknown" as const, nullable: true }),
    select: () => ({ sql: "", columns: [] }),
  };
  return new SqlDraft({ project_id: 7, timezone: "UTC", now: 1500, text: "", ...more }, compilers);
}

test("every statement has the project, its zone, and one moment for now()", () => {
  expect(openDraft().params).toEqual({ project_id: 7, tz: "UTC", now: "1970-01-01 00:00:01.500" });
});

test("equal values of one type share a parameter, those of other types and equal texts do not", () => {
  const draft = openDraft();
  const names = [
    draft.bind("String", "1"),
    draft.bind("String", "1"),
    draft.bind("UInt8", "1"),
    draft.bind("Array(String)", ["a,b", "c"]),
    draft.bind("Array(String)", ["a", "b,c"]),
  ];
  expect(names).toEqual([
    "{p0:String}",
    "{p0:String}",
    "{p1:UInt8}",
    "{p2:Array(String)}",
    "{p3:Array(String)}",
  ]);
  expect(draft.params["p3"]).toEqual(["a", "b,c"]);
});

test("names are different in one compilation, and from those of another beside it", () => {
  const [one, other] = [openDraft(), openDraft({ names: "x" })];
  expect([one.fresh("t"), one.fresh("t"), other.fresh("t"), other.fresh("t")]).toEqual([
    "t0",
    "t1",
    "tx0",
    "tx1",
  ]);
});

test.each([
  [0, "UInt8"],
  [255, "UInt8"],
  [256, "UInt16"],
  [-1, "Int8"],
  [-129, "Int16"],
  [2 ** 32, "UInt64"],
  [18446744073709551615n, "UInt64"],
  [18446744073709551616n, "Int256"],
  [0.5, "Float64"],
  ["a'b", "String"],
])("the constant %p has the type %s", (value, type) => {
  const draft = openDraft();
  expect(constantSql(draft, value).sql).toBe(`{p0:${type}}`);
  expect(draft.params["p0"]).toBe(typeof value === "string" || type === "Float64" ? value : String(value));
});

test("in columns of files whole numbers have one type, as far as it reaches", () => {
  const types = [1, -1, 2 ** 40, 2n ** 63n].map(
    (value) => constantSql(openDraft({ wholeNumbers: "Int64" }), value).sql,
  );
  expect(types).toEqual(["{p0:Int64}", "{p0:Int64}", "{p0:Int64}", "{p0:UInt64}"]);
});

test("words are words, and a list is its members", () => {
  expect([true, null, undefined].map((value) => constantSql(openDraft(), value).sql)).toEqual([
    "true",
    "NULL",
    "NULL",
  ]);
  expect(constantSql(openDraft(), ["a", 1, [null]]).sql).toBe("[{p0:String}, {p1:UInt8}, [NULL]]");
});

test.each([
  ["a\0b", "A text has no NUL character."],
  [Infinity, "A number is finite."],
  [{}, "A value is a text, a number, true, false, null or a list of these."],
])("the value %p is refused", (value, message) => {
  expect(() => constantSql(openDraft(), value)).toThrow(message);
});

test("parts are counted up to their bound, and not beyond", () => {
  const draft = openDraft();
  for (let i = 0; i < queryLimits.sqlPartsMax; i++) draft.countPart(undefined);
  expect(() => draft.countPart(undefined)).toThrow(SqlProblem);
});

test("the values of a query are bounded together, those that are shared once", () => {
  const half = "a".repeat(queryLimits.sqlValuesCharsMax / 2 - "String ".length);
  const draft = openDraft();
  for (let i = 0; i < 10; i++) draft.bind("String", half);
  draft.bind("String", `b${half.slice(1)}`);
  expect(() => draft.bind("String", "")).toThrow(`at most ${queryLimits.sqlValuesCharsMax} characters`);
});

test("a part that is too long is refused, and so are many that are not", () => {
  const part = (chars: number) => ({ sql: "x".repeat(chars) });
  const { sqlStatementCharsMax: most, sqlMadeCharsMax: all } = queryLimits;
  expect(openDraft().bounded(part(most), undefined).sql).toHaveLength(most);
  expect(() => openDraft().bounded(part(most + 1), undefined)).toThrow("The query becomes too long.");
  const draft = openDraft();
  const fitting = Math.floor(all / most);
  for (let i = 0; i < fitting; i++) draft.bounded(part(most), undefined);
  expect(() => draft.bounded(part(all - fitting * most + 1), undefined)).toThrow(
    "The query becomes too long.",
  );
});

test("only a property is read as another type: a column stays what it is", () => {
  const property: Sql = { sql: "x", type: "string", nullable: true, text: "x" };
  const column: Sql = { sql: "c", type: "string", nullable: false };
  expect(asType(property, "number")).toEqual({
    sql: "toFloat64OrNull(x)",
    type: "number",
    nullable: true,
    text: "x",
  });
  expect(asType(column, "number")).toBe(column);
  expect(asType(property, "json")).toBe(property);
  const truth: Sql = { sql: "t", type: "boolean", nullable: true, text: "x" };
  expect([asType(truth, "number"), asType(truth, "string").sql]).toEqual([truth, "x"]);
  expect(textAs("x", "date")).toBe("toDate(parseDateTime64BestEffortOrNull(x, 6, {tz:String}))");
});
