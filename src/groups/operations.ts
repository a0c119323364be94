// Groups and their types over HTTP.

import { isoOfStored } from "../http/fields/field_time.ts";
import { pageParameters, textParameter } from "../http/fields/query.ts";
import { gone, listSchema, reply } from "../http/fields/schema.ts";
import { notFound } from "../http/found.ts";
import { mounted, projectOperation, type RoomParts } from "../http/operation.ts";
import { begunTexts } from "../http/pages/sliced.ts";
import { streamedPage } from "../http/pages/page.ts";
import { deleteGroupType, groupTypesOf } from "../persons/group_type_store.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { CountCache } from "../work/count_cache.ts";
import { groupModel, groupTypesModel } from "./model.ts";
import { countGroups, type Group, groupBlocks, listGroupKeys } from "./store.ts";

export function groupRoutes({
  gate,
  sql,
  clickhouse,
  clock,
}: RoomParts<"gate" | "sql" | "clickhouse" | "clock">) {
  const counts = new CountCache(clock);
  return mounted(gate, "Groups", [
    projectOperation({
      method: "GET",
      path: "groups/",
      scope: "group:read",
      summary: "List groups, by their types and keys",
      query: {
        group_type: textParameter("Only groups of this type."),
        group_key: textParameter("Only the group with this key."),
        ...pageParameters("Groups"),
      },
      replies: { 200: reply("The groups.", listSchema(groupModel)) },
      answer: async ({ project, query: { limit, offset, ...filter }, request, url }) => {
        const page = { limit, offset };
        const abortable = readsUntil(clickhouse, request.signal);
        // Others use the count as well: it is read to its end.
        const [count, groups] = await Promise.all([
          counts.count(project.id, JSON.stringify(filter), () => countGroups(clickhouse, project.id, filter)),
          listGroupKeys(abortable, project.id, filter, page).then((keys) =>
            begunTexts(groupBlocks(abortable, project.id, keys), groupText),
          ),
        ]);
        return await streamedPage(url, page, count, groups);
      },
    }),
    projectOperation({
      method: "GET",
      path: "groups_types/",
      scope: "group:read",
      summary: "List the types of groups, by their indexes",
      replies: { 200: reply("The types.", groupTypesModel) },
      answer: async ({ project }) =>
        (await groupTypesOf(sql, project.id)).map(({ name, place }) => ({
          group_type: name,
          group_type_index: place,
        })),
    }),
    projectOperation({
      method: "DELETE",
      path: "groups_types/:group_type_index/",
      scope: "group:write",
      summary: "Delete a type of groups",
      description:
        "Its index is free for the next type that an event names; captures know within ten seconds. Events keep " +
        "what they named. Groups of the type are not shown until a type of this name has an index again. To keep " +
        "others from taking the index, set `allowed_group_types` of the project first.",
      replies: gone,
      answer: async ({ project, params: { group_type_index: index } }) => {
        if (!/^[0-9]$/.test(index)) throw notFound();
        if (!(await deleteGroupType(sql, clickhouse, project.id, Number(index)))) throw notFound();
        counts.forget(project.id);
      },
    }),
  ]);
}

/** A group as JSON. Its properties go out as they came in. */
function groupText({ group_type, group_key, properties, created_at }: Group): string {
  const head = JSON.stringify({ group_type, group_key });
  const created = JSON.stringify(isoOfStored(created_at));
  return `${head.slice(0, -1)},"group_properties":${properties},"properties":${properties},"created_at":${created}}`;
}
