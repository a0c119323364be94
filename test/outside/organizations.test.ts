// Organizations, members, invitations, projects and the log of changes: assertions of PostHog's test_organization.py,
// test_organization_members.py, test_organization_invites.py, test_project.py, test_team.py and test_activity_log.py.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Account, addAccount, addStranger, ask, problemOf, reachMemberships } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { personalKey, storesOf } from "../support/server.ts";

let app: RunningApp;
let sql: Postgres;
let organization_id: string;
let member: Account;
let admin: Account;
const organization = "/api/organizations/@current/";

beforeAll(async () => {
  app = await startApp();
  ({ sql } = await storesOf(app));
  organization_id = String((await ask(app, "GET", organization)).body["id"]);
  member = await addAccount(sql, "member@example.com", { organization_id, level: 1 });
  admin = await addAccount(sql, "admin2@example.com", { organization_id, level: 8 });
  await reachMemberships(sql);
}, startMsMax);
afterAll(cleanUp, startMsMax);

const uuidOf = async ({ user_id }: Account): Promise<string> =>
  ((await sql`SELECT uuid FROM users WHERE id = ${user_id}`)[0] as { uuid: string }).uuid;

// test_list_organization_members.
test("members are listed with their users and levels", async () => {
  const { status, body } = await ask(app, "GET", `${organization}members/`);
  const rows = body["results"] as { user: { uuid: string; first_name: string }; level: number }[];
  expect([status, rows.map(({ level }) => level).toSorted((a, b) => a - b)]).toEqual([200, [1, 8, 15]]);
  for (const name of ["id", "joined_at", "updated_at", "is_2fa_enabled", "has_social_auth"])
    expect([name, name in rows[0]!]).toEqual([name, true]);
});

// test_cant_list_members_for_an_alien_organization.
test("another organization's members are refused", async () => {
  const stranger = await addStranger(sql);
  const { status } = await ask(app, "GET", `/api/organizations/${stranger.organization_id}/members/`);
  expect(status).toBeOneOf([403, 404]);
});

// test_change_organization_member_level, test_admin_can_promote_to_admin, …_requires_admin, test_cannot_change_own_level.
test.each([
  ["owner", "member", 8, 200],
  ["admin", "member", 8, 200],
  ["admin", "member", 1, 200],
  ["admin", "member", 15, 403],
  ["member", "admin", 1, 403],
  ["admin", "admin", 1, 403],
  ["owner", "member", 9999, 400],
  ["owner", "member", 1, 200],
])("%s makes %s a member of level %i: %i", async (actor, subject, level, expected) => {
  const keys: Record<string, string> = { owner: personalKey, admin: admin.key, member: member.key };
  const uuid = await uuidOf(subject === "member" ? member : admin);
  const { status } = await ask(app, "PATCH", `${organization}members/${uuid}/`, { level }, keys[actor]!);
  expect(status).toBe(expected);
});

// test_delete_organization_member.
test("a member is removed by an administrator only", async () => {
  const leaver = await addAccount(sql, "leaver@example.com", { organization_id, level: 1 });
  const path = `${organization}members/${await uuidOf(leaver)}/`;
  expect((await ask(app, "DELETE", path, undefined, member.key)).status).toBe(403);
  expect((await ask(app, "DELETE", path, undefined, admin.key)).status).toBe(204);
  expect((await ask(app, "GET", path)).status).toBe(404);
});

// test_leave_organization.
test("a member leaves", async () => {
  const leaver = await addAccount(sql, "leaver2@example.com", { organization_id, level: 1 });
  await reachMemberships(sql);
  const path = `/api/organizations/${organization_id}/members/${await uuidOf(leaver)}/`;
  expect((await ask(app, "DELETE", path, undefined, leaver.key)).status).toBe(204);
});

// test_add_organization_invite_email_required, …_with_email, test_cannot_create_invite_for_another_org and others.
test("somebody is invited by an address", async () => {
  const none = await ask(app, "POST", `${organization}invites/`, {});
  expect(problemOf(none).slice(0, 3)).toEqual([400, "validation_error", "required"]);
  expect(none.body["attr"]).toBe("target_email");
  const made = await ask(app, "POST", `${organization}invites/`, { target_email: "TEST@example.com" });
  expect([made.status, made.body["target_email"]]).toEqual([201, "test@example.com"]);
  for (const name of ["created_at", "created_by", "level", "first_name", "emailing_attempt_made"])
    expect([name, name in made.body]).toEqual([name, true]);
  expect(made.body).toMatchObject({ is_expired: false, message: null, private_project_access: [] });
  // …_send_email_prop_false, …_private_project_access: what nothing here does is refused by name.
  for (const fields of [{ send_email: true }, { message: "hi" }, { private_project_access: [{ id: 1 }] }]) {
    const refused = await ask(app, "POST", `${organization}invites/`, {
      target_email: "test@example.com",
      ...fields,
    });
    expect([refused.status, refused.body["attr"]]).toEqual([400, Object.keys(fields)[0]]);
  }
  const again = await ask(app, "POST", `${organization}invites/`, {
    target_email: "test@example.com",
    send_email: false,
  });
  expect(again.status).toBe(201);
  const listed = (await ask(app, "GET", `${organization}invites/`)).body["results"] as { id: string }[];
  expect(listed.map(({ id }) => id)).toEqual([again.body["id"] as string]);
  const path = `${organization}invites/${String(again.body["id"])}/`;
  expect((await ask(app, "DELETE", path, undefined, member.key)).status).toBe(403);
  expect((await ask(app, "DELETE", path)).status).toBe(204);
});

