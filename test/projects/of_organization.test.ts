// Projects below their organization are the projects of /api/projects/.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { createOrganization } from "../../src/organizations/store.ts";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import { createProject } from "../../src/projects/store.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { addAccount, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { storesOf } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
let stores: Stores;
let home: string;
let organization_id: string;
/** Another organization of the same user. */
let second: string;

beforeAll(async () => {
  app = await startApp();
  stores = await storesOf(app);
  organization_id = app.bootstrapped!.organization_id;
  home = `/api/organizations/${organization_id}/projects/`;
  const [user] = await stores.sql<{ id: number }[]>`SELECT id FROM users`;
  const other = { name: "Second", owner_id: user!.id, project_name: "Of the second" };
  second = await createOrganization(stores.sql, other);
}, startMsMax);

test("a project is made, shown, listed, changed, replaced and deleted below its organization", async () => {
  const made = await ask(app, "POST", home, { name: "Shop", timezone: "Europe/Paris" });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ name: "Shop", organization: organization_id, timezone: "Europe/Paris" });
  const id = String(made.body["id"]);
  expect((await ask(app, "GET", `${home}${id}/`)).body).toEqual(made.body);
  expect((await ask(app, "GET", `/api/projects/${id}/`)).body).toEqual(made.body);
  const { body } = await ask(app, "GET", home);
  expect(body["count"]).toBe(2);
  expect((body["results"] as { name: string }[]).map(({ name }) => name)).toEqual([
    "Default project",
    "Shop",
  ]);
  const changed = await ask(app, "PATCH", `${home}${id}/`, { name: "Store" });
  expect(changed.body).toMatchObject({ name: "Store", timezone: "Europe/Paris" });
  const replaced = await ask(app, "PUT", `${home}${id}`, { name: "Kiosk", timezone: "UTC" });
  expect(replaced.body).toMatchObject({ name: "Kiosk", timezone: "UTC" });
  expect((await ask(app, "DELETE", `${home}${id}/`)).status).toBe(204);
  expect((await ask(app, "GET", `/api/projects/${id}/`)).status).toBe(404);
});

test("@current stands for the organization and the project, and pages link to themselves", async () => {
  const current = await ask(app, "GET", "/api/organizations/@current/projects/?limit=1");
  expect(current.status).toBe(200);
  const { id, name } = (current.body["results"] as { id: number; name: string }[])[0]!;
  const one = await ask(app, "GET", `/api/organizations/@current/projects/${id}/`);
  expect(one.body["name"]).toBe(name);
  await createProject(stores.sql, { organization_id, name: "One more" });
  const page = await ask(app, "GET", `${home}?limit=1`);
  expect(String(page.body["next"])).toEndWith(`${home}?limit=1&offset=1`);
});

test("a project is not found below another organization", async () => {
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const path = `/api/organizations/${second}/projects/1/`;
    const answer = await ask(app, method, path, method === "PATCH" ? { name: "x" } : undefined);
    expect(problemOf(answer)).toEqual([404, "invalid_request", "not_found", "Project not found.", null]);
  }
  for (const named of ["00000000-0000-0000-0000-000000000000", "x"]) {
    expect((await ask(app, "GET", `/api/organizations/${named}/projects/1/`)).status).toBe(404);
    expect((await ask(app, "GET", `/api/organizations/${named}/projects/`)).status).toBe(404);
  }
  expect((await ask(app, "GET", "/api/projects/1/")).body["name"]).toBe("Default project");
});

test("strangers are refused, and members make no projects", async () => {
  const { sql } = stores;
  const stranger = await addAccount(sql, "stranger@example.com");
  const member = await addAccount(sql, "member@example.com", { organization_id, level: 1 });
  for (const path of [home, `${home}1/`]) {
    expect((await ask(app, "GET", path, undefined, stranger.key)).status).toBe(403);
    expect((await ask(app, "GET", path, undefined, member.key)).status).toBe(200);
  }
  expect((await ask(app, "POST", home, { name: "x" }, stranger.key)).status).toBe(403);
  const refused = await ask(app, "POST", home, { name: "x" }, member.key);
  expect(refused.body["detail"]).toBe("Your organization access level is insufficient.");
  expect((await ask(app, "DELETE", `${home}1/`, undefined, member.key)).status).toBe(403);
});

test("a key that is restricted to projects reads these, and no list of the organization", async () => {
  const [user] = await stores.sql<{ id: number }[]>`SELECT min(id) AS id FROM users`;
  const restricted = { label: "held", scopes: ["project:read"], scoped_teams: [1] };
  const { value } = await issueKey(stores.sql, user!.id, restricted);
  expect((await ask(app, "GET", `${home}1/`, undefined, value)).status).toBe(200);
  expect((await ask(app, "GET", `${home}2/`, undefined, value)).status).toBe(403);
  expect((await ask(app, "GET", home, undefined, value)).status).toBe(403);
});
