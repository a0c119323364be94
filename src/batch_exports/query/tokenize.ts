// The lexer of native_query.

import { Fault } from "../../core/fault.ts";
import { quoteEnd } from "../../storage/clickhouse/statement.ts";

export interface QueryToken {
  kind: "name" | "quoted" | "string" | "number" | "sign" | "end";
  text: string;
  /** What grammar compares: a sign, or an unquoted name in small letters; empty for all others. */
  key: string;
  at: number;
  end: number;
}

/** @throws Fault invalid_input with the query's field. */
export function refuseQuery(detail: string): never {
  throw new Fault("invalid_input", detail, { attr: "native_query" });
}

export function refuseUnsupported(detail: string): never {
  return refuseQuery(`Unsupported HogQL query: ${detail}`);
}

/** Refuses with the place in the text, counted in characters from one. */
export function refuseParse(reason: string, at: number): never {
  return refuseQuery(`Failed to parse query: ${reason} at character ${at + 1}.`);
}

// Sticky patterns, tried in this order.
const space = /\s+/y;
const name = /[A-Za-z_$][A-Za-z0-9_$]*/y;
const number = /\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?(?![A-Za-z0-9_$.])/y;
const quoted = /"([^"\\]+)"|`([^`\\]+)`/y;
const sign = /\|\||==|!=|<>|<=|>=|[()[\],.+\-*/%=<>;]/y;

/** The tokens, and one of kind `end` behind them. @throws Fault at a character that begins no token. */
export function queryTokens(text: string): QueryToken[] {
  const tokens: QueryToken[] = [];
  let at = 0;
  for (;;) {
    for (let end = pastBlank(text, at); end > at; end = pastBlank(text, at)) at = end;
    if (at >= text.length) return [...tokens, { kind: "end", text: "", key: "", at, end: at }];
    const token = nextToken(text, at);
    if (!token)
      refuseParse(`unexpected ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 32))}`, at);
    tokens.push(token);
    at = token.end;
  }
}

/** The end of the white space or comment at `at`; `at` when there is none. */
function pastBlank(text: string, at: number): number {
  space.lastIndex = at;
  if (space.test(text)) return space.lastIndex;
  if (text.startsWith("--", at)) {
    const end = text.indexOf("\n", at);
    return end < 0 ? text.length : end;
  }
  // An unclosed comment is read as the signs / and *.
  const end = text.startsWith("/*", at) ? text.indexOf("*/", at + 2) : -1;
  return end < 0 ? at : end + 2;
}

function nextToken(text: string, at: number): QueryToken | undefined {
  const found = (kind: QueryToken["kind"], pattern: RegExp): QueryToken | undefined => {
    pattern.lastIndex = at;
    const [whole, ...inner] = pattern.exec(text) ?? [];
    if (whole === undefined) return undefined;
    const key = kind === "name" || kind === "sign" ? whole.toLowerCase() : "";
    return { kind, text: inner.find((one) => one !== undefined) ?? whole, key, at, end: at + whole.length };
  };
  const end = text[at] === "'" ? quoteEnd(text, at) : -1;
  if (end > at) return { kind: "string", text: unescaped(text.slice(at + 1, end - 1), at), key: "", at, end };
  return found("name", name) ?? found("number", number) ?? found("quoted", quoted) ?? found("sign", sign);
}

const escapes: Record<string, string> = {
  n: "\n",
  t: "\t",
  r: "\r",
  "\\": "\\",
  "'": "'",
  "%": "\\%",
  _: "\\_",
};

/** LIKE's own escapes, \% and \_, are kept for LIKE. */
function unescaped(text: string, at: number): string {
  return text.replace(/''|\\([^])/g, (found: string, letter: string | undefined) => {
    if (letter === undefined) return "'";
    return escapes[letter] ?? refuseParse(`unknown escape ${JSON.stringify(found)} in the text`, at);
  });
}

export function shownToken({ kind, text }: QueryToken): string {
  return kind === "end" ? "the end" : JSON.stringify(text.slice(0, 50));
}
