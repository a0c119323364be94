// The operators of SQL beside values, null, missing properties and properties of other types, plain and negated. What a
// cell should be comes from a model of the expressions that PostHog's printer writes for ClickHouse (its
// visit_compare_operation, visit_between_expr and visit_call, with transform_null_in).

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey } from "../support/server.ts";

type Value = number | string | boolean | null;
type Row = Record<string, unknown>;
interface Operand {
  sql: string;
  at: (row: Row) => Value;
  /** A literal of the query: PostHog chooses by it what it prints. */
  isLiteral: boolean;
  isNullable: boolean;
}
type Cell = [sql: string, at: (row: Row) => Value];

/** The first row decides that n and m are numbers, t and u texts, b and c booleans, d and e moments. */
const rows: Row[] = [
  { n: 1, m: 1, t: "apple", u: "a%", b: true, c: true, d: "2024-01-01", e: "2024-01-02" },
  { n: 5, m: 1, t: "Pear", u: "p%", b: false, c: true, d: "2024-03-01", e: "2024-01-02" },
  { n: null, m: null, t: null, u: null, b: null, c: null, d: null, e: null },
  {},
  { n: "", m: "", t: "", u: "", b: "", c: "", d: "", e: "" },
  { n: "5", m: 5, t: 5, u: "5", b: "true", c: "false", d: "2024-03-01", e: "2024-03-01" },
  { n: "x", m: "1.5", t: true, u: "tr_e", b: "yes", c: false, d: "never", e: "2024-03-01" },
  { n: [1], m: 1, t: ["apple"], u: "apple", b: [true], c: true, d: [1], e: "2024-03-01" },
  { n: 0, t: "%", b: true, d: "2024-01-01" },
  { m: 1, u: "%", c: false, e: "2024-01-02" },
];

let app: RunningApp;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const batch = rows.map((row, id) => ({
    event: "cell",
    distinct_id: "p",
    timestamp: "2024-02-01T10:00:00Z",
    properties: { id, ...row },
  }));
  expect((await ask(app, "POST", "/batch/", { api_key: projectKey, batch }, "")).status).toBe(200);
}, startMsMax);
afterAll(cleanUp, startMsMax);

async function query(text: string): Promise<{ status: number; detail: unknown; rows: Value[][] }> {
  const { status, body } = await ask(app, "POST", "/api/projects/1/query/", {
    query: { kind: "HogQLQuery", query: text },
  });
  return { status, detail: body["detail"], rows: body["results"] as Value[][] };
}

/** The cells of one statement: its text is read within a second also where others keep the machine busy. */
const cellsAtOnce = 70;

/** Compares each cell with the model, row by row. */
async function expectCells(cells: readonly Cell[]): Promise<void> {
  const shown = (value: Value | undefined): unknown => (typeof value === "boolean" ? Number(value) : value);
  const wrong: object[] = [];
  for (let from = 0; from < cells.length; from += cellsAtOnce) {
    const some = cells.slice(from, from + cellsAtOnce);
    const list = some.map(([sql]) => sql).join(",\n");
    const found = await query(
      `select ${list} from events where event = 'cell' order by toInt(properties.id)`,
    );
    expect([found.status, found.detail]).toEqual([200, undefined]);
    for (const [i, [sql, at]] of some.entries()) {
      const expected = rows.map((row) => shown(at(row)));
      const actual = found.rows.map((row) => shown(row[i]));
      if (!Bun.deepEquals(actual, expected)) wrong.push({ sql, actual, expected });
    }
  }
  expect(wrong).toEqual([]);
}

const readText = (raw: unknown): string | null =>
  raw === null || raw === undefined ? null : typeof raw === "string" ? raw : JSON.stringify(raw);
const readNumber = (raw: unknown): number | null =>
  /^\d+(?:\.\d+)?$/.test(readText(raw) ?? "") ? Number(readText(raw)) : null;
