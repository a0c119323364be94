// Every regular expression of the program, tried on texts made of what it repeats: four times the text never takes
// more than eight times the time.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { fastGrowth, filled } from "../support/growth.ts";
import { type Literal, regexLiterals, slownessOf, type Step, stepsOf } from "../support/regex_shape.ts";

const root = new URL("../../src/", import.meta.url).pathname;

const literals = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .flatMap((path) => regexLiterals(readFileSync(root + path, "utf8")).map((one) => ({ path, ...one })));

const candidates = [..." _/a0A-.\"'{(,[@:\n\\=+é中<"];

/** Characters that the expression repeats, and what it begins with: what it may start over and over on. */
function piecesOf({ source, flags }: Literal): string[] {
  const atoms = (steps: Step[]): string[] =>
    steps.flatMap(({ atom, alternatives, unbounded }) => [
      ...(atom !== undefined && unbounded ? [atom] : []),
      ...alternatives.flatMap(atoms),
    ]);
  const repeated = [...new Set(stepsOf(source).flatMap(atoms))];
  const taken = repeated.flatMap((atom) => {
    const one = new RegExp(`^(?:${atom})$`, flags.replaceAll(/[gym]/g, ""));
    return candidates.filter((char) => one.test(char)).slice(0, 3);
  });
  // The literal text it begins with, as " (version " is.
  const head = /^\^?((?:\\?[^\\[(|*+?{.$]|\\[^a-zA-Z0-9])+)/.exec(source)?.[1]?.replaceAll("\\", "") ?? "";
  return [...new Set([...taken, ...taken.map((char) => head + char), head])].filter(Boolean);
}

test("no expression takes more than eight times as long for four times the text", async () => {
  expect(literals.length).toBeGreaterThan(150);
  const slow: string[] = [];
  for (const literal of literals) {
    const { path, source, flags } = literal;
    // Those that tidy.test.ts knows as held to a short text are not tried on a long one.
    if (slownessOf(literal) !== undefined) continue;
    const expression = new RegExp(source, flags);
    const take = (text: string) => {
      expression.lastIndex = 0;
      if (flags.includes("g")) text.replaceAll(expression, "");
      else expression.test(text);
    };
    for (const piece of piecesOf(literal)) {
      // What it does not take, at the ends: an expression that cannot match is tried in all ways there are.
      for (const before of ["", "\u0001"]) {
        const why = await fastGrowth((chars) => `${before}${filled(piece, chars)}\u0001`, take);
        if (why !== undefined) slow.push(`${path}: /${source}/${flags} on ${JSON.stringify(piece)}: ${why}`);
      }
    }
  }
  expect(slow).toEqual([]);
});

test("a slow one would be found", async () => {
  for (const [slow, piece] of [
    [/_+$/, "_"],
    [/^\s+|\s+$/g, " "],
    [/ \(version [^)]*\)/g, " (version "],
  ] as const) {
    const text = (chars: number) => `\u0001${filled(piece, chars)}\u0001`;
    expect(await fastGrowth(text, (given) => given.replace(slow, ""))).toContain("ms for");
  }
});
