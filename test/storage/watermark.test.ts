// Up to when everything that arrived is stored, as the journals of all processes tell it.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { storageLimits } from "../../src/storage/limits.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { readSilences, readWatermarks, recordingsStoredWithin } from "../../src/storage/watermark.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";

const now = Date.parse("2030-01-01T12:00:00Z");
const { journalClockMsMax, journalUnseenMsMax } = storageLimits;
let accounts: FirstAccounts;
let sql: Postgres;

beforeAll(async () => {
  accounts = await openFirstAccounts();
  ({ sql } = accounts);
}, startMsMax);

afterAll(() => accounts.close());

beforeEach(async () => {
  await sql`DELETE FROM journals`;
});

interface Told {
  watermark?: number;
  stored?: number;
  recordings?: number;
  seen?: number;
  made?: number;
}

/** A journal, with moments in ms before now. */
async function tell(name: string, { watermark, stored, recordings, seen, made = 0 }: Told): Promise<void> {
  const [at, storedAt, recordingsAt, seenAt] = [watermark, stored, recordings, seen].map((ms) =>
    ms === undefined ? null : new Date(now - ms),
  );
  await sql`
    INSERT INTO journals (name, created_at, watermark, stored_watermark, recordings_watermark, seen_at)
    VALUES (${name}, ${new Date(now - made)}, ${at!}, ${storedAt!}, ${recordingsAt!}, ${seenAt!})`;
}

test("without journals all is stored; with some, what the one furthest behind has stored", async () => {
  expect(await readWatermarks(sql, now)).toEqual({ through: now, recordings: now, unseen: [] });
  await tell("a", { watermark: 5000, recordings: 2000, seen: 100 });
  await tell("b", { watermark: 9000, stored: 1000, recordings: 8000, seen: 100 });
  const { through, recordings } = await readWatermarks(sql, now);
  expect([now - through, now - recordings]).toEqual([5000, 8000]);
});

test("a journal that has told nothing counts from before it was made, for clocks differ", async () => {
  await tell("new", { made: 3000 });
  const { through, recordings, unseen } = await readWatermarks(sql, now);
  expect([now - through, now - recordings, unseen]).toEqual([
    3000 + journalClockMsMax,
    3000 + journalClockMsMax,
    [],
  ]);
});

test("a process that was killed is waited for up to five minutes, then its journal is named and passed by", async () => {
  expect(journalUnseenMsMax).toBe(5 * 60_000);
  await tell("killed", { watermark: 400_000, recordings: 400_000, seen: journalUnseenMsMax });
  await tell("living", { watermark: 1000, recordings: 1000, seen: 0 });
  const waited = await readWatermarks(sql, now);
  expect([now - waited.through, waited.unseen]).toEqual([400_000, []]);
  const later = await readWatermarks(sql, now + 1);
  expect([now - later.through, later.unseen]).toEqual([1000, ["killed"]]);
});

test("what a clock that is ahead has told is never later than now", async () => {
  await tell("ahead", { watermark: -60_000, recordings: -60_000, seen: 0 });
  expect(await readWatermarks(sql, now)).toMatchObject({ through: now, recordings: now });
});

test("each journal's silence is known in seconds, and none is below zero", async () => {
  await tell("a", { seen: 2500 });
  await tell("b", { seen: -1000 });
  expect(await readSilences(sql, now)).toEqual([
    ["a", 2.5],
    ["b", 0],
  ]);
});

test("recordings are stored when each journal says so, and are not known to be while one is unseen", async () => {
  const clock = { now: () => now, elapsed: () => 0 };
  await tell("a", { watermark: 0, recordings: 0, seen: 0 });
  expect(await recordingsStoredWithin(sql, clock, 0)).toBe(true);
  await tell("gone", { watermark: 0, recordings: 0, seen: journalUnseenMsMax + 1 });
  expect(await recordingsStoredWithin(sql, clock, 0)).toBe(false);
});
