// The watermark of all processes' journals: events that arrived before it are stored. Exports and tests wait for it.

import type { Clock } from "../core/clock.ts";
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

/** Waits until every event that arrived before now is stored. False where that takes longer than `msMax`. */
export async function storedWithin(sql: Postgres, clock: Clock, msMax: number): Promise<boolean> {
  const now = clock.now();
  const until = clock.elapsed() + msMax;
  for (;;) {
    const { through, unseen } = await readWatermarks(sql, clock.now());
    if (through >= now && unseen.length === 0) return true;
    if (clock.elapsed() >= until) return false;
    await Bun.sleep(storageLimits.watermarkAgainMs);
  }
}
