// The views and deletions of recordings by users. Whether a recording exists is not checked.

import type { Postgres, PostgresFragment } from "../storage/postgres/postgres.ts";
import { sessionRecordingLimits } from "./limits.ts";

/** The recordings among these that the user has viewed. */
export async function findViewed(
  sql: Postgres,
  project_id: number,
  user_id: number,
  session_ids: readonly string[],
): Promise<Set<string>> {
  if (session_ids.length === 0) return new Set();
  const rows = await sql<{ session_id: string }[]>`
    SELECT session_id FROM session_recording_views
    WHERE project_id = ${project_id} AND user_id = ${user_id} AND session_id = ANY(${[...session_ids]}::text[])`;
  return new Set(rows.map(({ session_id }) => session_id));
}

/** Sorted ids of the recordings that were viewed last, by this user or by anybody. */
export async function listViewed(
  sql: Postgres,
  project_id: number,
  user_id: number | null,
): Promise<string[]> {
  const rows = await sql<{ session_id: string }[]>`
    SELECT session_id FROM session_recording_views
    WHERE project_id = ${project_id} AND (${user_id}::integer IS NULL OR user_id = ${user_id})
    GROUP BY session_id ORDER BY max(viewed_at) DESC LIMIT ${sessionRecordingLimits.recordingsViewedLeftOutMax}`;
  return rows.map(({ session_id }) => session_id).toSorted();
}

/** How many other users have viewed a recording. */
export async function countOtherViewers(
  sql: Postgres,
  project_id: number,
  user_id: number,
  session_id: string,
): Promise<number> {
  const [row] = await sql<{ viewers: number }[]>`
    SELECT count(*)::integer AS viewers FROM session_recording_views
    WHERE project_id = ${project_id} AND session_id = ${session_id} AND user_id <> ${user_id}`;
  return row!.viewers;
}

export async function markViewed(
  sql: Postgres,
  project_id: number,
  user_id: number,
  session_ids: readonly string[],
  viewed: boolean,
): Promise<void> {
  if (viewed)
    await sql`
      INSERT INTO session_recording_views (project_id, user_id, session_id)
      SELECT ${project_id}, ${user_id}, unnest(${[...session_ids]}::text[]) ON CONFLICT DO NOTHING`;
  else
    await sql`
      DELETE FROM session_recording_views
      WHERE project_id = ${project_id} AND user_id = ${user_id} AND session_id = ANY(${[...session_ids]}::text[])`;
}

/** The recordings among these that are deleted. */
export async function findDeleted(
  sql: Postgres,
  project_id: number,
  session_ids: readonly string[],
): Promise<Set<string>> {
  if (session_ids.length === 0) return new Set();
  const rows = await sql<{ session_id: string }[]>`
    SELECT session_id FROM session_recording_deletions
    WHERE project_id = ${project_id} AND session_id = ANY(${[...session_ids]}::text[])`;
  return new Set(rows.map(({ session_id }) => session_id));
}

/**
 * Sorted ids of deleted recordings that ClickHouse may still return: the latest ones not hidden yet, and the latest
 * ones whose pieces may still arrive.
 */
export async function listLeftOut(sql: Postgres, project_id: number, now: number): Promise<string[]> {
  const rows = await sql<{ session_id: string }[]>`
    (SELECT session_id FROM session_recording_deletions
     WHERE project_id = ${project_id} AND hidden_at IS NULL
     ORDER BY deleted_at DESC LIMIT ${sessionRecordingLimits.recordingsUnhiddenMax})
    UNION
    (SELECT session_id FROM session_recording_deletions
     WHERE project_id = ${project_id} AND deleted_at >= ${lateSince(now)}
     ORDER BY deleted_at DESC LIMIT ${sessionRecordingLimits.recordingsLateLeftOutMax})
    ORDER BY session_id`;
  return rows.map(({ session_id }) => session_id);
}

/** Pieces may still arrive of recordings deleted since then. */
function lateSince(now: number): Date {
  return new Date(now - sessionRecordingLimits.recordingLateMsMax);
}

/**
 * Marks recordings as deleted and removes their views and sharing. The user and the time stay on record. Resolves to
 * the ids that were not deleted before.
 */
