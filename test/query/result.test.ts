import { expect, test } from "bun:test";
import { type FunnelStep, readDrawing, shownResults, toFunnels } from "../../src/query/result.ts";

test("results are a list, but for a funnel's times", () => {
  const times = { bins: [[0, 2]], average_conversion_time: 1 };
  expect(shownResults({ type: "times", results: [times] })).toBe(times);
  expect(shownResults({ type: "steps", results: [] })).toEqual([]);
  expect(shownResults({ type: null, results: [1] })).toEqual([1]);
});

test("the steps of one funnel are one list of those of several", () => {
  const [first, second] = [{ order: 0 }, { order: 1 }] as FunnelStep[];
  expect(toFunnels([first!, second!])).toEqual([[first!, second!]]);
  expect(toFunnels([[first!], [second!]])).toEqual([[first!], [second!]]);
});

test.each([
  [{ kind: "TrendsQuery", trendsFilter: { display: "ActionsPie" } }, { display: "ActionsPie" }],
  [
    { kind: "InsightVizNode", source: { kind: "TrendsQuery", trendsFilter: { display: "BoldNumber" } } },
    { display: "BoldNumber" },
  ],
  [{ kind: "DataVisualizationNode", display: "ActionsBar", source: {} }, { display: "ActionsBar" }],
  [{ kind: "RetentionQuery" }, { retentionType: "retention_recurring" }],
  [
    { kind: "RetentionQuery", retentionFilter: { retentionType: "retention_first_time" } },
    { retentionType: "retention_first_time" },
  ],
  [{ kind: "FunnelsQuery" }, {}],
  [null, {}],
])("%j is drawn as %j", (query, drawing) => {
  expect(readDrawing(query)).toEqual(drawing);
});
