// Formulas over series: what they compute, and what they are refused for.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { queryLimits } from "../../../src/query/limits.ts";
import { readFormula } from "../../../src/query/trends/formula.ts";

const of = (text: string, ...numbers: number[]): number =>
  readFormula(text, null, numbers.length, "at").of(numbers);

test("products come before sums, brackets before both, and equals from the left", () => {
  expect(of("A + B * 2", 1, 3)).toBe(7);
  expect(of("(A+B)*2", 1, 3)).toBe(8);
  expect(of("A - B - C", 10, 3, 2)).toBe(5);
  expect(of("A / B / C", 12, 3, 2)).toBe(2);
  expect(of("100 * a / b", 1, 4)).toBe(25);
  expect(of("-A + 0.5", 1)).toBe(-0.5);
  expect(of(" A % B ", 7, 4)).toBe(3);
});

// formula_ast.py of PostHog computes with Python's operators.
test("a remainder has the sign of the divisor", () => {
  expect([of("A % B", -5, 3), of("A % B", 5, -3), of("A % B", -7, 4), of("(A - 12) % 5", 4)]).toEqual([
    1, -1, 1, 2,
  ]);
  expect(of("A % B", -0.5, 2)).toBe(1.5);
});

test("what has no value is 0", () => {
  expect(of("A / B", 5, 0)).toBe(0);
  expect(of("A % B", 5, 0)).toBe(0);
  expect(of("A * A", 1e200)).toBe(0);
});

test("what is no formula is refused with its place", () => {
  const wrong = [
    "",
    "A +",
    "C",
    "A B",
    "AB",
    "A ** B",
    "sum(A)",
    "(A",
    "A)",
    "1e5",
    "A; B",
    "A.B",
    "constructor",
    "é",
  ];
  for (const text of wrong) expect(() => readFormula(text, null, 2, "at")).toThrow(/at character \d+/);
  const deep = (n: number) => `${"(".repeat(n)}A${")".repeat(n)}`;
  expect(of(deep(queryLimits.formulaDepthMax), 3)).toBe(3);
  expect(() => of(deep(queryLimits.formulaDepthMax + 1), 3)).toThrow("at character");
  expect(() => of("A".repeat(queryLimits.formulaCharsMax + 1), 3)).toThrow("characters");
});

/** A tree of sums and products, its text with all brackets, and its value. */
interface Tree {
  text: string;
  value: number;
}

const compute: Record<string, (a: number, b: number) => number> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => (b === 0 ? 0 : a / b),
};

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom({ text: "A", value: 6 }, { text: "b", value: -2 }, { text: "2.5", value: 2.5 }),
    fc
      .tuple(tie("tree"), fc.constantFrom(...Object.keys(compute)), tie("tree"))
      .map(([left, symbol, right]) => ({
        text: `(${left.text} ${symbol}${right.text})`,
        value: compute[symbol]!(left.value, right.value),
      })),
  ),
}));

test("any formula with all its brackets is what its tree computes", () => {
  fc.assert(
    fc.property(tree, ({ text, value }) => {
      fc.pre(text.length <= queryLimits.formulaCharsMax && Number.isFinite(value));
      expect(of(text, 6, -2)).toBeCloseTo(value, 6);
    }),
  );
});
