// Invitations over HTTP: created by administrators, accepted by anybody who has the link.

import { keyInHeader } from "../../access/gate.ts";
import { insufficient, type Level, requireLevel } from "../../access/people/levels.ts";
import { Fault, refuseInput } from "../../core/fault.ts";
import { isUuid } from "../../core/id.ts";
import { refusal } from "../../http/docs/refusals.ts";
import { notFound, parseUuid } from "../../http/fields/field_fault.ts";
import { pageParameters } from "../../http/fields/query.ts";
import { gone, listSchema, reply } from "../../http/fields/schema.ts";
import { type OperationRequest, toOperations } from "../../http/operation.ts";
import { pageReply } from "../../http/pages/page.ts";
import { listKeysPage } from "../../personal_api_keys/store.ts";
import { consoleRefusals } from "../sign_in/model.ts";
import { listSessions } from "../sign_in/session_store.ts";
import { checkedEmail, normalizedEmail, type Signing } from "../sign_in/signing.ts";
import { findSigningUser } from "../sign_in/user_store.ts";
import * as model from "./model.ts";
import { acceptInvite, findInvite, getInviteId, listInvites, makeInvites, revokeInvite } from "./store.ts";

const ofOrganization = toOperations("organization");
const forPeople = toOperations("sign_in");

const tooMany = `A maximum of ${model.bulkMax} invites can be sent in a single request.`;
const secretReply = (made: object) =>
  Response.json(made, { status: 201, headers: { "cache-control": "no-store" } });

export function inviteOperations(signing: Signing) {
  const { sql } = signing;
  type Inviting = OperationRequest<"organization">;
  /** @throws Fault for a level above the caller's, and as makeInvites. */
  async function invite({ access, organization, url }: Inviting, bodies: readonly model.InviteInput[]) {
    const invites = bodies.map((body) => {
      requireLevel(organization.membership_level, body.level as Level, insufficient.organization);
      const target_email = checkedEmail(body.target_email, "target_email");
      return { ...body, target_email, organization_id: organization.id, created_by_id: access.user.id };
    });
    const addresses = new Set(invites.map(({ target_email }) => target_email));
    if (addresses.size < invites.length) refuseInput("This address is invited twice.", "target_email");
    const made = await makeInvites(sql, invites);
    return made.map(({ invite: row, token }) => ({
      ...row,
      link: new URL(`/#invite=${row.id}.${token}`, url).href,
    }));
  }
  return [
    ofOrganization("GET /invites/", "organization_member:read", {
      summary: "List open invitations, newest first",
      query: pageParameters("Rows"),
      replies: { 200: reply("The invitations, without their links.", listSchema(model.inviteModel)) },
      answer: async ({ organization, query, url }) =>
        pageReply(url, query, await listInvites(sql, organization.id, query)),
    }),
    ofOrganization("POST /invites/", "organization_member:write", {
      summary: "Invite somebody by a link that works once, for three days",
      description:
        "The link is in this reply and in no other. It replaces an earlier one for the address, and ends when its " +
        "creator is no longer an administrator.",
      body: model.inviteBody,
      replies: { 201: reply("The invitation, with its link.", model.madeInviteModel) },
      answer: async (request) => secretReply((await invite(request, [request.body]))[0]!),
    }),
    ofOrganization("POST /invites/bulk/", "organization_member:write", {
      summary: "Invite several people, all or none",
      description: `At most ${model.bulkMax}: \`{"invites": […]}\`, or the list itself, as PostHog has it.`,
      body: model.invitesBody,
      replies: { 201: reply("The invitations, with their links.", model.madeInvitesModel) },
      answer: async (request) => {
        const { invites } = request.body;
        if (invites.length > model.bulkMax) throw new Fault("invalid_input", tooMany);
        return secretReply(await invite(request, invites));
      },
    }),
    ofOrganization("DELETE /invites/:id/", "organization_member:write", {
      summary: "Revoke an invitation",
      find: ({ organization, params: { id } }) => getInviteId(sql, organization.id, parseUuid(id)),
      replies: gone,
      answer: async ({ organization, found }) => {
        if (!(await revokeInvite(sql, organization.id, found))) throw notFound();
      },
    }),
    ...signupOperations(signing),
  ];
}

function signupOperations(signing: Signing) {
  const { sql, passwords } = signing;
  const find = async ({ request, params }: { request: Request; params: { invite_id: string } }) =>
    await requireInvite(signing, request, params.invite_id);
  return [
    forPeople("GET /signup/:invite_id/", null, {
      summary: "Show an invitation by its link",
      description: "The token of the link is the bearer of the Authorization header.",
      find,
      replies: {
        200: reply("The invitation.", model.shownInviteModel),
        401: refusal(401),
        ...consoleRefusals,
      },
      answer: ({ found }) => found.invite,
    }),
    forPeople("POST /signup/:invite_id/", null, {
      summary: "Accept an invitation, and sign in",
      description:
        "The token of the link is the bearer of the Authorization header. A person without an account gets one with " +
        "this password; others sign in with theirs, and see what keys and sessions their account had.",
      find,
      body: model.signupBody,
      replies: {
        201: reply("Accepted, and signed in.", model.acceptedModel),
        401: refusal(401),
        ...consoleRefusals,
      },
      answer: async ({ request, found, body }) => {
        const { invite, id, token } = found;
        const email = normalizedEmail(invite.target_email);
        const { password, first_name = invite.first_name } = body;
        const isKnown = (await findSigningUser(sql, email)) !== undefined;
        const user = isKnown ? await signing.authenticate(request, email, password) : undefined;
        const password_hash = await (user?.password_hash ??
          passwords.hash(password, { owner: `invitation ${id}`, isKnown: true }));
        const joining = user ? { user_id: user.user_id } : { first_name, password_hash };
        const user_id = await acceptInvite(sql, { id, token, joining });
        if (user_id === undefined) throw notValid();
        const personal_api_keys = (await listKeysPage(sql, user_id, ownedShown)).rows;
        const sessions = await listSessions(sql, user_id, "");
        const accepted = Response.json({ success: true, personal_api_keys, sessions }, { status: 201 });
        return await signing.signedIn(request, { user_id, email, password_hash }, accepted);
      },
    }),
  ];
}

/** An account's own keys are few; the operator may have issued more. */
const ownedShown = { limit: 100, offset: 0 };

/** @throws Fault authentication_failed when the link is not valid, for whatever reason. */
async function requireInvite({ sql }: Signing, request: Request, id: string) {
  const token = keyInHeader(request.headers.get("authorization"))?.key ?? "";
  const invite = isUuid(id) ? await findInvite(sql, id, token) : undefined;
  if (!invite) throw notValid();
  return { invite, id, token };
}

const notValid = () =>
  new Fault(
    "authentication_failed",
    "This invitation is not valid any more: it was used or revoked, or is older than three days.",
  );