const readBoolean = (raw: unknown): boolean | null =>
  ({ true: true, false: false })[readText(raw) ?? ""] ?? null;
const readDay = (raw: unknown): string | null =>
  /^\d{4}-\d\d-\d\d$/.test(readText(raw) ?? "") ? readText(raw) : null;

const property = (name: string, read: (raw: unknown) => Value): Operand => ({
  sql: `properties.${name}`,
  at: (row) => read(row[name]),
  isLiteral: false,
  isNullable: true,
});
const literal = (value: Value, sql = JSON.stringify(value).replaceAll('"', "'")): Operand => ({
  sql,
  at: () => value,
  isLiteral: true,
  isNullable: value === null,
});
const column = (sql: string, value: Value): Operand => ({
  sql,
  at: () => value,
  isLiteral: false,
  isNullable: false,
});

const [n, m] = [property("n", readNumber), property("m", readNumber)];
const [t, u] = [property("t", readText), property("u", readText)];
const [b, c] = [property("b", readBoolean), property("c", readBoolean)];
const [d, e] = [property("d", readDay), property("e", readDay)];
const nothing = literal(null);

const pattern = (text: string, flags: string): RegExp =>
  new RegExp(
    `^${text
      .replaceAll(/[.[\]"]/g, String.raw`\$&`)
      .replaceAll("%", ".*")
      .replaceAll("_", ".")}$`,
    flags,
  );
type Rule = "same" | "different" | "ordered" | "matches" | "differs";
/** What an operator does with two values, and what PostHog makes of null beside it. */
const operators: Record<string, [Rule, (left: never, right: never) => boolean]> = {
  "=": ["same", (left, right) => left === right],
  "!=": ["different", (left, right) => left !== right],
  "is not distinct from": ["same", (left, right) => left === right],
  "is distinct from": ["different", (left, right) => left !== right],
  "<": ["ordered", (left, right) => left < right],
  "<=": ["ordered", (left, right) => left <= right],
  ">": ["ordered", (left, right) => left > right],
  ">=": ["ordered", (left, right) => left >= right],
  like: ["same", (left, right) => pattern(right, "s").test(left)],
  ilike: ["same", (left, right) => pattern(right, "is").test(left)],
  "not like": ["different", (left, right) => !pattern(right, "s").test(left)],
  "not ilike": ["different", (left, right) => !pattern(right, "is").test(left)],
  "=~": ["matches", (left, right) => new RegExp(right).test(left)],
  "!~": ["differs", (left, right) => !new RegExp(right).test(left)],
  "=~*": ["matches", (left, right) => new RegExp(right, "i").test(left)],
  "!~*": ["differs", (left, right) => !new RegExp(right, "i").test(left)],
};

/** `left sign right` as the printed expression computes it. */
function compare(sign: string, left: Operand, right: Operand, row: Row): Value {
  const [rule, holds] = operators[sign]!;
  const [one, two] = [left.at(row), right.at(row)];
  const isNull = one === null || two === null;
  if (!isNull) return holds(one as never, two as never);
  if (rule === "ordered") return false;
  const isEqual = rule === "same" || rule === "matches";
  const bothNull = one === null && two === null;
  return isEqual ? bothNull : !bothNull;
}

const not = (value: Value): Value => (value === null ? null : !value);
const bothWays = ([sql, at]: Cell): Cell[] => [
  [sql, at],
  [`not (${sql})`, (row) => not(at(row))],
];

function crossed(signs: readonly string[], lefts: readonly Operand[], rights: readonly Operand[]): Cell[] {
  return signs.flatMap((sign) =>
    lefts.flatMap((left) =>
      rights.flatMap((right) =>
        bothWays([`${left.sql} ${sign} ${right.sql}`, (row) => compare(sign, left, right, row)]),
      ),
    ),
  );
}

const equality = ["=", "!=", "is distinct from", "is not distinct from"];
const order = ["<", "<=", ">", ">="];