// test_create_organization…, test_rename_organization_…_if_admin, test_cant_create_organization_without_name.
test("an organization is made and renamed by those who may", async () => {
  const made = await ask(app, "POST", "/api/organizations/", { name: "Test" });
  expect([made.status, made.body["name"], made.body["membership_level"]]).toEqual([201, "Test", 15]);
  expect((await ask(app, "POST", "/api/organizations/", {})).status).toBe(400);
  const path = `/api/organizations/${organization_id}/`;
  expect((await ask(app, "PATCH", path, { name: "QWERTY" }, member.key)).status).toBe(403);
  const renamed = await ask(app, "PATCH", path, { name: "QWERTY" }, admin.key);
  expect([renamed.status, renamed.body["name"]]).toEqual([200, "QWERTY"]);
  expect((await ask(app, "GET", path)).body["membership_level"]).toBe(15);
});

// test_retrieve_project, test_update_project_timezone, test_invalid_timezone, test_cant_set_…_to_… of test_team.py. What would have no effect is refused.
test.each([
  [{ timezone: "Europe/Lisbon" }, 200],
  [{ timezone: "America/I_Dont_Exist" }, 400],
  [{ timezone: "europe/istanbul" }, 400],
  [{ timezone: "" }, 400],
  [{ name: "Renamed" }, 200],
  [{ name: "" }, 400],
  [{ anonymize_ips: true }, 400],
  [{ session_recording_opt_in: true }, 200],
  [{ week_start_day: 1 }, 200],
  [
    { test_account_filters: [{ key: "email", value: "@x.com", operator: "not_icontains", type: "person" }] },
    200,
  ],
  [{ person_display_name_properties: ["email"] }, 200],
  [{ app_urls: ["https://example.com"] }, 200],
  [{ completed_snippet_onboarding: true }, 200],
  [{ has_completed_onboarding_for: { product_analytics: true } }, 200],
  [{ session_recording_sample_rate: "0.8" }, 400],
  [{ session_recording_minimum_duration_milliseconds: 10_000 }, 200],
  [{ autocapture_opt_out: true }, 400],
  [{ capture_console_log_opt_in: false }, 200],
  [{ capture_console_log_opt_in: true }, 200],
])("a project changed by %j is a %i", async (fields, expected) => {
  const { status, body, text } = await ask(app, "PATCH", "/api/projects/1/", fields);
  expect([status, status === expected ? "" : text]).toEqual([expected, ""]);
  if (expected === 200) expect(body).toMatchObject(fields);
});

// test_reset_token, test_cant_reset_token_as_org_member, test_delete_team_as_org_member.
test("a project's token is renewed, and a project deleted, by an administrator", async () => {
  const made = await ask(app, "POST", "/api/projects/", { name: "short-lived" });
  const path = `/api/projects/${String(made.body["id"])}/`;
  expect((await ask(app, "PATCH", `${path}reset_token/`, undefined, member.key)).status).toBe(403);
  const reset = await ask(app, "PATCH", `${path}reset_token/`);
  expect([reset.status, reset.body["api_token"] === made.body["api_token"]]).toEqual([200, false]);
  expect((await ask(app, "DELETE", path, undefined, member.key)).status).toBe(403);
  expect((await ask(app, "DELETE", path)).status).toBe(204);
  expect((await ask(app, "GET", path)).status).toBeOneOf([403, 404]);
});

// test_activity_log.py: what was done to an insight, by whom, newest first; filters and pages.
test("changes are logged, the newest first, and found by thing and user", async () => {
  const query = { kind: "TrendsQuery", series: [{ event: "e" }] };
  const { id } = (await ask(app, "POST", "/api/projects/1/insights/", { name: "i", query })).body;
  await ask(app, "PATCH", `/api/projects/1/insights/${String(id)}/`, { name: "j" });
  await ask(app, "DELETE", `/api/projects/1/insights/${String(id)}/`);
  const log = async (search: string) => {
    const { status, body } = await ask(app, "GET", `/api/projects/1/activity_log/?${search}`);
    return status === 200
      ? (body["results"] as { activity: string; scope: string; item_id: string; user: object }[])
      : status;
  };
  const mine = (await log(`scope=Insight&item_id=${String(id)}`)) as { activity: string }[];
  expect(mine.slice(0, 2).map(({ activity }) => activity)).toEqual(["deleted", "updated"]);
  const page = (await log("page_size=1")) as object[];
  expect(page).toHaveLength(1);
  expect(await log(`user=${crypto.randomUUID()}`)).toEqual([]);
  expect(((await log("scopes=Insight&scopes=Dashboard")) as { scope: string }[])[0]!.scope).toBe("Insight");
  expect(((await log("activity=deleted")) as { activity: string }[])[0]!.activity).toBe("deleted");
  expect((await ask(app, "GET", "/api/projects/1/activity_log/", undefined, member.key)).status).toBe(403);
});
