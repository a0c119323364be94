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
import { jsonListIn } from "../http/fields/list_parameters.ts";
import { checkText } from "../http/fields/field_rule.ts";
import { fieldFault } from "../http/fields/field_fault.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { mounted, projectOperation, type RoomParts } from "../http/operation.ts";
import { type Page, streamedPage } from "../http/pages/page.ts";
import { csvDescription, csvReply, formatParameter, wantsCsv } from "../http/pages/csv.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { filterFault } from "../storage/events/filter_fault.ts";
import type { QueryEngine } from "../query/engine.ts";
import { queryLimits } from "../query/limits.ts";
import { eventModel } from "./model.ts";
import { oneEventOperations } from "./one_operations.ts";
import { listEvents, listEventsWhere } from "./store.ts";

interface EventParts extends RoomParts<"gate" | "clickhouse" | "clock"> {
  engine: Pick<QueryEngine, "within">;
}

export function eventRoutes({ gate, clickhouse, clock, engine }: EventParts) {
  return mounted(gate, "Events", [
    projectOperation("GET /events/", "query:read", {
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
        where: parameter(
          "Only events for which these hold: a JSON list of expressions of SQL, as those of an EventsQuery.",
          readConditions,
        ),
        format: formatParameter,
        ...pageParameters("Events"),
      },
      replies: { 200: reply("The events.", listSchema(eventModel)) },
      answer: async ({ access, project, query, request, url }) => {
        const reader = readsUntil(clickhouse, request.signal);
        const filter = { ...query, oldestFirst: query.orderBy, project_id: project.id, now: clock.now() };
        const asker = { scopes: access.key.scopes, abort: request.signal };
        const list = (page: Page) =>
          filter.where.length > 0
            ? listEventsWhere(reader, engine, filter, asker, page)
            : listEvents(reader, filter, page);
        const read = async (page: Page) =>
          await list(page).catch((thrown: unknown) => {
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

/** None without it. @throws Fault for what is no JSON list of expressions, or is too long. */
function readConditions(query: URLSearchParams, name: string): string[] {
  const text = query.get(name);
  if (text === null) return [];
  const list = jsonListIn(text.trim(), name);
  if (list === undefined) {
    throw fieldFault(
      "not_a_list",
      "Expected a JSON list of expressions, like [\"properties.plan = 'pro'\"].",
      [name],
    );
  }
  const { queryColumnsMax, expressionCharsMax: maxLength } = queryLimits;
  if (list.length > queryColumnsMax) {
    throw fieldFault("max_length", `Ensure this field has no more than ${queryColumnsMax} elements.`, [name]);
  }
  return list.map((one, i) =>
    checkText({ minLength: 1, maxLength, "x-exact": true }, one, [`${name}__${i}`]),
  );
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
  const detail =
    'Only ["timestamp"] and ["-timestamp"] are supported; an EventsQuery to query/ has other orders.';
  throw fieldFault("invalid_choice", detail, [name]);
}

function orderIn(text: string): string | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.length === 1 && typeof list[0] === "string" ? list[0] : undefined;
  } catch {
    return undefined;
  }
}