export async function markDeleted(
  sql: Postgres,
  project_id: number,
  session_ids: readonly string[],
  by: { user_id: number; at: Date },
): Promise<string[]> {
  const rows = await sql<{ session_id: string }[]>`
    WITH gone AS (
      INSERT INTO session_recording_deletions (project_id, session_id, deleted_by, deleted_at)
      SELECT ${project_id}, session_id, ${by.user_id}, ${by.at}
      FROM unnest(${[...session_ids]}::text[]) AS asked (session_id)
      ON CONFLICT DO NOTHING RETURNING session_id
    ), unseen AS (
      DELETE FROM session_recording_views v USING gone
      WHERE v.project_id = ${project_id} AND v.session_id = gone.session_id
    ), unshared AS (
      DELETE FROM sharing_configurations s USING gone
      WHERE s.project_id = ${project_id} AND s.kind = 'recording' AND s.target = gone.session_id
    )
    SELECT session_id FROM gone`;
  return rows.map(({ session_id }) => session_id);
}

interface Deletion {
  project_id: number;
  session_id: string;
}

/** Deletions to hide in ClickHouse: those not hidden yet, and those whose late pieces must be searched for again. */
function toHide(sql: Postgres, now: number): PostgresFragment {
  const checked = new Date(now - sessionRecordingLimits.recordingLatePollMs);
  return sql`
    FROM session_recording_deletions
    WHERE hidden_at IS NULL OR (deleted_at >= ${lateSince(now)} AND checked_at < ${checked})`;
}

/** Deletions hidden so long ago that files are to be rewritten. */
function toRemove(sql: Postgres, now: number): PostgresFragment {
  const hidden = new Date(now - sessionRecordingLimits.recordingRemovalAgeMs);
  return sql`FROM session_recording_deletions WHERE removed_at IS NULL AND hidden_at <= ${hidden}`;
}

/** Whether there is anything to hide, to remove, or to be looked for again; `q` is the row of the pass. */
export function isRemovalDue(sql: Postgres, now: number): PostgresFragment {
  const listed = new Date(now - sessionRecordingLimits.recordingBlankPollMs);
  return sql`(EXISTS (SELECT ${toHide(sql, now)}) OR EXISTS (SELECT ${toRemove(sql, now)})
    OR coalesce(q.passed_at < ${listed}, true))`;
}

export async function listDeletions(sql: Postgres, now: number): Promise<Deletion[]> {
  return await sql<Deletion[]>`
    SELECT project_id, session_id ${toHide(sql, now)}
    ORDER BY hidden_at IS NOT NULL, checked_at, deleted_at
    LIMIT ${sessionRecordingLimits.recordingsHiddenAtOnceMax}`;
}

/**
 * Records that deletions were checked and hidden.
 * @param fresh ids of which rows were hidden just now: their bytes are still in files.
 */
export async function recordHidden(
  sql: Postgres,
  project_id: number,
  session_ids: readonly string[],
  fresh: readonly string[],
  at: Date,
): Promise<void> {
  await sql`
    WITH asked AS (
      SELECT project_id, session_id, hidden_at IS NULL OR session_id = ANY(${[...fresh]}::text[]) AS changed
      FROM session_recording_deletions
      WHERE project_id = ${project_id} AND session_id = ANY(${[...session_ids]}::text[])
    )
    UPDATE session_recording_deletions d SET
      checked_at = ${at},
      hidden_at = CASE WHEN asked.changed THEN ${at} ELSE d.hidden_at END,
      removed_at = CASE WHEN asked.changed THEN NULL ELSE d.removed_at END
    FROM asked WHERE d.project_id = asked.project_id AND d.session_id = asked.session_id`;
}

export async function hasOldHidden(sql: Postgres, now: number): Promise<boolean> {
  return (await sql`SELECT ${toRemove(sql, now)} LIMIT 1`).length > 0;
}

/** Records that rows hidden until `before` are gone from the files. Resolves to the number of deletions. */
export async function recordRemoved(sql: Postgres, before: Date, at: Date): Promise<number> {
  const rows = await sql`
    UPDATE session_recording_deletions SET removed_at = ${at}
    WHERE removed_at IS NULL AND hidden_at <= ${before} RETURNING 1`;
  return rows.length;
}
