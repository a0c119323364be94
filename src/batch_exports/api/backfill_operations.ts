// Backfills over HTTP. A range after the first data that has none is accepted, and its runs export nothing.

import { Fault, refuseInput } from "../../core/fault.ts";
import { refusal } from "../../http/docs/refusals.ts";
import { parseUuid, present } from "../../http/fields/field_fault.ts";
import { limitParameter, parameter } from "../../http/fields/query.ts";
import { reply } from "../../http/fields/schema.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { isoText } from "../interval.ts";
import { exportLimits } from "../limits.ts";
import * as shapes from "../model.ts";
import { chooseMoment, readFirstMoment } from "../source/store.ts";
import { cancelBackfill, getBackfill, listBackfills } from "../stores/backfill_store.ts";
import { cursorPage, readCursor } from "../stores/cursor.ts";
import type { StoredExport } from "../stores/export_store.ts";
import { beginBackfill, findRangeEnd, readRange } from "./backfill_range.ts";
import { exportOperation, type ExportParts, type ExportRequest, requireExport } from "./request.ts";

export function backfillOperations(parts: ExportParts) {
  const { sql, clock } = parts;
  return [
    ...startOperations(parts),
    exportOperation("GET /batch_exports/:id/backfills/", "batch_export:read", {
      summary: "List an export's backfills, newest first",
      find: (request) => requireExport(sql, request),
      query: {
        cursor: parameter("From a page's links.", readCursor),
        limit: limitParameter("Backfills", exportLimits.backfillsPageDefault),
      },
      replies: { 200: reply("The backfills.", shapes.backfillPageModel) },
      answer: async ({ found, query, url }) =>
        cursorPage(url, await listBackfills(sql, found.id, query), query),
    }),
    exportOperation("GET /batch_exports/:id/backfills/:backfill_id/", "batch_export:read", {
      summary: "Get a backfill, with its progress",
      find: (request) => requireBackfill(sql, request),
      replies: { 200: reply("The backfill.", shapes.backfillModel) },
      answer: ({ found }) => found,
    }),
    exportOperation("POST /batch_exports/:id/backfills/:backfill_id/cancel/", "batch_export:write", {
      summary: "Cancel a backfill and its runs",
      find: (request) => requireBackfill(sql, request),
      replies: { 200: reply("It is cancelled.", shapes.cancelledModel), 400: refusal(400) },
      answer: async ({ found, ...request }) => {
        if (await cancelBackfill(sql, found.id, new Date(clock.now()))) return { cancelled: true };
        const { status } = await requireBackfill(sql, request);
        throw new Fault("invalid_input", `Cannot cancel a backfill that is in '${status}' status`);
      },
    }),
  ];
}

function startOperations({ sql, clickhouse, clock, wake }: ExportParts) {
  const start = {
    description:
      "Events go by `timestamp`, persons by their last change. " +
      "One run for each interval from `start_at` up to `end_at`, the last one shorter where the range ends within " +
      "it, one after the other, beginning at once. Without `start_at` it begins with the first data; without " +
      "`end_at` it goes until now, and leaves the interval that has not ended to the schedule of an export that " +
      "is not paused.",
    find: (request: ExportRequest & { params: { id: string } }) => requireExport(sql, request),
    body: shapes.backfillBody,
    answer: async ({ found, body }: { found: StoredExport; body: Parameters<typeof readRange>[0] }) => {
      const now = new Date(clock.now());
      const range = readRange(body, found, now);
      const first =
        range.end && (await readFirstMoment(clickhouse, found.project_id, chooseMoment(found.model, true)));
      if (range.end && first && range.end.getTime() <= first) {
        const data = found.model === "events" ? "event" : "person";
        refuseInput(`There is nothing in this range: the first ${data} is of ${isoText(first)}.`, "end_at");
      }
      const backfill_id = await beginBackfill(sql, found, range, findRangeEnd(range, found, now), now);
      wake();
      return { backfill_id };
    },
  } as const;
  return [
    exportOperation("POST /batch_exports/:id/backfills/", "batch_export:write", {
      ...start,
      summary: "Export a range of the past",
      replies: { 201: reply("It was started.", shapes.startedBackfillModel), 400: refusal(400) },
    }),
    exportOperation("POST /batch_exports/:id/backfill/", "batch_export:write", {
      ...start,
      summary: "Export a range of the past; use backfills/ instead",
      deprecated: true,
      replies: { 200: reply("It was started.", shapes.startedBackfillModel), 400: refusal(400) },
    }),
  ];
}

async function requireBackfill(
  sql: Postgres,
  request: ExportRequest & { params: { id: string; backfill_id: string } },
) {
  const { id } = await requireExport(sql, request);
  return present(await getBackfill(sql, id, parseUuid(request.params.backfill_id)));
}
