// Parses a native_query: expressions selected from one table, with an optional condition. Tables, columns and functions
// are checked later.

import { exportLimits } from "../limits.ts";
import {
  type QueryToken,
  refuseParse,
  refuseQuery,
  refuseUnsupported,
  shownToken,
  queryTokens,
} from "./tokenize.ts";

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

/** Keywords: a name only when quoted. */
const reserved = new Set(
  "select from where as and or not in is null like ilike between case when then else end union".split(" "),
);
const joins = new Set(
  "join inner left right full cross outer any asof semi anti array global natural paste".split(" "),
);
const unions = new Set(["union", "intersect", "except"]);
const comparisons = ["=", "==", "!=", "<>", "<", "<=", ">", ">="];
const tests = ["like", "ilike", "in", "between"];

class Parser {
  readonly #text: string;
  readonly #tokens: QueryToken[];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = queryTokens(text);
  }

  query(): ParsedQuery {
    this.#refuseInner("with");
    if (!this.#take("select")) {
      this.#refuseInner("(");
      refuseUnsupported("it must begin with SELECT.");
    }
    if (this.#is("distinct")) refuseUnsupported("DISTINCT is not supported.");
    const selected = this.#separated(() => this.#selected());
    if (selected.length > exportLimits.columnsMax) {
      refuseUnsupported(`more than ${exportLimits.columnsMax} columns.`);
    }
    const table = this.#take("from") ? this.#table() : undefined;
    if (table?.endsWith("()")) return { selected, table, where: undefined };
    const where = this.#take("where") ? this.#expression() : undefined;
    this.#finish();
    return { selected, table, where };
  }

  get #here(): QueryToken {
    // The token `end` is never taken, so there is always one.
    return this.#tokens[this.#at]!;
  }

  #is(...keys: string[]): boolean {
    return this.#here.key !== "" && keys.includes(this.#here.key);
  }

  /** Takes one of these signs and words, in small letters; undefined when another token is here. */
  #take(...keys: string[]): string | undefined {
    return this.#is(...keys) ? this.#tokens[this.#at++]?.key : undefined;
  }

  #expect(key: string): void {
    if (!this.#take(key)) this.#refuseHere(/^[a-z]/.test(key) ? key.toUpperCase() : `"${key}"`);
  }

  /** `any`: also a keyword, as after a dot. */
  #name(what: string, any = false): string {
    const { kind, key, text } = this.#here;
    if (kind !== "quoted" && (kind !== "name" || (!any && reserved.has(key)))) this.#refuseHere(what);
    this.#at++;
    return text;
  }

  #refuseHere(expected: string): never {
    refuseParse(`expected ${expected}, found ${shownToken(this.#here)}`, this.#here.at);
  }

  #separated<Part>(part: () => Part): Part[] {
    const parts = [part()];
    while (this.#take(",")) parts.push(part());
    return parts;
  }

  #selected(): Selected {
    const { at } = this.#here;
    if (this.#take("*")) return { expression: undefined, alias: undefined, text: "*" };
    const expression = this.#expression();
    const text = this.#text.slice(at, this.#tokens[this.#at - 1]?.end);
    return { expression, alias: this.#take("as") ? this.#name("an alias") : undefined, text };
  }

  #table(): string {
    this.#refuseInner("(");
    const path = [this.#name("a table")];
    while (this.#take(".")) path.push(this.#name("a table"));
    // A table function is refused by its name; its arguments do not matter.
    return this.#is("(") ? `${path.join(".")}()` : path.join(".");
  }

  #finish(): void {
    const { kind, key, at } = this.#here;
    if (kind === "end") return;
    if (unions.has(key)) refuseQuery("UNIONs are not supported");
    if (joins.has(key) || key === ",") refuseQuery("JOINs are not supported");
    if (key === ";") refuseUnsupported("one statement only, without a semicolon.");
    if (kind === "name") refuseUnsupported(`${key.toUpperCase().slice(0, 50)} is not supported.`);
    refuseParse(`unexpected ${shownToken(this.#here)}`, at);
  }

  /** Lowest precedence first: OR, AND, NOT, comparisons, ||, sums, products, signs. */
  #expression(): Expression {
    if (++this.#depth > exportLimits.queryDepthMax) {
      refuseUnsupported(`nested deeper than ${exportLimits.queryDepthMax} levels.`);
    }
    const found = this.#chain(["or"], () => this.#chain(["and"], () => this.#negation()));
    this.#depth--;
    return found;
  }

  /** Operands with these operators between them; the left one binds first. */
  #chain(signs: string[], operand: () => Expression): Expression {
    let left = operand();
    for (let sign = this.#take(...signs); sign; sign = this.#take(...signs)) {
      left = { kind: "binary", sign: sign.toUpperCase(), left, right: operand() };
    }
    return left;
  }

  #negation(): Expression {
    let times = 0;
    while (this.#take("not")) times++;
    const inner = this.#comparison();
    // NOT NOT x equals x as a condition, but not as a value.
    if (times === 0) return inner;
    const once: Expression = { kind: "unary", sign: "NOT", inner };
    return times % 2 === 1 ? once : { kind: "unary", sign: "NOT", inner: once };
  }

  #comparison(): Expression {
    let left = this.#joined();
    for (;;) {
      const sign = this.#take(...comparisons);
      if (sign) left = { kind: "binary", sign: plainSign(sign), left, right: this.#joined() };
      else if (this.#take("is")) {
        const not = this.#take("not") !== undefined;
        this.#expect("null");
        left = { kind: "null_test", not, inner: left };
      } else if (this.#is("not") && tests.includes(this.#tokens[this.#at + 1]?.key ?? "")) {
        this.#at++;
        left = this.#tested(left, true);
      } else if (this.#is(...tests)) left = this.#tested(left, false);
      else return left;
    }
  }

  #tested(left: Expression, not: boolean): Expression {
    if (this.#take("in")) return { kind: "in", not, left, list: this.#list() };
    if (this.#take("between")) {
      const low = this.#joined();
      this.#expect("and");
      const high = this.#joined();
      const least: Expression = { kind: "binary", sign: ">=", left, right: low };
      const most: Expression = { kind: "binary", sign: "<=", left, right: high };
      const both: Expression = { kind: "binary", sign: "AND", left: least, right: most };
      return not ? { kind: "unary", sign: "NOT", inner: both } : both;
    }
    const like = this.#take("like", "ilike")!.toUpperCase();
    return { kind: "binary", sign: not ? `NOT ${like}` : like, left, right: this.#joined() };
  }

  #list(): Expression[] {
    const close = this.#take("[") ? "]" : (this.#expect("("), ")");
    this.#refuseInner("select", "with");
    const list = this.#separated(() => this.#expression());
    this.#expect(close);
    return list;
  }

  #joined(): Expression {
    const first = this.#sum();
    const args = [first];
    while (this.#take("||")) args.push(this.#sum());
    return args.length > 1 ? { kind: "call", name: "concat", args } : first;
  }

  #sum(): Expression {
    return this.#chain(["+", "-"], () => this.#chain(["*", "/", "%"], () => this.#signed()));
  }

  #signed(): Expression {
    if (!this.#take("-")) return this.#single();
    const { kind, text } = this.#here;
    if (kind !== "number") return { kind: "unary", sign: "-", inner: this.#single() };
    this.#at++;
    return { kind: "number", text: `-${text}` };
  }

  #single(): Expression {
    const { kind, text, at } = this.#here;
    if (kind === "string" || kind === "number") this.#at++;
    if (kind === "string") return { kind, value: text };
    if (kind === "number") return { kind, text };
    if (this.#take("(")) {
      this.#refuseInner("select", "with");
      const inner = this.#expression();
      this.#expect(")");
      return inner;
    }
    for (const value of ["NULL", "true", "false"] as const) {
      if (this.#take(value.toLowerCase())) return { kind: "word", value };
    }
    if (kind !== "name" && kind !== "quoted") refuseParse(`unexpected ${shownToken(this.#here)}`, at);
    this.#refuseInner("select");
    const name = this.#name("an expression");
    if (kind === "name" && this.#take("(")) return { kind: "call", name, args: this.#arguments() };
    return this.#field(name);
  }

  #arguments(): Expression[] {
    if (this.#take(")")) return [];
    this.#refuseInner("select", "with");
    const args = this.#separated(() => this.#expression());
    this.#expect(")");
    return args;
  }

  #field(first: string): Expression {
    const path = [first];
    for (;;) {
      if (this.#take(".")) path.push(this.#name("a name", true));
      else if (this.#take("[")) {
        const { kind, text, at } = this.#here;
        if (kind !== "string") refuseParse("expected a text as the key", at);
        this.#at++;
        path.push(text);
        this.#expect("]");
      } else return { kind: "field", path };
    }
  }

  #refuseInner(...beginnings: string[]): void {
    if (this.#is(...beginnings)) refuseQuery("Subqueries or CTEs are not supported");
  }
}

function plainSign(sign: string): string {
  return sign === "==" ? "=" : sign === "<>" ? "!=" : sign;
}
