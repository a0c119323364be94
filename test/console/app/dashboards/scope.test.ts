// The range and filters of a dashboard's page: in its address, and in the query of each tile that has room for them.

import { expect, test } from "bun:test";
import { readScope, scopeAddress, scopedQuery } from "../../../../src/console/app/dashboards/scope.ts";

const condition = { type: "event", key: "plan", operator: "exact", values: ["gold", "tea"] };
const filter = { type: "event", key: "plan", operator: "exact", value: ["gold", "tea"] };
const nothing = { range: "", to: "", conditions: [], withoutOwn: false };

test("an address holds all of it, and nothing where nothing is set", () => {
  const scope = { range: "2026-03-01", to: "2026-03-09", conditions: [condition], withoutOwn: true };
  expect(readScope(new URLSearchParams(scopeAddress(scope)))).toEqual(scope);
  expect(scopeAddress(nothing)).toBe("");
  expect(readScope(new URLSearchParams("where=[]&where=no"))).toEqual(nothing);
});

test("a tile's own range is replaced, and its own filters hold as well", () => {
  const own = { type: "person", key: "vip", operator: "is_set" };
  const trend = { kind: "TrendsQuery", series: [{}], dateRange: { date_from: "-7d" }, properties: [own] };
  const saved = { kind: "InsightVizNode", source: trend };
  const scope = { ...nothing, range: "-30d", conditions: [condition] };
  expect(scopedQuery(saved, scope)).toEqual({
    query: { ...trend, dateRange: { date_from: "-30d" }, properties: [own, filter] },
    without: "",
  });
  const group = { type: "OR", values: [own, own] };
  expect(scopedQuery({ ...trend, properties: group }, { ...nothing, conditions: [condition] }).query).toEqual(
    {
      ...trend,
      properties: { type: "AND", values: [group, { type: "AND", values: [filter] }] },
    },
  );
  expect(scopedQuery(saved, nothing)).toEqual({ query: undefined, without: "" });
});

test("own visits are left out of every tile that has filters, and of others they say that they are in", () => {
  const scope = { ...nothing, withoutOwn: true };
  const retention = { kind: "RetentionQuery", retentionFilter: {} };
  expect(scopedQuery(retention, scope)).toEqual({
    query: { ...retention, filterTestAccounts: true },
    without: "",
  });
  const sql = { kind: "HogQLQuery", query: "select 1" };
  expect(scopedQuery(sql, scope)).toEqual({ query: undefined, without: "leaving out own visits" });
});

test("what has no room for them says so", () => {
  const scope = { ...nothing, range: "-30d", conditions: [condition] };
  const retention = { kind: "RetentionQuery", retentionFilter: {} };
  expect(scopedQuery(retention, scope)).toEqual({
    query: { ...retention, properties: [filter] },
    without: "the range",
  });
  const sql = { kind: "DataVisualizationNode", source: { kind: "HogQLQuery", query: "select 1" } };
  expect(scopedQuery(sql, scope)).toEqual({ query: undefined, without: "the range and the filters" });
});
