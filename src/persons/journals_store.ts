// Whether journals may still deliver rows of an earlier time.

import type { Postgres, PostgresFragment } from "../storage/postgres/postgres.ts";
import { personLimits } from "./limits.ts";

/**
 * Whether every journal has passed the moment, so that no older row can arrive. A journal that was not seen for long
 * does not count.
 */
export function isPassed(sql: Postgres, moment: PostgresFragment): PostgresFragment {
  return sql`NOT EXISTS (
    SELECT 1 FROM journals
    WHERE coalesce(watermark, created_at) <= ${moment}
      AND coalesce(seen_at, created_at) > now() - make_interval(days => ${personLimits.journalGoneDays}))`;
}

/** Whether an order is to be carried out: it was not yet, or every journal has passed its moment. */
export function isOrderDue(sql: Postgres, moment: PostgresFragment): PostgresFragment {
  return sql`(begun_at IS NULL OR ${isPassed(sql, moment)})`;
}

/** Whether several processes use these stores: the others know of an order only a moment later. */
export async function areSeveral(sql: Postgres): Promise<boolean> {
  const seen = sql`coalesce(seen_at, created_at) > now() - make_interval(secs => ${personLimits.processSeenSeconds})`;
  const [row] = await sql<{ several: boolean }[]>`SELECT count(*) > 1 AS several FROM journals WHERE ${seen}`;
  return row!.several;
}
