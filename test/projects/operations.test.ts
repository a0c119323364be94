import { afterAll, beforeAll, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { openGate } from "../../src/access/gate.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { openProblems } from "../../src/http/problem.ts";
import { createOrganization } from "../../src/organizations/store.ts";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import { projectRoutes } from "../../src/projects/operations.ts";
import { createProject, getProject } from "../../src/projects/store.ts";
import { addUser, type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";

let accounts: FirstAccounts;
let app: { handle(request: Request): Promise<Response> };
let stranger: { key: string; organization_id: string };
let second_id: number;

beforeAll(async () => {
  accounts = await openFirstAccounts();
  const { sql, organization_id } = accounts;
  const gate = openGate({ sql, clock: systemClock, log: silentLog });
  const room = projectRoutes({ gate, clickhouse: {} as never, sql });
  app = new Elysia().onError(openProblems({ log: silentLog, routes: () => room.routes })).use(room);
  const owner_id = await addUser(sql, "stranger@example.com");
  const theirs = await createOrganization(sql, { name: "Strangers", owner_id, project_name: "Theirs" });
  const { value } = await issueKey(sql, owner_id, { label: "theirs", scopes: ["*"] });
  stranger = { key: value, organization_id: theirs };
  second_id = (await createProject(sql, { organization_id, name: "Second" })).id;
}, startMsMax);

afterAll(() => accounts.close());

async function ask(path: string, key = accounts.personal_api_key) {
  const request = new Request(`http://localhost${path}`, { headers: { authorization: `Bearer ${key}` } });
  const reply = await app.handle(request);
  return {
    status: reply.status,
    body: (await reply.json()) as Record<string, unknown> & { results: unknown[] },
  };
}

const idsOf = (results: unknown[]): number[] => (results as { id: number }[]).map(({ id }) => id);

test("lists the projects of the user's organizations, oldest first", async () => {
  const { status, body } = await ask("/api/projects/");
  expect(status).toBe(200);
  expect(body).toMatchObject({ count: 2, next: null, previous: null });
  const [first] = body.results as Record<string, unknown>[];
  expect(first).toMatchObject({
    id: accounts.project_id,
    name: "Default project",
    organization: accounts.organization_id,
    api_token: accounts.project_api_key,
    timezone: "UTC",
    session_recording_opt_in: false,
    cookieless_server_hash_mode: 1,
  });
  expect(first?.["uuid"]).toMatch(/^[0-9a-f-]{36}$/);
  expect(first?.["created_at"]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect(idsOf(body.results)).toEqual([accounts.project_id, second_id]);
});

test("lists a page at a time", async () => {
  const first = await ask("/api/projects/?limit=1");
  expect(first.body).toMatchObject({ count: 2, next: "http://localhost/api/projects/?limit=1&offset=1" });
  const second = await ask("/api/projects?limit=1&offset=1");
  expect(second.body).toMatchObject({ next: null, previous: "http://localhost/api/projects?limit=1" });
  expect(idsOf(second.body.results)).toEqual([second_id]);
});

test("a stranger's list holds none of them", async () => {
  const { body } = await ask("/api/projects/", stranger.key);
  expect(body.results).toMatchObject([{ name: "Theirs", organization: stranger.organization_id }]);
});

test("a key held to projects or organizations lists only these", async () => {
  const { sql, user_id } = accounts;
  const held = await issueKey(sql, user_id, {
    label: "held",
    scopes: ["project:read"],
    scoped_teams: [second_id],
  });
  expect(idsOf((await ask("/api/projects/", held.value)).body.results)).toEqual([second_id]);
  const away = { label: "away", scopes: ["*"], scoped_organizations: [stranger.organization_id] };
  const { value } = await issueKey(sql, user_id, away);
  expect((await ask("/api/projects/", value)).body).toMatchObject({ count: 0, results: [] });
});

test("shows one project, by id or as the current one, with slash and without", async () => {
  const project = await getProject(accounts.sql, accounts.project_id);
  for (const path of [`/api/projects/${accounts.project_id}/`, "/api/projects/@current"]) {
    expect(await ask(path)).toEqual({
      status: 200,
      body: { ...project, effective_membership_level: 15 } as never,
    });
  }
});

test("needs project:read", async () => {
  const { value } = await issueKey(accounts.sql, accounts.user_id, {
    label: "other",
    scopes: ["query:read"],
  });
  for (const path of ["/api/projects/", `/api/projects/${accounts.project_id}/`]) {
    expect(await ask(path, value)).toMatchObject({
      status: 403,
      body: { detail: "API key missing required scope 'project:read'" },
    });
  }
});

test("a stranger is refused a project", async () => {
  expect((await ask(`/api/projects/${accounts.project_id}/`, stranger.key)).status).toBe(403);
});
