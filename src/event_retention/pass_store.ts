// What Postgres has of passes, and the retention of projects. Timestamps are those of the processes.

import { limits } from "../core/limits.ts";
import type { Postgres, PostgresFragment } from "../storage/postgres/postgres.ts";
import { type OwnRetention, passDueSince } from "./expiry.ts";
import { retentionLimits } from "./limits.ts";

/** Whether a pass is due. Timestamps in the future, written by a clock that was fast, do not count. */
export function isPassDue(sql: Postgres, now: number): PostgresFragment {
  return sql`(q.passed_at IS NULL OR q.passed_at < ${new Date(passDueSince(now))} OR q.passed_at > ${new Date(now)})`;
}

/** Records, before rows are deleted, that files hold deleted rows from now on. */
export async function recordMasked(sql: Postgres, now: number): Promise<void> {
  await sql`
    UPDATE passes SET masked_since = least(masked_since, ${new Date(now)}) WHERE id = 'event retention'`;
}

/** Records that no file holds deleted rows any more. */
export async function recordUnmasked(sql: Postgres): Promise<void> {
  await sql`UPDATE passes SET masked_since = NULL WHERE id = 'event retention'`;
}

/** Projects that keep events for fewer days than `days`, the server's own retention; a page of them, after `last`. */
export async function listOwnRetentions(
  sql: Postgres,
  days: number | undefined,
  last: OwnRetention = { id: 0, days: 0 },
): Promise<OwnRetention[]> {
  return await sql<OwnRetention[]>`
    SELECT id, event_retention_days AS days FROM projects
    WHERE (event_retention_days, id) > (${last.days}, ${last.id})
      AND event_retention_days < ${days ?? limits.retentionDaysMax + 1}
    ORDER BY event_retention_days, id
    LIMIT ${retentionLimits.expiryProjectsMax}`;
}
