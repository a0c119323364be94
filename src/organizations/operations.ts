// Organizations over HTTP. To a user who is not its member, an organization does not exist.

import { Fault } from "../core/fault.ts";
import { notFound, present } from "../http/fields/field_fault.ts";
import { pageParameters } from "../http/fields/query.ts";
import { gone, listSchema, reply } from "../http/fields/schema.ts";
import { mounted, type RoomParts, toOperations } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { memberOperations } from "./members/operations.ts";
import { organizationBody, organizationModel } from "./model.ts";
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  removeOrganization,
  updateOrganization,
} from "./store.ts";

const operation = toOperations("organizations");
const heldKey = "API keys with scoped organizations cannot create organizations.";
const shownOne = { 200: reply("The organization.", organizationModel) };

export function organizationRoutes({ gate, sql }: RoomParts<"gate" | "sql">) {
  return mounted(gate, "Organizations", [...organizationOperations(sql), ...memberOperations(sql)]);
}

function organizationOperations(sql: Postgres) {
  return [
    operation("GET /", "organization:read", {
      summary: "List organizations",
      query: pageParameters("Rows"),
      replies: { 200: reply("The user's organizations.", listSchema(organizationModel)) },
      answer: async ({ access, query, url }) =>
        pageReply(url, query, await listOrganizations(sql, access, query)),
    }),
    operation("POST /", "organization:write", {
      summary: "Create an organization, with a first project",
      description: "The key's user becomes its owner, and it becomes the user's current organization.",
      find: ({ access }) => {
        if (access.key.scoped_organizations.length > 0) throw new Fault("permission_denied", heldKey);
      },
      body: organizationBody,
      replies: { 201: reply("The organization.", organizationModel) },
      answer: async ({ access: { user, key }, body }) => {
        const founding = { ...body, owner_id: user.id, project_name: "Default project" };
        const id = await createOrganization(sql, { ...founding, reach_key_id: key.reach_key_id });
        return present(await getOrganization(sql, id, user.id));
      },
    }),
    operation("GET /:organization_id/", "organization:read", {
      summary: "Get an organization",
      replies: shownOne,
      answer: async ({ access, own }) => present(await getOrganization(sql, own().id, access.user.id)),
    }),
    operation("PATCH /:organization_id/", "organization:write", {
      summary: "Change an organization",
      put: "Change an organization; its name is required",
      find: ({ own }) => own(),
      body: organizationBody,
      replies: shownOne,
      answer: async ({ access, found, body }) =>
        present(await updateOrganization(sql, found.id, access.user.id, body)),
    }),
    operation("DELETE /:organization_id/", "organization:write", {
      summary: "Delete an organization, its projects and all their data",
      replies: gone,
      answer: async ({ access, own }) => {
        if (!(await removeOrganization(sql, own().id, access.user.id))) throw notFound();
      },
    }),
  ];
}
