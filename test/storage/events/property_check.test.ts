// What property filters may be, before any is compiled.

import { expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import {
  checkPropertyFilters,
  expressionsIn,
  filtersOfQueries,
  patternsIn,
} from "../../../src/storage/events/property_check.ts";
import { storageLimits } from "../../../src/storage/limits.ts";

function refusalOf(value: unknown, rules = filtersOfQueries): [code: string, attr: string | null] {
  try {
    checkPropertyFilters(value, "properties", rules);
  } catch (thrown) {
    if (thrown instanceof Fault) return [thrown.code, thrown.attr];
    throw thrown;
  }
  throw new Error("it was accepted");
}

test("a filter is of an event and exact unless it says otherwise", () => {
  expect(checkPropertyFilters([{ key: "plan", value: "paid" }])).toEqual([
    { type: "event", key: "plan", operator: "exact", values: ["paid"] },
  ]);
  expect(checkPropertyFilters(undefined)).toEqual([]);
  expect(checkPropertyFilters(null)).toEqual([]);
});

test("a group keeps its members in order, and says where one is wrong", () => {
  const group = (...values: unknown[]) => ({ type: "OR", values });
  const one = { key: "a", value: 1 };
  expect(checkPropertyFilters(group(one, group(one)))).toMatchObject([
    {
      type: "OR",
      values: [
        { key: "a", values: [1] },
        { type: "OR", values: [{ key: "a" }] },
      ],
    },
  ]);
  expect(refusalOf(group(one, { value: 1 }))).toEqual(["required", "properties__values__1__key"]);
  expect(refusalOf({ type: "XOR", values: [] })).toEqual(["invalid_choice", "properties__type"]);
  let deep = group(one);
  for (let depth = 0; depth <= storageLimits.propertyGroupsDeepMax; depth++) deep = group(deep);
  expect(refusalOf(deep)[0]).toBe("invalid_input");
});

test("what a filter does not have, or has twice over, is refused by name", () => {
  const cases: [unknown, string, string][] = [
    ["plan", "not_a_list", "properties"],
    [["plan"], "not_a_dict", "properties__0"],
    [[{ value: 1 }], "required", "properties__0__key"],
    [[{ key: "a\0", value: 1 }], "invalid_input", "properties__0__key"],
    [[{ key: "a", value: 1, cohort: 2 }], "invalid_input", "properties__0__cohort"],
    [[{ key: "a", value: 1, type: "cohort" }], "invalid_choice", "properties__0__type"],
    [[{ key: "a", value: 1, operator: "like" }], "invalid_choice", "properties__0__operator"],
    [[{ key: "a", value: 1, type: "group" }], "required", "properties__0__group_type_index"],
    [
      [{ key: "a", value: 1, type: "group", group_type_index: 5 }],
      "invalid_input",
      "properties__0__group_type_index",
    ],
    [[{ key: "$os", value: 1, type: "session" }], "invalid_input", "properties__0__key"],
    [
      [{ key: "text", value: 1, type: "element", operator: "gt" }],
      "invalid_input",
      "properties__0__operator",
    ],
    [[{ key: " ", type: "hogql" }], "invalid_input", "properties__0__key"],
    [[{ key: "1", type: "hogql", value: 1 }], "invalid_input", "properties__0__value"],
  ];
  for (const [value, code, attr] of cases) expect(refusalOf(value)).toEqual([code, attr]);
});

test("a type is accepted where its rules have it, and more filters than the bound are not", () => {
  const hogql = [{ key: "1 = 1", type: "hogql" }];
  expect(refusalOf(hogql, { types: ["event"] })).toEqual(["invalid_choice", "properties__0__type"]);
  expect(expressionsIn(checkPropertyFilters(hogql, "properties", filtersOfQueries))).toHaveLength(1);
  const many = Array.from({ length: storageLimits.propertyFiltersMax }, () => ({ key: "a", value: 1 }));
  expect(checkPropertyFilters(many)).toHaveLength(many.length);
  expect(refusalOf([...many, many[0]])[0]).toBe("max_length");
});

test("min and max are the comparisons they mean, and the bounce of a session is a bit", () => {
  const filters = checkPropertyFilters(
    [
      { key: "a", value: 1, operator: "min" },
      { key: "a", value: 1, operator: "max" },
      { key: "$is_bounce", value: ["true", false], type: "session" },
    ],
    "properties",
    filtersOfQueries,
  );
  expect(filters).toMatchObject([{ operator: "gte" }, { operator: "lte" }, { values: ["1", "0"] }]);
});

test("patterns are those of regular expressions, in groups as well", () => {
  const filters = checkPropertyFilters({
    type: "AND",
    values: [
      { key: "a", value: "^x", operator: "regex" },
      { type: "OR", values: [{ key: "a", value: ["y$"], operator: "not_regex" }] },
      { key: "a", value: "z", operator: "icontains" },
    ],
  });
  expect(patternsIn(filters)).toEqual(["^x", "y$"]);
});

test("the patterns of a filter have a number of steps, with their repetitions", () => {
  const check = (operator: string, value: unknown) => checkPropertyFilters([{ key: "a", value, operator }]);
  for (const operator of ["regex", "not_regex"]) {
    expect(check(operator, "a{5000}")).toHaveLength(1);
    for (const value of ["(a{100}){51}", ["a{3000}", "b{3000}"]])
      expect(() => check(operator, value)).toThrow(
        "Patterns with their repetitions have at most 5000 steps.",
      );
  }
  expect(check("icontains", "(a{100}){51}")).toHaveLength(1);
});
