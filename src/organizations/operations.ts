// Organizations and their members over HTTP. To a user who is not its member, an organization does not exist.

import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { notFound, present } from "../http/fields/field_fault.ts";
import { checkChoice } from "../http/fields/field_rule.ts";
import { pageParameters, parameter, searchParameter, textParameter } from "../http/fields/query.ts";
import { gone, listSchema, reply } from "../http/fields/schema.ts";
import { mounted, type OperationRequest, type RoomParts, toOperations } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import * as members from "./members_store.ts";
import * as model from "./model.ts";
import * as store from "./store.ts";

const operation = toOperations("organizations");
const heldKey = "API keys with scoped organizations cannot create organizations.";
const shownOne = { 200: reply("The organization.", model.organizationModel) };
const shownMember = { 200: reply("The member.", model.memberModel) };

export function organizationRoutes({ gate, sql }: RoomParts<"gate" | "sql">) {
  return mounted(gate, "Organizations", [...organizationOperations(sql), ...memberOperations(sql)]);
}

function organizationOperations(sql: Postgres) {
  return [
    operation("GET /", "organization:read", {
      summary: "List organizations",
      query: pageParameters("Rows"),
      replies: { 200: reply("The user's organizations.", listSchema(model.organizationModel)) },
      answer: async ({ access, query, url }) =>
        pageReply(url, query, await store.listOrganizations(sql, access, query)),
    }),
    operation("POST /", "organization:write", {
      summary: "Create an organization, with a first project",
      description: "The key's user becomes its owner, and it becomes the user's current organization.",
      find: ({ access }) => {
        if (access.key.scoped_organizations.length > 0) throw new Fault("permission_denied", heldKey);
      },
      body: model.organizationBody,
      replies: { 201: reply("The organization.", model.organizationModel) },
      answer: async ({ access: { user, key }, body }) => {
        const founding = { ...body, owner_id: user.id, project_name: "Default project" };
        const id = await store.createOrganization(sql, { ...founding, reach_key_id: key.reach_key_id });
        return present(await store.getOrganization(sql, id, user.id));
      },
    }),
    operation("GET /:organization_id/", "organization:read", {
      summary: "Get an organization",
      replies: shownOne,
      answer: async ({ access, own }) => present(await store.getOrganization(sql, own().id, access.user.id)),
    }),
    operation("PATCH /:organization_id/", "organization:write", {
      summary: "Change an organization",
      put: "Change an organization; its name is required",
      find: ({ own }) => own(),
      body: model.organizationBody,
      replies: shownOne,
      answer: async ({ access, found, body }) =>
        present(await store.updateOrganization(sql, found.id, access.user.id, body)),
    }),
    operation("DELETE /:organization_id/", "organization:write", {
      summary: "Delete an organization, its projects and all their data",
      replies: gone,
      answer: async ({ access, own }) => {
        if (!(await store.removeOrganization(sql, own().id, access.user.id))) throw notFound();
      },
    }),
  ];
}

const memberOrder = parameter(
  "By join date: latest first, or `joined_at`.",
  (query, name) =>
    checkChoice(model.memberOrders, query.get(name) ?? model.memberOrders[0], [name]) === "joined_at",
  { type: "string", enum: [...model.memberOrders] },
);

function memberOperations(sql: Postgres) {
  type Named = Pick<
    OperationRequest<"organization", "/members/:user__uuid/">,
    "access" | "organization" | "params"
  >;
  const find = ({ access, organization, params }: Named) =>
    members.findMember(sql, organization.id, access.user.id, params.user__uuid);
  const operation = toOperations("organization");
  return [
    operation("GET /members/", "organization_member:read", {
      summary: "List members",
      query: {
        order: memberOrder,
        email: textParameter("Only the member with this address, in any case."),
        search: searchParameter(
          "Only members with this text in their address or name.",
          limits.searchCharsMax,
        ),
        ...pageParameters("Rows"),
      },
      replies: { 200: reply("The members.", listSchema(model.memberModel)) },
      answer: async ({ organization, query, url }) =>
        pageReply(url, query, await members.listMembers(sql, organization.id, query, query)),
    }),
    operation("GET /members/:user__uuid/", "organization_member:read", {
      summary: "Get a member, by their user's UUID or as `@me`",
      find,
      replies: shownMember,
      answer: ({ organization, found }) => members.getMember(sql, organization.id, found),
    }),
    operation("GET /members/:user__uuid/scoped_api_keys/", "organization_member:read", {
      summary: "List the keys of a member that reach the organization",
      description: "Their names and when they were last used.",
      find,
      replies: { 200: reply("The keys.", model.memberKeysModel) },
      answer: ({ organization, found }) => members.listMemberKeys(sql, organization.id, found),
    }),
    operation("PATCH /members/:user__uuid/", "organization_member:write", {
      summary: "Change a member's level",
      put: "Change a member's level, which is required",
      description: "For administrators: up to their own level, never their own.",
      find,
      body: model.memberBody,
      replies: shownMember,
      answer: async ({ access, organization: { id: organization_id }, found: user_id, body: { level } }) => {
        const change = { organization_id, actor_id: access.user.id, user_id };
        if (level !== undefined) await members.changeMember(sql, change, level);
        return await members.getMember(sql, organization_id, user_id);
      },
    }),
    operation("DELETE /members/:user__uuid/", "organization_member:write", {
      summary: "Remove a member, or leave the organization",
      description: "For administrators: members up to their own level; anyone but the only owner may leave.",
      find,
      replies: gone,
      answer: ({ access, organization, found: user_id }) =>
        members.removeMember(sql, { organization_id: organization.id, actor_id: access.user.id, user_id }),
    }),
  ];
}
