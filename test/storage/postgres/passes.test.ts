// Passes: one process at a time makes each of them. What becomes of claims is tested with the
// lease queue.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { openLog } from "../../../src/core/log.ts";
import { storageLimits } from "../../../src/storage/limits.ts";
import { openPass } from "../../../src/storage/postgres/passes.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../../support/accounts.ts";

const began = Date.parse("2030-01-01T00:00:00Z");
let accounts: FirstAccounts;
let now = began;
let hasWork = true;
const lines: string[] = [];
const write = (line: string) => void lines.push((JSON.parse(line) as { message: string }).message);
const log = openLog({ level: "info", format: "json", write });

beforeAll(async () => {
  accounts = await openFirstAccounts();
}, startMsMax);

afterAll(() => accounts.close());

beforeEach(async () => {
  await accounts.sql`UPDATE passes SET owner = NULL, leased_until = NULL, passed_at = NULL`;
  [now, hasWork] = [began, true];
  lines.length = 0;
});

/** A process whose passes do this. */
function openProcess(pass: (signal: AbortSignal) => Promise<boolean>) {
  const { sql } = accounts;
  const clock = { now: () => now, elapsed: () => now };
  return openPass({
    sql,
    clock,
    log,
    id: "deletions of persons",
    name: "passing",
    pollMs: 1e6,
    due: () => sql`${hasWork}::boolean`,
    pass: (_, signal) => pass(signal),
  });
}

async function work(): Promise<boolean> {
  await Promise.resolve();
  hasWork = false;
  return true;
}

async function stored() {
  const rows = await accounts.sql<{ id: string; claimed: boolean; passed_at: Date | null }[]>`
    SELECT id, owner IS NOT NULL AND leased_until > ${new Date(now)} AS claimed, passed_at FROM passes ORDER BY id`;
  return Object.fromEntries(rows.map(({ id, ...row }) => [id, row]));
}

test("of two processes one makes a pass, while there is work, and no other pass is held up", async () => {
  const gate = Promise.withResolvers<void>();
  let passes = 0;
  const [one, other] = [0, 1].map(() => openProcess(() => (passes++, gate.promise.then(work)))) as [
    ReturnType<typeof openProcess>,
    ReturnType<typeof openProcess>,
  ];
  await Promise.all([one.poll(), other.poll()]);
  const free = { claimed: false, passed_at: null };
  const others = { "deletions of recordings": free, "event retention": free };
  expect(await stored()).toEqual({ ...others, "deletions of persons": { claimed: true, passed_at: null } });
  gate.resolve();
  await Promise.all([one.settle(), other.settle()]);
  const ended = { claimed: false, passed_at: new Date(began) };
  expect(await stored()).toEqual({ ...others, "deletions of persons": ended });
  await Promise.all([one.poll(), other.poll()]);
  expect(passes).toBe(1);
  await Promise.all([one.close(), other.close()]);
});

test("a pass that fails is reported once until it works, and is due again with its lease's end", async () => {
  const outcomes = [() => Promise.reject(new Error("no")), () => Promise.reject(new Error("no")), work];
  const process = openProcess(() => outcomes.shift()!());
  const poll = async () => {
    await process.poll();
    await process.settle();
    return outcomes.length;
  };
  expect(await poll()).toBe(2);
  now += storageLimits.passLeaseMs - 1;
  expect(await poll()).toBe(2);
  now += 1;
  expect(await poll()).toBe(1);
  expect(lines).toEqual(["passing failed"]);
  now += storageLimits.passLeaseMs;
  expect(await poll()).toBe(0);
  expect(lines).toEqual(["passing failed", "passing works again"]);
  await process.close();
});

test("a pass that a stop ends is reported by nobody, and another process makes it at once", async () => {
  const process = openProcess(async (signal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    throw signal.reason;
  });
  await process.poll();
  await process.close();
  const other = openProcess(work);
  await other.poll();
  await other.settle();
  expect([hasWork, lines]).toEqual([false, []]);
  await other.close();
});
