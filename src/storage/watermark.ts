// How far the journals of all processes have come: what exports wait for, and whoever wants to read what was just sent.

import { storageLimits } from "./limits.ts";
import type { Postgres } from "./postgres/postgres.ts";

/** How far the journals have come, in ms. */
export interface Watermarks {
  /** Every event that arrived before it is stored, as far as living journals know. */
  through: number;
  /** Journals not seen for storageLimits.journalUnseenMsMax. */
  unseen: string[];
}

export async function readWatermarks(sql: Postgres, now: number): Promise<Watermarks> {
  const oldest = new Date(now - storageLimits.journalUnseenMsMax);
  // One that never said anything holds nothing from before it was made, give or take a clock.
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
