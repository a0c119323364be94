import { afterAll, expect, test } from "bun:test";
import { changedSource } from "../support/changed_source.ts";
import { cleanUp } from "../support/cleanup.ts";

afterAll(cleanUp);

const countKind = `
import Type from "typebox";
import { choice, strictModel } from "../../http/fields/field.ts";
import { queryKind } from "../kind.ts";
import { readNodeFilters } from "../parts/figure.ts";

export const countKind = queryKind({
  schema: strictModel("CountQuery", { kind: choice(["CountQuery"]), properties: Type.Optional(Type.Unknown()) }),
  result: "table",
  check: (query, attr) => ({ attr, query: {}, filters: readNodeFilters(query, attr) }),
  title: () => "How many",
  answer: (_context, { filters }) => Promise.resolve({ results: [[filters.length]] }),
});
`;

test("a kind of query is a folder and a line: everything else finds it there", async () => {
  const source = changedSource({
    "query/count/model.ts": countKind,
    "query/kinds.ts": [
      [
        `import { eventsKind } from "./events/events.ts";\n`,
        `import { countKind } from "./count/model.ts";\n`,
      ],
      ["  WebStatsTableQuery: webStatsTableKind,\n", "  CountQuery: countKind,\n"],
    ],
  });
  expect(source.touched).toEqual(["query/count/model.ts", "query/kinds.ts"]);
  const { checkQuery, storedQuery } =
    await source.load<typeof import("../../src/query/check.ts")>("query/check.ts");
  const query = { kind: "CountQuery", properties: [{ key: "plan", value: "pro" }] };
  const ready = checkQuery({ kind: "DataTableNode", source: query });
  expect(ready).toMatchObject({ kind: "CountQuery", result: "table", title: "How many" });
  expect(await ready.answer({} as never, [])).toEqual({ results: [[1]] });
  expect(storedQuery(query)).toEqual(query);
  expect(() => checkQuery({ kind: "CountQuery", limit: 1 })).toThrow("limit");
  const { queryDescription } = await source.load<typeof import("../../src/query/model.ts")>("query/model.ts");
  expect(queryDescription).toContain("WebStatsTableQuery or CountQuery");
});
