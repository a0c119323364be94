// Parses a native_query: expressions selected from one table, with an optional condition. Tables, columns and functions
// are checked later.

import { exportLimits } from "../limits.ts";
import { refuseParse, refuseQuery, shownToken, QueryTokens } from "./tokenize.ts";

export type Expression =
  | { kind: "string"; value: string }
  /** As written: digits, perhaps with a fraction or an exponent. */
  | { kind: "number"; text: string }
  | { kind: "word"; value: "NULL" | "true" | "false" }
  /** A column, or a path into one: `event`, `properties.plan`. */
  | { kind: "field"; path: string[] }
  | { kind: "call"; name: string; args: Expression[] }
  | { kind: "unary"; sign: "-" | "NOT"; inner: Expression }
  | { kind: "binary"; sign: string; left: Expression; right: Expression }
  | { kind: "in"; not: boolean; left: Expression; list: Expression[] }
  | { kind: "null_test"; not: boolean; inner: Expression };

export interface Selected {
  /** Undefined: all columns. */
  expression: Expression | undefined;
  alias: string | undefined;
  /** As written. */
  text: string;
}

export interface ParsedQuery {
  selected: Selected[];
  /** Undefined without FROM. */
  table: string | undefined;
  where: Expression | undefined;
}

/** @throws Fault with the reason. */
export function parseQuery(text: string): ParsedQuery {
  return new Parser(text).query();
}

const joins = new Set(
  "join inner left right full cross outer any asof semi anti array global natural paste".split(" "),
);
const unions = new Set(["union", "intersect", "except"]);
const comparisons = new Set(["=", "==", "!=", "<>", "<", "<=", ">", ">="]);

