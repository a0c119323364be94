import { expect, test } from "bun:test";
import { toBytes } from "../../../src/core/bytes.ts";
import { formFault, shapeFault } from "../../../src/core/json/json_shape.ts";
import { limits } from "../../../src/core/limits.ts";

const { managementDepthMax: depth, managementPartsMax: parts } = limits;

test("a body is refused before it is parsed when it is nested too deep", () => {
  const nested = (levels: number) => toBytes("[".repeat(levels) + "]".repeat(levels));
  expect(shapeFault(nested(depth))).toBeUndefined();
  expect(shapeFault(nested(depth + 1))).toBe(`nested deeper than ${depth} levels`);
  expect(shapeFault(toBytes('{"a":'.repeat(depth + 1)))).toContain("nested deeper");
});

test("and when it has more members, objects and arrays than a request has any use for", () => {
  const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"k${i}":1`).join(",")}}`;
  expect(shapeFault(toBytes(members(parts - 1)))).toBeUndefined();
  expect(shapeFault(toBytes(members(parts)))).toContain(`more than ${parts}`);
  expect(shapeFault(toBytes(`[${"[],".repeat(parts)}1]`))).toContain(`more than ${parts}`);
});

test("and when its arrays or its form have more elements or fields", () => {
  const list = (count: number) => toBytes(`[${Array(count).fill("0").join(",")}]`);
  expect(shapeFault(list(parts + 1))).toBeUndefined();
  expect(shapeFault(list(parts + 2))).toBe(`more than ${parts} elements`);
  expect(shapeFault(toBytes(JSON.stringify({ a: ",".repeat(2 * parts) })))).toBeUndefined();
  const form = (fields: number) => toBytes(Array(fields).fill("a=1").join("&"));
  expect(formFault(form(parts))).toBeUndefined();
  expect(formFault(form(parts + 1))).toBe(`more than ${parts} fields`);
  expect(formFault(toBytes(""))).toBeUndefined();
});

test("what stands in texts does not count, nor does the end of one that is missing", () => {
  const brackets = "[{:".repeat(parts);
  expect(shapeFault(toBytes(JSON.stringify({ a: `${brackets}\\"${brackets}` })))).toBeUndefined();
  expect(shapeFault(toBytes(`{"a":"${brackets}`))).toBeUndefined();
  expect(shapeFault(toBytes(`["${brackets}\\`))).toBeUndefined();
});
