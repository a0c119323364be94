// Members of an organization over HTTP. Their levels are changed, and they are removed.

import { checkChoice } from "../../http/fields/field_rule.ts";
import { pageParameters, parameter } from "../../http/fields/query.ts";
import { gone, listSchema, reply } from "../../http/fields/schema.ts";
import { type OperationRequest, toOperations } from "../../http/operation.ts";
import { pageReply } from "../../http/pages/page.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { memberBody, memberModel, memberOrders } from "./model.ts";
import { changeMember, findMember, getMember, listMembers, removeMember } from "./store.ts";

const operation = toOperations("organization");
const shownOne = { 200: reply("The member.", memberModel) };

const order = parameter(
  "By join date: latest first, or `joined_at`.",
  (query, name) => checkChoice(memberOrders, query.get(name) ?? memberOrders[0], [name]) === "joined_at",
  { type: "string", enum: [...memberOrders] },
);

export function memberOperations(sql: Postgres) {
  type Named = OperationRequest<"organization", "/members/:user__uuid/">;
  const find = ({ access, organization, params }: Named) =>
    findMember(sql, organization.id, access.user.id, params.user__uuid);
  return [
    operation("GET /members/", "organization_member:read", {
      summary: "List members",
      query: { order, ...pageParameters("Rows") },
      replies: { 200: reply("The members.", listSchema(memberModel)) },
      answer: async ({ organization, query, url }) =>
        pageReply(url, query, await listMembers(sql, organization.id, query, query.order)),
    }),
    operation("GET /members/:user__uuid/", "organization_member:read", {
      summary: "Get a member, by their user's UUID or as `@me`",
      find,
      replies: shownOne,
      answer: ({ organization, found }) => getMember(sql, organization.id, found),
    }),
    operation("PATCH /members/:user__uuid/", "organization_member:write", {
      summary: "Change a member's level",
      put: "Change a member's level, which is required",
      description: "For administrators: up to their own level, never their own.",
      find,
      body: memberBody,
      replies: shownOne,
      answer: async ({ access, organization: { id: organization_id }, found: user_id, body: { level } }) => {
        const change = { organization_id, actor_id: access.user.id, user_id };
        if (level !== undefined) await changeMember(sql, change, level);
        return await getMember(sql, organization_id, user_id);
      },
    }),
    operation("DELETE /members/:user__uuid/", "organization_member:write", {
      summary: "Remove a member, or leave the organization",
      description: "For administrators: members up to their own level; anyone but the only owner may leave.",
      find,
      replies: gone,
      answer: ({ access, organization, found: user_id }) =>
        removeMember(sql, { organization_id: organization.id, actor_id: access.user.id, user_id }),
    }),
  ];
}
