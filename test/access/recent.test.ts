import { afterAll, beforeAll, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { type GateOptions, openGate } from "../../src/access/gate.ts";
import { cachedKeys, uncachedKeys } from "../../src/access/key_cache.ts";
import { accessLimits } from "../../src/access/limits.ts";
import { silentLog } from "../../src/core/log.ts";
import { openProblems } from "../../src/http/problem.ts";
import { organizationRoutes } from "../../src/organizations/operations.ts";
import { personalKeyRoutes } from "../../src/personal_api_keys/operations.ts";
import { issueKey, revokeKey } from "../../src/personal_api_keys/store.ts";
import { projectRoutes } from "../../src/projects/operations.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";
import { addMember, stillClock } from "../support/members.ts";
import { until } from "../support/server.ts";

let accounts: FirstAccounts;

beforeAll(async () => {
  accounts = await openFirstAccounts();
}, startMsMax);

afterAll(() => accounts.close());

/** Rooms behind a gate that remembers and never hears anything: every notification is lost. */
function deafRooms(options: Partial<GateOptions> = {}) {
  const { sql } = accounts;
  const clock = stillClock();
  const recent = cachedKeys(uncachedKeys(sql), clock);
  const gate = openGate({ sql, clock, log: silentLog, recent, ...options });
  const rooms = new Elysia()
    .onError(openProblems({ log: silentLog, routes: () => [] }))
    .use(projectRoutes({ gate, clickhouse: {} as never, sql }))
    .use(organizationRoutes({ gate, sql }))
    .use(personalKeyRoutes({ gate, sql }));
  const ask = async (key: string, method: string, path: string, body?: unknown) => {
    const init = {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const reply = await rooms.handle(new Request(`http://localhost${path}`, init));
    const text = await reply.text();
    return { status: reply.status, body: (text ? JSON.parse(text) : {}) as Record<string, unknown> };
  };
  return { clock, recent, ask };
}

const own = "/api/personal_api_keys/@current/";

test("a revocation without a notification is effective within five seconds, and at once for changes", async () => {
  const { clock, ask } = deafRooms();
  const { key_id, user_id, value, project_id } = await addMember(accounts.sql);
  const path = `/api/projects/${project_id}/`;
  expect((await ask(value, "GET", path)).status).toBe(200);
  await revokeKey(accounts.sql, key_id, user_id);
  clock.passed = accessLimits.foundAgeMsMax - 1;
  expect((await ask(value, "GET", path)).status).toBe(200);
  expect((await ask(value, "PATCH", path, { name: "x" })).status).toBe(401);
  clock.passed = accessLimits.foundAgeMsMax;
  expect((await ask(value, "GET", path)).status).toBe(401);
});

test("what was revoked, rolled, narrowed or deleted through this server is over with the answer", async () => {
  const { ask } = deafRooms();
  const one = await addMember(accounts.sql);
  const helper = await issueKey(accounts.sql, one.user_id, { label: "asks", scopes: ["*"] });
  const keys = "/api/personal_api_keys/";
  const victim = await issueKey(accounts.sql, one.user_id, { label: "victim", scopes: ["project:read"] });
  const path = `/api/projects/${one.project_id}/`;
  const statusOf = async (value: string) => (await ask(value, "GET", path)).status;
  expect(await statusOf(victim.value)).toBe(200);
  await ask(helper.value, "PATCH", `${keys}${victim.id}/`, { scopes: ["query:read"] });
  expect(await statusOf(victim.value)).toBe(403);
  await ask(helper.value, "PATCH", `${keys}${victim.id}/`, { scopes: ["project:read"] });
  expect(await statusOf(victim.value)).toBe(200);
  const rolled = await ask(helper.value, "POST", `${keys}${victim.id}/roll/`);
  const value = rolled.body["value"] as string;
  expect([await statusOf(victim.value), await statusOf(value)]).toEqual([401, 200]);
  await ask(helper.value, "DELETE", `${keys}${victim.id}/`);
  expect(await statusOf(value)).toBe(401);
  expect(await statusOf(one.value)).toBe(200);
  await ask(helper.value, "DELETE", path);
  expect(await statusOf(one.value)).toBe(404);
  const organization = `/api/organizations/${one.organization_id}/`;
  expect((await ask(one.value, "GET", organization)).status).toBe(200);
  expect((await ask(one.value, "GET", "/api/organizations/@current/")).status).toBe(200);
  await ask(helper.value, "DELETE", organization);
  expect((await ask(one.value, "GET", organization)).status).toBe(404);
  expect((await ask(one.value, "GET", "/api/organizations/@current/")).status).toBe(404);
});

test("a project made through this server is current with the answer", async () => {
  const { ask } = deafRooms();
  const { value } = await addMember(accounts.sql);
  const current = async () => (await ask(value, "GET", "/api/projects/@current/")).body["id"];
  const before = await current();
  const made = await ask(value, "POST", "/api/projects/", { name: "Third" });
  expect(made.body["id"]).not.toBe(before);
  expect(await current()).toBe(made.body["id"]);
});

test("only the caller is cached: what a reply shows is read each time", async () => {
  const { recent, ask } = deafRooms();
  const { value, project_id } = await addMember(accounts.sql);
  const nameOf = async () => (await ask(value, "GET", `/api/projects/${project_id}/`)).body["name"];
  await nameOf();
  await accounts.sql`UPDATE projects SET name = 'as another process left it' WHERE id = ${project_id}`;
  expect(recent.size()).toBe(1);
  expect(await nameOf()).toBe("as another process left it");
});

test("who is remembered pays from the same budget", async () => {
  const { ask } = deafRooms({ requestsPerMinute: 3 });
  const { value } = await addMember(accounts.sql);
  const statuses: number[] = [];
  for (let i = 0; i < 5; i++) statuses.push((await ask(value, "GET", own)).status);
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
});

test("the use of a remembered key is noted once an hour, and again where that failed", async () => {
  const { sql } = accounts;
  let [away, tried] = [true, 0];
  const flaky = (strings: TemplateStringsArray | string, ...values: never[]) => {
    if (typeof strings === "string") return sql(strings);
    tried++;
    return away ? Promise.reject(new Error("Postgres is away")) : sql(strings, ...values);
  };
  const { clock, ask } = deafRooms({ sql: flaky as unknown as Postgres });
  const { value, key_id } = await addMember(sql);
  const usedAt = async () => {
    const [row] = await sql<{ at: Date | null }[]>`
      SELECT last_used_at AS at FROM personal_api_keys WHERE id = ${key_id}`;
    return row?.at?.getTime();
  };
  await ask(value, "GET", own);
  away = false;
  const first = clock.time;
  await ask(value, "GET", own);
  await until(async () => (await usedAt()) === first);
  clock.time = first + accessLimits.keyUseRecordMs - 1;
  await ask(value, "GET", own);
  expect(tried).toBe(2);
  clock.time = first + accessLimits.keyUseRecordMs;
  await ask(value, "GET", own);
  await until(async () => (await usedAt()) === first + accessLimits.keyUseRecordMs);
  expect(tried).toBe(3);
});
