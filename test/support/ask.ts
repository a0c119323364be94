// Any management request to a running server, and accounts beside the first one's. Never checks what comes back.

import { createOrganization } from "../../src/organizations/store.ts";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { addUser } from "./accounts.ts";
import { personalKey } from "./server.ts";

export interface Answer {
  status: number;
  text: string;
  /** The JSON of the answer; empty where it is none. */
  body: Record<string, unknown>;
  headers: Headers;
}

/** `body`: text goes as it is, anything else as JSON. */
export async function ask(
  server: { url: string },
  method: string,
  path: string,
  body?: unknown,
  key: string = personalKey,
): Promise<Answer> {
  const reply = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      ...(key !== "" && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await reply.text();
  const value: unknown = text.startsWith("{") ? JSON.parse(text) : {};
  return { status: reply.status, text, body: value as Record<string, unknown>, headers: reply.headers };
}

/** What a refusal says, in its order. */
export function problemOf({ status, body }: Answer): unknown[] {
  return [status, body["type"], body["code"], body["detail"], body["attr"]];
}

export interface Account {
  user_id: number;
  key: string;
}

/** Another user with a key that opens everything, and a membership where one is named. */
export async function addAccount(
  sql: Postgres,
  email: string,
  membership?: { organization_id: string; level: number },
): Promise<Account> {
  const user_id = await addUser(sql, email);
  if (membership) {
    const { organization_id, level } = membership;
    await sql`
      INSERT INTO organization_memberships (organization_id, user_id, level)
      VALUES (${organization_id}, ${user_id}, ${level})`;
  }
  const { value } = await issueKey(sql, user_id, { label: "all", scopes: ["*"] });
  return { user_id, key: value };
}

/** A user with an organization of their own. */
export async function addStranger(sql: Postgres): Promise<Account & { organization_id: string }> {
  const user_id = await addUser(sql, `stranger-${crypto.randomUUID()}@example.com`);
  const founding = { name: "Strangers", owner_id: user_id, project_name: "Theirs" };
  const organization_id = await createOrganization(sql, founding);
  // A key reaches the organizations that its user has when it is made.
  const { value } = await issueKey(sql, user_id, { label: "all", scopes: ["*"] });
  return { user_id, key: value, organization_id };
}

/** Lets all keys reach what their users are members of by now, as if made later. */
export async function reachMemberships(sql: Postgres): Promise<void> {
  await sql`
    INSERT INTO key_organizations
    SELECT k.id, m.organization_id, m.user_id FROM personal_api_keys k JOIN organization_memberships m USING (user_id)
    ON CONFLICT DO NOTHING`;
}