test("numbers are equal, unlike and in order", async () => {
  const four = column("length(event)", 4);
  await expectCells([
    ...crossed([...equality, ...order], [n, four, literal(1), nothing], [m, four, literal(5), nothing]),
    // A text of the query beside a number is read as one.
    ...crossed(["=", "!=", "<", ">="], [n], [literal(5, "'5'"), literal(5, "'5.0'")]),
  ]);
});

test("texts are equal, unlike and in order", async () => {
  const texts = [literal("apple"), literal(""), column("event", "cell")];
  await expectCells(crossed(["=", "!=", ...order], [t, ...texts, nothing], [u, ...texts, nothing]));
});

test("booleans and moments are equal, unlike and in order", async () => {
  const day = literal("2024-02-01", "toDate('2024-02-01')");
  await expectCells([
    ...crossed(equality, [b, literal(true), nothing], [c, literal(false), nothing]),
    ...crossed(["=", "!="], [b], [literal(true, "'true'"), literal(false, "0")]),
    ...crossed([...equality, ...order], [d, day, nothing], [e, literal("2024-03-01"), day, nothing]),
    ...crossed(order, [column("toDate(timestamp)", "2024-02-01")], [d, literal("2024-02-01")]),
  ]);
});

test("texts are like a pattern, and match one", async () => {
  const likes = ["like", "ilike", "not like", "not ilike"];
  const patterns = [literal("a%"), literal("P_ar"), literal("")];
  const matches = ["=~", "!~", "=~*", "!~*"];
  await expectCells([
    ...crossed(likes, [t, column("event", "cell"), literal("apple"), nothing], [u, ...patterns, nothing]),
    ...crossed(matches, [t, literal("apple"), nothing], [literal("^p"), literal("a"), nothing]),
  ]);
});

/** `value IN (…)`: null is a member like any other. */
const among = (value: Operand, list: string, members: readonly Value[]): Cell[] =>
  ["in", "not in"].flatMap((word) =>
    bothWays([`${value.sql} ${word} ${list}`, (row) => members.includes(value.at(row)) === (word === "in")]),
  );

test("values and null are among the members of a list", async () => {
  const ms = rows.map((row) => m.at(row));
  await expectCells([
    ...[n, literal(5), nothing, column("length(event)", 4)].flatMap((value) => [
      ...among(value, "(1, 5)", [1, 5]),
      ...among(value, "[1, 4]", [1, 4]),
      ...among(value, "(1, null)", [1, null]),
      ...among(value, "(null)", [null]),
      ...among(value, "(select arrayJoin([1, 5]))", [1, 5]),
    ]),
    ...[n, literal(5), column("length(event)", 4)].flatMap((value) =>
      among(value, "(select properties.m from events where event = 'cell')", ms),
    ),
    ...[t, literal("apple"), nothing, column("event", "cell")].flatMap((value) => [
      ...among(value, "('apple', '5', '')", ["apple", "5", ""]),
      ...among(value, "('cell', null)", ["cell", null]),
      ...among(
        value,
        "(select properties.u from events where event = 'cell')",
        rows.map((row) => u.at(row)),
      ),
    ]),
    ...among(b, "(true)", [true]),
    ...among(b, "(true, null)", [true, null]),
    ["has([1, 5], properties.n)", (row) => [1, 5].includes(n.at(row) as number)],
    ["has([1, null], properties.n)", (row) => [1, null].includes(n.at(row) as number)],
    ["not has(['apple'], properties.t)", (row) => t.at(row) !== "apple"],
    ["has([properties.n, properties.m], 1)", (row) => n.at(row) === 1 || m.at(row) === 1],
    ["has([properties.t, 'x'], null)", (row) => t.at(row) === null],
  ]);
});

const both = (one: Value, two: Value): Value =>
  one === false || two === false ? false : one === null || two === null ? null : true;
