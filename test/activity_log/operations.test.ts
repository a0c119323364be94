// What was changed through the API is listed for administrators: who, what, when; no values.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { nameActivity } from "../../src/http/recorded.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { addAccount, addStranger, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { storesOf } from "../support/server.ts";

let app: RunningApp;
let stores: Stores;
let home: string;
let organization: string;

beforeAll(async () => {
  app = await startApp();
  stores = await storesOf(app);
  const { project_id, organization_id } = app.bootstrapped!;
  home = `/api/projects/${project_id}`;
  organization = `/api/organizations/${organization_id}`;
}, startMsMax);
afterAll(cleanUp);

interface Activity {
  id: string;
  activity: string;
  scope: string;
  item_id: string;
  project_id: number | null;
  user: { email: string } | null;
  detail: { changes: { field: string }[]; request_id: string; is_complete: boolean };
}

const insight = { name: "secret name", query: { kind: "TrendsQuery", series: [{}] } };

async function listed(path: string): Promise<Activity[]> {
  const { status, body } = await ask(app, "GET", path);
  expect(status).toBe(200);
  return body["results"] as Activity[];
}

const short = ({ activity, scope, item_id }: Activity) => [activity, scope, item_id];

test("what was made, changed and deleted is listed, the newest first, without values", async () => {
  const made = await ask(app, "POST", `${home}/insights/`, insight);
  const id = String(made.body["id"]);
  await ask(app, "PATCH", `${home}/insights/${id}/`, { name: "another secret" });
  await ask(app, "DELETE", `${home}/insights/${id}/`);
  const of = await listed(`${home}/activity_log/?scope=Insight&item_id=${id}`);
  expect(of.map(short)).toEqual([
    ["deleted", "Insight", id],
    ["updated", "Insight", id],
    ["created", "Insight", id],
  ]);
  expect(of.map(({ detail }) => detail.changes.map(({ field }) => field))).toEqual([[], ["name"], []]);
  expect(of[2]!.detail.request_id).toBe(made.headers.get("x-request-id")!);
  expect(of.every(({ detail }) => detail.is_complete)).toBe(true);
  expect(of.map(({ id: row }) => typeof row)).toEqual(["string", "string", "string"]);
  expect(JSON.stringify(of)).not.toContain("secret");
});

test("a request that is refused is not listed", async () => {
  const before = await listed(`${organization}/activity_log/`);
  expect((await ask(app, "POST", `${home}/insights/`, { name: 1 })).status).toBe(400);
  expect((await ask(app, "PATCH", `${home}/insights/999999/`, { name: "n" })).status).toBe(404);
  expect((await ask(app, "DELETE", `${home}/persons/${crypto.randomUUID()}/`)).status).toBe(404);
  expect(await listed(`${organization}/activity_log/`)).toEqual(before);
});

test("refused requests are counted by their code", async () => {
  const counted = async () => {
    const text = await (await fetch(`${app.url}/metrics`)).text();
    return Number(/^sluice_changes_refused_total\{code="does_not_exist"\} (\d+)$/m.exec(text)?.[1] ?? 0);
  };
  const before = await counted();
  const tile = { dashboards: [999_999] };
  expect((await ask(app, "POST", `${home}/insights/`, { ...insight, ...tile })).body["code"]).toBe(
    "does_not_exist",
  );
  expect(await counted()).toBe(before + 1);
});

test("reading is not a change, nor is a query", async () => {
  const before = await listed(`${organization}/activity_log/`);
  await ask(app, "GET", `${home}/insights/`);
  expect((await ask(app, "POST", `${home}/query/`, { query: insight.query })).status).toBe(200);
  expect(await listed(`${organization}/activity_log/`)).toEqual(before);
});

test("a change that may not be recorded is not made; one whose end is not recorded says so", async () => {
  const count = async () => (await ask(app, "GET", `${home}/insights/?limit=1`)).body["count"];
  const before = await count();
  await stores.sql`ALTER TABLE activity_log ADD CONSTRAINT refused CHECK (scope <> 'Insight') NOT VALID`;
  expect((await ask(app, "POST", `${home}/insights/`, insight)).status).toBe(500);
  expect(await count()).toBe(before);
  await stores.sql`ALTER TABLE activity_log DROP CONSTRAINT refused`;
  await stores.sql`ALTER TABLE activity_log ADD CONSTRAINT refused CHECK (status IS NULL) NOT VALID`;
  expect((await ask(app, "POST", `${home}/insights/`, insight)).status).toBe(201);
  await stores.sql`ALTER TABLE activity_log DROP CONSTRAINT refused`;
  const [last] = await listed(`${home}/activity_log/?limit=1`);
  expect([last!.activity, last!.item_id, last!.detail.is_complete]).toEqual(["created", null!, false]);
});

test("an organization's log has its keys and projects, a project's what concerns it", async () => {
  const key = await ask(app, "POST", "/api/personal_api_keys/", { label: "l", scopes: ["*"] });
  const project = await ask(app, "POST", "/api/projects/", { name: "p" });
  const id = String(project.body["id"]);
  const all = (await listed(`${organization}/activity_log/?limit=2`)).map(short);
  expect(all).toEqual([
    ["created", "Project", id],
    ["created", "PersonalAPIKey", String(key.body["id"])],
  ]);
  expect((await listed(`/api/projects/${id}/activity_log/`)).map(short)).toEqual([
    ["created", "Project", id],
  ]);
  expect(JSON.stringify(await listed(`${organization}/activity_log/`))).not.toContain(
    String(key.body["value"]),
  );
});

