import { expect, test } from "bun:test";
import { clickhouseLimits } from "../../../src/storage/clickhouse/limits.ts";
import { MemoryNeeds } from "../../../src/storage/clickhouse/memory_needs.ts";

const asked = (project_id: number, now = "2024-01-01") => ({ text: "SELECT 1", params: { project_id, now } });

test("a statement that needed a larger place begins there, for a while and at any moment", () => {
  let elapsed = 0;
  const needs = new MemoryNeeds({ elapsed: () => elapsed });
  expect(needs.findLevel(asked(1))).toBe(0);
  needs.add(asked(1), 1);
  needs.add(asked(1), 2);
  expect(needs.findLevel(asked(1, "2024-01-02"))).toBe(2);
  expect(needs.findLevel(asked(2))).toBe(0);
  expect(needs.findLevel({ ...asked(1), text: "SELECT 2" })).toBe(0);
  elapsed = clickhouseLimits.readNeedKeptMs;
  expect(needs.findLevel(asked(1))).toBe(0);
});

test("so many are remembered, the latest of them", () => {
  const needs = new MemoryNeeds({ elapsed: () => 0 });
  for (let i = 0; i <= clickhouseLimits.readNeedsMax; i++) needs.add(asked(i), 1);
  expect([needs.findLevel(asked(0)), needs.findLevel(asked(1))]).toEqual([0, 1]);
});

test("keys of events, which are whole numbers beyond JSON's, tell statements apart", () => {
  const needs = new MemoryNeeds({ elapsed: () => 0 });
  const page = (id: bigint) => ({ text: "SELECT 1", params: { id_hashes: [id] } });
  needs.add(page(2n ** 63n), 1);
  expect([needs.findLevel(page(2n ** 63n)), needs.findLevel(page(2n ** 63n + 1n))]).toEqual([1, 0]);
});
