// Backfills as they are asked for. Never looks for data: a range without any is taken, and its runs export nothing.

import type { Clock } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { readFields } from "../../http/body.ts";
import { refusal } from "../../http/docs/document.ts";
import { readLimit } from "../../http/pages/page.ts";
import { limitParameter, queryParameter, reply, requestBody } from "../../http/fields/schema.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { endOfRange, readRange, runsIn } from "./backfill.ts";
import { cancelBackfill, createBackfill, getBackfill, listBackfills } from "./store.ts";
import { cursorPage, readCursor } from "../runs/cursor.ts";
import { exportLimits } from "../limits.ts";
import {
  backfillBody,
  backfillModel,
  backfillPageModel,
  cancelledModel,
  startedBackfillModel,
} from "../model.ts";
import {
  type ExportReply,
  type ExportRequest,
  exportOf,
  idOf,
  ok,
  type Operation,
  present,
} from "../operation.ts";
import { urlOf } from "../operation.ts";

export interface BackfillParts {
  sql: Postgres;
  clock: Clock;
  /** Says that there is something to run. */
  wake: () => void;
}

export function backfillOperations(parts: BackfillParts): Operation[] {
  const { sql, clock } = parts;
  return [
    ...startOperations(parts),
    {
      method: "GET",
      path: ":id/backfills/",
      scope: "batch_export:read",
      detail: {
        summary: "List an export's backfills, newest first",
        parameters: [
          queryParameter("cursor", "From a page's links."),
          limitParameter("Backfills", exportLimits.backfillsPageDefault),
        ],
        responses: { 200: reply("The backfills.", backfillPageModel) },
      },
      answer: async (asked) => {
        const { id } = await exportOf(sql, asked);
        const url = urlOf(asked);
        const cursor = readCursor(url.searchParams);
        const limit = readLimit(url.searchParams, exportLimits.backfillsPageDefault);
        return ok(cursorPage(url, await listBackfills(sql, id, limit, cursor), limit, cursor));
      },
    },
    {
      method: "GET",
      path: ":id/backfills/:backfill_id/",
      scope: "batch_export:read",
      detail: {
        summary: "Get a backfill, with its progress",
        responses: { 200: reply("It.", backfillModel) },
      },
      answer: async (asked) => ok(await backfillOf(sql, asked)),
    },
    {
      method: "POST",
      path: ":id/backfills/:backfill_id/cancel/",
      scope: "batch_export:write",
      detail: {
        summary: "Cancel a backfill and what of it runs",
        responses: { 200: reply("It is cancelled.", cancelledModel), 400: refusal(400) },
      },
      answer: async (asked) => {
        const { id } = await backfillOf(sql, asked);
        if (await cancelBackfill(sql, id, new Date(clock.now()))) return ok({ cancelled: true });
        const { status } = await backfillOf(sql, asked);
        throw new Fault("invalid_input", `Cannot cancel a backfill that is in '${status}' status`);
      },
    },
  ];
}

function startOperations(parts: BackfillParts): Operation[] {
  const start = {
    method: "POST",
    scope: "batch_export:write",
    answer: (asked: ExportRequest) => startBackfill(parts, asked),
  } as const;
  const detail = {
    description:
      "One run for each interval from `start_at` up to `end_at`, the last one shorter where the range ends within " +
      "it, one after the other, beginning at once. Without `start_at` it begins with the first data; without " +
      "`end_at` it goes until now, and leaves the interval that has not ended to the schedule of an export that " +
      "is not paused.",
    requestBody: requestBody(backfillBody, { partial: true }),
    responses: { 200: reply("It was started.", startedBackfillModel) },
  };
  return [
    { ...start, path: ":id/backfills/", detail: { summary: "Export a range of the past", ...detail } },
    {
      ...start,
      path: ":id/backfill/",
      detail: { summary: "Export a range of the past; use backfills/ instead", deprecated: true, ...detail },
    },
  ];
}

async function startBackfill(
  { sql, clock, wake }: BackfillParts,
  asked: ExportRequest,
): Promise<ExportReply> {
  const stored = await exportOf(sql, asked);
  const { id, interval } = stored;
  const now = new Date(clock.now());
  const range = readRange(await readFields(asked.request, backfillBody), now);
  const end = endOfRange(range, stored, now);
  const input = {
    batch_export_id: id,
    start_at: range.start,
    end_at: range.end,
    range_start: range.start,
    range_end: end,
    interval,
    total_runs: runsIn({ start: range.start, end }, interval, now),
  };
  const backfill_id = await createBackfill(sql, input, now);
  wake();
  return ok({ backfill_id });
}

async function backfillOf(sql: Postgres, asked: ExportRequest) {
  const { id } = await exportOf(sql, asked);
  return present(await getBackfill(sql, id, idOf(asked.params, "backfill_id")));
}
