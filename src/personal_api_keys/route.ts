// Personal API keys over HTTP: a user's own, by a key that may do everything. Never issues or touches a key
// that reaches further than the one that asks.

import { Elysia } from "elysia";
import type { Access, Gate } from "../access/gate.ts";
import { Fault } from "../core/fault.ts";
import { personalKeyLimits } from "./limits.ts";
import { readChanges, readFields, readReplacement } from "../http/body.ts";
import { pageReply, readPage, requestUrl } from "../http/pages/page.ts";
import { listSchema, reply, requestBody } from "../http/fields/schema.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import {
  isWithin,
  issuedKeyModel,
  type PersonalKey,
  personalKeyBody,
  type PersonalKeyUpdate,
  personalKeyModel,
  wrongScope,
} from "./model.ts";
import {
  getKey,
  isMemberOfAll,
  issueKeyWithin,
  listKeysPage,
  reachesAll,
  revokeKey,
  rollKey,
  updateKey,
} from "./store.ts";

export interface PersonalKeyRoutes {
  gate: Gate;
  sql: Postgres;
}

const home = "/api/personal_api_keys/";
const one = `${home}:id/` as const;

export function personalKeyRoutes(parts: PersonalKeyRoutes) {
  return new Elysia({ name: "personal keys", tags: ["Personal API keys"] })
    .use(listRoutes(parts))
    .use(oneRoutes(parts));
}

function listRoutes({ gate, sql }: PersonalKeyRoutes) {
  return new Elysia({ name: "personal keys: list", tags: ["Personal API keys"] })
    .use(gate)
    .get(
      home,
      async ({ access, request }) => {
        const url = requestUrl(request);
        const page = readPage(url.searchParams);
        const { count, keys } = await listKeysPage(sql, access.user.id, page);
        return pageReply(url, page, count, keys);
      },
      {
        scope: "*",
        detail: {
          summary: "List one's personal API keys, newest first",
          responses: { 200: reply("The keys, without their values.", listSchema(personalKeyModel)) },
        },
      },
    )
    .post(
      home,
      async ({ access, request, status }) => {
        const input = await readFields(request, personalKeyBody);
        await checkReach(sql, access, input);
        if (!isWithin(input, access.key)) throw tooWide();
        const issued = await issueKeyWithin(sql, access.user.id, input, personalKeyLimits.personalKeysMax);
        if (!issued) throw new Fault("invalid_input", tooMany);
        return status(201, issued);
      },
      {
        scope: "*",
        detail: {
          summary: "Issue a personal API key",
          description: "Its value is in this reply and in no other.",
          requestBody: requestBody(personalKeyBody),
          responses: { 201: reply("The key, with its value.", issuedKeyModel) },
        },
      },
    )
    .get(
      `${home}@current/`,
      async ({ access }) => present(await getKey(sql, access.key.id, access.user.id)),
      {
        scope: null,
        detail: {
          summary: "Get the key that asks",
          responses: { 200: reply("The key, without its value.", personalKeyModel) },
        },
      },
    );
}

function oneRoutes({ gate, sql }: PersonalKeyRoutes) {
  const touchable = (access: Access, id: string) => findTouchable(sql, access, id);
  return new Elysia({ name: "personal keys: one", tags: ["Personal API keys"] })
    .use(gate)
    .get(one, async ({ access, params: { id } }) => present(await findKey(sql, access, id)), {
      scope: "*",
      detail: { summary: "Get a personal API key", responses: { 200: shownOne } },
    })
    .patch(
      one,
      async ({ access, params, request }) => {
        const key = await touchable(access, params.id);
        return await change(sql, access, key, await readChanges(request, personalKeyBody));
      },
      {
        scope: "*",
        detail: {
          summary: "Change a personal API key",
          requestBody: requestBody(personalKeyBody, { partial: true }),
          responses: { 200: shownOne },
        },
      },
    )
    .put(
      one,
      async ({ access, params, request }) => {
        const key = await touchable(access, params.id);
        return await change(sql, access, key, await readReplacement(request, personalKeyBody));
      },
      {
        scope: "*",
        detail: {
          summary: "Change a personal API key, naming its label and scopes",
          requestBody: requestBody(personalKeyBody),
          responses: { 200: shownOne },
        },
      },
    )
    .delete(
      one,
      async ({ access, params, status }) => {
        const { id } = await touchable(access, params.id);
        if (!(await revokeKey(sql, id, access.user.id))) throw new Fault("not_found", "Not found.");
        return status(204);
      },
      {
        scope: "*",
        detail: {
          summary: "Revoke a personal API key, at once",
          description: "Of several servers, one that nobody could tell lets it read for three seconds more.",
          responses: { 204: { description: "It is gone." } },
        },
      },
    )
    .post(
      `${one}roll/`,
      async ({ access, params }) => {
        const { id } = await touchable(access, params.id);
        return present(await rollKey(sql, id, access.user.id));
      },
      {
        scope: "*",
        detail: {
          summary: "Give a personal API key a new value; the old one stops at once",
          responses: { 200: reply("The key, with its new value.", issuedKeyModel) },
        },
      },
    );
}

const shownOne = reply("The key, without its value.", personalKeyModel);

const tooMany =
  `You can only have ${personalKeyLimits.personalKeysMax} personal API keys. ` +
  "Remove an existing key before creating a new one.";

/** Ids are random letters and digits; anything else names no key, and some of it Postgres would not take. */
async function findKey(sql: Postgres, access: Access, id: string): Promise<PersonalKey | undefined> {
  return /^[0-9A-Za-z]{1,64}$/.test(id ?? "") ? await getKey(sql, id, access.user.id) : undefined;
}

async function findTouchable(sql: Postgres, access: Access, id: string): Promise<PersonalKey> {
  const key = present(await findKey(sql, access, id));
  if (!isWithin(key, access.key)) throw tooWide();
  return key;
}

async function change(
  sql: Postgres,
  access: Access,
  key: PersonalKey,
  changes: PersonalKeyUpdate,
): Promise<PersonalKey> {
  await checkReach(sql, access, changes);
  if (!isWithin({ ...key, ...changes }, access.key)) throw tooWide();
  return present(await updateKey(sql, key.id, access.user.id, changes));
}

/** What the schema cannot say: scopes that exist, projects and organizations of the user. */
async function checkReach(sql: Postgres, { user }: Access, input: PersonalKeyUpdate): Promise<void> {
  const { scopes = [], scoped_teams = [], scoped_organizations = [] } = input;
  const wrong = wrongScope(scopes);
  if (wrong !== undefined) throw new Fault("invalid_input", `Invalid scope: ${wrong}`, { attr: "scopes" });
  if (scoped_teams.length > 0 && !(await reachesAll(sql, user.id, scoped_teams))) {
    const detail = "You must be a member of all teams that you are scoping the key to.";
    throw new Fault("invalid_input", detail, { attr: "scoped_teams" });
  }
  if (scoped_organizations.length > 0 && !(await isMemberOfAll(sql, user.id, scoped_organizations))) {
    const detail = "You must be a member of all organizations that you are scoping the key to.";
    throw new Fault("invalid_input", detail, { attr: "scoped_organizations" });
  }
}

function tooWide(): Fault {
  return new Fault("permission_denied", "API key does not reach as far as the key that is asked for.");
}

/** It may be gone by the time it is looked at. */
function present<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new Fault("not_found", "Not found.");
  return found;
}
