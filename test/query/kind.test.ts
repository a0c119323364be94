// What a link shows of each kind of query: all columns, those of a list, or none with the reason.

import { expect, test } from "bun:test";
import { checkQuery } from "../../src/query/check.ts";
import { noSqlParser } from "../support/sql_parser.ts";

const reader = { ...noSqlParser, project_id: 1 };

test("charts and tables of a site are shown whole", async () => {
  for (const query of [
    { kind: "TrendsQuery", series: [{ event: "a" }] },
    { kind: "WebStatsTableQuery", breakdownBy: "Page", properties: [] },
    { kind: "DataTableNode", source: { kind: "WebStatsTableQuery", breakdownBy: "Page", properties: [] } },
  ])
    expect(await checkQuery(query).shownColumns(reader)).toBeNull();
});

test("lists of events, persons and sessions are not shown", async () => {
  for (const query of [
    { kind: "EventsQuery", select: ["event"] },
    { kind: "ActorsQuery" },
    { kind: "SessionsQuery", select: ["session_id"] },
    { kind: "DataTableNode", source: { kind: "EventsQuery", select: ["count()"] } },
  ])
    expect(
      await checkQuery(query)
        .shownColumns(reader)
        .catch((thrown: Error) => thrown.message),
    ).toBe("A list of events, persons or sessions is not shown by a link.");
});
