import { expect, test } from "bun:test";
import { limits } from "../../src/core/limits.ts";
import type { DayCount } from "../../src/events/day_store.ts";
import { listEvents, pageSpan } from "../../src/events/store.ts";
import type { ClickHouse, QueryOptions } from "../../src/storage/clickhouse/clickhouse.ts";
import { toReads } from "../../src/storage/clickhouse/query_options.ts";

const days: (DayCount & { is_merged?: number })[] = [
  { day: "2024-03-03", count: "5" },
  { day: "2024-03-01", count: "10", is_merged: 1 },
  { day: "2024-01-01", count: 2, is_merged: 1 },
];

test("a page lies in the days that hold its events, counted from the newest of them", () => {
  expect(pageSpan(days, 5, 0)).toEqual({
    first_day: "2024-03-03",
    last_day: "2024-03-03",
    offset: 0,
    rows: 5,
  });
  expect(pageSpan(days, 6, 0)).toEqual({
    first_day: "2024-03-01",
    last_day: "2024-03-03",
    offset: 0,
    rows: 15,
  });
  expect(pageSpan(days, 3, 4)).toEqual({
    first_day: "2024-03-01",
    last_day: "2024-03-03",
    offset: 4,
    rows: 15,
  });
  expect(pageSpan(days, 3, 5)).toEqual({
    first_day: "2024-03-01",
    last_day: "2024-03-01",
    offset: 0,
    rows: 10,
  });
  expect(pageSpan(days, 3, 14)).toEqual({
    first_day: "2024-01-01",
    last_day: "2024-03-01",
    offset: 9,
    rows: 12,
  });
  expect(pageSpan(days, 100, 0)).toEqual({
    first_day: "2024-01-01",
    last_day: "2024-03-03",
    offset: 0,
    rows: 17,
  });
  expect(pageSpan(days, 100, 16)).toEqual({
    first_day: "2024-01-01",
    last_day: "2024-01-01",
    offset: 1,
    rows: 2,
  });
});

test("a page past the end lies in no day", () => {
  expect(pageSpan(days, 10, 17)).toBeUndefined();
  expect(pageSpan([], 10, 0)).toBeUndefined();
});

test("every page's span holds exactly its events, for every limit and offset", () => {
  const total = days.reduce((sum, { count }) => sum + Number(count), 0);
  const flat = days.flatMap(({ day, count }) => Array.from({ length: Number(count) }, () => day));
  for (let limit = 1; limit <= total + 1; limit += 1) {
    for (let offset = 0; offset < total; offset += 1) {
      const span = pageSpan(days, limit, offset);
      const page = flat.slice(offset, offset + limit);
      expect({ limit, offset, last: span?.last_day, first: span?.first_day }).toEqual({
        limit,
        offset,
        last: page[0],
        first: page.at(-1),
      });
      expect(flat.indexOf(span?.last_day ?? "") + (span?.offset ?? 0)).toBe(offset);
    }
  }
});

test("every statement filters by project first, takes parameters, and is held to a time", async () => {
  const asked: { text: string; params: Record<string, unknown>; options: QueryOptions }[] = [];
  const clickhouse: Pick<ClickHouse, "query" | "bytes"> = {
    query: async <Row>(text: string, params = {}, options = {}) => {
      asked.push({ text, params, options });
      return days as Row[];
    },
    bytes: async (text, params = {}, options = {}) => {
      asked.push({ text, params, options });
      return new Uint8Array(0);
    },
  };
  const hostile = "'; DROP TABLE events; --";
  const filter = { event: hostile, distinct_id: hostile, after: "2024-01-01 00:00:00.000000" };
  await listEvents(toReads(clickhouse as ClickHouse, 7), filter, { limit: 10, offset: 0 });
  expect(asked).toHaveLength(3);
  for (const { text, params, options } of asked) {
    expect(text).toContain("WHERE project_id = {project_id:UInt32} AND");
    expect(text).not.toContain("DROP");
    expect(params).toMatchObject({ project_id: 7, event: hostile, distinct_id: hostile });
    expect(options.settings?.["max_execution_time"]).toBe(limits.querySecondsMax);
  }
});

test("a page past the end reads no events", async () => {
  let statements = 0;
  const clickhouse: Pick<ClickHouse, "query"> = {
    query: async <Row>() => {
      statements += 1;
      return days as Row[];
    },
  };
  const asked = { limit: 10, offset: 17 };
  const { count, rows: events } = await listEvents(toReads(clickhouse as ClickHouse, 7), {}, asked);
  expect([count, await Array.fromAsync(events)]).toEqual([17, [new Uint8Array(0)]]);
  // Of the day whose rows are not merged two counts are taken.
  expect(statements).toBe(2);
});
