// What a restart of the engine would interrupt, and what calls for one.

import { expect, test } from "bun:test";
import { systemClock } from "../../src/core/clock.ts";
import { RunningStatements } from "../../src/storage/running_statements.ts";

test("a statement that changes tables or rewrites parts counts while it runs, also one that fails", async () => {
  const running = new RunningStatements();
  const isRewriting = async (text: string): Promise<boolean> => {
    let seen = false;
    const run = async () => {
      seen = running.isRewriting;
      throw new Error("it fails");
    };
    await running.during(text, run).catch(() => {});
    return seen && !running.isRewriting;
  };
  for (const text of ["ALTER TABLE t FREEZE", "\n  delete FROM t WHERE 1", "CREATE TABLE t (a Int8)"])
    expect([text, await isRewriting(text)]).toEqual([text, true]);
  for (const text of ["INSERT INTO t SELECT 1", "SELECT 'ALTER'", "KILL QUERY WHERE 1", "CREATED"])
    expect([text, await isRewriting(text)]).toEqual([text, false]);
});

test("of statements that are being killed the one that is over its limit for longest counts", () => {
  const statements = new RunningStatements();
  expect(statements.overdueMs).toBe(0);
  statements.killed.set("within its limit", systemClock.elapsed() + 60_000);
  expect(statements.overdueMs).toBe(0);
  statements.killed.set("long over", systemClock.elapsed() - 90_000);
  statements.killed.set("just over", systemClock.elapsed() - 10);
  expect(statements.overdueMs).toBeGreaterThanOrEqual(90_000);
  for (const tag of statements.killed.keys()) statements.killed.delete(tag);
  expect(statements.overdueMs).toBe(0);
});
