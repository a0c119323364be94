// One event over HTTP, and the values of a property of events.

import { requireScopes } from "../access/scope.ts";
import { parseUuid, present } from "../http/fields/field_fault.ts";
import { checkText } from "../http/fields/field_rule.ts";
import { flagParameter, parameter } from "../http/fields/query.ts";
import { reply, valuesQuery } from "../http/fields/schema.ts";
import { projectOperation, type RoomParts } from "../http/operation.ts";
import { personText } from "../persons/model.ts";
import type { Person } from "../persons/reading/fold.ts";
import { findPersons } from "../persons/reading/store.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { toReads } from "../storage/clickhouse/query_options.ts";
import { filterFault } from "../storage/events/filter_fault.ts";
import { parseElementChain, parseElementList } from "./elements.ts";
import { eventValuesModel, oneEventModel } from "./model.ts";
import { findEvent, type FoundEvent, listEventValues } from "./one_store.ts";

export function oneEventOperations({ clickhouse, clock }: RoomParts<"clickhouse" | "clock">) {
  return [
    projectOperation("GET /events/values/", "query:read", {
      summary: "List the values of a property of the last seven days' events, most frequent first",
      query: {
        ...valuesQuery,
        event_name: {
          ...parameter("Only events of this name; several parameters: of any of them.", (query, name) =>
            query.getAll(name).map((text) => checkText({ minLength: 1, "x-exact": true }, text, [name])),
          ),
          repeats: true,
        },
      },
      replies: { 200: reply("The twenty most frequent values.", eventValuesModel) },
      answer: async ({ project, query: { key, value: search, event_name: events }, request }) => {
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const filter = { key, search, events, now: clock.now() };
        const results = await listEventValues(reads, filter).catch((thrown: unknown) => {
          throw filterFault(thrown, "key", "event_name");
        });
        return { results, refreshing: false };
      },
    }),
    projectOperation("GET /events/:uuid/", "query:read", {
      summary: "Get an event",
      query: {
        include_person: flagParameter("true: with its person, which also requires the scope `person:read`."),
      },
      replies: { 200: reply("The event.", oneEventModel) },
      find: async ({ project, params, request }) => {
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        return present(await findEvent(reads, parseUuid(params.uuid, noEvent)), noEvent);
      },
      answer: async ({ access, project, found: event, query: { include_person = false }, request }) => {
        if (include_person) requireScopes(access.key.scopes, ["person:read"]);
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const { distinct_id } = event;
        const person = include_person
          ? (await findPersons(reads, [distinct_id])).get(distinct_id)
          : undefined;
        return oneEventReply(event, person);
      },
    }),
  ];
}

const noEvent = "Event not found.";

/** The event's text as it was stored, with further members appended. */
function oneEventReply({ text, elements, chain }: FoundEvent, person: Person | undefined): Response {
  const elementList = elements === "" ? parseElementChain(chain) : parseElementList(elements);
  const added = JSON.stringify({ elements: elementList, elements_chain: chain });
  const body = `${text.slice(1, -1)},"person":${person ? personText(person) : "null"},${added.slice(1)}`;
  return new Response(body, { headers: { "content-type": "application/json" } });
}
