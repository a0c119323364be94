// Pauses and resumes exports. Missed intervals are run only on request.

import { reply } from "../../http/fields/schema.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { alignedBefore, intervalMs } from "../interval.ts";
import { pausedModel, unpauseBody } from "../model.ts";
import { setPaused, type StoredExport } from "../stores/export_store.ts";
import type { BackfillParts } from "./backfill_operations.ts";
import { beginBackfill } from "./backfill_range.ts";
import { exportOf, exportOperation } from "./request.ts";

export function pauseOperations({ sql, clock, wake }: BackfillParts) {
  return [
    exportOperation("POST /batch_exports/:id/pause/", "batch_export:write", {
      summary: "Pause a batch export",
      find: (request) => exportOf(sql, request),
      replies: { 200: reply("It is paused.", pausedModel) },
      answer: async ({ found }) => {
        await setPaused(sql, found.id, true, new Date(clock.now()));
        return { paused: true };
      },
    }),
    exportOperation("POST /batch_exports/:id/unpause/", "batch_export:write", {
      summary: "Resume a batch export",
      description: "Intervals that were missed meanwhile are run only with `backfill`.",
      find: (request) => exportOf(sql, request),
      body: unpauseBody,
      replies: { 200: reply("It is resumed.", pausedModel) },
      answer: async ({ found, body: { backfill } }) => {
        const now = new Date(clock.now());
        const resumed = await setPaused(sql, found.id, false, now);
        if (resumed && backfill) await backfillMissed(sql, found, now);
        wake();
        return { paused: false };
      },
    }),
  ];
}

/** The range from the paused schedule to the interval with which it resumes. */
async function backfillMissed(sql: Postgres, stored: StoredExport, now: Date): Promise<void> {
  const { interval, created_at, scheduled_until, last_paused_at } = stored;
  const lengthMs = intervalMs(interval);
  const paused = last_paused_at === null ? now.getTime() : Date.parse(last_paused_at);
  const stood = Math.min((scheduled_until ?? created_at).getTime(), paused);
  const start = new Date(alignedBefore(stood, lengthMs));
  const end = new Date(alignedBefore(now.getTime(), lengthMs));
  if (start < end) await beginBackfill(sql, stored, { start, end, by_timestamp: false }, end, now);
}
