// Groups over HTTP. Never changes one.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import type { Clock } from "../core/clock.ts";
import { pageText, readPage, requestUrl } from "../http/page.ts";
import { listSchema, reply } from "../http/schema.ts";
import type { ClickHouse } from "../storage/clickhouse.ts";
import { KeptCounts } from "../work/kept_counts.ts";
import { groupModel } from "./model.ts";
import { countGroups, type Group, listGroups } from "./store.ts";

export interface GroupRoutes {
  gate: Gate;
  clickhouse: ClickHouse;
  clock: Clock;
}

export function groupRoutes({ gate, clickhouse, clock }: GroupRoutes) {
  const counts = new KeptCounts(clock);
  const app = new Elysia({ name: "groups", tags: ["Groups"] }).use(gate);
  for (const home of projectHomes) {
    app.get(
      `${home}/groups/`,
      async ({ project, request }) => {
        const url = requestUrl(request);
        const page = readPage(url.searchParams);
        const filter = {
          group_type: url.searchParams.get("group_type") || undefined,
          group_key: url.searchParams.get("group_key") || undefined,
        };
        const [count, groups] = await Promise.all([
          counts.count(project.id, JSON.stringify(filter), () => countGroups(clickhouse, project.id, filter)),
          listGroups(clickhouse, project.id, filter, page),
        ]);
        const text = pageText(url, page, count, groups.map(groupText));
        return new Response(text, { headers: { "content-type": "application/json" } });
      },
      {
        project_scope: "group:read",
        detail: {
          summary: "List groups, by their types and keys",
          parameters: [
            queryParameter("group_type", "Only groups of this type."),
            queryParameter("group_key", "Only the group with this key."),
            queryParameter("limit", "Groups on the page."),
            queryParameter("offset", "Groups before it."),
          ],
          responses: { 200: reply("The groups.", listSchema(groupModel)) },
        },
      },
    );
  }
  return app;
}

/** A group as JSON. Its properties go out as they came in. */
function groupText({ group_type, group_key, properties, created_at }: Group): string {
  const head = JSON.stringify({ group_type, group_key });
  const created = JSON.stringify(`${created_at.replace(" ", "T").replace(/\.0+$/, "")}Z`);
  return `${head.slice(0, -1)},"group_properties":${properties},"properties":${properties},"created_at":${created}}`;
}

function queryParameter(name: string, description: string) {
  return { name, in: "query", required: false, description, schema: { type: "string" as const } };
}
