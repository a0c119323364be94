// Deleted recordings, followed to the disk: nothing of them is left there within a day.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { bootstrap } from "../../src/accounts/prepare.ts";
import { silentLog } from "../../src/core/log.ts";
import { findUserId } from "../../src/personal_api_keys/store.ts";
import { finishDeletions, orderDeletions } from "../../src/persons/deletion/store.ts";
import { ownPersonId } from "../../src/persons/identity.ts";
import { sessionRecordingLimits } from "../../src/session_recordings/limits.ts";
import { listPage } from "../../src/session_recordings/recording_reader.ts";
import {
  hideDeleted,
  openRemoval,
  type RemovalOptions,
  removeOld,
} from "../../src/session_recordings/remove.ts";
import { warnOfBlank } from "../../src/session_recordings/store.ts";
import { markDeleted } from "../../src/session_recordings/view_store.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { CountCache } from "../../src/work/count_cache.ts";
import { startMsMax } from "../support/accounts.ts";
import { cleanUp } from "../support/cleanup.ts";
import { openMadeStores } from "../support/stores.ts";

afterAll(cleanUp, startMsMax);

let stores: Stores;
let options: RemovalOptions;
let user_id: number;
let now = Date.parse("2026-03-04T10:00:00Z");
const hourMs = 3_600_000;

beforeAll(async () => {
  stores = await openMadeStores();
  const none = {
    bootstrapProjectApiKey: undefined,
    bootstrapPersonalApiKey: undefined,
    bootstrapEmail: undefined,
  };
  await bootstrap(stores.sql, none);
  user_id = (await findUserId(stores.sql, undefined)) ?? 0;
  const { sql, clickhouse } = stores;
  options = { sql, clickhouse, log: silentLog, clock: { now: () => now, elapsed: () => now } };
}, startMsMax);

async function record(...sessions: string[]): Promise<void> {
  for (const session of sessions)
    await stores.clickhouse.command(
      `INSERT INTO snapshot_chunks (project_id, session_id, uuid, distinct_id, first_at, last_at, created_at, expires_at, data)
       SELECT 1, {session:String}, generateUUIDv4(), 'd', now64(6), now64(6), now64(6), now64(6) + INTERVAL 9 DAY,
         concat('[{"type":5,"secret":"', {session:String}, toString(number), '"}]')
       FROM numbers(3)`,
      { session },
    );
}

/** Rows that queries find, and rows that files hold all the same. */
async function rowsOf(session: string): Promise<[number, number]> {
  const count = async (settings: Record<string, number>) => {
    const [row] = await stores.clickhouse.query<{ count: string }>(
      `SELECT (SELECT count() FROM snapshot_chunks WHERE session_id = {session:String})
         + (SELECT count() FROM session_recording_days WHERE session_hash = sipHash64({session:String})) AS count`,
      { session },
      { settings },
    );
    return Number(row?.count);
  };
  return [await count({}), await count({ apply_deleted_mask: 0 })];
}

async function deletions(): Promise<Record<string, unknown>[]> {
  return await stores.sql`
    SELECT session_id, deleted_by, deleted_at, hidden_at IS NOT NULL AS hidden, removed_at IS NOT NULL AS removed
    FROM session_recording_deletions ORDER BY session_id`;
}

test("what is deleted is hidden, then removed from the disk; what is not stays", async () => {
  await record("kept", "gone", "gone too");
  await markDeleted(stores.sql, 1, ["gone", "gone too"], { user_id, at: new Date(now) });
  expect(await hideDeleted(options)).toBe(2);
  expect((await rowsOf("gone"))[0]).toBe(0);
  now += hourMs;
  expect([await hideDeleted(options), await removeOld(options)]).toEqual([0, 0]);
  now += 6 * hourMs;
  expect(await removeOld(options)).toBe(2);
  expect([await rowsOf("gone"), await rowsOf("gone too")]).toEqual([
    [0, 0],
    [0, 0],
  ]);
  expect((await rowsOf("kept"))[0]).toBeGreaterThanOrEqual(4);
  expect(await deletions()).toEqual([
    {
      session_id: "gone",
      deleted_by: user_id,
      deleted_at: new Date(now - 7 * hourMs),
      hidden: true,
      removed: true,
    },
    {
      session_id: "gone too",
      deleted_by: user_id,
      deleted_at: new Date(now - 7 * hourMs),
      hidden: true,
      removed: true,
    },
  ]);
  expect(await removeOld(options)).toBe(0);
});

test("late pieces of a deleted session go the same way", async () => {
  await record("gone");
  expect(await hideDeleted(options)).toBe(1);
  expect((await rowsOf("gone"))[0]).toBe(0);
  now += 7 * hourMs;
  expect(await removeOld(options)).toBe(1);
  expect(await rowsOf("gone")).toEqual([0, 0]);
});

