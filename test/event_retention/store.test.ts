// One process at a time deletes expired events, whatever becomes of processes and clocks; and when a look is a pass.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { openMetrics } from "../../src/capture/metrics.ts";
import { keptFrom } from "../../src/core/clock.ts";
import { limits } from "../../src/core/limits.ts";
import { silentLog } from "../../src/core/log.ts";
import {
  computeExpiry,
  computeOwnExpiry,
  passDueSince,
  SteadyClock,
} from "../../src/event_retention/expiry.ts";
import { retentionLimits } from "../../src/event_retention/limits.ts";
import { recordMasked } from "../../src/event_retention/store.ts";
import { openEventRetention, type PassOptions } from "../../src/event_retention/worker.ts";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { ownTables } from "../../src/storage/clickhouse/statement.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";
import { expireOnce } from "../support/retention.ts";

let accounts: FirstAccounts;
const noon = Date.parse("2026-03-04T12:00:00Z");
const [hourMs, dayMs] = [3_600_000, 86_400_000];

beforeAll(async () => {
  accounts = await openFirstAccounts();
}, startMsMax);

afterAll(() => accounts.close());

async function passedAt(at: number | null): Promise<void> {
  await accounts.sql`
    UPDATE passes SET owner = NULL, leased_until = NULL, passed_at = ${at === null ? null : new Date(at)}`;
}

async function maskedSince(): Promise<number | undefined> {
  const [row] = await accounts.sql<{ at: Date | null }[]>`
    SELECT masked_since AS at FROM passes WHERE id = 'event retention'`;
  return row!.at?.getTime();
}

test("a pass is due an hour after the last one, and when a day has ended since", () => {
  expect(passDueSince(noon)).toBe(noon - hourMs);
  const night = Date.parse("2026-03-05T00:01:00Z");
  expect(passDueSince(night)).toBe(night - 60_000);
});

test("what is kept begins at a midnight", () => {
  expect(new Date(keptFrom(noon, 1)).toISOString()).toBe("2026-03-03T00:00:00.000Z");
  expect(new Date(keptFrom(noon, limits.retentionDaysMax)).toISOString()).toBe("1926-03-29T00:00:00.000Z");
  expect(computeExpiry(noon, 2)).toEqual({ before: (noon - 2.5 * dayMs) * 1000, projects: undefined });
  const own = [
    { id: 7, days: 1 },
    { id: 3, days: 9 },
  ];
  const before = [noon - 1.5 * dayMs, noon - 9.5 * dayMs].map((ms) => ms * 1000);
  expect(computeOwnExpiry(noon, own)).toEqual({ before: before[0]!, projects: { ids: [7, 3], before } });
});

test("what a clock wrote that was years ahead holds nobody up", async () => {
  const { sql } = accounts;
  const ahead = noon + 4000 * dayMs;
  await passedAt(ahead);
  await recordMasked(sql, ahead);
  await recordMasked(sql, noon);
  await recordMasked(sql, noon + 1);
  expect(await maskedSince()).toBe(noon);
  expect(await expireOnce(optionsWith(answering(() => [])))).toMatchObject({ is: "passed" });
  expect(await maskedSince()).toBeUndefined();
});

/** A ClickHouse that answers each question with these rows, and notes what it is told to do. */
function answering(rows: (text: string) => unknown[], commands: string[] = []): ClickHouse {
  const clickhouse: Pick<ClickHouse, "query" | "command" | "tables"> = {
    tables: ownTables,
    query: <Row>(text: string) => Promise.resolve(rows(text) as Row[]),
    command: (text) => {
      commands.push(text);
      return Promise.resolve();
    },
  };
  return clickhouse as ClickHouse;
}

function optionsWith(clickhouse: ClickHouse, own: Partial<PassOptions> = {}): PassOptions {
  return {
    sql: accounts.sql,
    clickhouse,
    log: silentLog,
    retentionDays: 7,
    clock: { now: () => noon, elapsed: () => noon },
    expired: () => {},
    stopping: new AbortController().signal,
    ...own,
  };
}

