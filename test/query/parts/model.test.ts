// Fields that several kinds of queries have: what is read, what means nothing, and what is refused by name.

import { expect, test } from "bun:test";
import Type, { type TSchema } from "typebox";
import { Fault } from "../../../src/core/fault.ts";
import { checkFields } from "../../../src/http/fields/field_check.ts";
import { queryLimits } from "../../../src/query/limits.ts";
import {
  breakdownFilter,
  dateRange,
  expressionList,
  interval,
  listFields,
  maths,
  node,
  timedListFields,
} from "../../../src/query/parts/model.ts";

function read(schema: TSchema, value: unknown): unknown {
  try {
    return (checkFields(Type.Object({ it: schema }), { it: value }) as { it: unknown }).it;
  } catch (thrown) {
    if (thrown instanceof Fault) return `${thrown.code} ${thrown.attr}`;
    throw thrown;
  }
}

test("every math, interval and type of a breakdown is read, and no other", () => {
  for (const math of maths) expect(read(node, { math })).toEqual({ math });
  expect(read(node, { math: "p50" })).toBe("invalid_choice it__math");
  const intervals = ["second", "minute", "hour", "day", "week", "month", "quarter", "year", null];
  expect(intervals.map((name) => read(interval, name))).toEqual(intervals);
  expect(read(interval, "fortnight")).toBe("invalid_choice it");
  for (const breakdown_type of ["event", "person", "group", "session", "hogql"]) {
    expect(read(breakdownFilter, { breakdown_type })).toEqual({ breakdown_type });
  }
  expect(read(breakdownFilter, { breakdown_type: "cohort" })).toBe("invalid_choice it__breakdown_type");
});

test("a group's type is one of five, by its index", () => {
  for (const index of [0, 4])
    expect(read(node, { math_group_type_index: index })).toEqual({ math_group_type_index: index });
  expect(read(node, { math_group_type_index: 5 })).toBe("max_value it__math_group_type_index");
  expect(read(breakdownFilter, { breakdown_group_type_index: -1 })).toBe(
    "min_value it__breakdown_group_type_index",
  );
});

test("what is not answered is refused by its name, unless its value means nothing", () => {
  expect(read(node, { math_multiplier: "x" })).toBe("invalid_input it__math_multiplier");
  expect(read(node, { optionalInFunnel: null })).toEqual({});
  expect(read(node, { optionalInFunnel: true })).toBe("invalid_input it__optionalInFunnel");
});

test("fields of drawing stay as they are, and a name that is none is refused", () => {
  expect(read(node, { event: "paid", name: "Paid", version: 3 })).toEqual({
    event: "paid",
    name: "Paid",
    version: 3,
  });
  expect(String(read(node, { evnt: "paid" }))).toEndWith(" it__evnt");
});

test("texts of queries are bounded, at the bound they are read", () => {
  const most = "x".repeat(queryLimits.expressionCharsMax);
  expect(read(node, { math_hogql: most })).toEqual({ math_hogql: most });
  expect(read(node, { math_hogql: `${most}x` })).toBe("max_length it__math_hogql");
  expect(read(dateRange, { date_from: "x".repeat(40) })).toEqual({ date_from: "x".repeat(40) });
  expect(read(dateRange, { date_from: "x".repeat(41) })).toBe("max_length it__date_from");
  expect(read(node, { custom_name: "x".repeat(401) })).toBe("max_length it__custom_name");
});

test("lists of expressions have as many as a query has columns, and at least what is asked", () => {
  const columns = (count: number) => Array.from({ length: count }, (_, i) => `c${i}`);
  const { queryColumnsMax: most } = queryLimits;
  expect(read(expressionList(), columns(most))).toEqual(columns(most));
  expect(typeof read(expressionList(), columns(most + 1))).toBe("string");
  expect(read(expressionList(), [])).toEqual([]);
  expect(typeof read(expressionList(1), [])).toBe("string");
  expect(typeof read(expressionList(), "c1")).toBe("string");
});

test("pages of lists have a bounded length and begin at any row", () => {
  const { limit, offset } = listFields;
  const { queryRowsMax: most } = queryLimits;
  expect([read(limit, 1), read(limit, most), read(limit, null)]).toEqual([1, most, null]);
  expect([read(limit, 0), read(limit, most + 1)]).toEqual(["min_value it", "max_value it"]);
  expect([read(offset, 0), read(offset, -1)]).toEqual([0, "min_value it"]);
  expect(String(read(timedListFields.personId, "no uuid"))).toEndWith(" it");
});

test("a breakdown shows one value at least, and a number above the bound is read as sent", () => {
  const { breakdownValuesMax: most } = queryLimits;
  expect(read(breakdownFilter, { breakdown_limit: 0 })).toBe("min_value it__breakdown_limit");
  for (const breakdown_limit of [1, most, most + 1]) {
    expect(read(breakdownFilter, { breakdown_limit })).toEqual({ breakdown_limit });
  }
});
