// Names of events and properties over HTTP.

import { parseUuid, present } from "../http/fields/field_fault.ts";
import * as parameter from "../http/fields/query.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { definitionTagsBody, definitionTagsModel } from "../http/fields/tags.ts";
import { mounted, projectOperation, type RoomParts } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import { type ClickHouse, readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { toReads } from "../storage/clickhouse/query_options.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import * as model from "./model.ts";
import { changeNoteTags, readNotes, writeNote } from "./note_store.ts";
import * as own from "./parameters.ts";
import { readPrimaryProperties } from "./primary_store.ts";
import { propertyNameOperations } from "./property_operations.ts";
import { type EventOrder, listEventNames, type StoredEventName } from "./store.ts";

export function definitionRoutes({ gate, sql, clickhouse }: RoomParts<"gate" | "sql" | "clickhouse">) {
  return mounted(gate, "Definitions", [
    ...eventOperations(sql, clickhouse),
    ...propertyNameOperations(sql, clickhouse),
  ]);
}

const eventQuery = {
  search: parameter.searchParameter("Only names with all of these words, in any case."),
  names: own.commaNamesParameter("Only these names, with commas between them, or as several parameters."),
  excluded_properties: own.listedNamesParameter("Names of events to leave out."),
  event_type: parameter.choiceParameter(
    "`event_posthog`: only names that begin with `$`; `event_custom`: only others.",
    ["all", "event", "event_custom", "event_posthog"],
  ),
  exclude_stale: parameter.flagParameter("true: only events that happened in the last 30 days."),
  ...own.noteQuery,
  ordering: own.orderingParameter(),
  ...parameter.pageParameters("Names"),
};

function eventOperations(sql: Postgres, clickhouse: ClickHouse) {
  return [
    projectOperation("GET /event_definitions/", "event_definition:read", {
      summary: "List the names of events",
      description: "By default the latest day first, then by name; of a search the shortest names first.",
      query: eventQuery,
      replies: { 200: reply("The names.", listSchema(model.eventDefinitionModel)) },
      answer: async ({ project, query, request, url }) => {
        const { search, names, excluded_properties: excluded = [], event_type } = query;
        const filter = {
          ...(await own.readNoteFilter(sql, project.id, query)),
          words: own.splitWords(search),
          names,
          excluded,
          isPostHogs: event_type?.includes("_") ? event_type === "event_posthog" : undefined,
          excludeStale: query.exclude_stale,
        };
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const order = query.ordering ?? (search === undefined ? newestFirst : shortestFirst);
        const { count, rows } = await listEventNames(reads, filter, order, query);
        const notes = await readNotes(sql, project.id, ids(rows));
        const replies = rows.map((row) => model.eventReply(row, notes.get(row.id)));
        return pageReply(url, query, { count, rows: replies });
      },
    }),
    projectOperation("POST /event_definitions/bulk_update_tags/", "event_definition:write", {
      summary: "Add, remove or set the tags of several events",
      body: definitionTagsBody,
      replies: { 200: reply("What was updated, and what was skipped.", definitionTagsModel) },
      answer: async ({ access, project, body: { ids: named, action, tags }, request }) => {
        const requested = [...new Set(named)];
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const page = { limit: requested.length, offset: 0 };
        const { rows } =
          requested.length > 0 ? await listEventNames(reads, { ids: requested }, [], page) : { rows: [] };
        const by = { project_id: project.id, user_id: access.user.id };
        const updated = await changeNoteTags(sql, by, ids(rows), { action, tags });
        const done = new Set(ids(updated));
        const skipped = requested.filter((id) => !done.has(id)).map((id) => ({ id, reason: untagged }));
        return { updated, skipped };
      },
    }),
    projectOperation("GET /event_definitions/primary_properties/", "event_definition:read", {
      summary: "List the primary properties of events",
      query: { names: own.commaNamesParameter("Only of these events.") },
      replies: { 200: reply("By the event's name.", model.primaryPropertiesModel) },
      answer: async ({ project, request, query: { names } }) => {
        const noted = await readPrimaryProperties(sql, project.id);
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const page = { limit: noted.size, offset: 0 };
        const found =
          noted.size > 0
            ? await listEventNames(reads, { ids: [...noted.keys()], names }, [], page)
            : { rows: [] };
        const entries = found.rows.map(({ id, name }) => [name, noted.get(id)!] as const);
        return { primary_properties: Object.fromEntries(entries) };
      },
    }),
    ...oneEventOperations(sql, clickhouse),
  ] as const;
}

function oneEventOperations(sql: Postgres, clickhouse: ClickHouse) {
  type Filter = Parameters<typeof listEventNames>[1];
  const findOne = async (project: { id: number }, request: Request, filter: Filter) => {
    const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
    return present((await listEventNames(reads, filter, [], onlyOne)).rows[0]);
  };
  const show = async (project: { id: number }, row: StoredEventName) =>
    model.eventReply(row, (await readNotes(sql, project.id, [row.id])).get(row.id));
  return [
    projectOperation("GET /event_definitions/:id/metrics/", "event_definition:read", {
      summary: "Say how often queries used an event: not known here",
      find: ({ project, params, request }) => findOne(project, request, { id: parseUuid(params.id) }),
      replies: { 200: reply("Always 0.", model.eventMetricsModel) },
      answer: () => ({ query_usage_30_day: 0 }),
    }),
    projectOperation("GET /event_definitions/:id/", "event_definition:read", {
      summary: "Read the name of an event",
      replies: { 200: reply("The name.", model.eventDefinitionModel) },
      find: ({ project, params, request }) => findOne(project, request, { id: parseUuid(params.id) }),
      answer: ({ project, found }) => show(project, found),
    }),
    projectOperation("PATCH /event_definitions/:id/", "event_definition:write", {
      summary: "Describe an event, tag, verify or hide it",
      find: ({ project, params, request }) => findOne(project, request, { id: parseUuid(params.id) }),
      body: model.eventDefinitionBody,
      replies: { 200: reply("The name.", model.eventDefinitionModel) },
      answer: async ({ access, project, found, body }) => {
        const named = { project_id: project.id, id: found.id, user_id: access.user.id, noun: "An event" };
        await writeNote(sql, named, body);
        return await show(project, found);
      },
    }),
    projectOperation("GET /event_definitions/by_name/", "event_definition:read", {
      summary: "Read the name of an event by itself",
      query: { name: parameter.requiredTextParameter("the event's name.") },
      replies: { 200: reply("The name.", model.eventDefinitionModel) },
      answer: async ({ project, request, query: { name } }) =>
        await show(project, await findOne(project, request, { names: [name] })),
    }),
  ] as const;
}

const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
const onlyOne = { limit: 1, offset: 0 };
const newestFirst: readonly EventOrder[] = [{ by: "last_seen_at::date", isDescending: true }];
const shortestFirst: readonly EventOrder[] = [{ by: "length", isDescending: false }];

const untagged = "Not found, or it would have too many tags, or the project too many descriptions.";
