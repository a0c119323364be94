import { afterAll, beforeAll, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { openGate, projectHomes } from "../../src/access/gate.ts";
import { accessLimits } from "../../src/access/limits.ts";
import type { Clock } from "../../src/core/clock.ts";
import { limits } from "../../src/core/limits.ts";
import { silentLog } from "../../src/core/log.ts";
import { openProblems } from "../../src/http/problem.ts";
import { createOrganization } from "../../src/organizations/store.ts";
import { issueKey, revokeKey } from "../../src/personal_api_keys/store.ts";
import { createProject } from "../../src/projects/store.ts";
import { leaseFor, receiveSmall } from "../../src/work/bodies/charged_request.ts";
import { MemoryBudget } from "../../src/work/bodies/memory_budget.ts";
import { addUser, type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";

let accounts: FirstAccounts;
let app: ReturnType<typeof openApp>;
let strangers: { organization_id: string; project_id: number; key: string };
const clock: Clock & { time: number } = {
  time: Date.UTC(2026, 0, 1),
  now: () => clock.time,
  elapsed: () => 0,
};

beforeAll(async () => {
  accounts = await openFirstAccounts();
  const { sql } = accounts;
  app = openApp();
  const owner_id = await addUser(sql, "stranger@example.com");
  const organization_id = await createOrganization(sql, {
    name: "Strangers",
    owner_id,
    project_name: "Theirs",
  });
  const { id } = await createProject(sql, { organization_id, name: "Theirs too" });
  const { value } = await issueKey(sql, owner_id, { label: "theirs", scopes: ["*"] });
  strangers = { organization_id, project_id: id, key: value };
}, startMsMax);

afterAll(() => accounts.close());

const memory = new MemoryBudget({ bytesMax: 4_000_000, shareBytesMax: 4_000_000 });

function openApp(sql = accounts.sql) {
  const gate = openGate({ sql, clock, log: silentLog, memory });
  const room = new Elysia()
    .use(gate)
    .get("/api/me/", ({ access }) => ({ email: access.user.email }), { scope: null })
    .get("/api/things/", ({ access }) => ({ key: access.key.id }), { scope: "project:read" })
    .post("/api/things/", async ({ request }) => ({ text: await textOf(request) }), {
      scope: "project:write",
    })
    .get("/api/organizations/:organization_id/things/", ({ organization }) => organization, {
      organization_scope: "batch_export:read",
    });
  for (const home of projectHomes) {
    room.get(`${home}/things/`, ({ project }) => project, { project_scope: "query:read" });
  }
  return new Elysia().onError(openProblems({ log: silentLog, routes: () => room.routes })).use(room);
}

/** As operations read their bodies. */
async function textOf(request: Request): Promise<string> {
  const lease = leaseFor(request);
  const body = await receiveSmall(request, lease, 1_000_000);
  lease.close();
  return new TextDecoder().decode(body);
}

interface Reply {
  status: number;
  body: Record<string, unknown>;
}

async function ask(path: string, key?: string, init: RequestInit = {}): Promise<Reply> {
  const headers = new Headers(init.headers);
  if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
  if (typeof init.body === "string") headers.set("content-length", String(Buffer.byteLength(init.body)));
  const reply = await app.handle(new Request(`http://localhost${path}`, { ...init, headers }));
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
}

async function keyWith(input: {
  scopes: string[];
  scoped_teams?: number[];
  scoped_organizations?: string[];
}) {
  const { value } = await issueKey(accounts.sql, accounts.user_id, { label: "test", ...input });
  return value;
}

test("a request without a key is answered 401 not_authenticated", async () => {
  const { status, body } = await ask("/api/things/");
  expect(status).toBe(401);
  expect(body).toEqual({
    type: "authentication_error",
    code: "not_authenticated",
    detail: "Authentication credentials were not provided.",
    attr: null,
  });
});

test("an unknown key is answered 401 authentication_failed, naming where it was found", async () => {
  expect(await ask("/api/things/", "phx_unknown")).toEqual({
    status: 401,
    body: {
      type: "authentication_error",
      code: "authentication_failed",
      detail: "Personal API key found in request Authorization header is invalid.",
      attr: null,
    },
  });
  const inQuery = await ask("/api/things/?personal_api_key=phx_unknown");
  expect(inQuery.body["detail"]).toBe("Personal API key found in request query string is invalid.");
});

test("a project's capture key opens no management route", async () => {
  expect((await ask("/api/things/", accounts.project_api_key)).body["code"]).toBe("authentication_failed");
});

test("a key may come in the header, the body or the query, and the first one found decides", async () => {
  const key = accounts.personal_api_key;
  expect((await ask("/api/things/", key)).status).toBe(200);
  expect((await ask(`/api/things/?personal_api_key=${key}`)).status).toBe(200);
  expect((await ask(`/api/things/?personal_api_key=${key}`, "phx_unknown")).status).toBe(401);
  expect((await ask("/api/things/", undefined, { headers: { authorization: `Token ${key}` } })).status).toBe(
    401,
  );
});

test("a body that carries the key still reaches the route", async () => {
  const json = JSON.stringify({ personal_api_key: accounts.personal_api_key, name: "x" });
  const asJson = { method: "POST", body: json, headers: { "content-type": "application/json" } };
  expect(await ask("/api/things/", undefined, asJson)).toEqual({ status: 200, body: { text: json } });
  const form = `personal_api_key=${accounts.personal_api_key}`;
  const asForm = {
    method: "POST",
    body: form,
    headers: { "content-type": "application/x-www-form-urlencoded" },
  };
  expect(await ask("/api/things/", undefined, asForm)).toEqual({ status: 200, body: { text: form } });
});

test("a body longer than keyBodyBytesMax is not searched for a key", async () => {
  const body = JSON.stringify({
    filler: "x".repeat(limits.keyBodyBytesMax),
    personal_api_key: accounts.personal_api_key,
  });
  const init = { method: "POST", body, headers: { "content-type": "application/json" } };
  expect((await ask("/api/things/", undefined, init)).status).toBe(401);
});

test("bad JSON is the stranger's 401 before it is anybody's 400", async () => {
  const init = { method: "POST", body: "{", headers: { "content-type": "application/json" } };
  expect((await ask("/api/things/", undefined, init)).status).toBe(401);
  expect((await ask("/api/things/", accounts.personal_api_key, init)).body).toEqual({ text: "{" });
});

test("a missing scope is answered 403, naming it", async () => {
  const key = await keyWith({ scopes: ["query:read"] });
  expect(await ask("/api/things/", key)).toEqual({
    status: 403,
    body: {
      type: "authentication_error",
      code: "permission_denied",
      detail: "API key missing required scope 'project:read'",
      attr: null,
    },
  });
  expect((await ask("/api/me/", key)).body).toEqual({ email: "admin@example.com" });
});

test("a missing scope is reported before a missing project", async () => {
  const key = await keyWith({ scopes: ["project:read"] });
  expect((await ask("/api/projects/999/things/", key)).status).toBe(403);
});

test("projects and environments are the same thing, by number or as @current", async () => {
  const { project_id, organization_id, personal_api_key } = accounts;
  const project = { id: project_id, organization_id, timezone: "UTC", week_start: 0, membership_level: 15 };
  for (const home of ["projects", "environments"]) {
    for (const id of [String(project_id), "@current"]) {
      for (const slash of ["", "/"]) {
        const reply = await ask(`/api/${home}/${id}/things${slash}`, personal_api_key);
        expect(reply).toEqual({ status: 200, body: project });
      }
    }
  }
});

test("a project that does not exist is answered 404, whatever its id looks like", async () => {
  for (const id of [
    "999",
    "0",
    "-1",
    "abc",
    "1.0",
    "99999999999999999999",
    "4294967296",
    "%00",
    crypto.randomUUID(),
  ]) {
    const { status, body } = await ask(`/api/projects/${id}/things/`, accounts.personal_api_key);
    expect(status).toBe(404);
    expect(body).toEqual({
      type: "invalid_request",
      code: "not_found",
      detail: "Project not found.",
      attr: null,
    });
  }
});

test("a project of strangers is answered 403", async () => {
  const { status, body } = await ask(
    `/api/projects/${strangers.project_id}/things/`,
    accounts.personal_api_key,
  );
  expect(status).toBe(403);
  expect(body["detail"]).toBe("You don't have access to the project.");
  expect((await ask(`/api/projects/${strangers.project_id}/things/`, strangers.key)).status).toBe(200);
});

test("a key held to projects reaches only these", async () => {
  const { id } = await createProject(accounts.sql, {
    organization_id: accounts.organization_id,
    name: "Other",
  });
  const key = await keyWith({ scopes: ["*"], scoped_teams: [id] });
  expect((await ask(`/api/projects/${id}/things/`, key)).status).toBe(200);
  for (const other of [accounts.project_id, 999]) {
    const { status, body } = await ask(`/api/projects/${other}/things/`, key);
    expect(status).toBe(403);
    expect(body["detail"]).toBe(`API key does not have access to the requested project: ID ${other}.`);
  }
  expect((await ask("/api/projects/@current/things/", key)).body["id"]).toBe(id);
  expect((await ask("/api/projects/abc/things/", key)).status).toBe(404);
});

test("a key held to projects opens no organization route", async () => {
  const key = await keyWith({ scopes: ["*"], scoped_teams: [accounts.project_id] });
  const { status, body } = await ask("/api/organizations/@current/things/", key);
  expect(status).toBe(403);
  expect(body["detail"]).toBe("API keys with scoped projects are only supported on project-based endpoints.");
});

test("a key held to other organizations reaches neither this one nor its projects", async () => {
  const { organization_id, project_id } = accounts;
  const key = await keyWith({ scopes: ["*"], scoped_organizations: [strangers.organization_id] });
  const detail = `API key does not have access to the requested organization: ID ${organization_id}.`;
  for (const path of [
    `/api/organizations/${organization_id}/things/`,
    `/api/projects/${project_id}/things/`,
  ]) {
    const { status, body } = await ask(path, key);
    expect(status).toBe(403);
    expect(body["detail"]).toBe(detail);
  }
  expect((await ask("/api/projects/@current/things/", key)).status).toBe(404);
});

test("an organization is found by its id in any case, or as @current", async () => {
  const { organization_id: id, personal_api_key } = accounts;
  for (const spelling of [id, id.toUpperCase(), "@current"]) {
    const reply = await ask(`/api/organizations/${spelling}/things/`, personal_api_key);
    expect(reply).toEqual({ status: 200, body: { id, membership_level: 15 } });
  }
});

test("an unknown organization is answered 404, one of strangers 403", async () => {
  for (const id of ["abc", crypto.randomUUID()]) {
    const { status, body } = await ask(`/api/organizations/${id}/things/`, accounts.personal_api_key);
    expect(status).toBe(404);
    expect(body["detail"]).toBe("Organization not found.");
  }
  const path = `/api/organizations/${strangers.organization_id}/things/`;
  const { status, body } = await ask(path, accounts.personal_api_key);
  expect(status).toBe(403);
  expect(body["detail"]).toBe("You do not have permission to perform this operation.");
});

test("a user of no organization has no current one", async () => {
  const user_id = await addUser(accounts.sql, "nobody@example.com");
  const { value } = await issueKey(accounts.sql, user_id, { label: "nobody's", scopes: ["*"] });
  const organization = await ask("/api/organizations/@current/things/", value);
  expect(organization).toMatchObject({ status: 404, body: { detail: "Current organization not found." } });
  expect(await ask("/api/projects/@current/things/", value)).toMatchObject({ status: 404 });
});

test("a revoked key is refused at once, and so is the key of a deactivated user", async () => {
  const { sql, user_id } = accounts;
  const revoked = await issueKey(sql, user_id, { label: "revoked", scopes: ["*"] });
  expect((await ask("/api/me/", revoked.value)).status).toBe(200);
  await revokeKey(sql, revoked.id, user_id);
  expect((await ask("/api/me/", revoked.value)).status).toBe(401);

  const gone_id = await addUser(sql, "gone@example.com");
  const gone = await issueKey(sql, gone_id, { label: "gone's", scopes: ["*"] });
  await sql`UPDATE users SET is_active = false WHERE id = ${gone_id}`;
  expect((await ask("/api/me/", gone.value)).status).toBe(401);
});

test("the use of a key is noted once an hour", async () => {
  const { sql, user_id } = accounts;
  const { id, value } = await issueKey(sql, user_id, { label: "used", scopes: ["*"] });
  const usedAt = async (): Promise<number | undefined> => {
    const [row] = await sql<
      { last_used_at: Date | null }[]
    >`SELECT last_used_at FROM personal_api_keys WHERE id = ${id}`;
    return row?.last_used_at?.getTime();
  };
  const noted = async (at: number): Promise<void> => {
    // The note is written beside the request: ask until it is there.
    for (let tries = 0; tries < 1000 && (await usedAt()) !== at; tries += 1);
    expect(await usedAt()).toBe(at);
  };
  const first = clock.time;
  await ask("/api/me/", value);
  await noted(first);
  clock.time = first + accessLimits.keyUseRecordMs - 1;
  await ask("/api/me/", value);
  clock.time = first + accessLimits.keyUseRecordMs;
  await ask("/api/me/", value);
  await noted(first + accessLimits.keyUseRecordMs);
});

test("every guarded route says its scope in the API's description", () => {
  const detail = app.routes.find(({ path }) => path === "/api/projects/:project_id/things/")?.hooks.detail;
  expect(detail).toEqual({ security: [{ personal_api_key: ["query:read"] }] });
});

test("a body that is searched for a key is held within the budget of memory, and only meanwhile", async () => {
  const { personal_api_key } = accounts;
  const search = () => {
    const body = JSON.stringify({ personal_api_key, more: "x".repeat(20_000) });
    return ask("/api/things/", undefined, {
      method: "POST",
      body,
      headers: { "content-type": "application/json" },
    });
  };
  expect([(await search()).status, memory.held]).toEqual([200, 0]);
  const others = [3_200_000, 548_000].map((bytes) => {
    const lease = memory.open();
    lease.acquire(bytes);
    return lease;
  });
  expect(await search()).toMatchObject({ status: 503, body: { code: "unavailable" } });
  for (const lease of others) lease.close();
  expect([(await search()).status, memory.held]).toEqual([200, 0]);
});

test("a body that is searched for a key is counted while the key is looked up, of whoever it is", async () => {
  const held: number[] = [];
  const watched = new Proxy(accounts.sql, {
    apply: (sql, self, parts: Parameters<typeof accounts.sql>) => {
      held.push(memory.held);
      return Reflect.apply(sql, self, parts);
    },
  });
  const headers = { "content-type": "application/json" };
  const watching = openApp(watched);
  for (const personal_api_key of ["phx_unknown", accounts.personal_api_key]) {
    held.length = 0;
    const body = JSON.stringify({ personal_api_key, more: "x".repeat(20_000) });
    const init = { method: "POST", body, headers: { ...headers, "content-length": String(body.length) } };
    await watching.handle(new Request("http://localhost/api/things/", init));
    expect([held[0], memory.held]).toEqual([body.length, 0]);
  }
});
