// The advisory locks of what changes or copies whole stores, one holder at a time. A lock is its connection's.

import type { Postgres } from "./postgres.ts";

/** Their numbers: the letters of "sluice" and "backup", which no other program has by chance. */
export const storeLocks = { migration: "126943754085221", backup: "108171129042288" };

export async function isStoreLocked(sql: Postgres): Promise<boolean> {
  const keys = Object.values(storeLocks);
  const found = await sql`
    SELECT 1 FROM pg_locks
    WHERE locktype = 'advisory' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND ((classid::bigint << 32) | objid::bigint)::text = ANY(${keys})
    LIMIT 1`;
  return found.length > 0;
}
