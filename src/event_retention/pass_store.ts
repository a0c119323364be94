// The lease in Postgres to delete expired events, and the retention of projects. Timestamps are those of the processes.
// It is no queue of leases: there is one pass and no share in it, and one that waits or fails is due at the next look.

import { limits } from "../core/limits.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { type OwnRetention, passDueSince } from "./expiry.ts";
import { retentionLimits } from "./limits.ts";

/**
 * Claims the lease when a pass is due, or `atOnce`, and no other process holds it. Timestamps in the future, written by
 * a clock that was fast, do not count. Resolves to since when files may hold deleted rows (ms), null when none do;
 * undefined when the lease was not claimed.
 */
export async function claimPass(
  sql: Postgres,
  owner: string,
  now: number,
  atOnce = false,
): Promise<{ masked_since: number | null } | undefined> {
  const [at, until, due] = [now, now + retentionLimits.expiryLeaseMs, passDueSince(now)].map(
    (ms) => new Date(ms),
  );
  const [row] = await sql<{ masked_since: Date | null }[]>`
    UPDATE event_expiry SET owner = ${owner}::uuid, leased_until = ${until!}
    WHERE (owner IS NULL OR owner = ${owner}::uuid OR leased_until <= ${at!} OR leased_until > ${until!})
      AND (${atOnce} OR passed_at IS NULL OR passed_at < ${due!} OR passed_at > ${at!})
    RETURNING masked_since`;
  return row && { masked_since: row.masked_since?.getTime() ?? null };
}

/** Extends the lease for another statement. False when another process has it. */
export async function renewPass(sql: Postgres, owner: string, now: number): Promise<boolean> {
  const until = new Date(now + retentionLimits.expiryLeaseMs);
  const rows = await sql`
    UPDATE event_expiry SET leased_until = ${until} WHERE owner = ${owner}::uuid RETURNING single`;
  return rows.length > 0;
}

/** Records, before rows are deleted, that files hold deleted rows from now on. */
export async function recordMasked(sql: Postgres, now: number): Promise<void> {
  await sql`UPDATE event_expiry SET masked_since = least(masked_since, ${new Date(now)})`;
}

/** Records that no file holds deleted rows any more. */
export async function recordUnmasked(sql: Postgres): Promise<void> {
  await sql`UPDATE event_expiry SET masked_since = NULL`;
}

/** Releases the lease; `passed_at` (ms) is the end of a complete pass. */
export async function endPass(sql: Postgres, owner: string, passed_at?: number): Promise<void> {
  const at = passed_at === undefined ? null : new Date(passed_at);
  await sql`
    UPDATE event_expiry
    SET owner = NULL, leased_until = NULL, passed_at = coalesce(${at}::timestamptz, passed_at)
    WHERE owner = ${owner}::uuid`;
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
