// Whose turn it is to delete expired events, and which projects keep them for how long. Rests in Postgres; moments are
// the processes' own.

import { limits } from "../core/limits.ts";
import { retentionLimits } from "./limits.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { type OwnRetention, passDueSince } from "./expiry.ts";

/**
 * Takes the turn when a pass is due and nobody else makes one. What a clock wrote that was ahead counts as nothing.
 * Resolves to since when deleted rows may rest in files (ms), null when none do; undefined when it is not our turn.
 */
export async function takeTurn(
  sql: Postgres,
  owner: string,
  now: number,
): Promise<{ masked_since: number | null } | undefined> {
  const [at, until, due] = [now, now + retentionLimits.expiryLeaseMs, passDueSince(now)].map(
    (ms) => new Date(ms),
  );
  const [row] = await sql<{ masked_since: Date | null }[]>`
    UPDATE event_expiry SET owner = ${owner}::uuid, leased_until = ${until!}
    WHERE (owner IS NULL OR owner = ${owner}::uuid OR leased_until <= ${at!} OR leased_until > ${until!})
      AND (passed_at IS NULL OR passed_at < ${due!} OR passed_at > ${at!})
    RETURNING masked_since`;
  return row && { masked_since: row.masked_since?.getTime() ?? null };
}

/** Keeps the turn for a further statement. False when it is another's meanwhile. */
export async function keepTurn(sql: Postgres, owner: string, now: number): Promise<boolean> {
  const until = new Date(now + retentionLimits.expiryLeaseMs);
  const rows = await sql`
    UPDATE event_expiry SET leased_until = ${until} WHERE owner = ${owner}::uuid RETURNING single`;
  return rows.length > 0;
}

/** Notes, before rows are deleted, that files hold deleted ones from now on. */
export async function noteMasked(sql: Postgres, now: number): Promise<void> {
  await sql`UPDATE event_expiry SET masked_since = least(masked_since, ${new Date(now)})`;
}

/** Notes that files hold none any more. */
export async function noteUnmasked(sql: Postgres): Promise<void> {
  await sql`UPDATE event_expiry SET masked_since = NULL`;
}

/** Gives the turn back, with the pass made when `passed_at` (ms) says so. */
export async function giveTurn(sql: Postgres, owner: string, passed_at?: number): Promise<void> {
  const at = passed_at === undefined ? null : new Date(passed_at);
  await sql`
    UPDATE event_expiry
    SET owner = NULL, leased_until = NULL, passed_at = coalesce(${at}::timestamptz, passed_at)
    WHERE owner = ${owner}::uuid`;
}

/** Projects that keep events for fewer days than `days`, the server's own retention; some at a time, after `last`. */
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
