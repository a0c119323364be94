// Deletes expired events, in one process at a time: checks every minute whether a pass is due, which is every hour,
// after midnight (UTC), and once after a start or a change of a project's retention.

import type { Metrics } from "../http/metrics/metrics.ts";
import { openPass } from "../storage/postgres/passes.ts";
import type { Uses } from "../storage/services.ts";
import { intervalWorker } from "../work/interval.ts";
import { computeExpiry, computeOwnExpiry, type Expiry, SteadyClock } from "./expiry.ts";
import { hideExpired } from "./hidden.ts";
import { retentionLimits } from "./limits.ts";
import * as store from "./store.ts";

/** @param onExpired called after events were deleted. */
export function openEventRetention({
  metrics,
  onExpired = () => {},
  ...options
}: Omit<PassOptions, "expired" | "stopping"> & { metrics: Metrics; onExpired?: () => void }) {
  const { sql, clock, log } = options;
  const counter = metrics.registry.counter(
    "sluice_events_expired_total",
    "Stored rows of events deleted because they are older than EVENT_RETENTION_DAYS, or their project's own retention.",
  );
  const expired = (events: number) => {
    counter.add(events);
    onExpired();
  };
  const steady = new SteadyClock(clock);
  let waits = 0;
  // A server starts with the retention of its settings, which may be new.
  let atOnce = true;
  const hide = () => hideExpired(options, options.retentionDays);
  const pass = openPass({
    ...options,
    id: "event retention",
    name: "deleting expired events",
    pollMs: retentionLimits.expiryPollMs,
    due: (now) => sql`${steady.isSteady()}::boolean AND (${atOnce}::boolean OR ${store.isPassDue(sql, now)})`,
    pass: async ({ masked_since }, stopping) => {
      const looked = await expireEvents({ ...options, expired, stopping }, masked_since);
      if (looked.is === "waiting") {
        const { reason } = looked;
        if (++waits % retentionLimits.expiryWaitsMax === 0)
          log.warn("expired events wait: ClickHouse has not finished earlier deletions", { reason });
        return false;
      }
      atOnce = false;
      waits = 0;
      const { events, sessions, rewritten } = looked;
      const level = events + sessions + rewritten > 0 ? "info" : "debug";
      log[level]("looked for expired events", { deleted: events, sessions, rewritten_partitions: rewritten });
      return true;
    },
  });
  const hiding = intervalWorker(retentionLimits.hiddenPollMs, "hiding expired events", hide, log);
  return [pass, hiding] as const;
}

export interface PassOptions extends Uses<"sql" | "clickhouse" | "clock" | "log"> {
  /** Days after which all events expire; a project may have fewer. Undefined: only projects with their own. */
  retentionDays: number | undefined;
  expired(events: number): void;
  /** Stops the pass before its next statement; the engine finishes the present one. */
  stopping: AbortSignal;
}

/** The result of a pass: the engine is busy with earlier deletions, and why; or the pass was made. */
export type Looked =
  { is: "waiting"; reason: string } | { is: "passed"; events: number; sessions: number; rewritten: number };

/**
 * Makes a claimed pass: deletes expired rows year by year, and rewrites files with many deleted rows. A pass that
 * starts again after any of its statements deletes the same rows. `masked_since`: since when files may hold deleted
 * rows, null when none do.
 */
export async function expireEvents(options: PassOptions, masked_since: Date | null): Promise<Looked> {
  const { clickhouse, clock, stopping } = options;
  const rows = new store.ExpiredRows(clickhouse, stopping);
  const reason = await rows.unfinishedDeletion();
  if (reason !== undefined) return { is: "waiting", reason };
  const now = clock.now();
  const deleted = await deleteExpired(options, rows, now);
  const hasMasked = masked_since !== null || deleted.events + deleted.sessions > 0;
  const oldest = Math.min(masked_since?.getTime() ?? now, now);
  const rewritten = hasMasked ? await removeGathered(options, rows, oldest) : 0;
  return { is: "passed", ...deleted, rewritten };
}

/** Deletes expired rows; resolves to their numbers. */
async function deleteExpired(options: PassOptions, rows: store.ExpiredRows, now: number) {
  const { sql, retentionDays, expired, stopping } = options;
  const deleted = { events: 0, sessions: 0 };
  const mayDelete = async (): Promise<void> => {
    stopping.throwIfAborted();
    await store.recordMasked(sql, now);
  };
  // Events first: rows derived from them meanwhile are deleted with the sessions, or by the next pass.
  const expire = async (expiry: Expiry): Promise<void> => {
    for (const { year, rows: events } of await rows.findEvents(expiry)) {
      await mayDelete();
      await rows.deleteEvents(expiry, year);
      expired(events);
      deleted.events += events;
    }
    const sessions = await rows.countSessions(expiry);
    if (sessions === 0) return;
    await mayDelete();
    await rows.deleteSessions(expiry);
    deleted.sessions += sessions;
  };
  if (retentionDays !== undefined) await expire(computeExpiry(now, retentionDays));
  for await (const retentions of store.listOwnRetentions(sql, retentionDays))
    await expire(computeOwnExpiry(now, retentions));
  return deleted;
}

/**
 * Rewrites the files in which many rows are deleted, or all with deleted rows once some are old. Resolves to their
 * number.
 */
async function removeGathered(options: PassOptions, rows: store.ExpiredRows, masked_since: number) {
  const { sql, clock, stopping } = options;
  const isOld = masked_since <= clock.now() - retentionLimits.expiryMaskedMsMax;
  let [rewritten, partitionsLeft] = [0, 0];
  for (const table of store.expiringTables) {
    for (const found of await rows.findMasked(table)) {
      const isDue = isOld || found.masked * retentionLimits.expiryMaskedDivisor >= found.rows;
      if (isDue && hasDiskFor(options, found, await rows.freeBytes())) {
        stopping.throwIfAborted();
        await rows.removeMasked(table, found.partition);
        rewritten++;
      } else partitionsLeft++;
    }
  }
  if (partitionsLeft === 0) await store.recordUnmasked(sql);
  return rewritten;
}

/** The new files exist beside the old ones for a while. A rewrite without space would block further deletions. */
function hasDiskFor({ log }: PassOptions, { partition, bytes_left }: store.MaskedPartition, free: number) {
  if (bytes_left * retentionLimits.expiryRoomFactor <= free) return true;
  const bytes = { free_bytes: free, new_bytes: bytes_left };
  log.warn("not enough disk space to rewrite files without expired events; they stay deleted", {
    partition,
    ...bytes,
  });
  return false;
}
