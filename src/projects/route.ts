// Projects over HTTP: the list every script begins with. Never shows a project the key may not reach.

import { Elysia } from "elysia";
import type { Gate } from "../access/gate.ts";
import { Fault } from "../core/fault.ts";
import { pageReply, readPage, requestUrl } from "../http/page.ts";
import { listSchema, reply } from "../http/schema.ts";
import type { Postgres } from "../storage/postgres.ts";
import { projectModel } from "./model.ts";
import { getProject, listProjects } from "./store.ts";

export interface ProjectRoutes {
  gate: Gate;
  sql: Postgres;
}

export function projectRoutes({ gate, sql }: ProjectRoutes) {
  return new Elysia({ name: "projects", tags: ["Projects"] })
    .use(gate)
    .get(
      "/api/projects/",
      async ({ access, request }) => {
        const url = requestUrl(request);
        const page = readPage(url.searchParams);
        const { scoped_teams, scoped_organizations } = access.key;
        const reader = { user_id: access.user.id, scoped_teams, scoped_organizations };
        const { count, projects } = await listProjects(sql, reader, page);
        return pageReply(url, page, count, projects);
      },
      {
        scope: "project:read",
        detail: {
          summary: "List projects",
          responses: { 200: reply("The projects.", listSchema(projectModel)) },
        },
      },
    )
    .get(
      "/api/projects/:project_id/",
      async ({ project: { id } }) => {
        const project = await getProject(sql, id);
        if (!project) throw new Fault("not_found", "Project not found.");
        return project;
      },
      {
        project_scope: "project:read",
        detail: { summary: "Get a project", responses: { 200: reply("The project.", projectModel) } },
      },
    );
}
