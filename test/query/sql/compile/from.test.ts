// The tables of a SELECT: how they are joined, series, and names that are of none or of two.

import { expect, test } from "bun:test";
import { queryLimits } from "../../../../src/query/limits.ts";
import type { ExpressionNode, JoinExpr } from "../../../../src/query/sql/tree.ts";
import {
  call,
  clausesOf,
  compare,
  constant,
  field,
  refusalOfTree,
  select,
  statementOf,
  table,
  tuple,
} from "./trees.ts";

const on = (expr: ExpressionNode) => ({ node: "JoinConstraint", constraint_type: "ON", expr }) as const;
const using = (expr: ExpressionNode) => ({ node: "JoinConstraint", constraint_type: "USING", expr }) as const;
const joined = (more: Partial<JoinExpr>, first: Partial<JoinExpr> = {}): JoinExpr =>
  table("rows", { alias: "a", ...first, next_join: table("rows", { alias: "b", ...more }) });
const equal = compare("==", field("a", "n"), field("b", "n"));
const sample = (left: ExpressionNode, right?: ExpressionNode): Partial<JoinExpr> => ({
  sample: { node: "SampleExpr", sample_value: { node: "RatioExpr", left, right } },
});
/** The part behind FROM. */
const fromOf = (from: JoinExpr, columns: ExpressionNode[] = [field("a", "n")]) =>
  / FROM (.*) LIMIT 101$/.exec(clausesOf(select(columns, from)))![1]!;

test("each table is a subquery of its project, and joined as it is written", () => {
  expect(fromOf(joined({ join_type: "LEFT JOIN", constraint: on(equal) }))).toMatch(
    /^rows LEFT JOIN rows ON \(n = n\)$/,
  );
  expect(fromOf(joined({ join_type: "ANY INNER JOIN", constraint: on(equal) }))).toContain(
    " ANY INNER JOIN ",
  );
  expect(fromOf(joined({}))).toBe("rows CROSS JOIN rows");
});

test("USING compares a column of both tables, and reads it from the first", () => {
  const from = joined({ join_type: "INNER JOIN", constraint: using(tuple(field("n"), field("text"))) });
  expect(fromOf(from, [field("n")])).toEndWith(" ON (n = n) AND (text = text)");
});

test("a series is the numbers from the first, and bounded", () => {
  const series = (name: string, ...args: number[]) =>
    select(
      [field(name === "numbers" ? "number" : "generate_series")],
      table(name, { table_args: args.map(constant) }),
    );
  expect(statementOf(series("numbers", 5))).toMatch(/SELECT toInt64\(number\) AS c\d+ FROM numbers\(5\)/);
  expect(statementOf(series("numbers", 3, 5))).toMatch(
    /SELECT toInt64\(number\) \+ 3 AS c\d+ FROM numbers\(5\)/,
  );
  expect(statementOf(series("generateSeries", 3, 5))).toContain("FROM numbers(3)");
  const most = queryLimits.sqlSeriesMax;
  expect(statementOf(series("numbers", most))).toContain(`numbers(${most})`);
  const tooLong = `A series has at most ${most} numbers.`;
  expect(refusalOfTree(series("numbers", most + 1))).toBe(tooLong);
  expect(refusalOfTree(series("generateSeries", 5, 3))).toBe(tooLong);
  expect(refusalOfTree(series("numbers", 0.5))).toBe("numbers() takes whole numbers.");
  expect(refusalOfTree(series("generateSeries", 5))).toStartWith('There is no table "generateSeries(…)"');
});

test("a list in ARRAY JOIN has its name where it is given one", () => {
  const list: ExpressionNode = { node: "Alias", alias: "one", expr: field("list") };
  const from = { array_join_op: "LEFT ARRAY JOIN" as const, array_join_list: [list] };
  expect(clausesOf(select([field("one")], "rows", from))).toMatch(
    /^SELECT (c\d+) AS c\d+ FROM rows LEFT ARRAY JOIN list AS \1 LIMIT 101$/,
  );
});

test("a WITH hides a table of its name, and a value is no table", () => {
  const cte = (expr: ExpressionNode) => ({
    ctes: [{ node: "CTE" as const, name: "rows", cte_type: "subquery" as const, expr }],
  });
  const inner = select([{ node: "Alias", alias: "n", expr: constant("mine") }]);
  expect(clausesOf(select([field("n")], "rows", cte(inner)))).toMatch(
    /^SELECT t\d+\.(c\d+) AS c\d+ FROM \(SELECT "mine" AS \1\) AS t\d+ LIMIT 101$/,
  );
  expect(refusalOfTree(select([field("n")], "rows", cte(constant(1))))).toBe(
    '"rows" is a value, not a table.',
  );
});

test.each<[JoinExpr, string]>([
  [table("event"), 'Unknown table "event". Did you mean "events"?'],
  [table("constructor"), 'Unknown table "constructor".'],
  [joined({}, { alias: "b" }), 'There are two tables called "b": give one another name with AS.'],
  [joined({ join_type: "PASTE JOIN" }), "PASTE JOIN is not supported."],
  [joined({ join_type: "INNER JOIN" }), "This JOIN needs ON or USING."],
  [
    joined({ join_type: "FULL JOIN", constraint: using(field("n")) }),
    "USING is for INNER and LEFT joins here: write ON.",
  ],
  [joined({ join_type: "INNER JOIN", constraint: using(field("x")) }), '"x" is not in both tables.'],
  [
    joined({ join_type: "INNER JOIN", constraint: using(call("lower", field("n"))) }),
    "USING takes names of columns.",
  ],
  [table("rows", sample(constant(0.1))), "SAMPLE is not supported, but for 1: events have no order"],
  [table("rows", sample(constant(1), constant(2))), "SAMPLE is not supported, but for 1"],
  [table("rows", sample({ node: "Placeholder", expr: constant(1) })), "SAMPLE is not supported, but for 1"],
  [table("rows", { column_aliases: ["x"] }), "Names of columns after a table are not supported."],
  [{ node: "JoinExpr", table: { node: "ValuesQuery" } }, "VALUES is not supported in FROM."],
  [
    table("file", { table_args: [constant("/etc/passwd")] }),
    'There is no table "file(…)"; there are numbers(n) and generateSeries(from, to).',
  ],
])("%j is refused", (from, message) => {
  expect(refusalOfTree(select([constant(1)], from))).toStartWith(message);
});