const yearsFound = (text: string): unknown[] => {
  if (text.includes("system.mutations")) return [];
  return text.includes("AS year") ? [2019, 2020].map((year) => ({ year, rows: "3" })) : [];
};

test("a pass waits while the engine has not carried out earlier deletions, and is due still", async () => {
  await passedAt(null);
  const commands: string[] = [];
  const busy = answering(
    (text) => (text.includes("system.mutations") ? [{ reason: "no room" }] : []),
    commands,
  );
  expect(await expireOnce(optionsWith(busy))).toEqual({ is: "waiting", reason: "no room" });
  expect(commands).toEqual([]);
  const clock = { now: () => noon + retentionLimits.expiryPollMs, elapsed: () => noon };
  expect(
    await expireOnce(
      optionsWith(
        answering(() => []),
        { clock },
      ),
    ),
  ).toMatchObject({ is: "passed" });
});

test("a pass that is stopped releases its claim, counts what it deleted, and is due still", async () => {
  await passedAt(null);
  const stop = new AbortController();
  let counted = 0;
  const expired = (events: number) => {
    counted += events;
    stop.abort();
  };
  const commands: string[] = [];
  const stopped = optionsWith(answering(yearsFound, commands), { expired, stopping: stop.signal });
  expect(await expireOnce(stopped)).toEqual({ is: "stopped" });
  expect([counted, commands.length]).toEqual([3, 1]);
  expect(await expireOnce(optionsWith(answering(() => [])))).toMatchObject({ is: "passed" });
});

test("files are written anew only where there is room for the new ones beside the old", async () => {
  const written = async (free: number) => {
    await passedAt(null);
    await recordMasked(accounts.sql, noon);
    const commands: string[] = [];
    const masked = { partition: "2019", rows: "100", masked: "50", bytes: "2000" };
    const rows = (text: string) => {
      if (text.includes("system.disks")) return [{ free: String(free) }];
      return text.includes("_row_exists") ? [masked] : [];
    };
    expect(await expireOnce(optionsWith(answering(rows, commands)))).toMatchObject({
      is: "passed",
      events: 0,
    });
    return [commands.length, await maskedSince()];
  };
  expect(await written(1249)).toEqual([0, noon]);
  expect(await written(1250)).toEqual([2, undefined]);
});

test("a clock that is set counts as unsteady for ten minutes, one that goes as time does is steady then", () => {
  let [now, elapsed] = [noon, 0];
  const clock = new SteadyClock({ now: () => now, elapsed: () => elapsed });
  const minutes = (count: number, jumpMs = 0) => {
    const steady: boolean[] = [];
    for (let i = 0; i < count; i++) {
      now += 60_000 + (i === 0 ? jumpMs : 0);
      elapsed += 60_000;
      steady.push(clock.isSteady());
    }
    return steady;
  };
  expect(minutes(10)).toEqual([...Array<boolean>(9).fill(false), true]);
  expect(minutes(1, 50_000)).toEqual([true]);
  for (const jump of [4000 * dayMs, -4000 * dayMs]) {
    expect(minutes(10, jump)).toEqual(Array<boolean>(10).fill(false));
    expect(minutes(1)).toEqual([true]);
  }
});

test("a worker makes a pass once its clock is steady, at its start and when one is due, and counts what it deletes", async () => {
  await passedAt(noon - 1);
  const metrics = openMetrics();
  const { sql } = accounts;
  let elapsed = 0;
  const clock = { now: () => noon + elapsed, elapsed: () => elapsed };
  const own = { sql, clickhouse: answering(yearsFound), clock, log: silentLog, metrics, retentionDays: 7 };
  const [worker] = openEventRetention(own);
  const counted = async (afterMs: number) => {
    elapsed += afterMs;
    await worker.poll();
    await worker.settle();
    return /sluice_events_expired_total (\d+)/.exec(metrics.registry.render())?.[1];
  };
  const { expiryPassMs, expirySteadyMs } = retentionLimits;
  const after = [expirySteadyMs - 1, 1, expiryPassMs, 1];
  const counts: unknown[] = [];
  for (const ms of after) counts.push(await counted(ms));
  expect(counts).toEqual(["0", "6", "6", "12"]);
  worker.start();
  await worker.close();
});
