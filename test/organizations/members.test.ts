import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Stores } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Account, addAccount, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { personalKey, storesOf } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

interface Named extends Account {
  uuid: string;
}

let app: RunningApp;
let stores: Stores;
let home: string;
let organization_id: string;
let owner: Named;
let admin: Named;
let member: Named;
let round = 0;

beforeAll(async () => {
  app = await startApp();
  stores = await storesOf(app);
  organization_id = app.bootstrapped!.organization_id;
  home = `/api/organizations/${organization_id}/members/`;
}, startMsMax);

beforeEach(async () => {
  const { sql } = stores;
  await sql`DELETE FROM users WHERE email LIKE '%@members.example'`;
  const [first] = await sql<{ id: number; uuid: string }[]>`SELECT id, uuid FROM users ORDER BY id LIMIT 1`;
  owner = { user_id: first!.id, key: personalKey, uuid: first!.uuid };
  round += 1;
  const account = async (level: number): Promise<Named> => {
    const email = `${level}-${round}@members.example`;
    const made = await addAccount(sql, email, { organization_id, level });
    const [row] = await sql<{ uuid: string }[]>`SELECT uuid FROM users WHERE id = ${made.user_id}`;
    return { ...made, uuid: row!.uuid };
  };
  admin = await account(8);
  member = await account(1);
});

async function change(by: Named, whom: Named, level: unknown) {
  return await ask(app, "PATCH", `${home}${whom.uuid}/`, { level }, by.key);
}

/** What becomes of an organization whose only owners are `admin` and `member`: one must be left. */
async function withTwoOwners<Outcome>(act: () => Promise<Outcome>): Promise<Outcome> {
  const { sql } = stores;
  await change(owner, admin, 15);
  await change(owner, member, 15);
  await sql`UPDATE organization_memberships SET level = 1 WHERE user_id = ${owner.user_id}`;
  const outcome = await act();
  const owners = await sql`
    SELECT FROM organization_memberships WHERE organization_id = ${organization_id} AND level = 15`;
  expect(owners).toHaveLength(1);
  await sql`UPDATE organization_memberships SET level = 15 WHERE user_id = ${owner.user_id}`;
  return outcome;
}

async function levels(): Promise<Record<string, number>> {
  const { body } = await ask(app, "GET", home);
  const rows = body["results"] as { user: { uuid: string }; level: number }[];
  return Object.fromEntries(rows.map(({ user, level }) => [user.uuid, level]));
}

describe("members", () => {
  test("are listed with their levels, the latest first or the earliest", async () => {
    const { status, body } = await ask(app, "GET", home, undefined, member.key);
    expect([status, body["count"]]).toEqual([200, 3]);
    const rows = body["results"] as Record<string, Record<string, unknown>>[];
    expect(rows.map(({ user }) => user!["uuid"])).toEqual([member.uuid, admin.uuid, owner.uuid]);
    expect(rows[0]).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
      level: 1,
      is_2fa_enabled: false,
      has_social_auth: false,
      last_login: null,
      user: { email: expect.stringContaining("@members.example"), first_name: expect.any(String) },
    });
    const earliest = await ask(app, "GET", `${home}?order=joined_at&limit=1`);
    expect(earliest.text).toContain(owner.uuid);
    expect((await ask(app, "GET", `${home}?order=level`)).body["attr"]).toBe("order");
  });

  test("are shown one by one, oneself as @me", async () => {
    const me = await ask(app, "GET", `${home}@me/`, undefined, admin.key);
    expect(me.body).toMatchObject({ level: 8, user: { uuid: admin.uuid } });
    expect((await ask(app, "GET", `${home}${admin.uuid}/`)).body).toEqual(me.body);
    expect((await ask(app, "GET", `${home}00000000-0000-0000-0000-000000000000/`)).status).toBe(404);
  });

  test("are nobody's business outside the organization", async () => {
    const stranger = await addAccount(stores.sql, "stranger@members.example");
    for (const method of ["GET", "PATCH", "DELETE"]) {
      const body = method === "PATCH" ? { level: 15 } : undefined;
      expect((await ask(app, method, `${home}${member.uuid}/`, body, stranger.key)).status).toBe(403);
    }
    expect((await ask(app, "GET", home, undefined, stranger.key)).status).toBe(403);
    expect(Object.keys(await levels())).toHaveLength(3);
  });
});

