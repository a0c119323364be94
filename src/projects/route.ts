// Projects over HTTP, as /api/projects/ and as /api/environments/. Never shows a project the key may not
// reach.

import { Elysia } from "elysia";
import type { Access, AccessProject, Gate } from "../access/gate.ts";
import { refuseHeldToProjects } from "../access/project_access.ts";
import { currentOrganization } from "../access/store.ts";
import { Fault } from "../core/fault.ts";
import { readChanges, readFields, readReplacement } from "../http/body.ts";
import { pageReply, readPage, requestUrl } from "../http/pages/page.ts";
import { listSchema, reply, requestBody } from "../http/fields/schema.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { type Project, projectBody, type ProjectUpdate, projectModel } from "./model.ts";
import {
  createProject,
  getProject,
  listProjects,
  removeProject,
  resetProjectKey,
  updateProject,
} from "./store.ts";

export interface ProjectRoutes {
  gate: Gate;
  sql: Postgres;
  /** After how many days all events expire; a project may say fewer. Undefined: events are kept. */
  eventRetentionDays?: number | undefined;
}

const adminLevel = 8;

export function projectRoutes(parts: ProjectRoutes) {
  return new Elysia({ name: "projects", tags: ["Projects"] })
    .use(listRoutes(parts, "/api/projects/"))
    .use(listRoutes(parts, "/api/environments/"))
    .use(oneRoutes(parts, "/api/projects/:project_id/"))
    .use(oneRoutes(parts, "/api/environments/:project_id/"));
}

function listRoutes<const Path extends string>(parts: ProjectRoutes, path: Path) {
  const { gate, sql } = parts;
  return new Elysia({ name: `projects: ${path}`, tags: ["Projects"] })
    .use(gate)
    .get(
      path,
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
    .post(
      path,
      async ({ access, request, status }) => {
        const organization_id = await homeOf(sql, access);
        const input = await readFields(request, projectBody);
        refuseLongerRetention(parts, input);
        return status(201, await createProject(sql, { ...input, organization_id, maker_id: access.user.id }));
      },
      {
        scope: "project:write",
        detail: {
          summary: "Create a project",
          description: "In the user's current organization; it becomes the user's current project.",
          requestBody: requestBody(projectBody),
          responses: { 201: reply("The project.", projectModel) },
        },
      },
    );
}

function oneRoutes<const Path extends string>(parts: ProjectRoutes, path: Path) {
  const { gate, sql } = parts;
  return new Elysia({ name: `projects: ${path}`, tags: ["Projects"] })
    .use(gate)
    .get(path, async ({ project: { id } }) => present(await getProject(sql, id)), {
      project_scope: "project:read",
      detail: { summary: "Get a project", responses: { 200: shownOne } },
    })
    .patch(
      path,
      async ({ project, request }) =>
        present(await change(parts, project, await readChanges(request, projectBody))),
      {
        project_scope: "project:write",
        detail: {
          summary: "Change a project",
          requestBody: requestBody(projectBody, { partial: true }),
          responses: { 200: shownOne },
        },
      },
    )
    .put(
      path,
      async ({ project, request }) =>
        present(await change(parts, project, await readReplacement(request, projectBody))),
      {
        project_scope: "project:write",
        detail: {
          summary: "Change a project, as PATCH does",
          requestBody: requestBody(projectBody),
          responses: { 200: shownOne },
        },
      },
    )
    .delete(
      path,
      async ({ project, status }) => {
        if (!(await removeProject(sql, requireAdmin(project)))) throw notFound();
        return status(204);
      },
      {
        project_scope: "project:write",
        detail: {
          summary: "Delete a project and all that is its own",
          responses: { 204: { description: "It is gone." } },
        },
      },
    )
    .patch(
      `${path}reset_token/`,
      async ({ project }) => present(await resetProjectKey(sql, requireAdmin(project))),
      {
        project_scope: "project:write",
        detail: {
          summary: "Give a project a new API key",
          description: "The old one stops within 30 seconds.",
          responses: { 200: shownOne },
        },
      },
    );
}

/** Deleting events is deleting a part of the project: who may do the one may do the other. */
async function change(
  parts: ProjectRoutes,
  project: AccessProject,
  changes: ProjectUpdate,
): Promise<Project | undefined> {
  const { event_retention_days: days } = changes;
  // A reply that is sent back whole changes nothing.
  if (days !== undefined && days !== (await getProject(parts.sql, project.id))?.event_retention_days) {
    requireAdmin(project);
    refuseLongerRetention(parts, changes);
  }
  return await updateProject(parts.sql, project.id, changes);
}

function refuseLongerRetention(
  { eventRetentionDays }: ProjectRoutes,
  { event_retention_days: days = null }: ProjectUpdate,
): void {
  if (days === null || eventRetentionDays === undefined || days <= eventRetentionDays) return;
  const detail = `Ensure this value is less than or equal to ${eventRetentionDays}, the server's own retention.`;
  throw new Fault("max_value", detail, { attr: "event_retention_days" });
}

const shownOne = reply("The project.", projectModel);

/** The organization a new project goes to. */
async function homeOf(sql: Postgres, access: Access): Promise<string> {
  refuseHeldToProjects(access);
  const organization = await currentOrganization(sql, access);
  if (!organization) throw new Fault("not_found", "Current organization not found.");
  if ((organization.membership_level ?? 0) < adminLevel) {
    throw new Fault("permission_denied", "Your organization access level is insufficient.");
  }
  return organization.id;
}

function requireAdmin({ id, membership_level }: AccessProject): number {
  if (membership_level >= adminLevel) return id;
  throw new Fault("permission_denied", "You don't have sufficient permissions in the project.");
}

/** It may be gone by the time it is looked at. */
function present<Found>(found: Found | undefined): Found {
  if (found === undefined) throw notFound();
  return found;
}

function notFound(): Fault {
  return new Fault("not_found", "Project not found.");
}
