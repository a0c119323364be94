// An advisory lock in Postgres. Merges and group types are decided under it, one process at a time.

import type { PostgresTransaction as Transaction } from "../storage/postgres/postgres.ts";

/** An arbitrary number that no other lock uses. */
const lockKey = "7308332182925";

/** Waits for the lock; the end of the transaction releases it. */
export async function lockMerges(transaction: Transaction): Promise<void> {
  await transaction`SELECT pg_advisory_xact_lock(${lockKey}::bigint)`;
}
