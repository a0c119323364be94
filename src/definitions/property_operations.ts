// Names of properties over HTTP.

import { refuseInput } from "../core/fault.ts";
import { fieldFault, parseUuid, present } from "../http/fields/field_fault.ts";
import * as parameter from "../http/fields/query.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { projectOperation } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import { readGroupTypes } from "../persons/group_type_store.ts";
import { type ClickHouse, readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { toReads } from "../storage/clickhouse/query_options.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import * as model from "./model.ts";
import { readNotes, writeNote } from "./note_store.ts";
import {
  commaNamesParameter,
  listedNamesParameter,
  noteQuery,
  readNoteFilter,
  splitWords,
} from "./parameters.ts";
import { listEventsWith, listPropertyNames, type StoredPropertyName } from "./store.ts";

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
  exclude_restricted: parameter.flagParameter("No property is hidden from a key that may list any."),
  ...noteQuery,
  ...parameter.pageParameters("Names"),
};

export function propertyNameOperations(sql: Postgres, clickhouse: ClickHouse) {
  return [
    projectOperation("GET /property_definitions/", "property_definition:read", {
      summary: "List the names of properties",
      description: "Properties of `event_names` first, then all by name.",
      query: propertyQuery,
      replies: { 200: reply("The names.", listSchema(model.propertyDefinitionModel)) },
      answer: async ({ project, query, request, url }) => {
        const { type = "event", group_type_index, event_names } = query;
        if (group_type_index !== undefined && type !== "group")
          throw fieldFault("invalid_input", "Only properties of groups have one: use type=group.", [
            "group_type_index",
          ]);
        if (type === "session") return pageReply(url, query, { count: 0, rows: [] });
        const filter = {
          ...(await readNoteFilter(sql, project.id, query)),
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
        const indexes = await findIndexes(sql, project.id, rows);
        const notes = await readNotes(sql, project.id, ids(rows));
        const replies = rows.map((row) =>
          model.propertyReply(row, indexes, event_names !== undefined, notes.get(row.id)),
        );
        return pageReply(url, query, { count, rows: replies });
      },
    }),
    projectOperation("GET /property_definitions/seen_together/", "property_definition:read", {
      summary: "Say which events had a property",
      query: {
        event_names: listedNamesParameter("Required: names of events."),
        property_name: parameter.requiredTextParameter("the property's name."),
      },
      replies: { 200: reply("By the event's name.", model.seenTogetherModel) },
      answer: async ({ project, query: { event_names = [], property_name }, request }) => {
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const seen = await listEventsWith(reads, property_name, event_names);
        return Object.fromEntries(event_names.map((name) => [name, seen.has(name)]));
      },
    }),
    ...onePropertyOperations(sql, clickhouse),
  ] as const;
}

/** The indexes of the types of these groups' properties, by name. */
async function findIndexes(sql: Postgres, project_id: number, rows: readonly StoredPropertyName[]) {
  if (!rows.some(({ group_type }) => group_type !== "")) return new Map<string, number>();
  return new Map((await readGroupTypes(sql, project_id)).map(({ name, place }) => [name, place]));
}

function onePropertyOperations(sql: Postgres, clickhouse: ClickHouse) {
  const findOne = async ({ project, params, request }: Named) => {
    const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
    return present((await listPropertyNames(reads, { id: parseUuid(params.id) }, onlyOne)).rows[0]);
  };
  const show = async (project: { id: number }, row: StoredPropertyName) => {
    const notes = await readNotes(sql, project.id, [row.id]);
    return model.propertyReply(row, await findIndexes(sql, project.id, [row]), false, notes.get(row.id));
  };
  return [
    projectOperation("GET /property_definitions/:id/", "property_definition:read", {
      summary: "Read the name of a property",
      replies: { 200: reply("The name.", model.propertyDefinitionModel) },
      find: (request) => findOne(request),
      answer: ({ project, found }) => show(project, found),
    }),
    projectOperation("PATCH /property_definitions/:id/", "property_definition:write", {
      summary: "Describe a property, tag, verify or hide it",
      description: "Its type is that of its values.",
      find: (request) => findOne(request),
      body: model.propertyDefinitionBody,
      replies: { 200: reply("The name.", model.propertyDefinitionModel) },
      answer: async ({ access, project, found, body: { property_type: type, ...changes } }) => {
        if (type !== undefined && type !== (found.property_type || null))
          refuseInput("A property's type is that of its values here.", "property_type");
        const named = { project_id: project.id, id: found.id, user_id: access.user.id, noun: "A property" };
        await writeNote(sql, named, changes);
        return await show(project, found);
      },
    }),
  ] as const;
}

interface Named {
  project: { id: number };
  params: { id: string };
  request: Request;
}

const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
const onlyOne = { limit: 1, offset: 0 };
