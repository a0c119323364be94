// What users did with recordings: views and deletions, in Postgres.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { sessionRecordingLimits } from "../../src/session_recordings/limits.ts";
import {
  findDeleted,
  findViewed,
  hasOldHidden,
  listDeletions,
  listLeftOut,
  markDeleted,
  markViewed,
  recordHidden,
  recordRemoved,
} from "../../src/session_recordings/view_store.ts";
import { addUser, type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";

let accounts: FirstAccounts;
let project: number;
let ann: number;
let bob: number;

beforeAll(async () => {
  accounts = await openFirstAccounts();
  project = accounts.project_id;
  ann = accounts.user_id;
  bob = await addUser(accounts.sql, "bob@example.com");
}, startMsMax);

afterAll(() => accounts.close());
beforeEach(async () => {
  await accounts.sql`TRUNCATE session_recording_views, session_recording_deletions`;
});

const start = Date.UTC(2026, 2, 1);
const at = (ms: number) => new Date(start + ms);
const {
  recordingLateMsMax: lateMs,
  recordingLatePollMs: pollMs,
  recordingsHiddenAtOnceMax,
} = sessionRecordingLimits;
const remove = (ids: string[], ms = 0, project_id = project) =>
  markDeleted(accounts.sql, project_id, ids, { user_id: ann, at: at(ms) });

test("a recording is seen by who has seen it, until they unsee it", async () => {
  const { sql } = accounts;
  await markViewed(sql, project, ann, ["s1"], true);
  await markViewed(sql, project, ann, ["s1"], true);
  await markViewed(sql, project, bob, ["s2"], true);
  expect([...(await findViewed(sql, project, ann, ["s1", "s2"]))]).toEqual(["s1"]);
  expect([...(await findViewed(sql, project + 1, ann, ["s1"]))]).toEqual([]);
  await markViewed(sql, project, ann, ["s1"], false);
  expect((await findViewed(sql, project, ann, ["s1"])).size).toBe(0);
  expect((await findViewed(sql, project, ann, [])).size).toBe(0);
});

test("a deletion is recorded once, takes views and links with it, and is of its project alone", async () => {
  const { sql } = accounts;
  await markViewed(sql, project, bob, ["s1"], true);
  await markViewed(sql, project, bob, ["s2"], true);
  await sql`
    INSERT INTO sharing_configurations (project_id, kind, target, enabled, token_hash, token_sealed)
    SELECT ${project}, kind, target, true, sha256(convert_to(kind || target, 'UTF8'))::text, ''
    FROM (VALUES ('recording', 's1'), ('recording', 's2'), ('insight', 's1')) AS t (kind, target)`;
  expect(await remove(["s1", "s3"])).toEqual(expect.arrayContaining(["s1", "s3"]) as never);
  expect(await remove(["s1", "s2"], 5)).toEqual(["s2"]);
  expect([...(await findDeleted(sql, project, ["s1", "s2", "s9"]))].toSorted()).toEqual(["s1", "s2"]);
  expect((await findDeleted(sql, project + 1, ["s1"])).size).toBe(0);
  expect((await findViewed(sql, project, bob, ["s1", "s2"])).size).toBe(0);
  const left = await sql<{ kind: string }[]>`SELECT kind FROM sharing_configurations`;
  expect(left.map(({ kind }) => kind)).toEqual(["insight"]);
  await sql`DELETE FROM sharing_configurations`;
});

test("what is not hidden yet is left out, and what late pieces may come of for two days", async () => {
  const { sql } = accounts;
  await remove(["b", "a"]);
  expect(await listLeftOut(sql, project, start + 10 * lateMs)).toEqual(["a", "b"]);
  await recordHidden(sql, project, ["a"], ["a"], at(1));
  expect(await listLeftOut(sql, project, start + lateMs)).toEqual(["a", "b"]);
  expect(await listLeftOut(sql, project, start + lateMs + 1)).toEqual(["b"]);
});

test("deletions are looked at until they are hidden, then every ten minutes while pieces may be late", async () => {
  const { sql } = accounts;
  const due = async (ms: number) =>
    (await listDeletions(sql, start + ms)).map(({ session_id }) => session_id);
  await remove(["a"]);
  expect(await due(0)).toEqual(["a"]);
  await recordHidden(sql, project, ["a"], ["a"], at(0));
  expect(await due(pollMs)).toEqual([]);
  expect(await due(pollMs + 1)).toEqual(["a"]);
  expect(await due(lateMs + 1)).toEqual([]);
});

test("those that are not hidden yet come first, so many at a time", async () => {
  const { sql } = accounts;
  const many = Array.from({ length: recordingsHiddenAtOnceMax + 5 }, (_, i) => `late${i}`);
  await remove(many);
  await recordHidden(sql, project, many, many, at(0));
  await remove(["new"], 10);
  const due = await listDeletions(sql, start + pollMs + 1);
  expect([due.length, due[0]?.session_id]).toEqual([recordingsHiddenAtOnceMax, "new"]);
});

test("bytes are removed some time after the last hiding, also of pieces that came late", async () => {
  const { sql } = accounts;
  const { recordingRemovalAgeMs: ageMs } = sessionRecordingLimits;
  await remove(["a", "b"]);
  expect(await hasOldHidden(sql, start + 10 * ageMs)).toBe(false);
  await recordHidden(sql, project, ["a", "b"], [], at(5));
  expect([await hasOldHidden(sql, start + 4 + ageMs), await hasOldHidden(sql, start + 5 + ageMs)]).toEqual([
    false,
    true,
  ]);
  expect(await recordRemoved(sql, at(4), at(9))).toBe(0);
  expect(await recordRemoved(sql, at(5), at(9))).toBe(2);
  expect(await hasOldHidden(sql, start + 10 * ageMs)).toBe(false);
  // Checked again: only where rows came late is there something to remove.
  await recordHidden(sql, project, ["a", "b"], ["b"], at(20));
  expect(await recordRemoved(sql, at(20), at(30))).toBe(1);
});
