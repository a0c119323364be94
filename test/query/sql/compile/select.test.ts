// A SELECT: its clauses in the engine's order, places of columns, sets, and rows that are counted.

import { expect, test } from "bun:test";
import { compileSelect } from "../../../../src/query/sql/compile/compile.ts";
import type {
  ExpressionNode,
  OrderExpr,
  SelectQuery,
  SelectSetQuery,
} from "../../../../src/query/sql/tree.ts";
import { call, clausesOf, compare, constant, field, refusalOfTree, select, statementOf } from "./trees.ts";

const order = (expr: ExpressionNode, more: Partial<OrderExpr> = {}): OrderExpr => ({
  node: "OrderExpr",
  expr,
  ...more,
});
const named = (alias: string, expr: ExpressionNode): ExpressionNode => ({ node: "Alias", alias, expr });

test("clauses stand in the engine's order, whatever they are", () => {
  const text = clausesOf(
    select([field("text"), named("many", call("count"))], "rows", {
      distinct: true,
      prewhere: compare("==", field("n"), constant(1)),
      where: compare("==", field("n"), constant(2)),
      group_by: [field("text")],
      having: compare(">", field("many"), constant(3)),
      order_by: [order(field("many"), { order: "DESC" }), order(constant(1))],
      limit_by: { node: "LimitByExpr", n: constant(4), exprs: [field("text")] },
      limit: constant(5),
      offset: constant(6),
    }),
  );
  expect(text.replaceAll(/\bc\d+/g, "c")).toBe(
    'SELECT DISTINCT text AS c, count() AS c FROM rows WHERE (n = "1") AND (n = "2") GROUP BY text ' +
      'HAVING (c > "3") ORDER BY c DESC, c ASC LIMIT 4 BY text LIMIT 6 OFFSET 6',
  );
});

test("a whole number in GROUP BY and ORDER BY is the place of a column", () => {
  const columns = [field("text"), field("n")];
  const placed = clausesOf(
    select(columns, "rows", { group_by: [constant(2)], order_by: [order(constant(1))] }),
  );
  expect(placed).toMatch(/text AS (c\d+), n AS (c\d+) FROM rows GROUP BY \2 ORDER BY \1 ASC/);
  for (const place of [0, 3, 1.5]) {
    const tree = select(columns, "rows", { order_by: [order(constant(place))] });
    expect(refusalOfTree(tree)).toBe(`There is no column ${place}: the SELECT has 2.`);
  }
});

test.each([
  ["all", " GROUP BY ALL"],
  ["rollup", " GROUP BY ROLLUP(text, n)"],
  ["cube", " GROUP BY CUBE(text, n)"],
])("the groups of %s", (group_by_mode, text) => {
  const group_by = [field("text"), field("n")];
  expect(clausesOf(select([field("text")], "rows", { group_by, group_by_mode }))).toContain(text);
});

test("`*` is the table's own columns, each of which is named", () => {
  const { columns } = compileSelect(select([field("*")], "events"), {
    project_id: 1,
    timezone: "UTC",
    now: 0,
    text: "",
  });
  expect(columns.slice(0, 3)).toEqual(["uuid", "event", "properties"]);
  expect(new Set(columns).size).toBe(columns.length);
});

const set = (
  parts: SelectQuery[],
  operator = "UNION ALL",
  more: Partial<SelectSetQuery> = {},
): SelectSetQuery => ({
  node: "SelectSetQuery",
  initial_select_query: parts[0]!,
  subsequent_select_queries: parts.slice(1).map((select_query) => ({ select_query, set_operator: operator })),
  ...more,
});

test("a set is its parts in brackets, ordered and cut as a whole", () => {
  const [one, two] = [select([constant("a")]), select([constant("b")])];
  const plain = statementOf(set([one, two]) as never);
  expect(plain.replaceAll(/\bc\d+/g, "c")).toStartWith(
    'SELECT * FROM ((SELECT "a" AS c) UNION ALL (SELECT "b" AS c))',
  );
  const cut = statementOf(
    set([one, two], "EXCEPT", { order_by: [order(constant(1))], limit: constant(3) }) as never,
  );
  expect(cut).toMatch(/\) EXCEPT \(.*\) AS (t\d+) ORDER BY (c\d+) ASC LIMIT 4$/);
});

test("parts of a set have as many columns as the first", () => {
  const tree = set([select([constant(1)]), select([constant(1), constant(2)])]);
  expect(refusalOfTree(tree as never)).toBe("This SELECT has 2 columns, the first 1.");
});

test("a LIMIT of the last part and an OFFSET of the whole are refused, which the parser makes of one text", () => {
  const last = select([constant(1)], "", { limit: constant(10) });
  const tree = set([select([constant(1)]), last], "UNION ALL", { offset: constant(10) });
  expect(refusalOfTree(tree as never)).toStartWith("LIMIT and OFFSET after a set need brackets");
  expect(statementOf(set([select([constant(1)]), last]) as never)).toContain("LIMIT 10");
});

test("a moment that a SELECT in FROM passes on is still compared by its stored column", () => {
  const inner = select([field("timestamp")], "events");
  const where = compare(">", field("timestamp"), constant("2024-01-01"));
  const tree = select([constant(1)], { node: "JoinExpr", table: inner }, { where });
  expect(statementOf(tree)).toMatch(
    /SELECT t\d+\.v\d+ AS c\d+, t\d+\.v\d+ AS (c\d+) FROM .* WHERE \(t\d+\.\1 > toDateTime64/,
  );
  const distinct = select(
    [constant(1)],
    { node: "JoinExpr", table: { ...inner, distinct: true } },
    { where },
  );
  expect(statementOf(distinct)).not.toContain("toDateTime64(parse");
});

test.each([
  [select([field("n")], "rows", { limit: constant(-1) }), "LIMIT and OFFSET take a whole number."],
  [select([field("n")], "rows", { offset: constant(0.5) }), "LIMIT and OFFSET take a whole number."],
  [select([field("n")], "rows", { limit: call("now") }), "LIMIT and OFFSET take a whole number."],
  [
    select([field("n")], "rows", { limit: constant(1), limit_with_ties: true }),
    "LIMIT takes a number of rows",
  ],
  [
    select([field("n")], "rows", { order_by: [order(field("n"), { with_fill: {} })] }),
    "WITH FILL is not supported",
  ],
  [
    select([field("n")], "rows", { group_by: [field("n")], group_by_mode: "grouping_sets" }),
    "GROUPING SETS are not supported",
  ],
  [
    set([select([constant(1)]), select([constant(1)])], "UNION BY NAME") as never,
    '"UNION BY NAME" is not supported.',
  ],
])("a clause is refused: %#", (tree, message) => {
  expect(refusalOfTree(tree)).toStartWith(message);
});
