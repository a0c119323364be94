import { expect, test } from "bun:test";
import { answerOf, defaults, planOf } from "../../bench/scaling.ts";

/** A million events of a thousand bytes, and figures that can be multiplied in one's head. */
const round = {
  event_bytes: 1000,
  request_events: 100,
  request_us: 100,
  server_cpu_s_gb: 3,
  compress_cpu_s_gb: 1,
  engine_cpu_s_gb: 6,
  inflate_cpu_s_gb: 1,
  insert_cpu_ms: 0,
  merge_cpu_s_gb: 2,
  merge_passes: 4,
  read_share: 0.5,
  wire_bytes: 0.1,
  journal_bytes: 0.9,
  disk_bytes: 100,
  days: 1,
  replicas: 2,
  outage_s: 100,
  merge_share: 0.001,
  merge_us: 100,
  busy: 0.5,
  server_cores: 8,
  server_gb: 2,
  shard_cores: 16,
  shard_core_gb: 4,
  shard_disk_tb: 10,
  disk_full: 0.5,
};

test("cores, machines, disks and bytes are what the figures come to", () => {
  const plan = planOf(1_000_000, round);
  // 1 GB/s: 3 + 1 for the bytes and 10,000 requests of 100 µs; half of 8 cores may be at work.
  expect(plan.server_cores).toBe(5);
  expect(plan.servers).toBe(2);
  // 6 + 1 and four merges of 2, twice; each shard has half of its 16 cores, half of that for writing.
  expect(plan.engine_cores).toBe(30);
  expect(plan.shards_by_cores).toBe(4);
  // 100 MB/s in a day on half of 10 TB, twice.
  expect(plan.disk_tb).toBeCloseTo(17.28);
  expect(plan.shards).toBe(4);
  expect(plan.machines).toBe(2 + 8 + 1);
  expect(plan.memory_gb).toBe(2 * 2 + 8 * 64);
  expect(plan.wire_mb_s).toBe(100);
  expect(plan.journal_gb).toBe(45);
  expect(plan.loads.find(({ name }) => name.startsWith("merges of persons"))?.share).toBeCloseTo(0.1);
});

test("disks alone may ask for more shards than cores", () => {
  const { shards, shards_by_cores } = planOf(1_000_000, { ...round, days: 10 });
  expect([shards, shards_by_cores]).toEqual([18, 4]);
});

test("a small rate fits one machine with everything on it", () => {
  const plan = planOf(100, { days: 30 });
  expect([plan.machines, plan.servers, plan.shards, plan.wire_mb_s]).toEqual([1, 1, 1, 0]);
});

test("what is fullest comes first", () => {
  const { loads } = planOf(1_000_000, { ...round, merge_us: 100_000 });
  expect(loads[0]).toMatchObject({ name: "merges of persons, one lock in Postgres", share: 100 });
  expect(loads.map(({ share }) => share)).toEqual(loads.map(({ share }) => share).toSorted((a, b) => b - a));
});

test("each rate is a column, and every figure has a default", () => {
  const { figures } = answerOf([1000, 2000]);
  expect(Object.keys(figures[0]!)).toEqual(["name", "1,000/s", "2,000/s"]);
  expect(Object.values(defaults).filter((value) => !(value >= 0))).toEqual([]);
});
