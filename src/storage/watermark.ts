// The watermark of all processes' journals: events that arrived before it are stored. Exports and tests wait for it.

import { storageLimits } from "./limits.ts";
import type { Postgres } from "./postgres/postgres.ts";

/** Watermarks, in ms. */
interface Watermarks {
  /** Every event that arrived before it is stored, as far as living journals report. */
  through: number;
  /** Journals not seen for storageLimits.journalUnseenMsMax. */
  unseen: string[];
}

/** @param now ms since 1970. */
export async function readWatermarks(sql: Postgres, now: number): Promise<Watermarks> {
  const oldest = new Date(now - storageLimits.journalUnseenMsMax);
  // A journal that has not reported yet holds nothing older than its own creation, but for clock differences.
  const rows = await sql<{ name: string; watermark: Date; seen: boolean }[]>`
    SELECT name,
      coalesce(watermark, created_at - ${storageLimits.journalClockMsMax} * interval '1 millisecond') AS watermark,
      coalesce(seen_at, created_at) >= ${oldest} AS seen
    FROM journals`;
  const marks = rows.filter(({ seen }) => seen).map(({ watermark }) => watermark.getTime());
  return {
    through: Math.min(now, ...marks),
    unseen: rows.filter(({ seen }) => !seen).map(({ name }) => name),
  };
}
