import { expect, test } from "bun:test";
import { storedQuery } from "../../src/query/check.ts";

test("a query is stored as it was sent: nothing is added, left out or moved", () => {
  const query = {
    source: {
      dateRange: { date_from: "-7d", date_to: null },
      kind: "TrendsQuery",
      series: [{ event: "a", properties: [{ key: "n", value: "5", operator: "gt" }] }, { event: null }],
      samplingFactor: null,
    },
    full: true,
    kind: "InsightVizNode",
  };
  expect(storedQuery(query)).toEqual(query);
});

test("values are what the check reads", () => {
  expect(
    storedQuery({ kind: "EventsQuery", select: ["*", 5], limit: "10", event: " seen ", after: null }),
  ).toEqual({ kind: "EventsQuery", select: ["*", "5"], limit: 10, event: "seen", after: null });
});

test("a source that says nothing is kept by the kinds that have one of their own", () => {
  const query = { kind: "DataTableNode", source: { kind: "ActorsQuery", select: [], source: null } };
  expect(storedQuery(query)).toEqual(query);
  expect(storedQuery({ kind: "EventsQuery", select: ["*"], source: null })).toMatchObject({ source: null });
});