const either = (one: Value, two: Value): Value => not(both(not(one), not(two)));

/** Neither a range nor its opposite holds where null decides. */
function ranges(value: Operand, low: Operand, high: Operand): Cell[] {
  const isWithin = (row: Row): Value => {
    const [one, least, most] = [value.at(row)!, low.at(row), high.at(row)];
    if (one === null) return null;
    return both(least === null ? null : one >= least, most === null ? null : one <= most);
  };
  return ["between", "not between"].flatMap((word) =>
    bothWays([
      `${value.sql} ${word} ${low.sql} and ${high.sql}`,
      (row) => (word === "between" ? isWithin(row) : not(isWithin(row))) ?? false,
    ]),
  );
}

test("values are in a range, or beside it", async () => {
  const numbers = [n, literal(3), nothing, column("length(event)", 4)];
  const texts = [t, literal("apple"), column("event", "cell")];
  await expectCells([
    ...numbers.flatMap((value) =>
      [m, literal(1), nothing].flatMap((low) =>
        [m, literal(4), nothing].flatMap((high) => ranges(value, low, high)),
      ),
    ),
    ...texts.flatMap((value) => [
      ...ranges(value, literal("a"), literal("b")),
      ...ranges(value, u, literal("z")),
      ...ranges(value, literal(""), nothing),
    ]),
    ...ranges(d, literal("2024-01-15"), literal("2024-12-31")),
    ...ranges(d, e, literal("2024-12-31", "toDate('2024-12-31')")),
  ]);
});

test("AND, OR, XOR and NOT have three values", async () => {
  const isOne: Operand = { ...column("(properties.n = 1)", true), at: (row) => n.at(row) === 1 };
  const parts = [b, c, isOne, literal(true), literal(false), nothing];
  const pairs = parts.flatMap((one) => parts.map((two): [Operand, Operand] => [one, two]));
  await expectCells([
    ...pairs.flatMap(([one, two]) => [
      ...bothWays([`(${one.sql} and ${two.sql})`, (row) => both(one.at(row), two.at(row))]),
      ...bothWays([`(${one.sql} or ${two.sql})`, (row) => either(one.at(row), two.at(row))]),
      ...bothWays([
        `xor(${one.sql}, ${two.sql})`,
        (row) =>
          one.at(row) === null || two.at(row) === null ? null : Boolean(one.at(row)) !== Boolean(two.at(row)),
      ]),
    ]),
    ...parts.flatMap((one) => bothWays([`not not ${one.sql}`, (row) => one.at(row)])),
    ...[n, t, b, d, nothing, literal(1), column("event", "cell")].flatMap((one) =>
      ["is null", "= null", "is not null", "!= null"].flatMap((word) =>
        bothWays([`${one.sql} ${word}`, (row) => (one.at(row) === null) !== /not|!/.test(word)]),
      ),
    ),
  ]);
});

const text = (value: Value): string => (value === null ? "" : String(value));

