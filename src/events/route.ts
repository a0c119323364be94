// Events over HTTP. Never turns one into an object: they go out as the store wrote them.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import type { Clock } from "../core/clock.ts";
import { readMoment } from "../http/pages/moment.ts";
import { pageEnds, pageParts, readPage, requestUrl, withoutComma } from "../http/pages/page.ts";
import { listSchema, momentParameter, pageParameters, queryParameter, reply } from "../http/fields/schema.ts";
import { slicedReply, streamedReply } from "../http/pages/sliced.ts";
import { type ClickHouse, readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { readPropertyFilters, refusalOf } from "./filter.ts";
import { eventModel } from "./model.ts";
import { listEvents } from "./store.ts";

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
        const properties = readPropertyFilters(query);
        const { count, events } = await listEvents(
          readsUntil(clickhouse, request.signal),
          {
            project_id: project.id,
            event: query.get("event") || undefined,
            distinct_id: query.get("distinct_id") || undefined,
            after: readMoment(query, "after", clock),
            before: readMoment(query, "before", clock),
            properties,
            now: clock.now(),
          },
          page,
        ).catch((thrown: unknown) => {
          throw properties.length > 0 ? refusalOf(thrown) : thrown;
        });
        if (events instanceof Uint8Array) return slicedReply(pageParts(url, page, count, events));
        const { head, tail } = pageEnds(url, page, count);
        return await streamedReply(head, withoutComma(events), tail);
      },
      {
        project_scope: "query:read",
        detail: {
          summary: "List events, newest first",
          parameters: [
            queryParameter("event", "Only events of this name."),
            queryParameter("distinct_id", "Only events of this distinct id."),
            momentParameter("after", "Only later events: ISO 8601, or relative like -7d."),
            momentParameter("before", "Only earlier events, likewise."),
            queryParameter("properties", "Only events that hold these: a JSON list of property filters."),
            ...pageParameters("Events"),
          ],
          responses: { 200: reply("The events.", listSchema(eventModel)) },
        },
      },
    );
  }
  return app;
}
