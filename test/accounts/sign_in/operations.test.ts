import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Scope } from "../../../src/access/scope.ts";
import { createOrganization } from "../../../src/organizations/store.ts";
import { issueKey } from "../../../src/personal_api_keys/store.ts";
import { createProject } from "../../../src/projects/store.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { addAccount, type Answer, ask, problemOf } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { storesOf } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
let stores: Stores;
let user: { id: number; uuid: string; email: string; distinct_id: string };
let organization_id: string;

beforeAll(async () => {
  app = await startApp();
  stores = await storesOf(app);
  organization_id = app.bootstrapped!.organization_id;
  const [row] = await stores.sql<(typeof user)[]>`SELECT id, uuid, email, distinct_id FROM users`;
  user = row!;
}, startMsMax);

function me(key?: string): Promise<Answer> {
  return ask(app, "GET", "/api/users/@me/", undefined, key);
}

async function keyOf(restrictions: object, scopes: Scope[] = ["user:read"]): Promise<string> {
  return (await issueKey(stores.sql, user.id, { label: "k", scopes, ...restrictions })).value;
}

test("the user of a key is shown with their organization and their project", async () => {
  const { status, body } = await me();
  expect(status).toBe(200);
  expect(body).toMatchObject({
    ...user,
    first_name: expect.any(String),
    is_email_verified: expect.any(Boolean),
    date_joined: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    is_staff: false,
    team: { id: 1, project_id: 1, organization: organization_id, name: "Default project", timezone: "UTC" },
    organization: { id: organization_id, membership_level: 15 },
    organizations: [{ id: organization_id, slug: expect.any(String) }],
  });
  const own = await ask(app, "GET", `/api/users/${user.uuid.toUpperCase()}`);
  expect([own.status, own.body]).toEqual([200, body]);
});

test("the scope user:read suffices and is needed", async () => {
  expect((await me(await keyOf({}))).body["uuid"]).toBe(user.uuid);
  const other = await me(await keyOf({}, ["organization:read"]));
  const detail = "API key missing required scope 'user:read'";
  expect(problemOf(other)).toEqual([403, "authentication_error", "permission_denied", detail, null]);
  expect((await me("")).status).toBe(401);
});

test("nobody reads another user", async () => {
  const stranger = await addAccount(stores.sql, "stranger@example.com");
  for (const named of [user.uuid, "1", "@you", "00000000-0000-0000-0000-000000000000"]) {
    const { status, text } = await ask(app, "GET", `/api/users/${named}/`, undefined, stranger.key);
    expect([named, status]).toEqual([named, 403]);
    expect(text).not.toContain(user.email);
  }
  const own = await me(stranger.key);
  expect(own.body).toMatchObject({ team: null, organization: null, organizations: [] });
});

test("a key that is restricted shows what it reaches, and nothing else", async () => {
  const { sql } = stores;
  const second = await createOrganization(sql, { name: "Second", owner_id: user.id, project_name: "Theirs" });
  const { id } = await createProject(sql, { organization_id, name: "More" });
  const reached = async (key?: string) => ((await me(key)).body["organizations"] as unknown[]).length;
  expect([await reached(), await reached(await keyOf({}))]).toEqual([1, 2]);
  const byTeam = await me(await keyOf({ scoped_teams: [id] }));
  expect(byTeam.body).toMatchObject({
    team: { id, name: "More" },
    organization: { id: organization_id },
    organizations: [{ id: organization_id }],
  });
  expect(byTeam.text).not.toContain(second);
  const byOrganization = await me(await keyOf({ scoped_organizations: [second] }));
  expect(byOrganization.body).toMatchObject({
    team: { name: "Theirs", organization: second },
    organization: { id: second },
    organizations: [{ id: second }],
  });
  expect(byOrganization.text).not.toContain(organization_id);
});
