// Groups and their types over HTTP.

import { toBytes } from "../core/bytes.ts";
import { refuseInput } from "../core/fault.ts";
import { fieldFault, notFound, present } from "../http/fields/field_fault.ts";
import { formatStored } from "../http/fields/field_time.ts";
import { checkInteger } from "../http/fields/number_rule.ts";
import * as parameter from "../http/fields/query.ts";
import { gone, listSchema, reply, valuesQuery } from "../http/fields/schema.ts";
import { mounted, projectOperation, type RoomParts } from "../http/operation.ts";
import { streamedPage } from "../http/pages/page.ts";
import { primedTexts, slicedReply } from "../http/pages/sliced.ts";
import {
  deleteGroupType,
  type GroupType,
  readGroupTypes,
  renameGroupTypes,
} from "../persons/group_type_store.ts";
import { personLimits } from "../persons/limits.ts";
import type { PersonParts } from "../persons/parts.ts";
import { checkChange } from "../persons/properties/operations.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { toReads } from "../storage/clickhouse/query_options.ts";
import { CountCache } from "../work/count_cache.ts";
import { besidePrimed } from "../work/slices.ts";
import * as model from "./model.ts";
import * as store from "./store.ts";

type GroupParts = RoomParts<"sql" | "clickhouse"> & Pick<PersonParts, "send"> & { counts: CountCache };

export function groupRoutes(
  room: RoomParts<"gate" | "sql" | "clickhouse" | "clock"> & Pick<PersonParts, "send">,
) {
  const parts = { ...room, counts: new CountCache(room.clock) };
  return mounted(room.gate, "Groups", [
    ...listOperations(parts),
    ...changeOperations(parts),
    ...propertyOperations(parts),
    ...typeOperations(parts),
  ]);
}

