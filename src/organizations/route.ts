// Organizations over HTTP. Never shows one to a user who is not its member: for them it is not there.

import { Elysia } from "elysia";
import type { AccessOrganization, Gate } from "../access/gate.ts";
import { Fault } from "../core/fault.ts";
import { readChanges, readFields, readReplacement } from "../http/body.ts";
import { pageReply, readPage, requestUrl } from "../http/pages/page.ts";
import { listSchema, reply, requestBody } from "../http/fields/schema.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { membershipLevels, organizationBody, organizationModel } from "./model.ts";
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  removeOrganization,
  updateOrganization,
} from "./store.ts";

export interface OrganizationRoutes {
  gate: Gate;
  sql: Postgres;
}

const home = "/api/organizations/";
const one = `${home}:organization_id/` as const;
const firstProjectName = "Default project";

export function organizationRoutes(parts: OrganizationRoutes) {
  return new Elysia({ name: "organizations", tags: ["Organizations"] })
    .use(listRoutes(parts))
    .use(changeRoutes(parts));
}

function listRoutes({ gate, sql }: OrganizationRoutes) {
  return new Elysia({ name: "organizations: list", tags: ["Organizations"] })
    .use(gate)
    .get(
      home,
      async ({ access, request }) => {
        const url = requestUrl(request);
        const page = readPage(url.searchParams);
        const reader = { user_id: access.user.id, scoped_organizations: access.key.scoped_organizations };
        const { count, organizations } = await listOrganizations(sql, reader, page);
        return pageReply(url, page, count, organizations);
      },
      {
        account_scope: "organization:read",
        detail: {
          summary: "List organizations",
          responses: { 200: reply("The user's organizations.", listSchema(organizationModel)) },
        },
      },
    )
    .post(
      home,
      async ({ access, request, status }) => {
        if (access.key.scoped_organizations.length > 0) throw new Fault("permission_denied", heldKey);
        const input = await readFields(request, organizationBody);
        const owner_id = access.user.id;
        const id = await createOrganization(sql, { ...input, owner_id, project_name: firstProjectName });
        return status(201, present(await getOrganization(sql, id, owner_id)));
      },
      {
        account_scope: "organization:write",
        detail: {
          summary: "Create an organization, with a first project",
          description: "The key's user becomes its owner, and it becomes the user's current organization.",
          requestBody: requestBody(organizationBody),
          responses: { 201: reply("The organization.", organizationModel) },
        },
      },
    )
    .get(one, async ({ access, own }) => present(await getOrganization(sql, own().id, access.user.id)), {
      account_scope: "organization:read",
      detail: { summary: "Get an organization", responses: { 200: shownOne } },
    });
}

function changeRoutes({ gate, sql }: OrganizationRoutes) {
  return new Elysia({ name: "organizations: change", tags: ["Organizations"] })
    .use(gate)
    .patch(
      one,
      async ({ access, own, request }) => {
        const { id } = requireLevel(own(), membershipLevels.admin);
        const changes = await readChanges(request, organizationBody);
        return present(await updateOrganization(sql, id, access.user.id, changes));
      },
      {
        account_scope: "organization:write",
        detail: {
          summary: "Change an organization",
          requestBody: requestBody(organizationBody, { partial: true }),
          responses: { 200: shownOne },
        },
      },
    )
    .put(
      one,
      async ({ access, own, request }) => {
        const { id } = requireLevel(own(), membershipLevels.admin);
        const changes = await readReplacement(request, organizationBody);
        return present(await updateOrganization(sql, id, access.user.id, changes));
      },
      {
        account_scope: "organization:write",
        detail: {
          summary: "Change an organization, naming it again",
          requestBody: requestBody(organizationBody),
          responses: { 200: shownOne },
        },
      },
    )
    .delete(
      one,
      async ({ access, own, status }) => {
        const { id } = requireLevel(own(), membershipLevels.owner);
        if (!(await removeOrganization(sql, id, access.user.id))) throw new Fault("not_found", "Not found.");
        return status(204);
      },
      {
        account_scope: "organization:write",
        detail: {
          summary: "Delete an organization, with its projects and all that is theirs",
          responses: { 204: { description: "It is gone." } },
        },
      },
    );
}

const shownOne = reply("The organization.", organizationModel);
const heldKey = "API keys with scoped organizations cannot create organizations.";

function requireLevel(own: AccessOrganization, level: number): AccessOrganization {
  if (own.membership_level >= level) return own;
  throw new Fault("permission_denied", "Your organization access level is insufficient.");
}

/** It may be gone by the time it is looked at. */
function present<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new Fault("not_found", "Not found.");
  return found;
}
