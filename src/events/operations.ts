// Events over HTTP. They are sent as the store wrote them: none becomes an object.

import { propertiesParameter } from "../http/fields/property_parameter.ts";
import {
  momentParameter,
  pageParameters,
  parameter,
  refusedParameter,
  textParameter,
  uuidParameter,
} from "../http/fields/query.ts";
import { fieldFault } from "../http/fields/field_fault.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { mounted, projectOperation, type RoomParts } from "../http/operation.ts";
import { type Page, streamedPage } from "../http/pages/page.ts";
import { csvDescription, csvReply, formatParameter, wantsCsv } from "../http/pages/csv.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { filterFault } from "../storage/events/filter_fault.ts";
import { eventModel } from "./model.ts";
import { oneEventOperations } from "./one_operations.ts";
import { listEvents } from "./store.ts";

export function eventRoutes({ gate, clickhouse, clock }: RoomParts<"gate" | "clickhouse" | "clock">) {
  return mounted(gate, "Events", [
    projectOperation({
      method: "GET",
      path: "events/",
      scope: "query:read",
      summary: "List events, newest first unless told",
      description: csvDescription,
      query: {
        event: textParameter("Only events of this name."),
        distinct_id: textParameter("Only events of this distinct id."),
        person_id: uuidParameter("Only events of this person."),
        after: momentParameter("Only later events: ISO 8601, or relative like -7d.", clock),
        before: momentParameter("Only earlier events, likewise.", clock),
        properties: propertiesParameter("Only events that hold these: a JSON list of property filters.", [
          "event",
          "person",
          "group",
        ]),
        orderBy: parameter(
          'By time: a JSON list with "timestamp" (or "timestamp ASC") or "-timestamp" (or "timestamp DESC").',
          readsOldestFirst,
        ),
        select: refusedParameter("Events are shown whole here; an EventsQuery to query/ selects columns."),
        where: refusedParameter("Filter by properties here, or send a query to query/."),
        format: formatParameter,
        ...pageParameters("Events"),
      },
      replies: { 200: reply("The events.", listSchema(eventModel)) },
      answer: async ({ project, query, request, url }) => {
        const reader = readsUntil(clickhouse, request.signal);
        const filter = { ...query, oldestFirst: query.orderBy, project_id: project.id, now: clock.now() };
        const read = async (page: Page) =>
          await listEvents(reader, filter, page).catch((thrown: unknown) => {
            throw query.properties.length > 0
              ? filterFault(thrown, "properties", "event, after or before")
              : thrown;
          });
        if (wantsCsv(request, query.format)) {
          return await csvReply({ url, name: "events", model: eventModel, page: query, read });
        }
        const { count, rows } = await read(query);
        return await streamedPage(url, query, count, rows);
      },
    }),
    ...oneEventOperations({ clickhouse, clock }),
  ]);
}

const orders = new Map(
  Object.entries({
    timestamp: true,
    "timestamp asc": true,
    "-timestamp": false,
    "timestamp desc": false,
  }),
);

/** Whether the oldest come first. @throws Fault for any order but by time. */
function readsOldestFirst(query: URLSearchParams, name: string): boolean {
  const text = query.get(name);
  if (text === null) return false;
  const oldestFirst = orders.get(orderIn(text)?.trim().toLowerCase() ?? "");
  if (oldestFirst !== undefined) return oldestFirst;
  throw fieldFault("invalid_choice", 'Only ["timestamp"] and ["-timestamp"] are supported.', [name]);
}

function orderIn(text: string): string | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.length === 1 && typeof list[0] === "string" ? list[0] : undefined;
  } catch {
    return undefined;
  }
}
