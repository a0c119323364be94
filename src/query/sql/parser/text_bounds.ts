// Checks a HogQL text before it is parsed: its length, its tokens, and the depth of its brackets. One pass, linear in
// its length. It need not agree with the parser on unusual texts: the clock ends a text that fools it.

import { SqlProblem } from "../compile/value.ts";
import type { Placed } from "../tree.ts";
import { parserLimits } from "./limits.ts";

/** Blanks and comments; a quoted text, in which a quote is escaped or doubled; a word; one character. */
const tokenShapes =
  /([^!-\uffff]+|(?:--|\/\/)[^\n]*\n?|\/\*.*?(?:\*\/|$))|(['"`])(?:\\.?|\2\2|(?!\2).)*\2?|([\w$\x80-\uffff]+)|./gsy;

/** Sequences of words that the parser ignores: the query would be answered as another one. */
const refused: ReadonlySet<string> = new Set(
  (
    "nulls first,ignore nulls,respect nulls,with totals,with rollup,with cube,natural join,natural inner," +
    "natural left,natural right,natural full,collate '…',filter(…) over"
  ).split(","),
);

/** Returns how often the text has ORDER BY. @throws SqlProblem when it is beyond a bound, or has words of `refused`. */
export function checkTextBounds(text: string): number {
  const { textCharsMax, textTokensMax, textDepthMax } = parserLimits;
  if (text.length > textCharsMax)
    throw new SqlProblem(`A query may have ${textCharsMax} characters; this one has ${text.length}.`);
  if (text.includes("\0")) throw new SqlProblem("A query must not contain null characters.");
  let tokens = 0;
  let depth = 0;
  let orders = 0;
  let before = "";
  /** Depths of the open brackets after FILTER. */
  const filters = new Set<number>();
  for (const { 0: token, 1: skipped, 3: letters = "", index: at } of splitTokens(text)) {
    if (skipped !== undefined) continue;
    const isClosing = ")]}".includes(token);
    const isFilter = isClosing && filters.delete(depth);
    if ("([{".includes(token)) {
      depth++;
      if (before === "filter") filters.add(depth);
    } else if (isClosing) depth--;
    if (depth > textDepthMax)
      throw new SqlProblem(`Brackets may nest ${textDepthMax} deep.`, positionAt(text, at));
    if (++tokens > textTokensMax) {
      const detail = `A query may have ${textTokensMax} words, values and symbols.`;
      throw new SqlProblem(detail, positionAt(text, at));
    }
    const plain = token.startsWith("'") ? "'…'" : letters.slice(0, 9).toLowerCase();
    const word = isFilter ? "filter(…)" : plain;
    if (refused.has(`${before} ${word}`)) {
      throw new SqlProblem(
        `${before.toUpperCase()} ${word.toUpperCase()} is not supported.`,
        positionAt(text, at),
      );
    }
    if (before === "order" && word === "by") orders++;
    before = word;
  }
  return orders;
}

export const splitTokens = (text: string) => text.matchAll(tokenShapes);

/** One character, counted in code points. */
function positionAt(text: string, at: number): Placed {
  const offset = Array.from(text.slice(0, at)).length;
  const position = { line: 1, column: offset };
  return { start: { ...position, offset }, end: { ...position, offset: offset + 1 } };
}
