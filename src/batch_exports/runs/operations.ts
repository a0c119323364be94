// Runs as they are asked for: looked at, cancelled, run again. Never starts one by itself: what is run again is a
// backfill of its interval.

import { Fault } from "../../core/fault.ts";
import { runLimits } from "./limits.ts";
import type { Clock } from "../../core/clock.ts";
import { readMoment } from "../../http/pages/moment.ts";
import { refusal } from "../../http/docs/document.ts";
import { readLimit } from "../../http/pages/page.ts";
import { limitParameter, momentParameter, queryParameter, reply } from "../../http/fields/schema.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { intervalNamed } from "../backfills/backfill.ts";
import type { BackfillParts } from "../backfills/operations.ts";
import { createBackfill } from "../backfills/store.ts";
import { cursorPage, readCursor } from "./cursor.ts";
import {
  cancelledModel,
  openStatuses,
  type Run,
  runModel,
  runPageModel,
  startedBackfillModel,
} from "../model.ts";
import { type ExportRequest, exportOf, idOf, ok, type Operation, present, urlOf } from "../operation.ts";
import { cancelRun, getRun, listRuns, type RunFilter } from "./list_store.ts";
import type { StoredExport } from "../exports/store.ts";

export function runOperations(parts: BackfillParts): Operation[] {
  return [...readOperations(parts), ...changeOperations(parts)];
}

function readOperations({ sql, clock }: BackfillParts): Operation[] {
  return [
    {
      method: "GET",
      path: ":id/runs/",
      scope: "batch_export:read",
      detail: {
        summary: "List an export's runs, newest first",
        parameters: [
          momentParameter("after", "Runs made since: ISO 8601, or relative; -7d unless said."),
          momentParameter("before", "Runs made until, likewise."),
          momentParameter("start", "Runs whose interval begins then or later; leaves `after` unset."),
          momentParameter("end", "Runs whose interval ends then or earlier; leaves `after` unset."),
          queryParameter("ordering", "Falling with a minus before it; -created_at unless said.", {
            type: "string",
            enum: [...orderings],
          }),
          queryParameter("cursor", "From a page's links."),
          limitParameter("Runs", runLimits.runsPageDefault),
        ],
        responses: { 200: reply("The runs.", runPageModel) },
      },
      answer: async (asked) => {
        const { id } = await exportOf(sql, asked);
        const url = urlOf(asked);
        const cursor = readCursor(url.searchParams);
        const limit = readLimit(url.searchParams, runLimits.runsPageDefault);
        const rows = await listRuns(sql, filterOf(url.searchParams, id, clock), limit, cursor);
        return ok(cursorPage(url, rows, limit, cursor));
      },
    },
    {
      method: "GET",
      path: ":id/runs/:run_id/",
      scope: "batch_export:read",
      detail: { summary: "Get a run", responses: { 200: reply("The run.", runModel) } },
      answer: async (asked) => ok((await runOf(sql, asked)).run),
    },
  ];
}

const orderings = new Set(["created_at", "-created_at", "data_interval_start", "-data_interval_start"]);

function filterOf(query: URLSearchParams, batch_export_id: string, clock: Clock): RunFilter {
  const ordering = query.get("ordering") || "-created_at";
  if (!orderings.has(ordering)) {
    const detail = "Order by created_at or data_interval_start, with a minus before it for falling.";
    throw new Fault("invalid_choice", detail, { attr: "ordering" });
  }
  const moment = (name: string) => {
    const text = readMoment(query, name, clock);
    return text && `${text}+00`;
  };
  const starts_from = moment("start");
  const ends_by = moment("end");
  const weekAgo = `${new Date(clock.now() - weekMs).toISOString()}`;
  const byInterval = starts_from !== undefined || ends_by !== undefined;
  return {
    batch_export_id,
    created_after: moment("after") ?? (byInterval ? undefined : weekAgo),
    created_before: moment("before"),
    starts_from,
    ends_by,
    order: ordering.endsWith("created_at") ? "created_at" : "data_interval_start",
    descending: ordering.startsWith("-"),
  };
}

const weekMs = 7 * 24 * 3_600_000;

function changeOperations({ sql, clock, wake }: BackfillParts): Operation[] {
  return [
    {
      method: "POST",
      path: ":id/runs/:run_id/cancel/",
      scope: "batch_export:write",
      detail: {
        summary: "Cancel a run",
        responses: { 200: reply("It is cancelled.", cancelledModel), 400: refusal(400) },
      },
      answer: async (asked) => {
        const { run } = await runOf(sql, asked);
        if (await cancelRun(sql, run.id, new Date(clock.now()))) return ok({ cancelled: true });
        const { status } = (await runOf(sql, asked)).run;
        throw new Fault("invalid_input", `Cannot cancel a run that is in '${status}' status`);
      },
    },
    {
      method: "POST",
      path: ":id/runs/:run_id/retry/",
      scope: "batch_export:write",
      detail: {
        summary: "Run an interval again, as a backfill of its own",
        responses: { 200: reply("It was started.", startedBackfillModel), 400: refusal(400) },
      },
      answer: async (asked) => {
        const { run, stored } = await runOf(sql, asked);
        if (openStatuses.includes(run.status)) {
          throw new Fault("invalid_input", `Cannot retry a run that is in '${run.status}' status`);
        }
        const backfill_id = await runAgain(sql, stored, run, new Date(clock.now()));
        wake();
        return ok({ backfill_id });
      },
    },
  ];
}

async function runAgain(sql: Postgres, stored: StoredExport, run: Run, now: Date): Promise<string> {
  const end = new Date(run.data_interval_end);
  const start = run.data_interval_start === null ? null : new Date(run.data_interval_start);
  // The export's interval may be another one by now; the run's own length is what is run again.
  const interval = (start && intervalNamed(end.getTime() - start.getTime())) ?? stored.interval;
  const total_runs = start ? 1 : null;
  const range = { start_at: start, end_at: end, range_start: start, range_end: end };
  return await createBackfill(sql, { batch_export_id: stored.id, interval, total_runs, ...range }, now);
}

async function runOf(sql: Postgres, asked: ExportRequest): Promise<{ stored: StoredExport; run: Run }> {
  const stored = await exportOf(sql, asked);
  return { stored, run: present(await getRun(sql, stored.id, idOf(asked.params, "run_id"))) };
}
