// Lists in expressions of SQL, of rows that an engine would have given.

import { expect, test } from "bun:test";
import { expressionRows } from "../../../src/query/parts/expressions.ts";
import type { QueryContext } from "../../../src/query/store.ts";
import { countTurns } from "../../support/turns.ts";

const properties = JSON.stringify({ note: "a".repeat(300_000) });

/** A context whose engine finds nothing wrong and answers with these rows. */
function contextOf(rows: unknown[][]): QueryContext {
  const parse = (text: string) => Promise.resolve({ node: "Field", chain: [text.replace(/\W/g, "")] });
  return {
    parse: (text: string, kind: string) =>
      text === "{filters}" ? Promise.resolve({ node: "Constant", value: true }) : kind && parse(text),
    run: (text: string) => Promise.resolve(text.startsWith("EXPLAIN") ? [{ explain: "QUERY id: 0" }] : []),
    table: () => Promise.resolve({ types: ["String"], rows }),
    elapsed: () => 0,
    scopes: ["*"],
    project_id: 1,
    timezone: "UTC",
    now: 0,
  } as unknown as QueryContext;
}

function read(rows: unknown[][]) {
  return expressionRows(
    contextOf(rows),
    {
      attr: "query",
      table: "events",
      made: { "*": { reads: ["properties"], cell: (text) => JSON.parse(String(text)) as unknown } },
      select: ["*"],
      usualOrder: ["uuid"],
      filters: { properties: [] },
    },
    { limit: 100, offset: 0 },
  );
}

test("others have a turn between two events with long properties", async () => {
  const few = await countTurns(() => read([[properties]]));
  const rows = Array.from({ length: 20 }, () => [properties]);
  let results: unknown[] = [];
  const turns = await countTurns(async () => {
    ({ results } = await read(rows));
  });
  expect(results).toHaveLength(20);
  expect(turns - few).toBeGreaterThanOrEqual(19);
});
