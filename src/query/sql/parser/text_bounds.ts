// Checks a HogQL text before it is parsed: its length, its tokens, and the depth of its brackets. One pass, linear in
// its length. It need not agree with the parser on unusual texts: the clock ends a text that fools it.

import { SqlProblem } from "../compile/value.ts";
import type { Placed } from "../tree.ts";
import { parserLimits } from "./limits.ts";

const opening = new Set(["(", "[", "{"].map((name) => name.charCodeAt(0)));
const closing = new Set([")", "]", "}"].map((name) => name.charCodeAt(0)));
const quotes = new Set(["'", '"', "`"].map((name) => name.charCodeAt(0)));
const [backslash, minus, slash, star, textQuote] = [0x5c, 0x2d, 0x2f, 0x2a, 0x27];

/** Sequences of words that the parser ignores: the query would be answered as another one. */
const refused: ReadonlySet<string> = new Set([
  "nulls first",
  "ignore nulls",
  "respect nulls",
  "with totals",
  "with rollup",
  "with cube",
  "natural join",
  "natural inner",
  "natural left",
  "natural right",
  "natural full",
  "collate '…'",
  "filter(…) over",
]);

/** Returns how often the text has ORDER BY. @throws SqlProblem when it is beyond a bound, or has words of `refused`. */
export function checkTextBounds(text: string): number {
  const { textCharsMax, textTokensMax, textDepthMax } = parserLimits;
  if (text.length > textCharsMax) {
    throw new SqlProblem(`A query may have ${textCharsMax} characters; this one has ${text.length}.`);
  }
  if (text.includes("\0")) throw new SqlProblem("A query must not contain null characters.");
  let tokens = 0;
  let depth = 0;
  let orders = 0;
  let before = "";
  /** Depths of the open brackets after FILTER. */
  const filters = new Set<number>();
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    const end = tokenEnd(text, at);
    if (code <= 0x20 || commentEnd(text, at, code) > at) {
      at = end;
      continue;
    }
    const isFilter = closing.has(code) && filters.delete(depth);
    if (opening.has(code)) {
      depth++;
      if (before === "filter") filters.add(depth);
    } else if (closing.has(code)) depth--;
    if (depth > textDepthMax) {
      throw new SqlProblem(`Brackets may nest ${textDepthMax} deep.`, positionAt(text, at));
    }
    if (++tokens > textTokensMax) {
      const detail = `A query may have ${textTokensMax} words, values and symbols.`;
      throw new SqlProblem(detail, positionAt(text, at));
    }
    const word = isFilter ? "filter(…)" : wordAt(text, at, end);
    if (refused.has(`${before} ${word}`)) {
      throw new SqlProblem(
        `${before.toUpperCase()} ${word.toUpperCase()} is not supported.`,
        positionAt(text, at),
      );
    }
    if (before === "order" && word === "by") orders++;
    before = word;
    at = end;
  }
  return orders;
}

/** The offset after what begins at `at`: a comment, a quoted text, a word, or one character. */
export function tokenEnd(text: string, at: number): number {
  const code = text.charCodeAt(at);
  const skipped = commentEnd(text, at, code);
  if (skipped > at) return skipped;
  if (quotes.has(code)) return quotedEnd(text, at, code);
  return isWord(code) ? wordEnd(text, at) : at + 1;
}

/** A short word as `refused` has it; empty for anything else. */
function wordAt(text: string, at: number, end: number): string {
  const code = text.charCodeAt(at);
  if (code === textQuote) return "'…'";
  return isWord(code) && end - at <= 8 ? text.slice(at, end).toLowerCase() : "";
}

/** The offset after a comment that begins at `at`; `at` when none does. */
function commentEnd(text: string, at: number, code: number): number {
  const next = text.charCodeAt(at + 1);
  const isLine = (code === minus && next === minus) || (code === slash && next === slash);
  if (!isLine && !(code === slash && next === star)) return at;
  const end = isLine ? text.indexOf("\n", at) : text.indexOf("*/", at + 2);
  return end < 0 ? text.length : end + (isLine ? 1 : 2);
}

/** The offset after a quoted text; a quote in it is escaped or doubled. */
function quotedEnd(text: string, from: number, quote: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === backslash) at++;
    else if (code === quote && text.charCodeAt(++at) !== quote) return at;
  }
  return text.length;
}

function wordEnd(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && isWord(text.charCodeAt(at))) at++;
  return at;
}

function isWord(code: number): boolean {
  const isDigit = code >= 0x30 && code <= 0x39;
  const isLetter = (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
  return isDigit || isLetter || code === 0x5f || code === 0x24 || code > 0x7f;
}

/** One character, counted in code points. */
function positionAt(text: string, at: number): Placed {
  const offset = Array.from(text.slice(0, at)).length;
  const position = { line: 1, column: offset };
  return { start: { ...position, offset }, end: { ...position, offset: offset + 1 } };
}
