// Groups and their types over HTTP.

import { toBytes } from "../core/bytes.ts";
import { notFound, present } from "../http/fields/field_fault.ts";
import { formatStored } from "../http/fields/field_time.ts";
import { checkInteger } from "../http/fields/number_rule.ts";
import * as parameter from "../http/fields/query.ts";
import { gone, listSchema, reply, valuesQuery } from "../http/fields/schema.ts";
import { mounted, projectOperation, type RoomParts } from "../http/operation.ts";
import { streamedPage } from "../http/pages/page.ts";
import { primedTexts, slicedReply } from "../http/pages/sliced.ts";
import { deleteGroupType, type GroupType, readGroupTypes } from "../persons/group_type_store.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { toReads } from "../storage/clickhouse/query_options.ts";
import { CountCache } from "../work/count_cache.ts";
import { groupModel, groupPropertiesModel, groupTypesModel, groupValuesModel } from "./model.ts";
import * as store from "./store.ts";

type GroupParts = RoomParts<"sql" | "clickhouse"> & { counts: CountCache };

export function groupRoutes(room: RoomParts<"gate" | "sql" | "clickhouse" | "clock">) {
  const parts = { ...room, counts: new CountCache(room.clock) };
  return mounted(room.gate, "Groups", [
    ...listOperations(parts),
    ...propertyOperations(parts),
    ...typeOperations(parts),
  ]);
}

function listOperations({ sql, clickhouse, counts }: GroupParts) {
  return [
    projectOperation("GET /groups/", "group:read", {
      summary: "List groups: of a type's index the newest first, otherwise by their types and keys",
      query: { ...groupFilterParameters, ...parameter.pageParameters("Groups") },
      replies: { 200: reply("The groups.", listSchema(groupModel)) },
      answer: async ({ project, query, request, url }) => {
        const types = await readGroupTypes(sql, project.id);
        const filter = toGroupFilter(types, query);
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const question = JSON.stringify(filter);
        // Other requests use the count, too: it is read to its end.
        const [count, groups] = await Promise.all([
          counts.count(project.id, question, () =>
            store.countGroups(toReads(clickhouse, project.id), filter),
          ),
          store
            .listGroupKeys(reads, filter, query)
            .then((keys) => primedTexts(store.groupBlocks(reads, keys), makeGroupText(types))),
        ]);
        return await streamedPage(url, query, count, groups);
      },
    }),
    projectOperation("GET /groups/find/", "group:read", {
      summary: "Get the group with this type and exactly this key",
      query: {
        group_type_index: requiredTypeIndex,
        group_key: parameter.requiredTextParameter("the group's key."),
        skip_create_notebook: parameter.flagParameter("Without effect: there are no notebooks here."),
      },
      replies: { 200: reply("The group.", groupModel) },
      answer: async ({ project, query: { group_type_index, group_key } }) => {
        const types = await readGroupTypes(sql, project.id);
        const { name } = present(types.find(({ place }) => place === group_type_index));
        const key = { group_type: name, group_key };
        const [group] = (await store.groupBlocks(toReads(clickhouse, project.id), [key]).next()).value ?? [];
        return slicedReply([toBytes(makeGroupText(types)(present(group)))]);
      },
    }),
  ];
}

function propertyOperations({ sql, clickhouse }: GroupParts) {
  return [
    projectOperation("GET /groups/property_definitions/", "group:read", {
      summary: "List the names of properties by the index of the groups' type, most frequent first",
      replies: { 200: reply("The names.", groupPropertiesModel) },
      answer: async ({ project, request }) => {
        const types = await readGroupTypes(sql, project.id);
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const found = await store.listGroupProperties(
          reads,
          types.map(({ name }) => name),
        );
        const entries = types.map(({ name, place }) => [String(place), found.get(name) ?? []] as const);
        return Object.fromEntries(entries.filter(([, properties]) => properties.length > 0));
      },
    }),
    projectOperation("GET /groups/property_values/", "group:read", {
      summary: "List the values of a property of one type's groups, most frequent first",
      query: { group_type_index: requiredTypeIndex, ...valuesQuery },
      replies: { 200: reply("The twenty most frequent values.", groupValuesModel) },
      answer: async ({ project, query: { group_type_index, key, value: search }, request }) => {
        const types = await readGroupTypes(sql, project.id);
        const type = types.find(({ place }) => place === group_type_index);
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const results = type ? await store.listGroupValues(reads, type.name, key, search) : [];
        return { results, refreshing: false };
      },
    }),
  ];
}

function typeOperations({ sql, clickhouse, counts }: GroupParts) {
  return [
    projectOperation("GET /groups_types/", "group:read", {
      summary: "List the types of groups, by their indexes",
      replies: { 200: reply("The types.", groupTypesModel) },
      answer: async ({ project }) =>
        (await readGroupTypes(sql, project.id)).map(({ name, place }) => ({
          group_type: name,
          group_type_index: place,
        })),
    }),
    projectOperation("DELETE /groups_types/:group_type_index/", "group:write", {
      summary: "Delete a type of groups",
      description:
        "Its index is free for the next type that an event names; captures use it within ten seconds. Events keep " +
        "what they named. Groups of the type are not shown until a type of this name has an index again. To keep " +
        "others from taking the index, set `allowed_group_types` of the project first.",
      find: async ({ project, params: { group_type_index: index } }) =>
        present((await readGroupTypes(sql, project.id)).find(({ place }) => String(place) === index)),
      replies: gone,
      answer: async ({ project, found: { place } }) => {
        if (!(await deleteGroupType(sql, clickhouse, project.id, place))) throw notFound();
        counts.forget(project.id);
      },
    }),
  ];
}

/** Groups as JSON, with the indexes of their types and the texts of their properties as they were sent. */
function makeGroupText(types: readonly GroupType[]): (group: store.Group) => string {
  const indexes = new Map(types.map(({ name, place }) => [name, place]));
  return ({ group_type, group_key, properties, created_at }) => {
    const head = JSON.stringify({ group_type_index: indexes.get(group_type), group_type, group_key });
    const created = JSON.stringify(formatStored(created_at));
    return `${head.slice(0, -1)},"group_properties":${properties},"properties":${properties},"created_at":${created}}`;
  };
}

const requiredTypeIndex = parameter.parameter(
  "Required: the index of the groups' type.",
  (query, name) => checkInteger({}, parameter.readRequiredText(query, name), [name]),
  { type: "integer" },
);

const groupFilterParameters = {
  group_type_index: parameter.integerParameter(
    "Only groups of the type with this index; none of an index that no type has.",
    {},
  ),
  group_type: parameter.textParameter("Only groups of the type with this name."),
  group_key: parameter.textParameter(
    "With group_type_index: only groups whose key contains this text, in any case. " +
      "Without: only the group with exactly this key.",
  ),
  search: parameter.searchParameter(
    "Only groups whose key, or a value of whose properties, contains this text, in any case.",
  ),
};

/**
 * The filter of a list. With a type's index, as at PostHog, the list has PostHog's order and meaning of `group_key`;
 * without it, our own.
 */
function toGroupFilter(
  types: readonly GroupType[],
  query: parameter.QueryValues<typeof groupFilterParameters>,
): store.GroupFilter {
  const { group_type_index: index, group_type, group_key, search } = query;
  const names = types
    .filter(({ place, name }) => (index ?? place) === place && (group_type ?? name) === name)
    .map(({ name }) => name);
  const byIndex = index !== undefined;
  return { types: names, [byIndex ? "key_part" : "group_key"]: group_key, search, newestFirst: byIndex };
}
