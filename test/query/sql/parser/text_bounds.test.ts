// What a HogQL text may be before it is parsed.

import { expect, test } from "bun:test";
import { SqlProblem } from "../../../../src/query/sql/compile/value.ts";
import { parserLimits } from "../../../../src/query/sql/parser/limits.ts";
import { checkTextBounds } from "../../../../src/query/sql/parser/text_bounds.ts";

const { textCharsMax, textDepthMax, textTokensMax } = parserLimits;

function problemOf(text: string): SqlProblem | undefined {
  try {
    checkTextBounds(text);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof SqlProblem) return thrown;
    throw thrown;
  }
}

test("a text at each bound passes, and one beyond it is refused", () => {
  const nested = (depth: number) => `${"(".repeat(depth)}1${")".repeat(depth)}`;
  expect(problemOf(nested(textDepthMax))).toBeUndefined();
  expect(problemOf(nested(textDepthMax + 1))?.message).toContain(`${textDepthMax} deep`);
  expect(problemOf("a ".repeat(textTokensMax))).toBeUndefined();
  expect(problemOf("a ".repeat(textTokensMax + 1))?.message).toContain(`${textTokensMax} words`);
  expect(problemOf(" ".repeat(textCharsMax))).toBeUndefined();
  expect(problemOf(" ".repeat(textCharsMax + 1))?.message).toContain(`${textCharsMax} characters`);
  expect(problemOf("a\0b")?.message).toContain("null characters");
});

test("brackets in texts, names and comments do not nest", () => {
  const many = "(".repeat(textDepthMax + 1);
  const shapes = [`'${many}'`, `'\\'${many}'`, `'''${many}'`, `"${many}"`, `\`${many}\``];
  shapes.push(`-- ${many}\n1`, `// ${many}\n1`, `/* ${many} */ 1`, `-- ${many}`, `/* ${many}`, `'${many}`);
  for (const text of shapes) expect([text, problemOf(text)]).toEqual([text, undefined]);
  expect(problemOf(`'' ${many}`)).toBeDefined();
  expect(problemOf(`/**/ ${many}`)).toBeDefined();
});

test("the place of what is too much is counted in characters", () => {
  const problem = problemOf(`'😀' ${"[".repeat(textDepthMax + 1)}`);
  expect([problem?.start, problem?.end]).toEqual([4 + textDepthMax, 5 + textDepthMax]);
});

test("words that the parser reads past are refused, unless they are texts, names or far apart", () => {
  const refused = [
    "ORDER BY x NULLS FIRST",
    "GROUP BY x with /* */ Totals",
    "any(x) IGNORE\nNULLS",
    "a NATURAL JOIN b",
    "ORDER BY x COLLATE 'de'",
    "count() FILTER (WHERE f(x)) OVER ()",
  ];
  for (const text of refused)
    expect([text, problemOf(text)?.message]).toEqual([text, expect.stringContaining("not supported")]);
  const taken = [
    "ORDER BY x NULLS LAST",
    "'nulls first'",
    '"with" totals',
    "nulls, first",
    "natural",
    "with totals2 as (1)",
    "collate, 'de', `collate` 'de'",
    "sum(x) filter (where y), count() over ()",
    "filter (f(x) over ())",
  ];
  for (const text of taken) expect([text, problemOf(text)]).toEqual([text, undefined]);
});
