// Events over HTTP. They are sent as the store wrote them: none becomes an object.

import { propertiesParameter } from "../http/fields/property_parameter.ts";
import { momentParameter, pageParameters, textParameter } from "../http/fields/query.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { mounted, projectOperation, type RoomParts } from "../http/operation.ts";
import { streamedPage } from "../http/pages/page.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { filterFault } from "../storage/events/filter_fault.ts";
import { eventModel } from "./model.ts";
import { listEvents } from "./store.ts";

export function eventRoutes({ gate, clickhouse, clock }: RoomParts<"gate" | "clickhouse" | "clock">) {
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
        properties: propertiesParameter("Only events that hold these: a JSON list of property filters.", [
          "event",
          "person",
        ]),
        ...pageParameters("Events"),
      },
      replies: { 200: reply("The events.", listSchema(eventModel)) },
      answer: async ({ project, query, request, url }) => {
        const reader = readsUntil(clickhouse, request.signal);
        const filter = { ...query, project_id: project.id, now: clock.now() };
        const { count, events } = await listEvents(reader, filter, query).catch((thrown: unknown) => {
          throw query.properties.length > 0
            ? filterFault(thrown, "properties", "event, after or before")
            : thrown;
        });
        return await streamedPage(url, query, count, events);
      },
    }),
  ]);
}
