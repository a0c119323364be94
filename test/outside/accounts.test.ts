// Users, members, invitations and tags of several things: assertions of PostHog's test_user.py,
// test_organization_members.py, test_personal_api_keys.py, test_organization_invites.py and test_tagged_item.py.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Account, addAccount, addStranger, ask, reachMemberships } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { personalKey, storesOf } from "../support/server.ts";

let app: RunningApp;
let sql: Postgres;
let organization_id: string;
let member: Account;
let admin: Account;
let stranger: Account & { organization_id: string };
const organization = "/api/organizations/@current/";
const me = "/api/users/@me/";

beforeAll(async () => {
  app = await startApp();
  ({ sql } = await storesOf(app));
  organization_id = String((await ask(app, "GET", organization)).body["id"]);
  member = await addAccount(sql, "member@example.com", { organization_id, level: 1 });
  admin = await addAccount(sql, "admin2@example.com", { organization_id, level: 8 });
  stranger = await addStranger(sql);
  await reachMemberships(sql);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const uuidOf = async ({ user_id }: Account): Promise<string> =>
  ((await sql`SELECT uuid FROM users WHERE id = ${user_id}`)[0] as { uuid: string }).uuid;

// test_retrieve_current_user.
test("a user has their organization with its projects, and no full project", async () => {
  const { body } = await ask(app, "GET", me);
  expect(body["organization"]).toMatchObject({
    id: organization_id,
    membership_level: 15,
    members_can_use_personal_api_keys: true,
    is_active: true,
    is_not_active_reason: null,
    is_pending_deletion: false,
    teams: [{ id: 1 }],
  });
  expect(Object.keys(body["team"] as object)).not.toContain("test_account_filters");
});

// test_can_only_list_yourself, test_non_admin_filter_users_by_email, test_creating_users_on_this_endpoint_is_not_supported.
test("a user lists themselves alone", async () => {
  const { body } = await ask(app, "GET", "/api/users/");
  expect([body["count"], (body["results"] as object[]).length]).toEqual([1, 1]);
  const { body: none } = await ask(app, "GET", "/api/users/?email=member@example.com");
  expect([none["count"], none["results"]]).toEqual([0, []]);
  const post = await ask(app, "POST", "/api/users/", { first_name: "James", email: "james@example.com" });
  expect(post.status).toBe(405);
});

// test_can_update_current_project, …_organization, test_cannot_set_mismatching_org_and_team, test_cannot_set_….
test("a user changes their current project and organization, to what the key reaches", async () => {
  const made = await ask(app, "POST", "/api/organizations/", { name: "Other" });
  const other = String(made.body["id"]);
  const [{ id: team }] = made.body["teams"] as [{ id: number }];
  const set = async (fields: object) => {
    const { status, body } = await ask(app, "PATCH", me, fields);
    const { team: project, organization: current } = body as Record<"team" | "organization", { id: unknown }>;
    return status === 200 ? [status, project.id, current.id] : [status, body["code"], body["attr"]];
  };
  expect(await set({ set_current_team: 1 })).toEqual([200, 1, organization_id]);
  expect(await set({ set_current_organization: other })).toEqual([200, team, other]);
  expect(await set({ set_current_team: 1, set_current_organization: organization_id })).toEqual([
    200,
    1,
    organization_id,
  ]);
  for (const [fields, code, attr] of [
    [
      { set_current_team: team, set_current_organization: organization_id },
      "invalid_input",
      "set_current_team",
    ],
    [{ set_current_team: 3983838 }, "does_not_exist", "set_current_team"],
    [{ set_current_organization: stranger.organization_id }, "does_not_exist", "set_current_organization"],
  ] as const)
    expect(await set(fields)).toEqual([400, code, attr]);
  expect(await set({})).toEqual([200, 1, organization_id]);
});

// test_add_owner_only_if_owner, test_add_another_owner.
test("only an owner makes owners", async () => {
  const path = `${organization}members/${await uuidOf(member)}/`;
  const refused = await ask(app, "PATCH", path, { level: 15 }, admin.key);
  expect([refused.status, refused.body["detail"]]).toEqual([
    403,
    "You can only make another member owner if you're this organization's owner.",
  ]);
  expect((await ask(app, "PATCH", path, { level: 15 })).body["level"]).toBe(15);
  expect((await ask(app, "PATCH", path, { level: 1 })).body["level"]).toBe(1);
});

// test_scoped_api_keys_endpoint.
test("a member's keys that reach the organization are listed", async () => {
  const { status, body } = await ask(
    app,
    "GET",
    `${organization}members/${await uuidOf(member)}/scoped_api_keys/`,
  );
  const keys = [{ name: "all", last_used_at: null }];
  expect([status, body]).toEqual([200, { has_keys: true, has_keys_active_last_week: false, keys }]);
  const asMember = await ask(
    app,
    "GET",
    `${organization}members/@me/scoped_api_keys/`,
    undefined,
    member.key,
  );
  expect(asMember.status).toBe(403);
});

// test_create_personal_api_key, test_list_only_user_personal_api_keys.
test("a key names its user, and has a value once", async () => {
  const { body: user } = await ask(app, "GET", me);
  const fields = { label: "one", scopes: ["insight:read"] };
  const { body: key } = await ask(app, "POST", "/api/personal_api_keys/", fields);
  expect(key).toMatchObject({ user_id: user["id"], is_legacy_hashing: false, local_dev_value: null });
  const { body: read } = await ask(app, "GET", `/api/personal_api_keys/${key["id"]}/`);
  expect([read["user_id"], read["value"]]).toEqual([user["id"], null]);
});

// test_create_organization_invites_bulk and its refusals.
test("several people are invited at once, all or none", async () => {
  const invite = async (invites: unknown) => await ask(app, "POST", `${organization}invites/bulk/`, invites);
  const people = (...names: string[]) => names.map((name) => ({ target_email: `${name}@example.com` }));
  const listed = async () => (await ask(app, "GET", `${organization}invites/`)).body["count"];
  const made = await invite(people("one", "two"));
  const rows = JSON.parse(made.text) as Record<string, string>[];
  expect([made.status, rows.map((row) => row["target_email"])]).toEqual([
    201,
    ["one@example.com", "two@example.com"],
  ]);
  expect(rows[0]!["link"]).toContain("#invite=");
  expect((await invite({ invites: people("three") })).status).toBe(201);
  const many = await invite(people(...Array.from({ length: 21 }, (_, i) => `user${i}`)));
  expect([many.status, many.body["detail"]]).toEqual([
    400,
    "A maximum of 20 invites can be sent in a single request.",
  ]);
  expect((await invite(people("four", "member"))).status).toBe(400);
  expect(await listed()).toBe(3);
  const asMember = await ask(app, "POST", `${organization}invites/bulk/`, people("five"), member.key);
  expect(asMember.status).toBe(403);
});

// test_bulk_update_tags of tagged items.
test.each(["insights", "dashboards"])("tags of several %s are added, removed and set", async (things) => {
  const query = { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "seen" }] };
  const make = async (tags: string[]) => {
    const fields = { tags, ...(things === "insights" ? { query } : { name: "board" }) };
    return Number((await ask(app, "POST", `/api/projects/1/${things}/`, fields)).body["id"]);
  };
  const [first, second] = [await make(["b", "a"]), await make([])];
  const update = async (action: string, tags: string[], ids = [first, second]) =>
    (await ask(app, "POST", `/api/projects/1/${things}/bulk_update_tags/`, { ids, action, tags })).body;
  const both = (one: string[], other: string[]) => [
    { id: first, tags: one },
    { id: second, tags: other },
  ];
  expect((await update("add", ["A ", "c"]))["updated"]).toEqual(
    both(["b", "a", "c"], expect.arrayContaining(["a", "c"])),
  );
  expect((await update("remove", ["a"]))["updated"]).toEqual(both(["b", "c"], ["c"]));
  expect((await update("set", ["x"]))["updated"]).toEqual(both(["x"], ["x"]));
  expect(await update("set", ["y"], [999_999])).toMatchObject({ updated: [], skipped: [{ id: 999_999 }] });
  expect(await update("swap", [])).toMatchObject({ code: "invalid_choice", attr: "action" });
  const many = Array.from({ length: 50 }, (_, i) => `tag${i}`);
  expect((await update("add", many))["updated"]).toEqual([]);
});

