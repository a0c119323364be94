// Pauses and resumes exports. Missed intervals are run only on request.

import type { Postgres } from "../../storage/postgres/postgres.ts";
import { readFields } from "../../http/body.ts";
import { reply, requestBody } from "../../http/fields/schema.ts";
import { runsIn } from "../backfills/backfill.ts";
import type { BackfillParts } from "../backfills/operations.ts";
import { createBackfill } from "../backfills/store.ts";
import { alignedBefore, intervalMs } from "../runs/interval.ts";
import { pausedModel, unpauseBody } from "../model.ts";
import { exportOf, ok, type Operation } from "../operation.ts";
import { setPaused, type StoredExport } from "./store.ts";

export function pauseOperations({ sql, clock, wake }: BackfillParts): Operation[] {
  return [
    {
      method: "POST",
      path: ":id/pause/",
      scope: "batch_export:write",
      detail: { summary: "Pause a batch export", responses: { 200: reply("It is paused.", pausedModel) } },
      answer: async (asked) => {
        const { id } = await exportOf(sql, asked);
        await setPaused(sql, id, true, new Date(clock.now()));
        return ok({ paused: true });
      },
    },
    {
      method: "POST",
      path: ":id/unpause/",
      scope: "batch_export:write",
      detail: {
        summary: "Let a batch export go on",
        description: "What was missed meanwhile is run only with `backfill`.",
        requestBody: requestBody(unpauseBody, { partial: true }),
        responses: { 200: reply("It goes on.", pausedModel) },
      },
      answer: async (asked) => {
        const stored = await exportOf(sql, asked);
        const { backfill } = await readFields(asked.request, unpauseBody);
        const now = new Date(clock.now());
        const resumed = await setPaused(sql, stored.id, false, now);
        if (resumed && backfill) await backfillMissed(sql, stored, now);
        wake();
        return ok({ paused: false });
      },
    },
  ];
}

/** The range from the paused schedule to the interval with which it goes on. */
async function backfillMissed(sql: Postgres, stored: StoredExport, now: Date): Promise<void> {
  const { id, interval, created_at, scheduled_until, last_paused_at } = stored;
  const lengthMs = intervalMs(interval);
  const paused = last_paused_at === null ? now.getTime() : Date.parse(last_paused_at);
  const stood = Math.min((scheduled_until ?? created_at).getTime(), paused);
  const start = new Date(alignedBefore(stood, lengthMs));
  const end = new Date(alignedBefore(now.getTime(), lengthMs));
  if (start >= end) return;
  const total_runs = runsIn({ start, end }, interval, now);
  const range = { start_at: start, end_at: end, range_start: start, range_end: end };
  await createBackfill(sql, { batch_export_id: id, interval, total_runs, ...range }, now);
}
