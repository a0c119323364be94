// Ingestion warnings over HTTP: the answer to "200, but where is my event?". Never changes anything.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import type { Clock } from "../core/clock.ts";
import { readMoment } from "../http/pages/moment.ts";
import { pageLinks, readPage, requestUrl } from "../http/pages/page.ts";
import { momentParameter, pageParameters, queryParameter, reply } from "../http/fields/schema.ts";
import { shownInTurns, slicedJson } from "../http/pages/sliced.ts";
import { type ClickHouse, readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { warningsModel } from "./model.ts";
import { type StoredWarning, type TypeCount, countWarnings, listWarnings } from "./store.ts";

export interface WarningRoutes {
  gate: Gate;
  clickhouse: ClickHouse;
  clock: Clock;
}

export function ingestionWarningRoutes({ gate, clickhouse, clock }: WarningRoutes) {
  const app = new Elysia({ name: "ingestion_warnings", tags: ["Ingestion warnings"] }).use(gate);
  for (const home of projectHomes) {
    app.get(
      `${home}/ingestion_warnings/`,
      async ({ project, request }) => {
        const url = requestUrl(request);
        const query = url.searchParams;
        const page = readPage(query);
        const filter = {
          project_id: project.id,
          type: query.get("type") || undefined,
          event: query.get("event") || undefined,
          distinct_id: query.get("distinct_id") || undefined,
          after: readMoment(query, "after", clock),
          before: readMoment(query, "before", clock),
        };
        const asked = readsUntil(clickhouse, request.signal);
        const types = await countWarnings(asked, filter);
        const count = types.reduce((sum, { rows }) => sum + Number(rows), 0);
        const listed = page.offset < count ? await listWarnings(asked, filter, page) : [];
        return await slicedJson({
          count,
          ...pageLinks(url, page, count),
          types: types.map(typeReply),
          results: await shownInTurns(listed, warningReply),
        });
      },
      {
        project_scope: "query:read",
        detail: {
          summary: "List what became of ignored and altered events, newest first",
          parameters: [
            queryParameter("type", "Only warnings of this type."),
            queryParameter("event", "Only warnings about events of this name."),
            queryParameter("distinct_id", "Only warnings about events of this distinct id."),
            momentParameter("after", "Only later warnings: ISO 8601, or relative like -7d."),
            momentParameter("before", "Only earlier warnings, likewise."),
            ...pageParameters("Warnings"),
          ],
          responses: { 200: reply("The warnings, and how many events each type concerns.", warningsModel) },
        },
      },
    );
  }
  return app;
}

function typeReply({ type, count, first_seen, last_seen }: TypeCount) {
  return { type, count: Number(count), first_seen: isoOf(first_seen), last_seen: isoOf(last_seen) };
}

function warningReply({ type, event, distinct_id, timestamp, count, details }: StoredWarning) {
  const said = JSON.parse(details) as Record<string, unknown>;
  return { type, event, distinct_id, timestamp: isoOf(timestamp), count: Number(count), details: said };
}

/** `2024-01-02 03:04:05.600000` as `2024-01-02T03:04:05.600000Z`. */
function isoOf(moment: string): string {
  return `${moment.replace(" ", "T")}Z`;
}
