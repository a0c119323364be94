// Events over HTTP. Never turns an event's properties into objects: they are copied into the reply as text.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import type { Clock } from "../core/clock.ts";
import { readMoment } from "../http/moment.ts";
import { pageText, readPage, requestUrl } from "../http/page.ts";
import { listSchema, reply } from "../http/schema.ts";
import type { ClickHouse } from "../storage/clickhouse.ts";
import { eventModel } from "./model.ts";
import { type EventRow, listEvents } from "./store.ts";

export interface EventRoutes {
  gate: Gate;
  clickhouse: ClickHouse;
  clock: Clock;
}

export function eventRoutes({ gate, clickhouse, clock }: EventRoutes) {
  const app = new Elysia({ name: "events", tags: ["Events"] }).use(gate);
  for (const home of projectHomes) {
    app.get(
      `${home}/events/`,
      async ({ project, request }) => {
        const url = requestUrl(request);
        const query = url.searchParams;
        const page = readPage(query);
        const { count, events } = await listEvents(
          clickhouse,
          {
            project_id: project.id,
            event: query.get("event") || undefined,
            distinct_id: query.get("distinct_id") || undefined,
            after: readMoment(query, "after", clock),
            before: readMoment(query, "before", clock),
          },
          page,
        );
        const text = pageText(url, page, count, events.map(eventText));
        return new Response(text, { headers: { "content-type": "application/json" } });
      },
      {
        project_scope: "query:read",
        detail: {
          summary: "List events, newest first",
          parameters: [
            queryParameter("event", "Only events of this name."),
            queryParameter("distinct_id", "Only events of this distinct id."),
            queryParameter("after", "Only later events: ISO 8601, or relative like -7d."),
            queryParameter("before", "Only earlier events, likewise."),
            queryParameter("limit", "Events on the page."),
            queryParameter("offset", "Events before it."),
          ],
          responses: { 200: reply("The events.", listSchema(eventModel)) },
        },
      },
    );
  }
  return app;
}

/** One event as JSON. Reading `properties` would round long numbers and drop repeated keys. */
export function eventText(row: EventRow): string {
  const { uuid, event, distinct_id, person_id, historical_migration } = row;
  const head = JSON.stringify({ id: uuid, uuid, event, distinct_id });
  const tail = JSON.stringify({
    timestamp: isoOf(row.timestamp),
    created_at: isoOf(row.created_at),
    person_id,
    historical_migration,
  });
  return `${head.slice(0, -1)},"properties":${row.properties || "{}"},${tail.slice(1)}`;
}

/** `2024-01-02 03:04:05.600000` as `2024-01-02T03:04:05.600000Z`; a fraction of zero is left out. */
function isoOf(moment: string): string {
  return `${moment.replace(" ", "T").replace(/\.0+$/, "")}Z`;
}

function queryParameter(name: string, description: string) {
  return { name, in: "query", required: false, description, schema: { type: "string" as const } };
}
