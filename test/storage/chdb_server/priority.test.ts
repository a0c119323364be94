// When the engine stands behind the server, and when it does not.

import { expect, test } from "bun:test";
import { chdbServerLimits } from "../../../src/storage/chdb_server/limits.ts";
import { EnginePriority } from "../../../src/storage/chdb_server/priority.ts";

const { frontMs, insertLateBesideReadsMs, insertLateMs, stepsBehind } = chdbServerLimits;
const { readLateMs, readLiftSteps, readStarvedCores } = chdbServerLimits;

/** A priority on a clock of its own, of an engine that gets so many cores. */
function openPriority(cores = 1) {
  const set: number[] = [];
  let now = 0;
  const timers = new Map<() => void, number>();
  const priority = new EnginePriority({
    set: (steps) => void set.push(steps),
    clock: { now: () => now, elapsed: () => now },
    usedMs: () => now * cores,
    after: (ms, run) => {
      timers.set(run, now + ms);
      return () => void timers.delete(run);
    },
  });
  const pass = (ms: number) => {
    now += ms;
    for (const [run, at] of timers) if (at <= now && timers.delete(run)) run();
  };
  return { set, pass, priority };
}

test("the engine stands in front until the first INSERT, and behind from then on", async () => {
  const { set, pass, priority } = openPriority();
  pass(10_000);
  expect(set).toEqual([]);
  for (let i = 0; i < 3; i++) {
    const answer = await priority.during(async () => {
      pass(insertLateMs - 1);
      return i;
    });
    expect(answer).toBe(i);
    pass(1000);
  }
  expect(set).toEqual([stepsBehind]);
});

test("an INSERT that takes too long brings it to the front, where it stays for a while", async () => {
  const { set, pass, priority } = openPriority();
  await priority.during(async () => pass(insertLateMs));
  expect(set).toEqual([stepsBehind, 0]);
  pass(frontMs - 1);
  await priority.during(async () => {});
  expect(set).toEqual([stepsBehind, 0]);
  pass(1);
  await priority.during(async () => {});
  expect(set).toEqual([stepsBehind, 0, stepsBehind]);
});

test("an INSERT that fails is over as well", async () => {
  const { set, pass, priority } = openPriority();
  await priority.during(() => Promise.reject(new Error("refused"))).catch(() => {});
  pass(insertLateMs);
  expect(set).toEqual([stepsBehind]);
});

test("a read stands behind once there was an INSERT, and before it in front", async () => {
  const { set, priority } = openPriority();
  await priority.beside(async () => {});
  expect(set).toEqual([]);
  await priority.during(async () => {});
  await priority.beside(async () => {});
  expect(set).toEqual([stepsBehind]);
});

test("an INSERT that is late beside reads brings the engine to the front later", async () => {
  const { set, pass, priority } = openPriority();
  await priority.beside(() => priority.during(async () => pass(insertLateMs)));
  expect(set).toEqual([stepsBehind]);
  await priority.beside(() =>
    priority.during(async () => {
      pass(insertLateMs);
      pass(insertLateBesideReadsMs - insertLateMs);
    }),
  );
  expect(set).toEqual([stepsBehind, 0]);
  await priority.beside(async () => {});
  expect(set).toEqual([stepsBehind, 0]);
  pass(frontMs + insertLateBesideReadsMs);
  expect(set).toEqual([stepsBehind, 0]);
});

test("a read that others starve brings it step by step to the front, where it stays for a while", async () => {
  const { set, pass, priority } = openPriority(readStarvedCores / 2);
  await priority.during(async () => {});
  await priority.beside(async () => pass(readLateMs - 1));
  expect(set).toEqual([stepsBehind]);
  await priority.beside(async () => pass(readLateMs));
  expect(set).toEqual([stepsBehind, stepsBehind - readLiftSteps]);
  pass(frontMs - 1);
  await priority.beside(async () => {
    for (let i = 0; i < 9; i++) pass(readLateMs);
  });
  expect(set).toEqual([stepsBehind, stepsBehind - readLiftSteps, 0]);
  pass(frontMs);
  await priority.beside(async () => {});
  expect(set).toEqual([stepsBehind, stepsBehind - readLiftSteps, 0, stepsBehind]);
});

test("several reads that are late at once lift it by one step", async () => {
  const { set, pass, priority } = openPriority(readStarvedCores / 2);
  await priority.during(async () => {});
  const { promise, resolve } = Promise.withResolvers<void>();
  const reads = [1, 2, 3].map(() => priority.beside(() => promise));
  pass(readLateMs);
  expect(set).toEqual([stepsBehind, stepsBehind - readLiftSteps]);
  resolve();
  await Promise.all(reads);
});

test("a read that is long and has the cores leaves it behind, also where it fails", async () => {
  const { set, pass, priority } = openPriority(readStarvedCores);
  await priority.during(async () => {});
  const fail = () => {
    for (let i = 0; i < 20; i++) pass(readLateMs);
    return Promise.reject(new Error("too much"));
  };
  await priority.beside(fail).catch(() => {});
  pass(10 * readLateMs);
  expect(set).toEqual([stepsBehind]);
});

test("a read whose check comes late is lifted by what the engine had meanwhile", async () => {
  const { set, pass, priority } = openPriority(readStarvedCores / 2);
  await priority.during(async () => {});
  await priority.beside(async () => {
    for (let i = 0; i < 20; i++) pass(4 * readLateMs);
  });
  expect(set.at(-1)).toBe(0);
});