// test_is_generating_demo_data, and the activity of a team.
test("a project says that it makes no demo data, and lists its own changes", async () => {
  const { body } = await ask(app, "GET", "/api/projects/1/is_generating_demo_data/");
  expect(body).toEqual({ is_generating_demo_data: false });
  await ask(app, "PATCH", "/api/projects/1/", { name: "Shop" });
  const { body: log } = await ask(app, "GET", "/api/projects/1/activity/", undefined, personalKey);
  expect((log["results"] as { scope: string }[]).map(({ scope }) => scope)).toEqual(["Project"]);
});

// test_retrieve_current_user, test_update_current_user: fields of an account.
test("an account has a role and a wish to be anonymous; PostHog's console's settings are refused by name", async () => {
  const own = "/api/users/@me/";
  const { body } = await ask(app, "GET", own);
  expect(body).toMatchObject({
    anonymize_data: false,
    pending_email: null,
    pending_invites: [],
    has_social_auth: false,
    is_2fa_enabled: false,
    is_impersonated: false,
    is_staff: false,
  });
  const fields = { anonymize_data: true, role_at_organization: "engineering" };
  const changed = await ask(app, "PATCH", own, { ...fields, uuid: 1, id: 1, organization: "x" });
  expect([changed.status, changed.body["id"]]).toEqual([200, body["id"]]);
  expect(changed.body).toMatchObject(fields);
  expect((await ask(app, "PATCH", own, { role_at_organization: null })).body["role_at_organization"]).toBe(
    "",
  );
  const refused = await ask(app, "PATCH", own, { notification_settings: { plugin_disabled: false } });
  expect([refused.status, refused.body["attr"]]).toEqual([400, "notification_settings"]);
});