class Parser {
  readonly #text: string;
  readonly #words: QueryTokens;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    this.#words = new QueryTokens(text);
  }

  query(): ParsedQuery {
    if (this.#words.isWord("with")) this.#refuseInner();
    if (!this.#words.takeWord("select")) {
      if (this.#words.isSign("(")) this.#refuseInner();
      refuseQuery("Unsupported HogQL query: it must begin with SELECT.");
    }
    if (this.#words.isWord("distinct")) refuseQuery("Unsupported HogQL query: DISTINCT is not supported.");
    const selected = [this.#selected()];
    while (this.#words.takeSign(",")) selected.push(this.#selected());
    if (selected.length > exportLimits.exportColumnsMax) {
      refuseQuery(`Unsupported HogQL query: more than ${exportLimits.exportColumnsMax} columns.`);
    }
    const table = this.#words.takeWord("from") ? this.#table() : undefined;
    if (table?.endsWith("()")) return { selected, table, where: undefined };
    const where = this.#words.takeWord("where") ? this.#expression() : undefined;
    this.#finish();
    return { selected, table, where };
  }

  #selected(): Selected {
    const { at } = this.#words.here();
    if (this.#words.takeSign("*")) return { expression: undefined, alias: undefined, text: "*" };
    const expression = this.#expression();
    const text = this.#text.slice(at, this.#words.lastEnd());
    const alias = this.#words.takeWord("as") ? this.#words.name("an alias") : undefined;
    return { expression, alias, text };
  }

  #table(): string {
    if (this.#words.isSign("(")) this.#refuseInner();
    const path = [this.#words.name("a table")];
    while (this.#words.takeSign(".")) path.push(this.#words.name("a table"));
    // A table function is refused by its name; its arguments do not matter.
    if (this.#words.isSign("(")) return `${path.join(".")}()`;
    return path.join(".");
  }

  #finish(): void {
    const here = this.#words.here();
    if (here.kind === "end") return;
    const word = here.kind === "name" && !here.quoted ? here.text.toLowerCase() : "";
    if (unions.has(word)) refuseQuery("UNIONs are not supported");
    if (joins.has(word) || this.#words.isSign(",")) refuseQuery("JOINs are not supported");
    if (this.#words.isSign(";"))
      refuseQuery("Unsupported HogQL query: one statement only, without a semicolon.");
    if (word !== "")
      refuseQuery(`Unsupported HogQL query: ${word.toUpperCase().slice(0, 50)} is not supported.`);
    refuseParse(`unexpected ${shownToken(here)}`, here.at);
  }

  /** Lowest precedence first: OR, AND, NOT, comparisons, ||, sums, products, signs. */
  #expression(): Expression {
    if (++this.#depth > exportLimits.exportQueryDepthMax) {
      refuseQuery(`Unsupported HogQL query: nested deeper than ${exportLimits.exportQueryDepthMax} levels.`);
    }
    let left = this.#conjunction();
    while (this.#words.takeWord("or"))
      left = { kind: "binary", sign: "OR", left, right: this.#conjunction() };
    this.#depth--;
    return left;
  }

  #conjunction(): Expression {
    let left = this.#negation();
    while (this.#words.takeWord("and")) left = { kind: "binary", sign: "AND", left, right: this.#negation() };
    return left;
  }

  #negation(): Expression {
    let times = 0;
    while (this.#words.takeWord("not")) times++;
    const inner = this.#comparison();
    // NOT NOT x equals x as a condition, but not as a value.
    if (times === 0) return inner;
    const once: Expression = { kind: "unary", sign: "NOT", inner };
    return times % 2 === 1 ? once : { kind: "unary", sign: "NOT", inner: once };
  }

  #comparison(): Expression {
    let left = this.#joined();
    for (;;) {
      const sign = this.#words.takeSignOf(comparisons);
      if (sign !== undefined) left = { kind: "binary", sign: plainSign(sign), left, right: this.#joined() };
      else if (this.#words.takeWord("is")) {
        const not = this.#words.takeWord("not");
        this.#words.expectWord("null");
        left = { kind: "null_test", not, inner: left };
      } else if (this.#words.isWord("not") && /^(i?like|in|between)$/i.test(this.#words.next().text)) {
        this.#words.skip();
        left = this.#tested(left, true);
      } else if (["like", "ilike", "in", "between"].some((word) => this.#words.isWord(word))) {
        left = this.#tested(left, false);
      } else return left;
    }
  }

  #tested(left: Expression, not: boolean): Expression {
    if (this.#words.takeWord("in")) return { kind: "in", not, left, list: this.#list() };
    if (this.#words.takeWord("between")) {
      const low = this.#joined();
      this.#words.expectWord("and");
      const high = this.#joined();
      const least: Expression = { kind: "binary", sign: ">=", left, right: low };
      const most: Expression = { kind: "binary", sign: "<=", left, right: high };
      const both: Expression = { kind: "binary", sign: "AND", left: least, right: most };
      return not ? { kind: "unary", sign: "NOT", inner: both } : both;
    }
    const like = this.#words.takeWord("ilike") ? "ILIKE" : (this.#words.expectWord("like"), "LIKE");
    return { kind: "binary", sign: not ? `NOT ${like}` : like, left, right: this.#joined() };
  }

  #list(): Expression[] {
    const close = this.#words.takeSign("[") ? "]" : (this.#words.expectSign("("), ")");
    if (this.#words.isWord("select") || this.#words.isWord("with")) this.#refuseInner();
    const list = [this.#expression()];
    while (this.#words.takeSign(",")) list.push(this.#expression());
    this.#words.expectSign(close);
    return list;
  }

  #joined(): Expression {
    const first = this.#sum();
    const args = [first];
    while (this.#words.takeSign("||")) args.push(this.#sum());
    return args.length > 1 ? { kind: "call", name: "concat", args } : first;
  }

  #sum(): Expression {
    let left = this.#product();
    for (let sign = this.#words.takeSignOf(sums); sign; sign = this.#words.takeSignOf(sums)) {
      left = { kind: "binary", sign, left, right: this.#product() };
    }
    return left;
  }

  #product(): Expression {
    let left = this.#signed();
    for (let sign = this.#words.takeSignOf(products); sign; sign = this.#words.takeSignOf(products)) {
      left = { kind: "binary", sign, left, right: this.#signed() };
    }
    return left;
  }

  #signed(): Expression {
    if (!this.#words.takeSign("-")) return this.#single();
    const { kind, text } = this.#words.here();
    if (kind === "number") {
      this.#words.skip();
      return { kind: "number", text: `-${text}` };
    }
    return { kind: "unary", sign: "-", inner: this.#single() };
  }

  #single(): Expression {
    const token = this.#words.here();
    if (token.kind === "string" || token.kind === "number") this.#words.skip();
    if (token.kind === "string") return { kind: "string", value: token.text };
    if (token.kind === "number") return { kind: "number", text: token.text };
    if (this.#words.takeSign("(")) {
      if (this.#words.isWord("select") || this.#words.isWord("with")) this.#refuseInner();
      const inner = this.#expression();
      this.#words.expectSign(")");
      return inner;
    }
    for (const value of ["NULL", "true", "false"] as const) {
      if (this.#words.takeWord(value.toLowerCase())) return { kind: "word", value };
    }
    if (token.kind !== "name") refuseParse(`unexpected ${shownToken(token)}`, token.at);
    if (this.#words.isWord("select")) this.#refuseInner();
    const name = this.#words.name("an expression");
    if (!token.quoted && this.#words.takeSign("(")) return { kind: "call", name, args: this.#arguments() };
    return this.#field(name);
  }

  #arguments(): Expression[] {
    if (this.#words.takeSign(")")) return [];
    if (this.#words.isWord("select") || this.#words.isWord("with")) this.#refuseInner();
    const args = [this.#expression()];
    while (this.#words.takeSign(",")) args.push(this.#expression());
    this.#words.expectSign(")");
    return args;
  }

  #field(first: string): Expression {
    const path = [first];
    for (;;) {
      if (this.#words.takeSign(".")) path.push(this.#words.name("a name", true));
      else if (this.#words.takeSign("[")) {
        const key = this.#words.here();
        if (key.kind !== "string") refuseParse("expected a text as the key", key.at);
        this.#words.skip();
        path.push(key.text);
        this.#words.expectSign("]");
      } else return { kind: "field", path };
    }
  }

  #refuseInner(): never {
    refuseQuery("Subqueries or CTEs are not supported");
  }
}

const sums = new Set(["+", "-"]);
const products = new Set(["*", "/", "%"]);

function plainSign(sign: string): string {
  return sign === "==" ? "=" : sign === "<>" ? "!=" : sign;
}