function listOperations({ sql, clickhouse, counts }: GroupParts) {
  return [
    projectOperation("GET /groups/", "group:read", {
      summary: "List groups: of a type's index the newest first, otherwise by their types and keys",
      query: { ...groupFilterParameters, ...parameter.pageParameters("Groups") },
      replies: { 200: reply("The groups.", listSchema(model.groupModel)) },
      answer: async ({ project, query, request, url }) => {
        const types = await readGroupTypes(sql, project.id);
        const filter = toGroupFilter(types, query);
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const question = JSON.stringify(filter);
        // Other requests use the count, too: it is read to its end.
        const [count, groups] = await besidePrimed(
          counts.count(project.id, question, () =>
            store.countGroups(toReads(clickhouse, project.id), filter),
          ),
          store
            .listGroupKeys(reads, filter, query)
            .then((keys) => primedTexts(store.groupBlocks(reads, keys), makeGroupText(types))),
        );
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
      replies: { 200: reply("The group.", model.groupModel) },
      answer: async ({ project, query: { group_type_index, group_key } }) => {
        const found = await findGroup({ sql, clickhouse }, project.id, group_type_index, group_key);
        return slicedReply([toBytes(present(found.text))]);
      },
    }),
  ];
}

/** The name of the type with this index, and its group of this key as JSON. @throws Fault not_found for no type. */
async function findGroup(
  { sql, clickhouse }: Pick<GroupParts, "sql" | "clickhouse">,
  project_id: number,
  index: number | undefined,
  group_key: string,
) {
  const types = await readGroupTypes(sql, project_id);
  const { name: group_type } = present(types.find(({ place }) => place === index));
  const key = { group_type, group_key };
  const [group] = (await store.groupBlocks(toReads(clickhouse, project_id), [key]).next()).value ?? [];
  return { group_type, text: group && makeGroupText(types)(group) };
}

const changeDescription = "It is a server event, `$groupidentify`; the answer waits until it can be read.";

function changeOperations({ send, ...parts }: GroupParts) {
  type Group = { project_id: number; $group_type: string; $group_key: string };
  const change = async (
    { project_id, ...group }: Group,
    $group_set: Record<string, unknown>,
    attr: string,
  ) => {
    checkChange($group_set, attr);
    await send({
      project_id,
      event: "$groupidentify",
      // As servers' SDKs name it.
      distinct_id: `$${group.$group_type}_${group.$group_key}`.slice(0, 200),
      properties: { ...group, $group_set },
      waitMsMax: personLimits.changeShownMsMax,
    });
  };
  const read = async (project_id: number, index: number | undefined, group_key: string, status: number) => {
    const { text } = await findGroup(parts, project_id, index, group_key);
    return new Response(present(text), { status, headers: { "content-type": "application/json" } });
  };
  return [
    projectOperation("POST /groups/", "group:write", {
      summary: "Make a group of a type that exists",
      description: changeDescription,
      body: model.groupBody,
      replies: { 201: reply("The group.", model.groupModel) },
      answer: async ({ project, body: { group_key, group_type_index, group_properties } }) => {
        const { group_type, text } = await findGroup(parts, project.id, group_type_index, group_key);
        if (text) refuseInput("A group with this key already exists", "detail");
        const group = { project_id: project.id, $group_type: group_type, $group_key: group_key };
        await change(group, group_properties ?? {}, "group_properties");
        parts.counts.forget(project.id);
        return await read(project.id, group_type_index, group_key, 201);
      },
    }),
    projectOperation("POST /groups/update_property/", "group:write", {
      summary: "Set one property of a group",
      description: changeDescription,
      query: {
        group_type_index: parameter.integerParameter("The index of its type.", {}),
        group_key: parameter.textParameter("The group's key."),
      },
      body: model.groupPropertyBody,
      replies: { 200: reply("The group.", model.groupModel) },
      answer: async ({
        project,
        query: { group_type_index: index, group_key = "" },
        body: { key, value },
      }) => {
        const { group_type, text } = await findGroup(parts, project.id, index, group_key);
        present(text);
        const group = { project_id: project.id, $group_type: group_type, $group_key: group_key };
        await change(group, { [key]: value }, "value");
        return await read(project.id, index, group_key, 200);
      },
    }),
  ];
}

function propertyOperations({ sql, clickhouse }: GroupParts) {
  return [
    projectOperation("GET /groups/property_definitions/", "group:read", {
      summary: "List the names of properties by the index of the groups' type, most frequent first",
      replies: { 200: reply("The names.", model.groupPropertiesModel) },
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
      replies: { 200: reply("The twenty most frequent values.", model.groupValuesModel) },
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
  const listTypes = async (project_id: number) =>
    (await readGroupTypes(sql, project_id)).map(({ name, place, ...names }) => ({
      group_type: name,
      group_type_index: place,
      ...names,
      detail_dashboard: null,
      created_at: null,
    }));
  const change = async (project_id: number, changes: Parameters<typeof renameGroupTypes>[2]) => {
    if (!(await renameGroupTypes(sql, project_id, changes))) throw notFound("Group type not found");
    return await listTypes(project_id);
  };
  return [
    projectOperation("GET /groups_types/", "group:read", {
      summary: "List the types of groups, by their indexes",
      replies: { 200: reply("The types.", model.groupTypesModel) },
      answer: ({ project }) => listTypes(project.id),
    }),
    projectOperation("PATCH /groups_types/update_metadata/", "group:write", {
      summary: "Change what types of groups are called",
      description: '`{"types": […]}`, or the list itself, as PostHog has it.',
      body: model.groupTypesBody,
      replies: { 200: reply("The types.", model.groupTypesModel) },
      answer: async ({ project, body: { types = [] } }) => {
        const changes = types.map(({ group_type_index: place, name_singular, name_plural }) => {
          if (place === undefined)
            throw fieldFault("required", "This field is required.", ["group_type_index"]);
          const singular = name_singular === undefined ? {} : { name_singular };
          return { place, ...singular, ...(name_plural !== undefined && { name_plural }) };
        });
        return await change(project.id, changes);
      },
    }),
    projectOperation("PUT /groups_types/set_default_columns/", "group:write", {
      summary: "Set the columns that clients show of a type's groups",
      body: model.groupColumnsBody,
      replies: { 200: reply("The types.", model.groupTypesModel) },
      answer: ({ project, body: { group_type_index: place, default_columns } }) =>
        change(project.id, [{ place: place!, ...(default_columns && { default_columns }) }]),
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
    const tail = `"notebook":null,"created_at":${created}}`;
    return `${head.slice(0, -1)},"group_properties":${properties},"properties":${properties},${tail}`;
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
