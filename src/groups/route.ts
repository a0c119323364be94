// Groups and their types over HTTP. Never changes a group.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { isoOfStored } from "../core/trim.ts";
import { begunTexts } from "../http/pages/long_page.ts";
import { pageEnds, readPage, requestUrl, withoutComma } from "../http/pages/page.ts";
import { listSchema, pageParameters, queryParameter, reply } from "../http/fields/schema.ts";
import { streamedReply } from "../http/pages/sliced.ts";
import { deleteGroupType, groupTypesOf } from "../persons/group_type_store.ts";
import { type ClickHouse, readsUntil } from "../storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { CountCache } from "../work/count_cache.ts";
import { groupModel, groupTypesModel } from "./model.ts";
import { countGroups, type Group, groupBlocks, listGroupKeys } from "./store.ts";

export interface GroupRoutes {
  gate: Gate;
  sql: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
}

interface Counted extends GroupRoutes {
  counts: CountCache;
}

export function groupRoutes(parts: GroupRoutes) {
  const app = new Elysia({ name: "groups", tags: ["Groups"] });
  const counted = { ...parts, counts: new CountCache(parts.clock) };
  for (const home of projectHomes) {
    app.use(listRoute(counted, `${home}/groups/`));
    app.use(typeRoutes(counted, `${home}/groups_types/`));
  }
  return app;
}

function listRoute({ gate, clickhouse, counts }: Counted, path: string) {
  return new Elysia({ name: `groups: ${path}`, tags: ["Groups"] }).use(gate).get(
    path,
    async ({ project, request }) => {
      const url = requestUrl(request);
      const page = readPage(url.searchParams);
      const filter = {
        group_type: url.searchParams.get("group_type") || undefined,
        group_key: url.searchParams.get("group_key") || undefined,
      };
      const asked = readsUntil(clickhouse, request.signal);
      // The count is others' as well: it is taken to its end.
      const [count, groups] = await Promise.all([
        counts.count(project.id, JSON.stringify(filter), () => countGroups(clickhouse, project.id, filter)),
        listGroupKeys(asked, project.id, filter, page).then((keys) =>
          begunTexts(groupBlocks(asked, project.id, keys), groupText),
        ),
      ]);
      const { head, tail } = pageEnds(url, page, count);
      return await streamedReply(head, withoutComma(groups), tail);
    },
    {
      project_scope: "group:read",
      detail: {
        summary: "List groups, by their types and keys",
        parameters: [
          queryParameter("group_type", "Only groups of this type."),
          queryParameter("group_key", "Only the group with this key."),
          ...pageParameters("Groups"),
        ],
        responses: { 200: reply("The groups.", listSchema(groupModel)) },
      },
    },
  );
}

/** The addresses are PostHog's. */
function typeRoutes({ gate, sql, clickhouse, counts }: Counted, path: string) {
  return new Elysia({ name: `groups: ${path}`, tags: ["Groups"] })
    .use(gate)
    .get(
      path,
      async ({ project }) =>
        (await groupTypesOf(sql, project.id)).map(({ name, place }) => ({
          group_type: name,
          group_type_index: place,
        })),
      {
        project_scope: "group:read",
        detail: {
          summary: "List the types of groups, by their indexes",
          responses: { 200: reply("The types.", groupTypesModel) },
        },
      },
    )
    .delete(
      `${path}:group_type_index/`,
      async ({ project, params, status }) => {
        const { group_type_index = "" } = params as Record<string, string>;
        const place = /^[0-9]$/.test(group_type_index) ? Number(group_type_index) : undefined;
        if (place === undefined || !(await deleteGroupType(sql, clickhouse, project.id, place))) {
          throw new Fault("not_found", "Not found.");
        }
        counts.forget(project.id);
        return status(204);
      },
      {
        project_scope: "group:write",
        detail: {
          summary: "Delete a type of groups",
          description:
            "Its index is free for the next type that an event names; captures know within ten seconds. Events keep " +
            "what they named. Groups of the type are not shown until a type of this name has an index again. To keep " +
            "others from taking the index, set `allowed_group_types` of the project first.",
          responses: { 204: { description: "It is gone." } },
        },
      },
    );
}

/** A group as JSON. Its properties go out as they came in. */
function groupText({ group_type, group_key, properties, created_at }: Group): string {
  const head = JSON.stringify({ group_type, group_key });
  const created = JSON.stringify(isoOfStored(created_at));
  return `${head.slice(0, -1)},"group_properties":${properties},"properties":${properties},"created_at":${created}}`;
}
