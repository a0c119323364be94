// When an engine counts as stuck, when it is restarted, and when it is only reported.

import { expect, test } from "bun:test";
import { EngineWatch, type FlushTrouble, noTrouble, worstTrouble } from "../../src/storage/engine_watch.ts";
import { storageLimits } from "../../src/storage/limits.ts";

const { flushSilentMsMax, flushMemoryMsMax, statementOverdueMsMax, engineStarvedFactor } = storageLimits;
const { engineRestartPauseMsMin, engineRestartPauseMsMax } = storageLimits;

/** A watch on a clock of its own; by default of an embedded engine that idles and is on time. */
function openWatch({ isEmbedded = true } = {}) {
  const world = {
    now: 1_000_000,
    pid: 77 as number | undefined,
    trouble: noTrouble,
    overdueMs: 0,
    isRewriting: false,
    isLocked: false as boolean | "no answer",
    /** CPU time that the engine gets in a second, and that its threads wait for, in ms. */
    share: { usedMs: 1, delayedMs: 0 },
  };
  const restarts: string[] = [];
  const logged: unknown[] = [];
  const engine = {
    get pid() {
      return world.pid;
    },
    restart: async (reason: string) => void restarts.push(reason),
  };
  const locks = async () => {
    if (world.isLocked === "no answer") throw new Error("Postgres is away");
    return world.isLocked ? [{}] : [];
  };
  const watch = new EngineWatch({
    engine: isEmbedded ? engine : undefined,
    clickhouse: { running: world } as never,
    sql: locks as never,
    clock: { now: () => world.now, elapsed: () => world.now },
    log: { warn: (message: string, fields: unknown) => void logged.push([message, fields]) } as never,
    readTrouble: async () => world.trouble,
    readCpu: () => ({
      usedMs: (world.now / 1000) * world.share.usedMs,
      delayedMs: (world.now / 1000) * world.share.delayedMs,
    }),
  });
  /** Second by second. `step` says how the world is after so many ms. */
  const pass = async (ms: number, step: (ms: number) => void) => {
    for (let passed = 1000; passed <= ms; passed += 1000) {
      world.now += 1000;
      step(passed);
      await watch.poll();
    }
  };
  const silence = (ms: number): FlushTrouble => ({ ...noTrouble, failingMs: ms, silentMs: ms });
  const beSilent = (ms: number) => pass(ms, (passed) => (world.trouble = silence(passed)));
  return { world, restarts, logged, watch, pass, beSilent };
}

const codeOf = (watch: EngineWatch): unknown => {
  try {
    watch.check();
    return undefined;
  } catch (thrown) {
    return (thrown as { code: string }).code;
  }
};

test("a flush without an answer restarts the engine, and makes it unready until something is stored", async () => {
  const { world, restarts, watch, pass, beSilent } = openWatch();
  await beSilent(flushSilentMsMax - 1000);
  expect([restarts, codeOf(watch)]).toEqual([[], undefined]);
  await beSilent(flushSilentMsMax);
  expect([restarts, watch.restarts, codeOf(watch)]).toEqual([["a flush has no answer"], 1, "FLUSH_HUNG"]);
  await pass(1000, () => (world.trouble = noTrouble));
  expect(codeOf(watch)).toBeUndefined();
});

test("an engine without memory for flushes is restarted, one that refuses them for another reason is not", async () => {
  const { world, restarts, watch, pass } = openWatch();
  await pass(600_000, (ms) => {
    world.trouble = { failingMs: ms, silentMs: 0, memoryMs: 0, code: "NOT_ENOUGH_SPACE" };
  });
  expect([restarts, codeOf(watch)]).toEqual([[], "FLUSH_FAILED_NOT_ENOUGH_SPACE"]);
  await pass(flushMemoryMsMax, (ms) => {
    world.trouble = { failingMs: ms, silentMs: 0, memoryMs: ms, code: "MEMORY_LIMIT_EXCEEDED" };
  });
  expect(restarts).toEqual(["its memory is used up"]);
});

test("a statement that outlives its limit and its kill restarts the engine", async () => {
  const { world, restarts, watch, pass } = openWatch();
  await pass(statementOverdueMsMax - 1000, (ms) => (world.overdueMs = ms));
  expect(restarts).toEqual([]);
  world.share = { usedMs: 1000, delayedMs: 1000 };
  await pass(2000, (ms) => (world.overdueMs = statementOverdueMsMax - 1000 + ms));
  expect([restarts, codeOf(watch)]).toEqual([["a statement outlives its kill"], undefined]);
});

