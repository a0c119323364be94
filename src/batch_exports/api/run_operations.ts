// Runs over HTTP: paused, listed, cancelled, retried. What a pause missed, and a retry, are backfills.

import type { Clock } from "../../core/clock.ts";
import { Fault, refuseInput } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { refusal } from "../../http/docs/refusals.ts";
import { parseUuid, present } from "../../http/fields/field_fault.ts";
import { limitParameter, momentParameter, parameter } from "../../http/fields/query.ts";
import { reply } from "../../http/fields/schema.ts";
import type { Postgres, PostgresTransaction } from "../../storage/postgres/postgres.ts";
import { openGrid, wholeRange } from "../interval.ts";
import { exportLimits } from "../limits.ts";
import * as shapes from "../model.ts";
import { cursorPage, readCursor } from "../stores/cursor.ts";
import { setPaused, type StoredExport } from "../stores/export_store.ts";
import { cancelRun, getRun, isByTimestamp, listRuns, readLastEnd } from "../stores/run_list_store.ts";
import { beginBackfill } from "./backfill_range.ts";
import { exportOperation, type ExportParts, type ExportRequest, requireExport } from "./request.ts";

export function runOperations(parts: ExportParts) {
  return [...pauseOperations(parts), ...readOperations(parts), ...changeOperations(parts)];
}

function readOperations({ sql, clock }: ExportParts) {
  return [
    exportOperation("GET /batch_exports/:id/runs/", "batch_export:read", {
      summary: "List an export's runs, newest first",
      find: (request) => requireExport(sql, request),
      query: runQuery(clock),
      replies: { 200: reply("The runs.", shapes.runPageModel) },
      answer: async ({ found, query, url }) => {
        const weekAgo = new Date(clock.now() - 7 * limits.dayMs).toISOString().slice(0, -1);
        const hasBegin = (query.after ?? query.start ?? query.end) !== undefined;
        const filter = hasBegin ? query : { ...query, after: weekAgo };
        return cursorPage(url, await listRuns(sql, found.id, filter, query), query);
      },
    }),
    exportOperation("GET /batch_exports/:id/runs/:run_id/", "batch_export:read", {
      summary: "Get a run",
      find: (request) => requireRun(sql, request),
      replies: { 200: reply("The run.", shapes.runModel) },
      answer: ({ found: { run } }) => run,
    }),
  ];
}

const orderings = new Set(["created_at", "-created_at", "data_interval_start", "-data_interval_start"]);

function runQuery(clock: Clock) {
  return {
    after: momentParameter("Only runs created then or later: ISO 8601, or relative; -7d by default.", clock, {
      end: "before",
    }),
    before: momentParameter("Only runs created then or earlier, likewise.", clock, { start: "after" }),
    start: momentParameter(
      "Only runs whose interval begins then or later; `after` then has no default.",
      clock,
      { end: "end" },
    ),
    end: momentParameter(
      "Only runs whose interval ends then or earlier; `after` then has no default.",
      clock,
      { start: "start" },
    ),
    ordering: parameter("Descending with a minus before it; -created_at by default.", readOrdering, {
      type: "string",
      enum: [...orderings],
    }),
    cursor: parameter("From a page's links.", readCursor),
    limit: limitParameter("Runs", exportLimits.runsPageDefault),
  };
}

function readOrdering(query: URLSearchParams, name: string): string {
  const ordering = query.get(name) ?? "-created_at";
  if (orderings.has(ordering)) return ordering;
  const detail = "Order by created_at or data_interval_start, with a minus before it for falling.";
  return refuseInput(detail, name, "invalid_choice");
}

function changeOperations({ sql, clock, wake }: ExportParts) {
  return [
    exportOperation("POST /batch_exports/:id/runs/:run_id/cancel/", "batch_export:write", {
      summary: "Cancel a run",
      find: (request) => requireRun(sql, request),
      replies: { 200: reply("It is cancelled.", shapes.cancelledModel), 400: refusal(400) },
      answer: async ({ found, ...request }) => {
        if (await cancelRun(sql, found.run.id, new Date(clock.now()))) return { cancelled: true };
        const { status } = (await requireRun(sql, request)).run;
        throw new Fault("invalid_input", `Cannot cancel a run that is in '${status}' status`);
      },
    }),
    exportOperation("POST /batch_exports/:id/runs/:run_id/retry/", "batch_export:write", {
      summary: "Run an interval again, as a backfill of its own",
      find: (request) => requireRun(sql, request),
      replies: { 200: reply("It was started.", shapes.startedBackfillModel), 400: refusal(400) },
      answer: async ({ found: { run, stored } }) => {
        if (shapes.openStatuses.includes(run.status))
          throw new Fault("invalid_input", `Cannot retry a run that is in '${run.status}' status`);
        const backfill_id = await runAgain(sql, stored, run, new Date(clock.now()));
        wake();
        return { backfill_id };
      },
    }),
  ];
}

async function runAgain(sql: Postgres, stored: StoredExport, run: shapes.Run, now: Date): Promise<string> {
  const end = new Date(run.data_interval_end);
  const start = run.data_interval_start === null ? null : new Date(run.data_interval_start);
  const by_timestamp = await isByTimestamp(sql, run.id);
  // The export's grid may have changed: the retry is the run's interval.
  const of = { ...stored, interval: wholeRange };
  return await beginBackfill(sql, of, { start, end, by_timestamp }, end, now);
}

async function requireRun(
  sql: Postgres,
  request: ExportRequest & { params: { id: string; run_id: string } },
) {
  const stored = await requireExport(sql, request);
  return { stored, run: present(await getRun(sql, stored.id, parseUuid(request.params.run_id))) };
}

function pauseOperations({ sql, clock, wake }: ExportParts) {
  return [
    exportOperation("POST /batch_exports/:id/pause/", "batch_export:write", {
      summary: "Pause a batch export",
      find: (request) => requireExport(sql, request),
      replies: { 200: reply("It is paused.", shapes.pausedModel) },
      answer: async ({ found }) => {
        await setPaused(sql, found.id, true, new Date(clock.now()));
        return { paused: true };
      },
    }),
    exportOperation("POST /batch_exports/:id/unpause/", "batch_export:write", {
      summary: "Resume a batch export",
      description: "Intervals that were missed meanwhile are run only with `backfill`.",
      find: (request) => requireExport(sql, request),
      body: shapes.unpauseBody,
      replies: { 200: reply("It is resumed.", shapes.pausedModel) },
      answer: async ({ found, body: { backfill } }) => {
        const now = new Date(clock.now());
        await sql.begin(async (tx) => {
          const resumed = await setPaused(tx, found.id, false, now);
          if (resumed && backfill) await backfillMissed(tx, found, now);
        });
        wake();
        return { paused: false };
      },
    }),
  ];
}

/** The range from the paused schedule, but no earlier than its last run, to the interval with which it resumes. */
async function backfillMissed(sql: PostgresTransaction, stored: StoredExport, now: Date): Promise<void> {
  const { id, created_at, scheduled_until, last_paused_at } = stored;
  const grid = openGrid(stored);
  const paused = last_paused_at === null ? now.getTime() : Date.parse(last_paused_at);
  const stood = Math.min((scheduled_until ?? created_at).getTime(), paused);
  const last = (await readLastEnd(sql, id))?.getTime() ?? -Infinity;
  const start = new Date(stood < last ? grid.before(stood) : Math.max(grid.before(stood), last));
  const end = new Date(grid.before(now.getTime()));
  if (start < end) await beginBackfill(sql, stored, { start, end, by_timestamp: false }, end, now);
}
