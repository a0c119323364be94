// Texts of statements changed at places that the lexer found.

import { tokensOf } from "../clickhouse/statement.ts";

export type Token = ReturnType<typeof tokensOf> extends Generator<infer One> ? One : never;

/** `text` in place of what stands from `start` to `end`. */
export interface Edit {
  start: number;
  end: number;
  text: string;
}

export function edited(statement: string, edits: readonly Edit[]): string {
  let result = "";
  let at = 0;
  for (const { start, end, text } of edits.toSorted((one, other) => one.start - other.start)) {
    result += statement.slice(at, start) + text;
    at = end;
  }
  return result + statement.slice(at);
}

export function insertedAt(at: number, text: string): Edit {
  return { start: at, end: at, text };
}

export function isWord(token: Token | undefined, ...words: string[]): boolean {
  return token?.kind === "word" && words.includes(token.text.toUpperCase());
}

/** The index behind these words at `from`; -1 when others stand there. */
export function behind(tokens: readonly Token[], from: number, ...words: string[]): number {
  return words.every((word, i) => isWord(tokens[from + i], word)) ? from + words.length : -1;
}

/** The index of the bracket that closes the one at `from`. */
export function closing(tokens: readonly Token[], from: number): number {
  const depth = tokens[from]?.depth;
  return tokens.findIndex((token, i) => i > from && token.depth === depth && token.text === ")");
}

/** A table's name behind FROM, JOIN, INTO, TO or TABLE: the places in which statements of ours name tables. */
export function namesOf(tokens: readonly Token[], ...before: string[]): Token[] {
  return tokens.filter((token, i) => {
    const isName = (token.kind === "word" || token.kind === "name") && tokens[i + 1]?.text !== ".";
    // ARRAY JOIN names columns.
    return isName && isWord(tokens[i - 1], ...before) && !isWord(tokens[i - 2], "ARRAY");
  });
}

/** The name without its quotes. */
export function plainName({ text }: Token): string {
  return /^[`"]/.test(text) ? text.slice(1, -1) : text;
}
