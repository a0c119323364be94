// When dashboards were last read.

import type { Postgres } from "../storage/postgres/postgres.ts";

/** Notes that a dashboard was read; once a minute at most. */
export async function recordRead(sql: Postgres, id: number): Promise<void> {
  await sql`
    UPDATE dashboards SET last_accessed_at = now()
    WHERE id = ${id} AND (last_accessed_at IS NULL OR last_accessed_at < now() - interval '1 minute')`;
}