test("late pieces are on no list and in no count, though nobody has looked for them yet", async () => {
  const listed = async (limit = 100) => {
    const reader = { ...options, counts: new CountCache(options.clock) };
    const page = { limit, offset: 0 };
    const { count, recordings } = await listPage(reader, { project_id: 1, user_id }, { written: "" }, page);
    return { count, ids: recordings.map(({ id }) => id) };
  };
  await record("before");
  const before = await listed();
  await record("late");
  await markDeleted(stores.sql, 1, ["late"], { user_id, at: new Date(now) });
  expect(await listed()).toEqual(before);
  expect(await hideDeleted(options)).toBe(1);
  await record("late");
  expect(await listed()).toEqual(before);
  // It would be the newest, and must not take a place on the page.
  expect(await listed(1)).toEqual({ count: before.count, ids: before.ids.slice(0, 1) });
  now += sessionRecordingLimits.recordingLatePollMs + 1;
  expect(await hideDeleted(options)).toBe(1);
});

test("a deletion of nothing is through at once, and remembers nothing to remove twice", async () => {
  await markDeleted(stores.sql, 1, ["never recorded"], { user_id, at: new Date(now) });
  expect(await markDeleted(stores.sql, 1, ["never recorded"], { user_id, at: new Date(now) })).toEqual([]);
  expect(await hideDeleted(options)).toBe(0);
  expect((await deletions()).at(-1)).toMatchObject({ session_id: "never recorded", hidden: true });
});

test("a pass is due while something is to be hidden or removed, and makes both", async () => {
  const passes: (Date | null)[] = [];
  const removal = openRemoval(options);
  const poll = async (afterMs: number) => {
    now += afterMs;
    await removal.poll();
    await removal.settle();
    const [row] = await stores.sql<{ passed_at: Date | null }[]>`
      SELECT passed_at FROM passes WHERE id = 'deletions of recordings'`;
    passes.push(row!.passed_at);
  };
  await record("passed over");
  await markDeleted(stores.sql, 1, ["passed over"], { user_id, at: new Date(now) });
  const begun = new Date(now);
  await poll(0);
  expect((await rowsOf("passed over"))[0]).toBe(0);
  await poll(sessionRecordingLimits.recordingBlankPollMs);
  expect(passes).toEqual([begun, begun]);
  await poll(sessionRecordingLimits.recordingRemovalAgeMs);
  expect(await rowsOf("passed over")).toEqual([0, 0]);
  removal.start();
  await removal.close();
});

// PostHog/posthog#23219, openobserve#14684, PostHog/posthog-js#3794.
test("a recording without a full snapshot is a warning, once, when it has rested", async () => {
  // Warnings older than 90 days are none.
  const received = Date.now() - 3 * 86_400_000;
  const restedAt = received + sessionRecordingLimits.recordingRestedMs;
  const add = async (session: string, lacking: number, at: number) =>
    await stores.clickhouse.command(
      `INSERT INTO snapshot_chunks (project_id, session_id, uuid, distinct_id, first_at, last_at, created_at, expires_at, lacks_full_snapshot, data)
       SELECT 1, {session:String}, generateUUIDv4(), 'd', received, received, received, now64(6) + INTERVAL 9 DAY, {lacking:UInt8}, '[]'
       FROM (SELECT fromUnixTimestamp64Milli({at:Int64}, 'UTC') AS received)`,
      { session, lacking, at },
    );
  const [day, minute] = [86_400_000, 60_000];
  for (const session of ["blank", "plays", "deleted", "blank too"]) await add(session, 1, received - minute);
  await add("blank", 1, received);
  await add("plays", 0, received);
  await add("goes on", 1, received + minute);
  await add("plays since yesterday", 0, received - day / 2);
  await add("plays since yesterday", 1, received - minute);
  await markDeleted(stores.sql, 1, ["deleted"], { user_id, at: new Date(now) });
  await hideDeleted(options);
  const listed = async (at: number) => {
    await warnOfBlank(stores.clickhouse, at);
    const rows = await stores.clickhouse.query<{ session: string }>(
      `SELECT JSONExtractString(details, 'session_id') AS session FROM ingestion_warnings
       WHERE type = 'full_snapshot_missing' AND event = '$snapshot' AND distinct_id = 'd' ORDER BY session`,
    );
    return rows.map(({ session }) => session);
  };
  expect(await listed(restedAt - minute - 1)).toEqual([]);
  expect(await listed(restedAt - 1)).toEqual(["blank too"]);
  expect(await listed(restedAt)).toEqual(["blank", "blank too"]);
  expect(await listed(restedAt + minute)).toEqual(["blank", "blank too", "goes on"]);
  expect(await listed(restedAt + day)).toEqual(["blank", "blank too", "goes on"]);
  const [row] = await stores.clickhouse.query<{ blank: string }>(
    "SELECT count() AS blank FROM session_recordings WHERE project_id = 1 AND lacks_full_snapshot = 1",
  );
  expect(row!.blank).toBe("3");
});

test("a person who is deleted with their events takes their recordings along", async () => {
  await record("theirs");
  expect((await rowsOf("theirs"))[0]).toBe(4);
  const scope = { delete_events: true, delete_recordings: true, keep_person: false };
  const request = { project_id: 1, ...scope, user_id, key_id: "key" };
  const person = { person_id: ownPersonId(1, "d"), main_id: "d" };
  await orderDeletions(stores.sql, stores.clickhouse, request, [person], (Date.now() + 1000) * 1000);
  await finishDeletions(stores.sql, stores.clickhouse);
  expect((await rowsOf("theirs"))[0]).toBe(0);
});
