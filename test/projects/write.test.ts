import { afterAll, beforeAll, expect, test } from "bun:test";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { startMsMax } from "../support/accounts.ts";
import { addAccount, addStranger, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, type Server, startServer, storesOf, until } from "../support/server.ts";

let server: Server;
let sql: Postgres;
let first: { id: string; user_id: number };

beforeAll(async () => {
  server = await startServer();
  ({ sql } = await storesOf(server));
  const [row] = await sql<{ id: string; user_id: number }[]>`
    SELECT organization_id AS id, user_id FROM organization_memberships`;
  if (!row) throw new Error("there is no first organization");
  first = row;
}, startMsMax);
afterAll(cleanUp, startMsMax);

interface Made {
  id: number;
  api_token: string;
}

async function make(body: object = {}): Promise<Made> {
  const made = await ask(server, "POST", "/api/projects/", body);
  if (made.status !== 201) throw new Error(made.text);
  return made.body as unknown as Made;
}

const captures = async ({ api_token }: Made, status: number) =>
  (await post(server, "/capture/", { api_key: api_token, event: "e", distinct_id: "d" })).status === status;

test("a project is made in the current organization, becomes current and captures", async () => {
  const forged = {
    id: 5,
    uuid: crypto.randomUUID(),
    api_token: "phc_forged",
    organization: crypto.randomUUID(),
  };
  const made = await make({
    name: " Shop ",
    timezone: "Europe/Paris",
    session_recording_opt_in: 1,
    ...forged,
  });
  expect(made).toMatchObject({
    name: "Shop",
    organization: first.id,
    timezone: "Europe/Paris",
    session_recording_opt_in: true,
  });
  expect(made.api_token).toMatch(/^phc_[0-9A-Za-z]{43}$/);
  expect((await ask(server, "GET", "/api/environments/@current")).body["id"]).toBe(made.id);
  await until(() => captures(made, 200));
  expect(await make()).toMatchObject({ name: "Default project", timezone: "UTC" });
});

test("projects and environments are changed alike", async () => {
  const { id } = await make({ name: "Before" });
  for (const home of ["projects", "environments"]) {
    const path = `/api/${home}/${id}`;
    expect((await ask(server, "PATCH", path, { name: home })).body).toMatchObject({ id, name: home });
    const same = await ask(server, "PATCH", `${path}/`, {});
    expect(same.body).toEqual((await ask(server, "GET", path)).body);
    expect((await ask(server, "PUT", path, { timezone: "UTC" })).body).toMatchObject({ name: home });
    expect(problemOf(await ask(server, "PATCH", path, { timezone: "Mars/Olympus" }))).toEqual([
      400,
      "validation_error",
      "invalid_choice",
      '"Mars/Olympus" is not a valid choice.',
      "timezone",
    ]);
    expect((await ask(server, "GET", `/api/${home}`)).status).toBe(200);
  }
});

test("a new key replaces the old one", async () => {
  const made = await make();
  await until(() => captures(made, 200));
  const { status, body } = await ask(server, "PATCH", `/api/projects/${made.id}/reset_token/`);
  expect([status, body["id"], body["api_token"] === made.api_token]).toEqual([200, made.id, false]);
  await until(() => captures(made, 401));
  await until(() => captures(body as unknown as Made, 200));
});

test("deleting stops its capture key and ends the keys held to it alone", async () => {
  const made = await make();
  const other = await make();
  await until(() => captures(made, 200));
  const held = (scoped_teams: number[]) =>
    issueKey(sql, first.user_id, { label: "held", scopes: ["*"], scoped_teams });
  const [alone, both] = [await held([made.id]), await held([made.id, other.id])];
  expect((await ask(server, "DELETE", `/api/projects/${made.id}/`)).status).toBe(204);
  expect(problemOf(await ask(server, "DELETE", `/api/projects/${made.id}/`))).toEqual([
    404,
    "invalid_request",
    "not_found",
    "Project not found.",
    null,
  ]);
  const current = "/api/personal_api_keys/@current";
  expect((await ask(server, "GET", current, undefined, alone.value)).status).toBe(401);
  expect((await ask(server, "GET", current, undefined, both.value)).body["scoped_teams"]).toEqual([other.id]);
  await until(() => captures(made, 401));
});

test("a member changes, but neither makes, deletes nor rolls", async () => {
  const { id } = await make();
  const { key } = await addAccount(sql, "member@example.com", { organization_id: first.id, level: 1 });
  const call = (method: string, path: string, body?: unknown) => ask(server, method, path, body, key);
  expect((await call("PATCH", `/api/projects/${id}/`, { name: "by a member" })).status).toBe(200);
  const refusals = [
    await call("POST", "/api/projects/", "{"),
    await call("DELETE", `/api/projects/${id}/`),
    await call("PATCH", `/api/projects/${id}/reset_token/`),
  ];
  const detail = "You don't have sufficient permissions in the project.";
  expect(refusals.map(({ status }) => status)).toEqual([403, 403, 403]);
  expect(refusals.map(({ body }) => body["detail"])).toEqual([
    "Your organization access level is insufficient.",
    detail,
    detail,
  ]);
});

test("a stranger changes nothing, and a key held to projects makes none", async () => {
  const { id } = await make();
  const stranger = await addStranger(sql);
  for (const [method, path] of [
    ["PATCH", ""],
    ["PUT", ""],
    ["DELETE", ""],
    ["PATCH", "reset_token/"],
  ] as const) {
    const refused = await ask(server, method, `/api/projects/${id}/${path}`, undefined, stranger.key);
    expect([refused.status, refused.body["detail"]]).toEqual([403, "You don't have access to the project."]);
  }
  const { value } = await issueKey(sql, first.user_id, { label: "held", scopes: ["*"], scoped_teams: [id] });
  expect((await ask(server, "POST", "/api/projects/", {}, value)).status).toBe(403);
});

test("writing needs project:write", async () => {
  const { value } = await issueKey(sql, first.user_id, { label: "reader", scopes: ["project:read"] });
  for (const [method, path] of [
    ["POST", ""],
    ["PATCH", "1/"],
    ["DELETE", "1/"],
    ["PATCH", "1/reset_token/"],
  ] as const) {
    const refused = await ask(server, method, `/api/projects/${path}`, "{", value);
    expect(refused.body["detail"]).toBe("API key missing required scope 'project:write'");
  }
});