describe("a level", () => {
  test("is changed by administrators, up to their own", async () => {
    const changed = await change(admin, member, 8);
    expect([changed.status, changed.body["level"]]).toEqual([200, 8]);
    expect(Date.parse(String(changed.body["updated_at"]))).toBeGreaterThanOrEqual(
      Date.parse(String(changed.body["joined_at"])),
    );
    expect((await change(owner, admin, 15)).body["level"]).toBe(15);
    expect(await levels()).toMatchObject({ [member.uuid]: 8, [admin.uuid]: 15, [owner.uuid]: 15 });
    await change(owner, admin, 8);
  });

  test("is not changed by members, above one's own, of whom stands above, or of oneself", async () => {
    const refused: [by: Named, whom: Named, level: number][] = [
      [member, admin, 1],
      [member, member, 8],
      [admin, member, 15],
      [admin, owner, 8],
      [admin, admin, 1],
      [owner, owner, 1],
    ];
    for (const [by, whom, level] of refused) expect((await change(by, whom, level)).status).toBe(403);
    expect(await levels()).toEqual({ [member.uuid]: 1, [admin.uuid]: 8, [owner.uuid]: 15 });
  });

  test("is one of four", async () => {
    for (const level of [-1, 2, 16, "owner", null])
      expect((await change(owner, member, level)).status).toBe(400);
    expect((await ask(app, "PUT", `${home}${member.uuid}/`, {})).body["attr"]).toBe("level");
    const unknown = await ask(app, "PATCH", `${home}${member.uuid}/`, { role: "owner" });
    expect([unknown.status, unknown.body["attr"]]).toEqual([400, "role"]);
    expect((await change(owner, member, undefined)).body["level"]).toBe(1);
  });
});

describe("a membership", () => {
  test("is ended by administrators, or by the member, and with it what their keys reach", async () => {
    expect((await ask(app, "DELETE", `${home}${admin.uuid}/`, undefined, member.key)).status).toBe(403);
    expect((await ask(app, "DELETE", `${home}${owner.uuid}/`, undefined, admin.key)).status).toBe(403);
    expect((await ask(app, "GET", "/api/projects/1/", undefined, member.key)).status).toBe(200);
    expect((await ask(app, "DELETE", `${home}${member.uuid}/`, undefined, admin.key)).status).toBe(204);
    // The last membership takes the keys with it.
    expect((await ask(app, "GET", "/api/projects/1/", undefined, member.key)).status).toBe(401);
    expect((await ask(app, "DELETE", `${home}${member.uuid}/`, undefined, admin.key)).status).toBe(404);
    expect((await ask(app, "DELETE", `${home}@me/`, undefined, admin.key)).status).toBe(204);
    expect(await levels()).toEqual({ [owner.uuid]: 15 });
  });

  test("of the only owner is not ended", async () => {
    const detail = "An organization's only owner cannot leave it; delete it instead.";
    const refused = await ask(app, "DELETE", `${home}@me/`);
    expect(problemOf(refused)).toEqual([403, "authentication_error", "permission_denied", detail, null]);
    await change(owner, admin, 15);
    expect((await ask(app, "DELETE", `${home}@me/`, undefined, admin.key)).status).toBe(204);
  });

  test("of one of two owners who leave at once remains", async () => {
    const left = await withTwoOwners(() =>
      Promise.all([admin, member].map(({ key }) => ask(app, "DELETE", `${home}@me/`, undefined, key))),
    );
    expect(left.map(({ status }) => status).toSorted()).toEqual([204, 403]);
  });

  test("of one of two owners who remove each other at once remains", async () => {
    const removed = await withTwoOwners(() =>
      Promise.all([
        ask(app, "DELETE", `${home}${admin.uuid}/`, undefined, member.key),
        ask(app, "DELETE", `${home}${member.uuid}/`, undefined, admin.key),
      ]),
    );
    expect(removed.map(({ status }) => status).filter((status) => status === 204)).toHaveLength(1);
  });

  test("needs the scope of members", async () => {
    const made = await ask(app, "POST", "/api/personal_api_keys/", {
      label: "narrow",
      scopes: ["organization_member:read"],
    });
    const key = String(made.body["value"]);
    expect((await ask(app, "GET", home, undefined, key)).status).toBe(200);
    const refused = await ask(app, "PATCH", `${home}${member.uuid}/`, { level: 8 }, key);
    expect(refused.body["detail"]).toBe("API key missing required scope 'organization_member:write'");
  });
});