test("an organization that was made has that in its own log", async () => {
  const made = await ask(app, "POST", "/api/organizations/", { name: "New" });
  const id = String(made.body["id"]);
  expect((await listed(`/api/organizations/${id}/activity_log/`)).map(short)).toEqual([
    ["created", "Organization", id],
  ]);
  // It is the current one now; the tests go on with the first.
  expect((await ask(app, "DELETE", `/api/organizations/${id}/`)).status).toBe(204);
});

test("members below administrators, and strangers, do not see it", async () => {
  const { organization_id } = app.bootstrapped!;
  for (const [level, status] of [
    [1, 403],
    [8, 200],
    [15, 200],
  ] as const) {
    const { key } = await addAccount(stores.sql, `level-${level}@example.com`, { organization_id, level });
    for (const path of [home, organization])
      expect([level, (await ask(app, "GET", `${path}/activity_log/`, undefined, key)).status]).toEqual([
        level,
        status,
      ]);
  }
  const { key } = await addStranger(stores.sql);
  expect((await ask(app, "GET", `${home}/activity_log/`, undefined, key)).status).toBe(403);
});

test("filters choose, pages turn, and what is not declared is refused", async () => {
  const all = await listed(`${organization}/activity_log/?limit=100`);
  const kept = await listed(
    `${organization}/activity_log/?scopes=Project&scopes=PersonalAPIKey&activity=created`,
  );
  expect(kept).toEqual(
    all.filter(
      ({ scope, activity }) => ["Project", "PersonalAPIKey"].includes(scope) && activity === "created",
    ),
  );
  expect(await listed(`${organization}/activity_log/?limit=1&page=2`)).toEqual(all.slice(1, 2));
  expect(await listed(`${organization}/activity_log/?user=${crypto.randomUUID()}`)).toEqual([]);
  for (const wrong of ["user=1", "page=0", "page=2&offset=1", "was_impersonated=true"])
    expect([wrong, (await ask(app, "GET", `${home}/activity_log/?${wrong}`)).status]).toEqual([wrong, 400]);
});

test("a day that bounds the log is whole, without the next one's midnight, and a moment is itself within", async () => {
  const { organization_id } = app.bootstrapped!;
  const now = new Date();
  const dayOf = (days: number) => new Date(now.getTime() - days * 86_400_000).toISOString().slice(0, 10);
  const [day, next] = [dayOf(9), dayOf(8)];
  const moments = [
    `${dayOf(10)}T23:59:59.999Z`,
    `${day}T00:00:00Z`,
    `${day}T23:59:59.999Z`,
    `${next}T00:00:00Z`,
  ];
  for (const [i, moment] of moments.entries())
    await stores.sql`
      INSERT INTO activity_log (organization_id, user_id, key_id, request_id, activity, scope, item_id, fields, created_at)
      VALUES (${organization_id}, 1, 'k', 'r', 'bound', 'Bound', ${String(i)}, '{}', ${moment}::text::timestamptz)`;
  const list = async (query: string) =>
    (await listed(`${organization}/activity_log/?activity=bound&${query}`))
      .map(({ item_id }) => item_id)
      .toSorted();
  expect(await list(`start_date=${day}&end_date=${day}`)).toEqual(["1", "2"]);
  expect(await list(`end_date=${day}`)).toEqual(["0", "1", "2"]);
  expect(await list(`start_date=${day}T00:00:00Z&end_date=${day}T00:00:00Z`)).toEqual(["1"]);
});

test("only so many rows are kept, and for so long", async () => {
  const { organization_id } = app.bootstrapped!;
  await stores.sql`
    INSERT INTO activity_log (organization_id, user_id, key_id, request_id, activity, scope, fields, created_at)
    SELECT ${organization_id}, 1, 'k', 'r', 'old', 'Old', '{}', now() - interval '400 days'
    FROM generate_series(1, 600)`;
  expect(await listed(`${organization}/activity_log/?activity=old`)).toEqual([]);
  for (let i = 0; i < 500; i++) await ask(app, "PATCH", `${home}/`, { name: `n${i}` });
  const [row] = await stores.sql<{ count: number }[]>`
    SELECT count(*)::integer AS count FROM activity_log WHERE activity = 'old'`;
  expect(row!.count).toBe(0);
}, 300_000);

test("an operation is named by what it changes", () => {
  const named = (home: "project" | "keys" | "organization", method: string, path: string) =>
    Object.values(nameActivity({ home, method, path }));
  expect(named("project", "POST", "/batch_exports/:id/pause/")).toEqual(["pause", "BatchExport"]);
  expect(named("project", "DELETE", "/groups_types/:group_type_index/")).toEqual(["deleted", "GroupType"]);
  expect(named("project", "POST", "/persons/bulk_delete/")).toEqual(["bulk_delete", "Person"]);
  expect(named("keys", "POST", "/:id/roll/")).toEqual(["roll", "PersonalAPIKey"]);
  expect(named("organization", "PATCH", "/members/:user__uuid/")).toEqual([
    "updated",
    "OrganizationMembership",
  ]);
});