test("arithmetic, texts put together and chosen values pass null on, or replace it", async () => {
  const numeric: Record<string, (one: number, two: number) => number> = {
    "+": (one, two) => one + two,
    "-": (one, two) => one - two,
    "*": (one, two) => one * two,
    "/": (one, two) => one / two,
    "%": (one, two) => one % two,
  };
  const four = column("length(event)", 4);
  const joined = [t, n, b, literal("x"), nothing, column("event", "cell")];
  const of = (names: string[], choose: (values: Record<string, Value>) => Value) => (row: Row) =>
    choose(Object.fromEntries(names.map((name) => [name, { n, m, t, u, b, c }[name]!.at(row)])));
  await expectCells([
    ...Object.entries(numeric).flatMap(([sign, compute]) =>
      [n, m, four, literal(7), nothing].flatMap((one) =>
        [four, literal(2), nothing].map((two): Cell => [
          `${one.sql} ${sign} ${two.sql}`,
          (row) => {
            const [left, right] = [one.at(row), two.at(row)];
            return left === null || right === null ? null : compute(Number(left), Number(right));
          },
        ]),
      ),
    ),
    ...joined.flatMap((one) =>
      joined.map((two): Cell => [`${one.sql} || ${two.sql}`, (row) => text(one.at(row)) + text(two.at(row))]),
    ),
    ["-properties.m", of(["m"], ({ m }) => (m === null ? null : -Number(m)))],
    ["properties.n ?? properties.m", of(["n", "m"], ({ n, m }) => n ?? m!)],
    ["properties.n ?? 9", of(["n"], ({ n }) => n ?? 9)],
    ["properties.t ?? 'x'", of(["t"], ({ t }) => t ?? "x")],
    ["null ?? properties.n", of(["n"], ({ n }) => n!)],
    ["properties.b ?? false", of(["b"], ({ b }) => b ?? false)],
    ["ifNull(properties.n, properties.m)", of(["n", "m"], ({ n, m }) => n ?? m!)],
    ["coalesce(properties.n, null, properties.m, 7)", of(["n", "m"], ({ n, m }) => n ?? m ?? 7)],
    ["coalesce(null, properties.t, properties.u)", of(["t", "u"], ({ t, u }) => t ?? u!)],
    ["nullIf(properties.n, 1)", of(["n"], ({ n }) => (n === 1 ? null : n!))],
    ["nullIf(properties.n, properties.m)", of(["n", "m"], ({ n, m }) => (n === m ? null : n!))],
    ["nullIf(properties.t, null)", of(["t"], ({ t }) => t!)],
    ["nullIf(null, properties.t)", () => null],
    ["if(properties.b, 1, 2)", of(["b"], ({ b }) => (b ? 1 : 2))],
    ["if(not properties.b, 1, 2)", of(["b"], ({ b }) => (b === false ? 1 : 2))],
    ["if(null, 1, 2)", () => 2],
    ["if(properties.n > 0, properties.t, null)", of(["n", "t"], ({ n, t }) => (Number(n) > 0 ? t! : null))],
    ["properties.b ? properties.n : properties.m", of(["b", "n", "m"], ({ b, n, m }) => (b ? n! : m!))],
    [
      "multiIf(properties.b, 'b', properties.c, 'c', 'none')",
      of(["b", "c"], ({ b, c }) => (b ? "b" : c ? "c" : "none")),
    ],
    [
      "case when properties.n = 1 then 'one' when properties.n != 5 then 'other' end",
      of(["n"], ({ n }) => (n === 1 ? "one" : n === 5 ? null : "other")),
    ],
    [
      "case properties.t when 'apple' then 1 when '' then 2 else 3 end",
      of(["t"], ({ t }) => (t === "apple" ? 1 : t === "" ? 2 : 3)),
    ],
    [
      "isNull(properties.n) or isNotNull(properties.m)",
      of(["n", "m"], ({ n, m }) => n === null || m !== null),
    ],
  ]);
});

test("members of a list are compared as values are, and null joins nothing", async () => {
  await expectCells([
    ["arrayStringConcat(arrayMap(x -> toString(x = 1), [1, null, 2]), ',')", () => "1,0,0"],
    ["arrayStringConcat(arrayMap(x -> toString(x != 1), [1, null, 2]), ',')", () => "0,1,1"],
    ["length(arrayFilter(x -> x is null, [1, null, 2]))", () => 1],
  ]);
  const of = (name: string) => `(select properties.${name} as k from events where event = 'cell')`;
  const joined = await query(`select count() from ${of("m")} as a join ${of("m")} as b on a.k = b.k`);
  expect(joined.rows).toEqual([[18]]);
  const kept = await query(`select count() from ${of("m")} as a left join ${of("u")} as b on a.k = b.k`);
  expect(kept.rows).toEqual([[10]]);
});
