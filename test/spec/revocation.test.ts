import { afterAll, beforeAll, expect, test } from "bun:test";
import { issueKey, revokeKey } from "../../src/personal_api_keys/store.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { addAccount, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { personalKey, type Server, startServer, storesOf, until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

let server: Server;
/** As another process on the same Postgres has it. */
let sql: Postgres;
let organization_id: string;

beforeAll(async () => {
  server = await startServer();
  ({ sql } = await storesOf(server));
  organization_id = (await ask(server, "GET", "/api/organizations/@current/")).body["id"] as string;
}, storesStartMsMax);

afterAll(cleanUp);

const project = "/api/projects/1/";
const statusOf = async (key: string, method = "GET", body?: unknown) =>
  (await ask(server, method, project, body, key)).status;

async function addKey(): Promise<{ id: string; value: string; user_id: number }> {
  const membership = { organization_id, level: 8 };
  const { user_id } = await addAccount(sql, `${crypto.randomUUID()}@example.com`, membership);
  return await issueKey(sql, user_id, { label: "asks", scopes: ["*"] });
}

test("a key that another process revokes reads nothing a moment later, and changes nothing from then on", async () => {
  const { id, value, user_id } = await addKey();
  for (let i = 0; i < 3; i++) expect(await statusOf(value)).toBe(200);
  await revokeKey(sql, id, user_id);
  expect(await statusOf(value, "PATCH", { name: "Mine" })).toBe(401);
  await until(async () => (await statusOf(value)) === 401);
});

test("a membership that another process ends is over a moment later", async () => {
  const { value, user_id } = await addKey();
  for (let i = 0; i < 3; i++) expect(await statusOf(value)).toBe(200);
  await sql`DELETE FROM organization_memberships WHERE user_id = ${user_id}`;
  expect(await statusOf(value, "PATCH", { name: "Mine" })).toBe(403);
  await until(async () => (await statusOf(value)) === 403);
});

test("a change by one process is in the next read of every process", async () => {
  for (let i = 0; i < 20; i++) {
    await ask(server, "PATCH", project, { name: `Name ${i}` });
    expect((await ask(server, "GET", project)).body["name"]).toBe(`Name ${i}`);
    await sql`UPDATE projects SET name = ${`Other ${i}`} WHERE id = 1`;
    expect((await ask(server, "GET", project)).body["name"]).toBe(`Other ${i}`);
  }
});

/** A stream of the project's console that has begun. */
async function follow(key: string) {
  const headers = { authorization: `Bearer ${key}` };
  const reply = await fetch(`${server.url}/console/stream/1`, { headers });
  expect(reply.status).toBe(200);
  const reader = reply.body!.getReader();
  await reader.read();
  return reader;
}

/** Resolves once the stream has ended. */
async function ended(reader: Awaited<ReturnType<typeof follow>>): Promise<void> {
  while (!(await reader.read()).done);
}

test("an open stream ends when its key is revoked, narrowed or its user no longer a member, and no other", async () => {
  const stays = await follow((await addKey()).value);
  const revoked = await addKey();
  const narrowed = await addKey();
  const left = await addKey();
  const streams = await Promise.all([revoked, narrowed, left].map(({ value }) => follow(value)));
  await revokeKey(sql, revoked.id, revoked.user_id);
  await sql`UPDATE personal_api_keys SET scopes = '{person:read}' WHERE id = ${narrowed.id}`;
  await sql`DELETE FROM organization_memberships WHERE user_id = ${left.user_id}`;
  await Promise.all(streams.map(ended));
  expect((await stays.read()).done).toBe(false);
  await stays.cancel();
});

test("an open stream ends when its project is deleted", async () => {
  const { body } = await ask(server, "POST", "/api/projects/", { name: "Short-lived" });
  const headers = { authorization: `Bearer ${personalKey}` };
  const { body: stream } = await fetch(`${server.url}/console/stream/${body["id"]}`, { headers });
  const reader = stream!.getReader();
  await reader.read();
  expect((await ask(server, "DELETE", `/api/projects/${body["id"]}/`)).status).toBe(204);
  await ended(reader);
});

test("without a notification, a revocation becomes effective by itself", async () => {
  await sql`DROP TRIGGER personal_api_keys_tell_access ON personal_api_keys`;
  const { id, value, user_id } = await addKey();
  expect(await statusOf(value)).toBe(200);
  const stream = await follow(value);
  await revokeKey(sql, id, user_id);
  await until(async () => (await statusOf(value)) === 401);
  await ended(stream);
});
