// Capture's statements: which batches are stored, what is derived again, and how the engine's answers are read.

import { expect, test } from "bun:test";
import { captureLimits } from "../../src/capture/limits.ts";
import {
  deriveAgain,
  deriveBlocks,
  deriveStored,
  insertBatches,
  recentMinutes,
  storedBatches,
} from "../../src/capture/store.ts";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";

interface Call {
  how: string;
  text: string;
  params: Record<string, unknown>;
  options: Record<string, unknown>;
}

function openEngine(rows: object[] = [], more: object = {}): { clickhouse: ClickHouse; calls: Call[] } {
  const calls: Call[] = [];
  const record = (how: string) => (text: string, params: never, options: never) => {
    calls.push({ how, text: String(text).replaceAll(/\s+/g, " "), params, options });
    return Promise.resolve(rows);
  };
  const clickhouse = {
    query: record("query"),
    command: record("command"),
    insertNative: record("insert"),
    insertDerived: record("derived"),
    ...more,
  };
  return { clickhouse: clickhouse as unknown as ClickHouse, calls };
}

const batches = [
  { id: 1n, rows: 2 },
  { id: 18_446_744_073_709_551_615n, rows: 3 },
];

test("batches are one INSERT of so many partitions, in the time that it may take", async () => {
  const { clickhouse, calls } = openEngine();
  await insertBatches(clickhouse, "event_rows", { path: "/journal/a" });
  expect(calls).toEqual([
    {
      how: "insert",
      text: "event_rows",
      params: { path: "/journal/a" },
      options: {
        timeoutMs: captureLimits.insertMsMax,
        settings: { max_partitions_per_insert_block: captureLimits.insertPartitionsMax },
      },
    } as never,
  ]);
});

test("a batch is stored when a row of it is found, however many there are", async () => {
  const { clickhouse, calls } = openEngine([{ batch: "18446744073709551615" }]);
  expect(await storedBatches(clickhouse, "event_rows", batches)).toEqual(
    new Set([18_446_744_073_709_551_615n]),
  );
  expect(calls[0]!.params).toEqual({ table: "event_rows", batches: batches.map(({ id }) => id), count: 2 });
});

test("on a cluster that divides them a batch is stored when all of its rows are found, and in doubt it is not", async () => {
  const rows = [
    { batch: "1", rows: "2" },
    { batch: "18446744073709551615", rows: "2" },
  ];
  const { clickhouse, calls } = openEngine(rows, { cluster: { name: "c" } });
  expect(await storedBatches(clickhouse, "event_rows", batches)).toEqual(new Set([1n]));
  expect(calls[0]!.text).toContain("uniqExact(_row)");
  expect(calls[0]!.text).toContain("insert_quorum");
});

test("what events and pieces are derived to is derived again by batch; warnings have nothing derived", async () => {
  const { clickhouse, calls } = openEngine();
  for (const table of ["event_rows", "snapshot_chunks", "warning_rows"]) {
    await deriveAgain(clickhouse, table, [1n]);
  }
  expect(calls.map(({ text }) => /^INSERT INTO (\w+)/.exec(text)?.[1])).toEqual([
    "event_feed",
    "session_recording_days",
  ]);
  for (const { text, params } of calls) {
    expect(text).toContain("_batch IN {batches:Array(UInt64)}");
    expect(params).toEqual({ batches: [1n] });
  }
});

test("events of an id that was deleted after they arrived are not derived again", async () => {
  const { clickhouse, calls } = openEngine();
  await deriveAgain(clickhouse, "event_rows", [1n]);
  expect(calls[0]!.text).toContain("AND e.created_at > d.id_deleted_at");
  const [, into, from] = /event_feed \((.*?)\) SELECT (.*?) FROM event_rows/.exec(calls[0]!.text)!;
  expect(from).toBe(
    into!
      .split(", ")
      .map((name) => `e.${name}`)
      .join(", "),
  );
});

test("stored batches are derived whole or in parts, of which each row is in one", async () => {
  const { clickhouse, calls } = openEngine();
  await deriveStored(clickhouse, [1n]);
  expect(calls).toHaveLength(2);
  expect(calls.every(({ text }) => !text.includes("_row %"))).toBe(true);
  await deriveStored(clickhouse, [1n], { parts: 4, part: 3 });
  for (const { text, params } of calls.slice(2)) {
    expect(text).toContain("_batch IN {batches:Array(UInt64)} AND _row % {parts:UInt32} = {part:UInt32}");
    expect([params["parts"], params["part"]]).toEqual([4, 3]);
  }
});

test("blocks are derived as they are sent", async () => {
  const { clickhouse, calls } = openEngine();
  await deriveBlocks(clickhouse, "sessions" as never, { bytes: [] });
  expect(calls.map(({ how }) => how)).toEqual(["derived"]);
});

test("minutes are read from their first millisecond, with numbers as numbers, and bounded", async () => {
  const row = { project_id: 1, minute: "28000000", events: "12", since: "1680000000000" };
  const { clickhouse, calls } = openEngine([row]);
  const now = 1_680_000_300_000;
  expect(await recentMinutes(clickhouse, now, 5)).toEqual([
    { project_id: 1, minute: 28_000_000, events: 12, since: 1_680_000_000_000 },
  ]);
  expect(calls[0]!.params).toEqual({ from: now - 300_000, rows: 5 * captureLimits.spikeProjectsMax });
  expect(calls[0]!.text).toContain("NOT historical_migration");
});
