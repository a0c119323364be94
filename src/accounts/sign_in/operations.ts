// Signing in and out, one's own account and sessions, over HTTP.

import { type Access, refuseRestrictedToProjects } from "../../access/scope.ts";
import { findKeyHolder } from "../../access/store.ts";
import { Fault, refuseInput } from "../../core/fault.ts";
import { hashKey } from "../../core/id.ts";
import type { CreateInput } from "../../http/fields/field.ts";
import { notFound, present } from "../../http/fields/field_fault.ts";
import { pageParameters, textParameter } from "../../http/fields/query.ts";
import { gone, listSchema, reply } from "../../http/fields/schema.ts";
import { toOperations } from "../../http/operation.ts";
import { pageReply } from "../../http/pages/page.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import * as model from "./model.ts";
import { endOwnSession, endSession, listSessions, type Signer } from "./session_store.ts";
import { checkedEmail, invalidKey, normalizedEmail, type Signing } from "./signing.ts";
import { changeUser, findReachedProject, findSigningUser, getOwnUser } from "./user_store.ts";

const forPeople = toOperations("sign_in");
const ofUser = toOperations("users");
const denial = "As a non-staff user you're only allowed to access the `@me` user instance.";

/** @throws Fault permission_denied for any user but the key's. */
function requireOwn({ access, params: { uuid } }: { access: Access; params: { uuid: string } }): void {
  if (uuid !== "@me" && uuid.toLowerCase() !== access.user.uuid) throw new Fault("permission_denied", denial);
}

/** The first request of clients, to see whose key they have. */
export function userOperations(sql: Postgres) {
  return [
    ofUser("GET /:uuid/", "user:read", {
      summary: "Get the key's user: `@me`, or their own UUID",
      description:
        "`team` is the user's current project and `organization` its organization, as far as the key reaches them.",
      replies: { 200: reply("The user.", model.ownUserModel) },
      find: requireOwn,
      answer: async ({ access }) => present(await getOwnUser(sql, access)),
    }),
    ofUser("GET /", "user:read", {
      summary: "List the key's user, and no others",
      query: { email: textParameter("Only with this address, in any case."), ...pageParameters("Users") },
      replies: { 200: reply("The user.", listSchema(model.ownUserModel)) },
      answer: async ({ access, query, url }) => {
        const user = present(await getOwnUser(sql, access));
        const isListed = (query.email ?? user.email).toLowerCase() === user.email.toLowerCase();
        const rows = isListed && query.offset === 0 ? [user] : [];
        return pageReply(url, query, { count: Number(isListed), rows });
      },
    }),
  ];
}

export function signInOperations(signing: Signing) {
  const { sql, sessions } = signing;
  return [
    forPeople("POST /login/", null, {
      summary: "Sign in to the console",
      description:
        "With an e-mail address and a password, or a personal API key. The reply sets the cookie of a session of at " +
        "most 30 days. Wrong and unknown accounts are answered alike.",
      body: model.loginBody,
      replies: { 200: reply("Signed in.", model.loggedInModel), ...model.consoleRefusals },
      answer: async ({ request, body }) => {
        const signer = await findSigner(signing, request, body);
        return await signing.signedIn(request, signer, Response.json({ success: true }));
      },
    }),
    forPeople("POST /logout/", null, {
      summary: "Sign out of the console",
      replies: { 204: { description: "The session is over." }, 403: model.consoleRefusals[403] },
      answer: async ({ request }) => {
        const session = sessions.presentedBy(request);
        if (session !== undefined) await endSession(sql, session);
        return new Response(null, { status: 204, headers: { "set-cookie": sessions.clear() } });
      },
    }),
    ...accountOperations(signing),
  ];
}

async function findSigner(
  signing: Signing,
  request: Request,
  { email, password, personal_api_key: key }: CreateInput<typeof model.loginBody>,
): Promise<Signer> {
  if (key === undefined) {
    const missing = email === undefined ? "email" : password === undefined ? "password" : undefined;
    if (missing) throw new Fault("required", "This field is required.", { attr: missing });
    return await signing.authenticate(request, email!, password!);
  }
  const secure_value = hashKey(key.trim());
  const found = await findKeyHolder(signing.sql, secure_value);
  if (!found) throw invalidKey();
  return { user_id: found.holder.user.id, key: { id: found.holder.key.id, secure_value } };
}

