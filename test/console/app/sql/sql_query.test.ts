// The place of a fault, and what is saved of a query in SQL.

import { expect, test } from "bun:test";
import {
  errorRangeIn,
  nodeWith,
  readSavedSql,
  sourceWith,
} from "../../../../src/console/app/sql/sql_query.ts";

test("a fault is marked at its word, in characters as people count them", () => {
  const text = "select 1,\n  '😀', nam from events";
  const place = errorRangeIn('Unable to resolve field: "nam". (Line 2, column 8.)', text)!;
  expect(text.slice(place.start, place.end)).toBe("nam");
  expect(errorRangeIn("A function has too many arguments.", text)).toBeUndefined();
  expect(errorRangeIn("It ends too early. (Line 9, column 90.)", text)).toEqual({
    start: text.length,
    end: text.length,
  });
});

test("what else was saved of a query stays when its text is changed", () => {
  const source = { kind: "HogQLQuery", query: "select 1", values: { a: 1 } };
  const node = {
    kind: "DataVisualizationNode",
    source,
    display: "ActionsBar",
    chartSettings: { goalLines: [] },
  };
  const saved = readSavedSql(node)!;
  expect(saved).toMatchObject({ text: "select 1", display: "ActionsBar" });
  const changed = { ...source, query: "select 2" };
  expect(sourceWith(saved, "select 2")).toEqual(changed);
  expect(nodeWith(saved, "select 2", "ActionsTable")).toEqual({
    ...node,
    source: changed,
    display: "ActionsTable",
  });
  const bare = readSavedSql(source);
  expect(nodeWith(bare, "select 2", "ActionsTable")).toEqual({
    kind: "DataVisualizationNode",
    source: changed,
    display: "ActionsTable",
  });
  expect(readSavedSql({ kind: "InsightVizNode", source: { kind: "TrendsQuery" } })).toBeUndefined();
});
