// Ends the work of a member who leaves or becomes a reader: what goes on without requests.

import type { PostgresTransaction } from "../storage/postgres/postgres.ts";

/**
 * Disables the subscriptions, pauses the exports and ends the open deliveries and runs of what somebody has made as a
 * member; alerts look for the level themselves.
 */
export async function stopWork(
  tx: PostgresTransaction,
  organization_id: string,
  user_id: number,
): Promise<void> {
  const theirs = tx`
    created_by = ${user_id} AND NOT deleted
    AND project_id IN (SELECT id FROM projects WHERE organization_id = ${organization_id})`;
  await tx`UPDATE subscriptions SET disabled_at = now(), failures = 0 WHERE disabled_at IS NULL AND ${theirs}`;
  // A delivery without its claim sends nothing more.
  await tx`
    UPDATE subscription_deliveries SET status = 'failed', next_attempt_at = NULL, claim = NULL, claimed_until = NULL,
      error = 'Whoever made the subscription is no longer a member.'
    WHERE next_attempt_at IS NOT NULL AND subscription_id IN (SELECT id FROM subscriptions WHERE ${theirs})`;
  await tx`
    UPDATE batch_exports SET paused = true, last_paused_at = now(), last_updated_at = now(), due_at = NULL
    WHERE NOT paused AND ${theirs}`;
  for (const running of ["batch_export_backfills", "batch_export_runs"])
    await tx`
      UPDATE ${tx(running)} SET status = 'Cancelled', finished_at = now(), last_updated_at = now()
      WHERE status IN ('Starting', 'Running', 'FailedRetryable')
        AND batch_export_id IN (SELECT id FROM batch_exports WHERE ${theirs})`;
}

/** Removes somebody's invitations: nobody sees those of a member who may not invite. */
export async function removeInvites(tx: PostgresTransaction, organization_id: string, user_id: number) {
  await tx`
    DELETE FROM organization_invites
    WHERE organization_id = ${organization_id} AND created_by_id = ${user_id}`;
}
