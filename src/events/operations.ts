// Events over HTTP. They are sent as the store wrote them: none becomes an object.

import type { Gate } from "../access/gate.ts";
import type { Clock } from "../core/clock.ts";
import { momentParameter, pageParameters, parameter, textParameter } from "../http/fields/query.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { pageParts, streamedPage } from "../http/pages/page.ts";
import { slicedReply } from "../http/pages/sliced.ts";
import { type ClickHouse, readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { readPropertyFilters, refusalOf } from "./filter.ts";
import { eventModel } from "./model.ts";
import { listEvents } from "./store.ts";

export interface EventParts {
  clickhouse: ClickHouse;
  clock: Clock;
}

export function eventRoutes({ gate, clickhouse, clock }: EventParts & { gate: Gate }) {
  return mounted(gate, "Events", [
    projectOperation({
      method: "GET",
      path: "events/",
      scope: "query:read",
      summary: "List events, newest first",
      query: {
        event: textParameter("Only events of this name."),
        distinct_id: textParameter("Only events of this distinct id."),
        after: momentParameter("Only later events: ISO 8601, or relative like -7d.", clock),
        before: momentParameter("Only earlier events, likewise.", clock),
        properties: parameter(
          "Only events that hold these: a JSON list of property filters.",
          readPropertyFilters,
        ),
        ...pageParameters("Events"),
      },
      replies: { 200: reply("The events.", listSchema(eventModel)) },
      answer: async ({ project, query, request, url }) => {
        const reader = readsUntil(clickhouse, request.signal);
        const filter = { ...query, project_id: project.id, now: clock.now() };
        const { count, events } = await listEvents(reader, filter, query).catch((thrown: unknown) => {
          throw query.properties.length > 0 ? refusalOf(thrown) : thrown;
        });
        if (events instanceof Uint8Array) return slicedReply(pageParts(url, query, count, events));
        return await streamedPage(url, query, count, events);
      },
    }),
  ]);
}
