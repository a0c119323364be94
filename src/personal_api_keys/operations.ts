// Personal API keys over HTTP: a user's own, by a key that may do everything. A key issues and changes only keys with
// no more access than its own.

import type { Access } from "../access/gate.ts";
import { readerScopes } from "../access/people/reader_scopes.ts";
import { covers, isScope } from "../access/scope.ts";
import { Fault, refuseInput } from "../core/fault.ts";
import { notFound, present } from "../http/fields/field_fault.ts";
import { pageParameters } from "../http/fields/query.ts";
import { gone, listSchema, reply } from "../http/fields/schema.ts";
import { mounted, type RoomParts, toOperations } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import * as model from "./model.ts";
import * as store from "./store.ts";

const operation = toOperations("keys");
const shownOne = { 200: reply("The key, without its value.", model.personalKeyModel) };

export function personalKeyRoutes({ gate, sql }: RoomParts<"gate" | "sql">) {
  return mounted(gate, "Personal API keys", [...listOperations(sql), ...changeOperations(sql)]);
}

function listOperations(sql: Postgres) {
  return [
    operation("GET /", "*", {
      summary: "List one's personal API keys, newest first",
      query: pageParameters("Rows"),
      replies: { 200: reply("The keys, without their values.", listSchema(model.personalKeyModel)) },
      answer: async ({ access, query, url }) =>
        pageReply(url, query, await store.listKeysPage(sql, access.user.id, query)),
    }),
    operation("POST /", "*", {
      summary: "Issue a personal API key",
      description: "Its value is in this reply and in no other.",
      body: model.personalKeyBody,
      replies: { 201: reply("The key, with its value.", model.issuedKeyModel) },
      answer: async ({ access, body }) => {
        await checkReach(sql, access, body);
        if (!model.isWithin(body, access.key)) throw tooWide();
        await refuseOfReader(sql, access, body.scopes);
        const issued = await store.issueKeyWithin(
          sql,
          access.user.id,
          body,
          personalKeysMax,
          access.key.reach_key_id,
        );
        if (!issued) throw new Fault("invalid_input", tooMany);
        return issued;
      },
    }),
    operation("GET /@current/", null, {
      summary: "Get the key or session of this request",
      replies: shownOne,
      answer: async ({ access }) =>
        present(await store.getKey(sql, access.key.id, access.user.id, "credentials")),
    }),
    operation("GET /:id/", "*", {
      summary: "Get a personal API key",
      find: async ({ access, params }) => present(await findKey(sql, access, params.id)),
      replies: shownOne,
      answer: ({ found }) => found,
    }),
  ];
}

function changeOperations(sql: Postgres) {
  const find = ({ access, params }: { access: Access; params: { id: string } }) =>
    findTouchable(sql, access, params.id);
  return [
    operation("PATCH /:id/", "*", {
      find,
      summary: "Change a personal API key",
      put: "Change a personal API key; label and scopes are required",
      body: model.personalKeyBody,
      replies: shownOne,
      answer: async ({ access, found, body }) => {
        await checkReach(sql, access, body);
        if (!model.isWithin({ ...found, ...body }, access.key)) throw tooWide();
        await refuseOfReader(sql, access, body.scopes);
        return present(await store.updateKey(sql, found.id, access, body));
      },
    }),
    operation("DELETE /:id/", "*", {
      find,
      summary: "Revoke a personal API key, at once",
      description: "A server that is not notified in time accepts its reads for at most three seconds more.",
      replies: gone,
      answer: async ({ access, found }) => {
        if (!(await store.revokeKey(sql, found.id, access.user.id))) throw notFound();
      },
    }),
    operation("POST /:id/roll/", "*", {
      find,
      summary: "Replace a personal API key's value; the old one stops at once",
      replies: { 200: reply("The key, with its new value.", model.issuedKeyModel) },
      answer: async ({ access, found }) => {
        await refuseOfReader(sql, access, found.scopes);
        return present(await store.rollKey(sql, found.id, access.user.id));
      },
    }),
  ];
}

/** Keys that a user may create over HTTP; PostHog's number. */
export const personalKeysMax = 10;

const tooMany =
  `You can only have ${personalKeysMax} personal API keys. ` +
  "Remove an existing key before creating a new one.";

/** Ids are random letters and digits. Other text is the id of no key, and Postgres refuses some of it. */
async function findKey(sql: Postgres, access: Access, id: string): Promise<model.PersonalKey | undefined> {
  return /^[0-9A-Za-z]{1,64}$/.test(id ?? "") ? await store.getKey(sql, id, access.user.id) : undefined;
}

async function findTouchable(sql: Postgres, access: Access, id: string): Promise<model.PersonalKey> {
  const key = present(await findKey(sql, access, id));
  if (!model.isWithin(key, access.key) || !(await store.isKeyReached(sql, id, access.key))) throw tooWide();
  return key;
}

/** Checks what the schema cannot: that the scopes exist, and the projects and organizations are the user's. */
async function checkReach(sql: Postgres, access: Access, input: model.PersonalKeyUpdate): Promise<void> {
  const { scopes = [], scoped_teams = [], scoped_organizations = [] } = input;
  const wrong = scopes.find((scope) => !isScope(scope));
  if (wrong !== undefined) refuseInput(`Invalid scope: ${wrong}`, "scopes");
  if (scoped_teams.length > 0 && !(await store.reachesAll(sql, access, scoped_teams)))
    refuseInput("You must be a member of all teams that you are scoping the key to.", "scoped_teams");
  const attr = "scoped_organizations";
  if (scoped_organizations.length > 0 && !(await store.isMemberOfAll(sql, access, scoped_organizations)))
    refuseInput("You must be a member of all organizations that you are scoping the key to.", attr);
}

/** @throws Fault permission_denied for scopes that no reader has, where the user is no more than a reader anywhere. */
async function refuseOfReader(sql: Postgres, access: Access, scopes: readonly string[] = []): Promise<void> {
  const wide = scopes.find((scope) => isScope(scope) && !covers(readerScopes, scope));
  if (wide !== undefined && (await store.isOnlyReader(sql, access)))
    throw new Fault(
      "permission_denied",
      `Readers make keys with these scopes only: ${readerScopes.join(", ")}.`,
    );
}

function tooWide(): Fault {
  return new Fault("permission_denied", "API key does not reach as far as the requested key.");
}
