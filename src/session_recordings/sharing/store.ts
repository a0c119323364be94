// The table of how recordings are shared; a token opens one recording.

import { randomBase62 } from "../../core/id.ts";
import { isoOf } from "../../http/fields/field_time.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import type { Sharing } from "../model.ts";
import type { RecordedSession } from "../snapshots/store.ts";

/** As many random bits as an API key, since the token alone opens the recording. */
const tokenLength = 43;

/**
 * The sharing of a recording. The first call makes a token, which is disabled until `enabled` is true.
 * @param enabled true or false changes it. Disabling replaces the token, so the old one never works again.
 */
export async function takeSharing(
  sql: Postgres,
  { project_id, session_id }: RecordedSession,
  now: Date,
  enabled?: boolean,
): Promise<Sharing> {
  const [row] = await sql<(Omit<Sharing, "created_at"> & { created_at: Date })[]>`
    INSERT INTO session_recording_sharing AS s (project_id, session_id, access_token, created_at, enabled)
    VALUES (${project_id}, ${session_id}, ${randomBase62(tokenLength)}, ${now}, ${enabled ?? false})
    ON CONFLICT (project_id, session_id) DO UPDATE SET
      access_token = CASE WHEN s.enabled AND ${enabled === false} THEN excluded.access_token ELSE s.access_token END,
      enabled = coalesce(${enabled ?? null}::boolean, s.enabled)
    RETURNING created_at, enabled, access_token`;
  if (!row) throw new Error("Postgres stored a sharing and returned none");
  return { ...row, created_at: isoOf(row.created_at) };
}

/** The sharing of a session without pieces: disabled, with a token that is not stored. */
export function unshared(now: Date): Sharing {
  return { created_at: isoOf(now), enabled: false, access_token: randomBase62(tokenLength) };
}

/** The recording that a token opens; undefined when it opens none. */
export async function findShared(sql: Postgres, access_token: string): Promise<RecordedSession | undefined> {
  const [row] = await sql<RecordedSession[]>`
    SELECT project_id, session_id FROM session_recording_sharing
    WHERE access_token = ${access_token} AND enabled`;
  return row;
}
