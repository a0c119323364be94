// Batches whose sessions ClickHouse refused to derive. They wait in Postgres, so that no file of the journal waits for
// them, and any server derives them from the stored rows. Deriving twice changes nothing.

import type { Postgres } from "../../storage/postgres/postgres.ts";
import { flushLimits } from "./limits.ts";

export interface SessionBacklog {
  add(batches: readonly bigint[]): Promise<void>;
  /** The batches that wait longest, at most flushLimits.backlogStepBatchesMax, and how many wait in all. */
  read(): Promise<{ oldest: bigint[]; count: number }>;
  remove(batches: readonly bigint[]): Promise<void>;
}

export function openSessionBacklog(sql: Postgres): SessionBacklog {
  const textsOf = (batches: readonly bigint[]) => batches.map(String);
  return {
    add: async (batches) => {
      await sql`
        INSERT INTO session_backlog (batch) SELECT unnest(${textsOf(batches)}::text[]) ON CONFLICT DO NOTHING`;
    },
    read: async () => {
      const rows = await sql<{ batch: string; count: string }[]>`
        SELECT batch, (SELECT count(*) FROM session_backlog) AS count
        FROM session_backlog ORDER BY added_at, batch LIMIT ${flushLimits.backlogStepBatchesMax}`;
      return { oldest: rows.map(({ batch }) => BigInt(batch)), count: Number(rows[0]?.count ?? 0) };
    },
    remove: async (batches) => {
      await sql`DELETE FROM session_backlog WHERE batch = ANY(${textsOf(batches)}::text[])`;
    },
  };
}
