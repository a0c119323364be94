// The lexer of native_query.

import { Fault } from "../../core/fault.ts";
import { quoteEnd } from "../../storage/clickhouse/statement.ts";

export type QueryToken =
  | { kind: "name"; text: string; quoted: boolean; at: number; end: number }
  | { kind: "string"; text: string; at: number; end: number }
  | { kind: "number"; text: string; at: number; end: number }
  | { kind: "sign"; text: string; at: number; end: number }
  | { kind: "end"; text: ""; at: number; end: number };

/** @throws Fault invalid_input with the query's field. */
export function refuseQuery(detail: string): never {
  throw new Fault("invalid_input", detail, { attr: "native_query" });
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
function tokensOf(text: string): QueryToken[] {
  const tokens: QueryToken[] = [];
  let at = 0;
  const take: Take = (pattern) => {
    pattern.lastIndex = at;
    return pattern.exec(text) ?? undefined;
  };
  for (;;) {
    for (let end = pastBlank(text, at); end > at; end = pastBlank(text, at)) at = end;
    if (at >= text.length) return [...tokens, { kind: "end", text: "", at, end: at }];
    const token = nextToken(text, take, at);
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

type Take = (pattern: RegExp) => RegExpExecArray | undefined;

function nextToken(text: string, take: Take, at: number): QueryToken | undefined {
  const word = take(name);
  if (word) return { kind: "name", text: word[0], quoted: false, at, end: at + word[0].length };
  const digits = take(number);
  if (digits) return { kind: "number", text: digits[0], at, end: at + digits[0].length };
  const end = text[at] === "'" ? quoteEnd(text, at) : -1;
  if (end > at) return { kind: "string", text: unescaped(text.slice(at + 1, end - 1), at), at, end };
  const named = take(quoted);
  if (named) {
    const written = named[1] ?? named[2] ?? "";
    return { kind: "name", text: written, quoted: true, at, end: at + named[0].length };
  }
  const mark = take(sign);
  return mark && { kind: "sign", text: mark[0], at, end: at + mark[0].length };
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

/** Keywords: a name only when quoted. */
const reserved = new Set(
  "select from where as and or not in is null like ilike between case when then else end union".split(" "),
);
/** A text's tokens, read from left to right. */
export class QueryTokens {
  readonly #tokens: QueryToken[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  skip(): void {
    this.#at++;
  }

  /** Where the last token taken ends, in characters of the text. */
  lastEnd(): number {
    return this.#tokens[this.#at - 1]?.end ?? 0;
  }

  here(): QueryToken {
    // The token `end` is never taken, so there is always one.
    return this.#tokens[this.#at] as QueryToken;
  }

  next(): QueryToken {
    return this.#tokens[Math.min(this.#at + 1, this.#tokens.length - 1)] as QueryToken;
  }

  isSign(text: string): boolean {
    const { kind, text: own } = this.here();
    return kind === "sign" && own === text;
  }

  takeSign(text: string): boolean {
    const found = this.isSign(text);
    if (found) this.#at++;
    return found;
  }

  takeSignOf(signs: ReadonlySet<string>): string | undefined {
    const { kind, text } = this.here();
    return kind === "sign" && signs.has(text) && this.takeSign(text) ? text : undefined;
  }

  expectSign(text: string): void {
    if (!this.takeSign(text)) this.refuseHere(`"${text}"`);
  }

  isWord(word: string): boolean {
    const token = this.here();
    return token.kind === "name" && !token.quoted && token.text.toLowerCase() === word;
  }

  takeWord(word: string): boolean {
    const found = this.isWord(word);
    if (found) this.#at++;
    return found;
  }

  expectWord(word: string): void {
    if (!this.takeWord(word)) this.refuseHere(word.toUpperCase());
  }

  /** `any`: also a keyword, as after a dot. */
  name(what: string, any = false): string {
    const token = this.here();
    if (token.kind !== "name" || (!any && !token.quoted && reserved.has(token.text.toLowerCase()))) {
      this.refuseHere(what);
    }
    this.#at++;
    return token.text;
  }

  refuseHere(expected: string): never {
    const here = this.here();
    refuseParse(`expected ${expected}, found ${shownToken(here)}`, here.at);
  }
}

export function shownToken({ kind, text }: QueryToken): string {
  return kind === "end" ? "the end" : JSON.stringify(text.slice(0, 50));
}
