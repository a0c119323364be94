// Batches whose sessions ClickHouse refused to derive. They wait in Postgres, so that no file of the journal waits for
// them, and any server derives them from the stored rows. Deriving twice changes nothing.

import type { Postgres } from "../../storage/postgres/postgres.ts";
import { flushLimits } from "./limits.ts";

export type SessionBacklog = ReturnType<typeof openSessionBacklog>;

export function openSessionBacklog(sql: Postgres) {
  const textsOf = (batches: readonly bigint[]) => batches.map(String);
  return {
    add: async (batches: readonly bigint[]) => {
      await sql`
        INSERT INTO session_backlog (batch) SELECT unnest(${textsOf(batches)}::text[]) ON CONFLICT DO NOTHING`;
    },
    /** The batches that wait longest, at most flushLimits.backlogStepBatchesMax, and how many wait in all. */
    read: async () => {
      const rows = await sql<{ batch: string; count: string }[]>`
        SELECT batch, (SELECT count(*) FROM session_backlog) AS count
        FROM session_backlog ORDER BY added_at, batch LIMIT ${flushLimits.backlogStepBatchesMax}`;
      return { oldest: rows.map(({ batch }) => BigInt(batch)), count: Number(rows[0]?.count ?? 0) };
    },
    remove: async (batches: readonly bigint[]) => {
      await sql`DELETE FROM session_backlog WHERE batch = ANY(${textsOf(batches)}::text[])`;
    },
  };
}
