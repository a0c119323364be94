// What each argument of each function may be, made from the table: names of the engine's are constants of a list.

import { afterAll, expect, test } from "bun:test";
import { compileSelect, SqlProblem } from "../../../../../src/query/sql/compile/compile.ts";
import { chooseKinds } from "../../../../../src/query/sql/compile/lists/kinds.ts";
import type { ExpressionNode, SelectQuery } from "../../../../../src/query/sql/tree.ts";
import { cleanUp } from "../../../../support/cleanup.ts";
import { openTestParser } from "../../../../support/sql_parser.ts";
import { call, constant, field, refusalOf, written } from "../trees.ts";
import { callables, callText, countsOf, hostileTo } from "./arguments.ts";

afterAll(cleanUp);
const { parse } = openTestParser();

/** The trees of texts, some hundred at a time. */
async function treesOf(texts: readonly string[]): Promise<ExpressionNode[]> {
  const trees: ExpressionNode[] = [];
  for (let at = 0; at < texts.length; at += 100) {
    const { select } = (await parse(
      `select ${texts.slice(at, at + 100).join(", ")}`,
      "select",
      1,
    )) as SelectQuery;
    trees.push(...select);
  }
  return trees;
}

/** Why it is refused; empty where it is not. */
function problemOf(node: ExpressionNode): string {
  const tree = {
    node: "SelectQuery",
    select: [node],
    select_from: { node: "JoinExpr", table: field("events") },
  } as const;
  try {
    compileSelect(tree as unknown as SelectQuery, { project_id: 1, timezone: "UTC", now: 0, text: "" });
    return "";
  } catch (thrown) {
    if (thrown instanceof SqlProblem) return thrown.message;
    throw thrown;
  }
}

test("every function takes what its line allows", async () => {
  const texts = callables
    // The part of date_part() is a name of its own.
    .filter(([name]) => name !== "grouping" && name !== "date_part")
    .flatMap(([name, args]) => countsOf(args).map((count) => callText(name, args, count)));
  expect(texts.length).toBeGreaterThan(600);
  const trees = await treesOf(texts);
  const refused = texts
    .map((text, i) => [text, problemOf(trees[i]!)])
    .filter(([, problem]) => problem !== "");
  expect(refused).toEqual([]);
}, 300_000);

test("no argument that the engine reads as a name or a program is a column, an expression, or a foreign name", async () => {
  const texts: string[] = [];
  for (const [name, args] of callables) {
    for (const count of countsOf(args)) {
      const kinds = chooseKinds(args, count).slice(0, count);
      for (const [i, kind] of [...kinds].entries()) {
        texts.push(...hostileTo(kind).map((bad) => callText(name, args, count, { [i]: bad })));
      }
    }
  }
  expect(texts.length).toBeGreaterThan(500);
  const trees = await treesOf(texts);
  expect(texts.filter((_, i) => problemOf(trees[i]!) === "")).toEqual([]);
}, 300_000);

test("a zone, a unit and a type reach the engine as its lists have them", () => {
  expect(written(call("toTimeZone", field("at"), constant("US/Pacific")))).toBe(
    'toTimeZone(at, "America/Los_Angeles")',
  );
  expect(written(call("dateDiff", constant("DAYS"), field("at"), field("at"), constant("Etc/UTC")))).toBe(
    'dateDiff("day", at, at, "UTC")',
  );
  expect(written(call("now", constant("Asia/Calcutta")))).toContain('"Asia/Kolkata"');
  expect(refusalOf(call("toTimeZone", field("at"), constant("utc")))).toBe(
    '"utc" is no time zone, such as "Europe/Berlin".',
  );
});

test("a count that is not known yet becomes one that the engine refuses where it is too large", () => {
  expect(written(call("repeat", field("text"), field("n")))).toBe(
    "repeat(text, if(n > 1500, 4294967295, n))",
  );
  expect(written(call("range", field("n")))).toBe("range(if(n > 1500, 4294967295, n))");
  expect(written(call("range", constant(1), field("n"), constant(2)))).toBe(
    'range("1", if(n - "1" > 3000, "1" + 4294967295, n), "2")',
  );
  expect(refusalOf(call("repeat", constant("a"), constant(10_001)))).toBe('"repeat" makes at most 10000.');
});
