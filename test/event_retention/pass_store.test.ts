// One process at a time deletes expired events, whatever becomes of processes and clocks; and when a look is a pass.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { openMetrics } from "../../src/capture/metrics.ts";
import { limits } from "../../src/core/limits.ts";
import { silentLog } from "../../src/core/log.ts";
import {
  expiryOfAll,
  expiryOfSome,
  keptFrom,
  passDueSince,
  SteadyClock,
} from "../../src/event_retention/expiry.ts";
import { retentionLimits } from "../../src/event_retention/limits.ts";
import { expireEvents, type PassOptions } from "../../src/event_retention/pass.ts";
import {
  claimPass,
  endPass,
  recordMasked,
  recordUnmasked,
  renewPass,
} from "../../src/event_retention/pass_store.ts";
import { openEventRetention } from "../../src/event_retention/worker.ts";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { ownTables } from "../../src/storage/cluster/tables.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";

let accounts: FirstAccounts;
const noon = Date.parse("2026-03-04T12:00:00Z");
const [hourMs, dayMs] = [3_600_000, 86_400_000];
const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];

beforeAll(async () => {
  accounts = await openFirstAccounts();
}, startMsMax);

afterAll(() => accounts.close());

async function passedAt(at: number | null): Promise<void> {
  await accounts.sql`
    UPDATE event_expiry SET owner = NULL, leased_until = NULL, passed_at = ${at === null ? null : new Date(at)}`;
}

test("a pass is due an hour after the last one, and when a day has ended since", () => {
  expect(passDueSince(noon)).toBe(noon - hourMs);
  const night = Date.parse("2026-03-05T00:01:00Z");
  expect(passDueSince(night)).toBe(night - 60_000);
});

test("what is kept begins at a midnight", () => {
  expect(new Date(keptFrom(noon, 1)).toISOString()).toBe("2026-03-03T00:00:00.000Z");
  expect(new Date(keptFrom(noon, limits.retentionDaysMax)).toISOString()).toBe("1926-03-29T00:00:00.000Z");
  expect(expiryOfAll(noon, 2)).toEqual({ before: (noon - 2.5 * dayMs) * 1000, projects: undefined });
  const own = [
    { id: 7, days: 1 },
    { id: 3, days: 9 },
  ];
  const before = [noon - 1.5 * dayMs, noon - 9.5 * dayMs].map((ms) => ms * 1000);
  expect(expiryOfSome(noon, own)).toEqual({ before: before[0]!, projects: { ids: [7, 3], before } });
});

test("of two processes one makes the pass, and nobody makes it again within the hour", async () => {
  const { sql } = accounts;
  await passedAt(null);
  const taken = await Promise.all([claimPass(sql, one, noon), claimPass(sql, other, noon)]);
  expect(taken.filter((turn) => turn !== undefined)).toHaveLength(1);
  const [owner, late] = taken[0] ? [one, other] : [other, one];
  expect([await renewPass(sql, owner, noon), await renewPass(sql, late, noon)]).toEqual([true, false]);
  await endPass(sql, late, noon);
  expect(await claimPass(sql, late, noon + 1)).toBeUndefined();
  await endPass(sql, owner, noon);
  expect(await claimPass(sql, late, noon + hourMs)).toBeUndefined();
  expect(await claimPass(sql, late, noon + hourMs + 1)).toEqual({ masked_since: null });
});

test("the turn of a process that died is free a quarter of an hour later", async () => {
  const { sql } = accounts;
  await passedAt(null);
  await claimPass(sql, one, noon);
  expect(await claimPass(sql, other, noon + retentionLimits.expiryLeaseMs - 1)).toBeUndefined();
  expect(await claimPass(sql, other, noon + retentionLimits.expiryLeaseMs)).toBeDefined();
  expect(await renewPass(sql, one, noon + retentionLimits.expiryLeaseMs)).toBe(false);
});

test("what a clock wrote that was years ahead holds nobody up", async () => {
  const { sql } = accounts;
  const ahead = noon + 4000 * dayMs;
  await passedAt(ahead);
  expect(await claimPass(sql, one, ahead + 2 * hourMs)).toBeDefined();
  expect(await claimPass(sql, other, noon)).toBeDefined();
  await recordMasked(sql, ahead);
  await recordMasked(sql, noon);
  await recordMasked(sql, noon + 1);
  await endPass(sql, other);
  expect(await claimPass(sql, other, noon)).toEqual({ masked_since: noon });
  await recordUnmasked(sql);
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
    owner: one,
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
  expect(await expireEvents(optionsWith(busy))).toEqual({ is: "waiting", reason: "no room" });
  expect(commands).toEqual([]);
  expect(await expireEvents(optionsWith(answering(() => [])))).toMatchObject({ is: "passed" });
});

test("a pass that fails or is stopped gives its turn back, counts what it deleted, and is due still", async () => {
  await passedAt(null);
  const stop = new AbortController();
  let counted = 0;
  const expired = (events: number) => {
    counted += events;
    stop.abort();
  };
  const commands: string[] = [];
  const stopped = optionsWith(answering(yearsFound, commands), { expired, stopping: stop.signal });
  expect(await expireEvents(stopped).catch(() => "stopped")).toBe("stopped");
  expect([counted, commands.length]).toEqual([3, 1]);
  expect(await claimPass(accounts.sql, other, noon)).toBeDefined();
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
    expect(await expireEvents(optionsWith(answering(rows, commands)))).toMatchObject({
      is: "passed",
      events: 0,
    });
    await passedAt(null);
    const turn = await claimPass(accounts.sql, one, noon);
    return [commands.length, turn?.masked_since ?? null];
  };
  expect(await written(1249)).toEqual([0, noon]);
  expect(await written(1250)).toEqual([2, null]);
});

test("a pass whose turn another process has taken deletes nothing further", async () => {
  await passedAt(null);
  const commands: string[] = [];
  const clickhouse = answering(yearsFound, commands);
  const overtaken: ClickHouse = {
    ...clickhouse,
    command: async (text) => {
      commands.push(text);
      await accounts.sql`UPDATE event_expiry SET owner = ${other}::uuid`;
    },
  };
  const failure: unknown = await expireEvents(optionsWith(overtaken)).catch((thrown: unknown) => thrown);
  expect(String(failure)).toContain("another process");
  expect(commands).toHaveLength(1);
  expect(await renewPass(accounts.sql, other, noon)).toBe(true);
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

test("the worker names its metric, begins and ends", async () => {
  const metrics = openMetrics();
  const { sql } = accounts;
  const clock = { now: () => noon, elapsed: () => noon };
  const parts = { sql, clickhouse: answering(() => []), clock, log: silentLog, metrics, retentionDays: 7 };
  const worker = openEventRetention(parts);
  worker.start();
  await worker.close();
  expect(metrics.registry.render()).toContain("sluice_events_expired_total 0");
});