function accountOperations(signing: Signing) {
  const { sql } = signing;
  return [
    ofUser("PATCH /:uuid/", "*", {
      summary: "Change one's own account",
      description:
        "Another address or password needs the current password, where there is one; a first password, a session. A " +
        "new password ends all sessions; the one of this request is replaced. Keys stay.",
      find: requireOwn,
      body: model.ownUserBody,
      replies: { 200: reply("The user.", model.ownUserModel) },
      answer: async ({ access, request, body }) => {
        const {
          password,
          current_password: _,
          set_current_team: __,
          set_current_organization: ___,
          ...changes
        } = body;
        const { id: user_id } = access.user;
        if (password !== undefined || changes.email !== undefined)
          await requireCurrent(signing, access, body);
        const email = changes.email === undefined ? undefined : checkedEmail(changes.email);
        const caller = { owner: `user ${user_id}`, isKnown: true };
        const password_hash =
          password === undefined ? undefined : await signing.passwords.hash(password, caller);
        const signsInBy = { ...(email !== undefined && { email }), ...(password_hash && { password_hash }) };
        const current = await findCurrent(sql, access, body);
        const changed = await changeUser(sql, user_id, { ...changes, ...current, ...signsInBy });
        if (!changed) throw new Fault("invalid_input", unusableEmail, { attr: "email" });
        const user = Response.json(present(await getOwnUser(sql, access)));
        if (password_hash === undefined || !access.key.is_session) return user;
        const signer = { user_id, email: email ?? normalizedEmail(access.user.email), password_hash };
        return await signing.signedIn(request, signer, user);
      },
    }),
    ofUser("GET /:uuid/sessions/", "*", {
      summary: "List one's browser sessions, newest first",
      find: requireOwn,
      replies: { 200: reply("The sessions: twenty at most.", listSchema(model.sessionModel)) },
      answer: async ({ access }) => {
        const results = await listSessions(sql, access.user.id, access.key.id);
        return { count: results.length, next: null, previous: null, results };
      },
    }),
    ofUser("DELETE /:uuid/sessions/:id/", "*", {
      summary: "End a browser session",
      find: async ({ access, params }) => {
        requireOwn({ access, params });
        const listed = await listSessions(sql, access.user.id, access.key.id);
        return present(listed.find(({ id }) => id === params.id)).id;
      },
      replies: gone,
      answer: async ({ access, found }) => {
        if (!(await endOwnSession(sql, access.user.id, found))) throw notFound();
      },
    }),
  ];
}

/** Finds what makes a project current. @throws Fault does_not_exist where the key does not reach what is named. */
async function findCurrent(
  sql: Postgres,
  access: Access,
  { set_current_team: team, ...changes }: OwnChanges,
) {
  const { set_current_organization: organization } = changes;
  const missing = (attr: string, id: unknown) =>
    new Fault("does_not_exist", `Object with id=${id} does not exist.`, { attr });
  if (organization !== undefined && !(await findReachedProject(sql, access, { organization })))
    throw missing("set_current_organization", organization);
  if (team !== undefined && !(await findReachedProject(sql, access, { team })))
    throw missing("set_current_team", team);
  if (team === undefined && organization === undefined) return {};
  const project = await findReachedProject(sql, access, { team, organization });
  if (!project) refuseInput(otherOrganization, "set_current_team");
  return { current_project_id: project.id, current_organization_id: project.organization_id };
}

const otherOrganization = "Team must belong to the same organization in set_current_organization.";
const unusableEmail = "This e-mail address cannot be used here.";
const byLimitedKey = "API keys with scoped organizations cannot change how their user signs in.";
type OwnChanges = CreateInput<typeof model.ownUserBody>;

/** Who steals a key would keep a way in when the key is revoked. */
const firstByPerson =
  "A first password is set in the console or by `sluice user password`, not by an API key.";

/** @throws Fault for a key that is restricted, which a password is not, and without the right password. */
async function requireCurrent(signing: Signing, access: Access, body: OwnChanges): Promise<void> {
  refuseRestrictedToProjects(access);
  if (access.key.scoped_organizations.length > 0) throw new Fault("permission_denied", byLimitedKey);
  const user = await findSigningUser(signing.sql, normalizedEmail(access.user.email));
  if (!user || user.password_hash === null) {
    if (body.password !== undefined && !access.key.is_session)
      throw new Fault("permission_denied", firstByPerson);
    return;
  }
  const caller = signing.countOwn(user);
  if (await signing.passwords.matches(body.current_password ?? "", user.password_hash, caller)) return;
  throw new Fault("invalid_credentials", "Your current password is incorrect.", { attr: "current_password" });
}
