// The watermark of all processes' journals: events that arrived before it are stored. Exports and tests wait for it.

import { type Clock, sleep } from "../core/clock.ts";
import { storageLimits } from "./limits.ts";
import type { Postgres } from "./postgres/postgres.ts";

/**
 * Arrival times in ms: rows that arrived before are stored, as far as living journals report.
 * @param now ms since 1970.
 */
export async function readWatermarks(sql: Postgres, now: number) {
  const oldest = new Date(now - storageLimits.journalUnseenMsMax);
  // A journal that has not reported yet has nothing older than its creation, except for clock differences. One of an
  // older process reports `watermark` only, which is never ahead of the others, and nothing of recordings.
  const rows = await sql<{ name: string; stored: Date; recordings: Date; seen: boolean }[]>`
    WITH known AS (
      SELECT *, created_at - ${storageLimits.journalClockMsMax} * interval '1 millisecond' AS first FROM journals
    )
    SELECT name, coalesce(greatest(stored_watermark, watermark), first) AS stored,
      CASE WHEN watermark IS NULL THEN first ELSE coalesce(recordings_watermark, 'epoch') END AS recordings,
      coalesce(seen_at, created_at) >= ${oldest} AS seen
    FROM known`;
  const living = rows.filter(({ seen }) => seen);
  return {
    /** Watermark of events, merges included. */
    through: Math.min(now, ...living.map(({ stored }) => stored.getTime())),
    /** Watermark of pieces of recordings. */
    recordings: Math.min(now, ...living.map(({ recordings }) => recordings.getTime())),
    /** Journals not seen for storageLimits.journalUnseenMsMax. */
    unseen: rows.filter(({ seen }) => !seen).map(({ name }) => name),
  };
}

/** Keyed by the name of each journal, the seconds since its server last reported. @param now ms since 1970. */
export async function readSilences(
  sql: Postgres,
  now: number,
): Promise<[journal: string, seconds: number][]> {
  const rows = await sql<{ name: string; seen: Date }[]>`
    SELECT name, coalesce(seen_at, created_at) AS seen FROM journals ORDER BY name`;
  return rows.map(({ name, seen }) => [name, Math.max(0, (now - seen.getTime()) / 1000)]);
}

/** Waits until every piece of a recording that arrived before now is stored; false after `msMax`. */
export async function recordingsStoredWithin(sql: Postgres, clock: Clock, msMax: number): Promise<boolean> {
  const now = clock.now();
  const until = clock.elapsed() + msMax;
  for (;;) {
    const { recordings, unseen } = await readWatermarks(sql, clock.now());
    if (recordings >= now && unseen.length === 0) return true;
    if (clock.elapsed() >= until) return false;
    await sleep(storageLimits.watermarkAgainMs);
  }
}

export interface ListedServer {
  /** Its journal's number. */
  id: number;
  seen_at: Date | null;
  /** Events that arrived before are stored. */
  stored_until: Date | null;
  /** Host and folder. */
  location: string | null;
}

export async function listServers(sql: Postgres): Promise<ListedServer[]> {
  return await sql<ListedServer[]>`
    SELECT id, seen_at, greatest(stored_watermark, watermark) AS stored_until, location FROM journals ORDER BY id`;
}
