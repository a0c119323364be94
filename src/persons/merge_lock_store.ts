// The lock under which merges and types of groups are decided: those of all processes one after the other.

import type { PostgresTransaction as Transaction } from "../storage/postgres/postgres.ts";

/** Any number that nobody else locks. */
const lockKey = "7308332182925";

/** Waits for the lock, which ends with the transaction. */
export async function lockMerges(transaction: Transaction): Promise<void> {
  await transaction`SELECT pg_advisory_xact_lock(${lockKey}::bigint)`;
}
