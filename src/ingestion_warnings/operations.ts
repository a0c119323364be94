// Ingestion warnings over HTTP: the answer to "200, but where is my event?".

import { isoWithFraction } from "../http/fields/field_time.ts";
import { momentParameter, pageParameters, textParameter } from "../http/fields/query.ts";
import { reply } from "../http/fields/schema.ts";
import { mounted, projectOperation, type RoomParts } from "../http/operation.ts";
import { pageLinks } from "../http/pages/page.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { mapInSlices } from "../work/slices.ts";
import { warningsModel } from "./model.ts";
import { countWarnings, listWarnings, type StoredWarning, type TypeCount } from "./store.ts";

export function ingestionWarningRoutes(room: RoomParts<"gate" | "clickhouse" | "clock">) {
  const { gate, clickhouse, clock } = room;
  return mounted(gate, "Ingestion warnings", [
    projectOperation("GET /ingestion_warnings/", "query:read", {
      summary: "List ignored and altered events, newest first",
      query: {
        type: textParameter("Only warnings of this type."),
        event: textParameter("Only warnings about events of this name."),
        distinct_id: textParameter("Only warnings about events of this distinct id."),
        after: momentParameter("Only later warnings: ISO 8601, or relative like -7d.", clock, {
          end: "before",
        }),
        before: momentParameter("Only earlier warnings, likewise.", clock, { start: "after" }),
        ...pageParameters("Warnings"),
      },
      replies: { 200: reply("The warnings, and how many events each type concerns.", warningsModel) },
      answer: async ({ project, query, request, url }) => {
        const filter = { ...query, project_id: project.id };
        const reader = readsUntil(clickhouse, request.signal);
        const types = await countWarnings(reader, filter);
        const count = types.reduce((sum, { rows }) => sum + Number(rows), 0);
        const listed = query.offset < count ? await listWarnings(reader, filter, query) : [];
        return await slicedJson({
          count,
          ...pageLinks(url, query, count),
          types: types.map(typeReply),
          results: await mapInSlices(listed, warningReply),
        });
      },
    }),
  ]);
}

function typeReply({ type, count, first_seen, last_seen }: TypeCount) {
  const seen = { first_seen: isoWithFraction(first_seen), last_seen: isoWithFraction(last_seen) };
  return { type, count: Number(count), ...seen };
}

function warningReply(warning: StoredWarning) {
  return {
    ...warning,
    timestamp: isoWithFraction(warning.timestamp),
    count: Number(warning.count),
    details: JSON.parse(warning.details) as Record<string, unknown>,
  };
}
