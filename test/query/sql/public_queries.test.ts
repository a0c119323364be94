import { afterAll, beforeAll, expect, test } from "bun:test";
import { SqlProblem } from "../../../src/query/sql/compile/compile.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { storesStartMsMax } from "../../support/stores.ts";
import { publicContext as context, publicQueries as queries } from "./public_queries.ts";
import { openSqlWorld, type SqlWorld } from "./sql_world.ts";

afterAll(cleanUp, storesStartMsMax);

let world: SqlWorld;
beforeAll(async () => {
  world = await openSqlWorld();
}, storesStartMsMax);

test("there are a hundred, and at most ten are refused", () => {
  expect(queries.length).toBeGreaterThanOrEqual(100);
  expect(queries.filter((one) => one.startsWith("refused ")).length).toBeLessThanOrEqual(10);
});

for (const query of queries) {
  const isRefused = query.startsWith("refused ");
  test(query, async () => {
    if (isRefused) {
      const problem = await world.compile(query.slice(8), context).catch((thrown: unknown) => thrown);
      expect(problem).toBeInstanceOf(SqlProblem);
      return;
    }
    const compiled = await world.compile(query, context);
    const rows = await world.ask(query, context);
    for (const row of rows) expect(row.length).toBe(compiled.columns.length);
  });
}
