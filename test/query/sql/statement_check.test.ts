// The second wall, over statements that a compiler must never make, and the engine's own tree of each.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { systemClock } from "../../../src/core/clock.ts";
import { SqlProblem } from "../../../src/query/sql/compile/compile.ts";
import { chooseKinds } from "../../../src/query/sql/compile/lists/kinds.ts";
import { checkStatement } from "../../../src/query/sql/statement_check.ts";
import type { CallNode, SelectQuery } from "../../../src/query/sql/tree.ts";
import { openQueryRunners, type QueryRunner } from "../../../src/query/store.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { usualBounds } from "../../support/query_bounds.ts";
import { openTestParser } from "../../support/sql_parser.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";
import { callables, countsOf, right } from "./compile/lists/arguments.ts";
import { call, compiled, select } from "./compile/trees.ts";

afterAll(cleanUp, storesStartMsMax);

let run: QueryRunner;
beforeAll(async () => {
  run = openQueryRunners((await openMadeStores()).clickhouse, systemClock, usualBounds()).run;
}, storesStartMsMax);

const outcome = (text: string): Promise<string> =>
  checkStatement({ run, project_id: 7 }, text, { project_id: 7, other: 8, v: "x" }).then(
    () => "passed",
    (thrown: unknown) => String(thrown),
  );

const own = "project_id = {project_id:UInt32}";
const table = `(SELECT event AS v0 FROM stored_events WHERE ${own}) AS t0`;

test("what is limited to its project passes", async () => {
  const right = [
    `SELECT t0.v0 FROM ${table} LIMIT 101`,
    `SELECT 1 AS c0 LIMIT 101`,
    `SELECT t0.v0 FROM ${table} WHERE t0.v0 IN (SELECT t1.v1 FROM (SELECT id AS v1 FROM persons WHERE ${own} AND 1 = 1) AS t1)`,
    `SELECT * FROM (SELECT t0.v0 FROM ${table} UNION ALL SELECT toString(number) FROM numbers(3)) LIMIT 5`,
    `SELECT t0.v0 FROM ${table} LEFT ANY JOIN (SELECT id AS v2 FROM persons WHERE ${own}) AS t1 ON t0.v0 = t1.v2`,
    `SELECT t0.v0, a FROM ${table} ARRAY JOIN [1, 2] AS a WHERE t0.v0 IN ('a', 'b')`,
  ];
  for (const text of right) expect([text, await outcome(text)]).toEqual([text, "passed"]);
});

test("other tables, functions, and tables without their project are not run", async () => {
  const wrong = [
    "SELECT * FROM stored_events",
    "SELECT 'x cte_name: api_keys' UNION ALL SELECT name FROM api_keys",
    "SELECT 'cte_name: events', event FROM events",
    "SELECT * FROM stored_events WHERE project_id = {other:UInt32}",
    `SELECT * FROM stored_events WHERE ${own} OR 1`,
    `SELECT * FROM stored_events WHERE NOT (${own})`,
    `SELECT * FROM stored_events WHERE if(1, 1, ${own})`,
    `SELECT * FROM stored_events AS a, stored_events AS b WHERE a.${own}`,
    `SELECT * FROM ${table}, stored_events`,
    `SELECT 1 UNION ALL SELECT 1 FROM persons`,
    `SELECT 1 WHERE 1 IN (SELECT 1 FROM groups)`,
    "SELECT 1 WHERE 1 IN groups",
    "SELECT (SELECT count() FROM sessions)",
    "SELECT * FROM system.tables",
    "SELECT * FROM sluice.events",
    `SELECT * FROM event_rows_of_others WHERE ${own}`,
    "SELECT * FROM file('/etc/passwd')",
    "SELECT * FROM url('http://127.0.0.1/', 'CSV')",
    "SELECT * FROM remote('127.0.0.1', system.one)",
    `SELECT * FROM merge('sluice', '.*') WHERE ${own}`,
    "SELECT file('/etc/passwd')",
    "SELECT dictGet('a', 'b', 1)",
    "SELECT joinGet('a', 'b', 1)",
    "SELECT sleep(1)",
    "SELECT throwIf(1)",
    "SELECT hostName()",
    "SELECT currentDatabase()",
    `SELECT t0.v0 FROM ${table} ORDER BY sleepEachRow(1)`,
    "SELECT toTimeZone(toDateTime(0, 'UTC'), 'file:/proc/self/fd/7')",
    "SELECT toTimeZone(toDateTime(0, 'UTC'), concat('U', 'TC'))",
    "SELECT toDateTime(0, 'Fixed/UTC+00:00:01')",
    "SELECT toDateTime64(0, 6, 'US/Pacific')",
    "SELECT toString(toDateTime(0, 'UTC'), {v:String})",
    "SELECT dateDiff('day', toDateTime(0, 'UTC'), toDateTime(0, 'UTC'), 'localtime')",
    "SELECT formatDateTime(toDateTime(0, 'UTC'), concat('%', 'Y'))",
    "SELECT JSONExtract('{}', 'a', 'AggregateFunction(sum, Int64)')",
    "SELECT CAST(1, 'DateTime(\\'Fixed/UTC+00:00:01\\')')",
    "SELECT arrayMap(x -> getSetting('max_threads'), [1])",
  ];
  for (const text of wrong) {
    expect([text, await outcome(text)]).toEqual([text, expect.stringContaining("is not run")]);
  }
});

/** What any argument may be: the compiler refuses it, or the check lets it pass. */
const extremes = [
  "-1",
  "100",
  "1e9",
  "0.5",
  "NULL",
  "''",
  `'${"long ".repeat(50)}'`,
  "'\\''",
  "'\"`é😀'",
  "'DAYS'",
  "'Float99'",
];

test("whatever is compiled passes: each function with extreme constants as each of its arguments", async () => {
  const { parse } = openTestParser();
  const usual: Readonly<Record<string, string>> = { ...right, j: "'{}'" };
  const texts = [...new Set([...extremes, ...Object.values(usual)])];
  const parsed = (await parse(`select ${texts.join(", ")}`, "select", 7)) as SelectQuery;
  const nodes = new Map(texts.map((text, i) => [text, parsed.select[i]!]));
  const statementFor = (calls: readonly CallNode[]) => compiled(select([...calls]), { project_id: 7 });
  const accepted: CallNode[] = [];
  for (const [name, args] of callables) {
    const counts = countsOf(args);
    for (const count of new Set([counts[0]!, counts.at(-1)!])) {
      const kinds = [...chooseKinds(args, count)].slice(0, count);
      for (const [i, extreme] of kinds.flatMap((_, i) => extremes.map((text) => [i, text] as const))) {
        const values = kinds.map((kind, j) => nodes.get(i === j ? extreme : usual[kind]!)!);
        const node = call(name, ...values);
        try {
          statementFor([node]);
          accepted.push(node);
        } catch (thrown) {
          if (!(thrown instanceof SqlProblem)) throw new Error(`${name} with ${extreme}`, { cause: thrown });
        }
      }
    }
  }
  expect(accepted.length).toBeGreaterThan(10_000);
  for (let at = 0; at < accepted.length; at += 20) {
    const calls = accepted.slice(at, at + 20);
    const { statement, parameters } = statementFor(calls);
    const passed = await checkStatement({ run, project_id: 7 }, statement, parameters).catch(String);
    expect([passed, passed && calls.map(({ name }) => name)]).toEqual([undefined, undefined]);
  }
}, 300_000);