test("a killed statement whose block has half a core gets more time, but not without limit", async () => {
  const { world, restarts, pass } = openWatch();
  world.share = { usedMs: 500, delayedMs: 500 };
  await pass(engineStarvedFactor * statementOverdueMsMax - 1000, (ms) => (world.overdueMs = ms));
  expect(restarts).toEqual([]);
  await pass(1000, () => (world.overdueMs = engineStarvedFactor * statementOverdueMsMax));
  expect(restarts).toHaveLength(1);
});

test("an engine that other programs starve gets more time, but not without limit", async () => {
  const { world, restarts, beSilent } = openWatch();
  world.share = { usedMs: 30, delayedMs: 2000 };
  await beSilent(engineStarvedFactor * flushSilentMsMax - 1000);
  expect(restarts).toEqual([]);
  await beSilent(engineStarvedFactor * flushSilentMsMax);
  expect(restarts).toHaveLength(1);
});

test("a server that was stopped itself watches for a while before it restarts the engine", async () => {
  const { world, restarts, pass } = openWatch();
  const late = { ...noTrouble, failingMs: 900_000, silentMs: 2 * flushSilentMsMax };
  await pass(1000, () => (world.trouble = late));
  await pass(1000, () => (world.trouble = noTrouble));
  expect(restarts).toEqual([]);
});

test("during a backup, a migration or a change of tables nothing is restarted, which is logged once", async () => {
  for (const hindered of ["isLocked", "isRewriting"] as const) {
    const { world, restarts, logged, beSilent } = openWatch();
    world[hindered] = true;
    await beSilent(4 * flushSilentMsMax);
    expect([restarts, logged.length]).toEqual([[], 1]);
    world[hindered] = false;
    await beSilent(flushSilentMsMax);
    expect(restarts).toHaveLength(1);
  }
});

test("a Postgres that does not answer keeps no engine stuck", async () => {
  const { world, restarts, beSilent } = openWatch();
  world.isLocked = "no answer";
  await beSilent(flushSilentMsMax);
  expect(restarts).toHaveLength(1);
});

test("restarts that do not help come ever more rarely", async () => {
  const { restarts, world, beSilent, pass } = openWatch();
  const at: number[] = [];
  await pass(20 * engineRestartPauseMsMax, (ms) => {
    if (restarts.length > at.length) at.push(ms);
    world.trouble = { ...noTrouble, failingMs: ms, silentMs: ms };
  });
  const pauses = at.slice(1).map((ms, i) => ms - at[i]!);
  expect(pauses.slice(0, 3)).toEqual([1, 2, 4].map((times) => times * engineRestartPauseMsMin));
  expect(Math.max(...pauses)).toBeLessThanOrEqual(engineRestartPauseMsMax + 1000);
  expect(at.length).toBeLessThan(30);
  await pass(2 * engineRestartPauseMsMax, () => (world.trouble = noTrouble));
  const before = restarts.length;
  await beSilent(flushSilentMsMax + engineRestartPauseMsMin);
  expect(restarts.length - before).toBe(2);
});

test("a remote engine is reported once and not restarted", async () => {
  const { logged, watch, beSilent } = openWatch({ isEmbedded: false });
  await beSilent(3 * flushSilentMsMax);
  expect([logged, watch.restarts, codeOf(watch)]).toEqual([
    [
      [
        "ClickHouse is stuck and is not restarted",
        { reason: "a flush has no answer", hindrance: "it is not embedded" },
      ],
    ],
    0,
    "FLUSH_HUNG",
  ]);
});

test("an engine that is starting is not restarted", async () => {
  const { world, restarts, beSilent } = openWatch();
  world.pid = undefined;
  await beSilent(3 * flushSilentMsMax);
  expect(restarts).toEqual([]);
});

test("of several flushes the worst figures count", () => {
  const one = { failingMs: 5, silentMs: 0, memoryMs: 1, code: "A" };
  const other = { failingMs: 3, silentMs: 3, memoryMs: 0, code: "B" };
  expect(worstTrouble([one, other])).toEqual({ failingMs: 5, silentMs: 3, memoryMs: 1, code: "A" });
  expect(worstTrouble([])).toEqual(noTrouble);
});
