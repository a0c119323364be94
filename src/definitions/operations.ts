// Names of events and properties over HTTP.

import { fieldFault, parseUuid, present } from "../http/fields/field_fault.ts";
import * as parameter from "../http/fields/query.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { mounted, projectOperation, type RoomParts } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import { readGroupTypes } from "../persons/group_type_store.ts";
import { type ClickHouse, readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { toReads } from "../storage/clickhouse/query_options.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import * as model from "./model.ts";
import { commaNamesParameter, listedNamesParameter, orderingParameter, splitWords } from "./parameters.ts";
import { type EventOrder, listEventNames, listPropertyNames, type StoredPropertyName } from "./store.ts";

export function definitionRoutes({ gate, sql, clickhouse }: RoomParts<"gate" | "sql" | "clickhouse">) {
  return mounted(gate, "Definitions", [
    ...eventOperations(clickhouse),
    ...propertyOperations(sql, clickhouse),
  ]);
}

const eventQuery = {
  search: parameter.searchParameter("Only names with all of these words, in any case."),
  names: commaNamesParameter("Only these names, with commas between them, or as several parameters."),
  excluded_properties: listedNamesParameter("Names of events to leave out."),
  event_type: parameter.choiceParameter(
    "`event_posthog`: only names that begin with `$`; `event_custom`: only others.",
    ["all", "event", "event_custom", "event_posthog"],
  ),
  exclude_stale: parameter.flagParameter("true: only events that happened in the last 30 days."),
  exclude_hidden: parameter.flagParameter("No event is hidden here."),
  verified: parameter.flagParameter("No event is verified here: true lists none."),
  tags: listedNamesParameter("No event has tags here: with any in this JSON list, none is listed."),
  ordering: orderingParameter(),
  ...parameter.pageParameters("Names"),
};

function eventOperations(clickhouse: ClickHouse) {
  type Filter = Parameters<typeof listEventNames>[1];
  const findOne = async (project: { id: number }, request: Request, filter: Filter) => {
    const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
    return present((await listEventNames(reads, filter, [], onlyOne)).rows[0]);
  };
  return [
    projectOperation("GET /event_definitions/", "event_definition:read", {
      summary: "List the names of events",
      description: "By default the latest day first, then by name.",
      query: eventQuery,
      replies: { 200: reply("The names.", listSchema(model.eventDefinitionModel)) },
      answer: async ({ project, query, request, url }) => {
        const { search, names, excluded_properties: excluded = [], event_type, verified, tags = [] } = query;
        if (verified || tags.length > 0) return pageReply(url, query, { count: 0, rows: [] });
        const filter = {
          words: splitWords(search),
          names,
          excluded,
          isPostHogs: event_type?.includes("_") ? event_type === "event_posthog" : undefined,
          excludeStale: query.exclude_stale,
        };
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const order = query.ordering ?? newestFirst;
        const { count, rows } = await listEventNames(reads, filter, order, query);
        return pageReply(url, query, { count, rows: rows.map(model.eventReply) });
      },
    }),
    projectOperation("GET /event_definitions/:id/", "event_definition:read", {
      summary: "Read the name of an event",
      replies: { 200: reply("The name.", model.eventDefinitionModel) },
      find: ({ project, params, request }) => findOne(project, request, { id: parseUuid(params.id) }),
      answer: ({ found }) => model.eventReply(found),
    }),
    projectOperation("GET /event_definitions/by_name/", "event_definition:read", {
      summary: "Read the name of an event by itself",
      query: { name: parameter.requiredTextParameter("the event's name.") },
      replies: { 200: reply("The name.", model.eventDefinitionModel) },
      answer: async ({ project, request, query: { name } }) =>
        model.eventReply(await findOne(project, request, { names: [name] })),
    }),
  ] as const;
}

const propertyQuery = {
  type: parameter.choiceParameter(
    "Whose properties; event by default. session: none, `sessions/property_definitions/` lists those.",
    [...model.definitionTypes, "session"],
  ),
  group_type_index: parameter.integerParameter("Only properties of groups of this type; with type=group.", {
    minimum: 0,
    maximum: 4,
  }),
  search: parameter.searchParameter("Only names with all of these words, in any case."),
  properties: commaNamesParameter("Only these names, with commas between them."),
  excluded_properties: listedNamesParameter("Names to leave out."),
  event_names: listedNamesParameter("Names of events: which properties did they have?"),
  filter_by_event_names: parameter.flagParameter("true: only properties that one of `event_names` had."),
  is_numerical: parameter.flagParameter("true: only numbers; false: only others."),
  is_feature_flag: parameter.flagParameter(
    "true: only names that begin with `$feature/`; false: only others.",
  ),
  exclude_core_properties: parameter.flagParameter(
    "true: excludes those that SDKs set: names that begin with `$`, and advertising parameters.",
  ),
  exclude_hidden: parameter.flagParameter("No property is hidden here."),
  exclude_restricted: parameter.flagParameter("No property is hidden from a key that may list any."),
  verified: parameter.flagParameter("No property is verified here: true lists none."),
  tags: listedNamesParameter("No property has tags here: with any in this JSON list, none is listed."),
  ...parameter.pageParameters("Names"),
};

function propertyOperations(sql: Postgres, clickhouse: ClickHouse) {
  const findIndexes = async (project_id: number, rows: readonly StoredPropertyName[]) => {
    if (!rows.some(({ group_type }) => group_type !== "")) return new Map<string, number>();
    return new Map((await readGroupTypes(sql, project_id)).map(({ name, place }) => [name, place]));
  };
  return [
    projectOperation("GET /property_definitions/", "property_definition:read", {
      summary: "List the names of properties",
      description: "Properties of `event_names` first, then all by name.",
      query: propertyQuery,
      replies: { 200: reply("The names.", listSchema(model.propertyDefinitionModel)) },
      answer: async ({ project, query, request, url }) => {
        const { type = "event", group_type_index, event_names, verified, tags = [] } = query;
        if (group_type_index !== undefined && type !== "group")
          throw fieldFault("invalid_input", "Only properties of groups have one: use type=group.", [
            "group_type_index",
          ]);
        if (type === "session" || verified || tags.length > 0)
          return pageReply(url, query, { count: 0, rows: [] });
        const filter = {
          type,
          group_type_index,
          words: splitWords(query.search),
          names: query.properties,
          excluded: query.excluded_properties ?? [],
          isNumerical: query.is_numerical,
          isFeatureFlag: query.is_feature_flag,
          excludeCore: query.exclude_core_properties,
          event_names,
          ofEventsOnly: query.filter_by_event_names,
        };
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const { count, rows } = await listPropertyNames(reads, filter, query);
        const indexes = await findIndexes(project.id, rows);
        const replies = rows.map((row) => model.propertyReply(row, indexes, event_names !== undefined));
        return pageReply(url, query, { count, rows: replies });
      },
    }),
    projectOperation("GET /property_definitions/:id/", "property_definition:read", {
      summary: "Read the name of a property",
      replies: { 200: reply("The name.", model.propertyDefinitionModel) },
      find: async ({ project, params, request }) => {
        const filter = { id: parseUuid(params.id) };
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const { rows } = await listPropertyNames(reads, filter, onlyOne);
        return present(rows[0]);
      },
      answer: async ({ project, found }) =>
        model.propertyReply(found, await findIndexes(project.id, [found]), false),
    }),
  ] as const;
}

const onlyOne = { limit: 1, offset: 0 };
const newestFirst: readonly EventOrder[] = [{ by: "last_seen_at::date", isDescending: true }];
