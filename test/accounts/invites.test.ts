import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { addAccount, addStranger, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { givePassword, ofConsole, Person } from "../support/people.ts";
import { personalKey, storesOf, until } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

const right = "correct horse battery";
let app: RunningApp;
let stores: Stores;
let organization_id: string;
let home: string;
let round = 0;

beforeAll(async () => {
  app = await startApp({ TRUSTED_PROXIES: "127.0.0.1" });
  stores = await storesOf(app);
  organization_id = app.bootstrapped!.organization_id;
  home = `/api/organizations/${organization_id}`;
}, startMsMax);

const newAddress = () => `invited-${++round}@example.com`;

async function invite(target_email: string, level = 1, key = personalKey) {
  const made = await ask(app, "POST", `${home}/invites/`, { target_email, level }, key);
  const [id = "", token = ""] = String(made.body["link"]).split("#invite=")[1]?.split(".") ?? [];
  return { ...made, id, token };
}

type Link = Pick<Awaited<ReturnType<typeof invite>>, "id" | "token">;

const withToken = (token: string) => ({ ...ofConsole, authorization: `Bearer ${token}` });

async function look({ id, token }: Link) {
  return await new Person(app).ask("GET", `/api/signup/${id}/`, undefined, withToken(token));
}

async function accept({ id, token }: Link, person = new Person(app), body: object = { password: right }) {
  return { person, ...(await person.ask("POST", `/api/signup/${id}/`, body, withToken(token))) };
}

async function addMember(level: number) {
  return await addAccount(stores.sql, newAddress(), { organization_id, level });
}

describe("an invitation", () => {
  test("makes an account and a member of its level, signs in, and works once", async () => {
    const address = newAddress();
    const link = await invite(address.toUpperCase(), 8);
    expect([link.status, link.body["link"]]).toEqual([201, `${app.url}/#invite=${link.id}.${link.token}`]);
    expect(link.token).toMatch(/^[0-9A-Za-z]{43}$/);
    const days =
      (Date.parse(String(link.body["expires_at"])) - Date.parse(String(link.body["created_at"]))) / 864e5;
    expect(days).toBe(3);
    const shown = await look(link);
    expect(shown.body).toMatchObject({ target_email: address, organization_name: "Default organization" });
    const { person, status } = await accept(link, undefined, { password: right, first_name: "Ada" });
    expect(status).toBe(201);
    const own = await person.ask("GET", `${home}/members/@me/`);
    expect(own.body).toMatchObject({ level: 8, user: { email: address, first_name: "Ada" } });
    expect((await person.ask("GET", "/api/projects/@current/")).status).toBe(200);
    const again = await accept(link);
    expect([again.status, again.body["code"], again.person.set]).toEqual([
      401,
      "authentication_failed",
      null,
    ]);
    expect((await look(link)).status).toBe(401);
    expect((await new Person(app).signIn(address, right)).status).toBe(200);
  });

  test("makes one member when it is accepted twice at once", async () => {
    const link = await invite(newAddress());
    const answers = await Promise.all([accept(link), accept(link), accept(link)]);
    expect(answers.map(({ status }) => status).toSorted()[0]).toBe(201);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const { status } of answers) expect([201, 400, 401]).toContain(status);
  });

  test("of a member, or to an account that is not active, opens nothing else, and two at once make one account", async () => {
    // The person was invited by another address, and has the first one now.
    const address = newAddress();
    const link = await invite(address, 8);
    const member = await addMember(1);
    await givePassword(app, member.key, right);
    await stores.sql`UPDATE users SET email = ${address} WHERE id = ${member.user_id}`;
    const { status, person } = await accept(link);
    expect([status, (await person.ask("GET", `${home}/members/@me/`)).body["level"]]).toEqual([201, 1]);
    expect((await look(link)).status).toBe(401);

    const { user_id } = await addAccount(stores.sql, newAddress());
    const [gone] = await stores.sql<{ email: string }[]>`
      UPDATE users SET is_active = false WHERE id = ${user_id} RETURNING email`;
    const refused = await accept(await invite(gone!.email));
    expect([refused.status, refused.person.set]).toEqual([401, null]);

    const stranger = await addStranger(stores.sql);
    const twice = newAddress();
    const theirs = `/api/organizations/${stranger.organization_id}/invites/`;
    const made = await ask(app, "POST", theirs, { target_email: twice }, stranger.key);
    const [id = "", token = ""] = String(made.body["link"]).split("#invite=")[1]?.split(".") ?? [];
    const links = [await invite(twice), { id, token }];
    const answers = await Promise.all(links.map((one) => accept(one)));
    for (const one of answers) expect([201, 400, 401]).toContain(one.status);
    // Whichever came second is accepted with the password of the first.
    for (const [i, one] of answers.entries()) {
      if (one.status !== 201) expect((await accept(links[i]!)).status).toBe(201);
    }
    const users = await stores.sql`SELECT FROM users WHERE email = ${twice}`;
    expect(users).toHaveLength(1);
  });

  test("is stored as a hash, listed without its link, and shown in a JSON log nowhere", async () => {
    const link = await invite(newAddress());
    const listed = await ask(app, "GET", `${home}/invites/`);
    expect(listed.text).toContain(link.id);
    expect(listed.text).not.toContain(link.token);
    const [row] = await stores.sql`SELECT * FROM organization_invites WHERE id = ${link.id}`;
    expect(JSON.stringify(row)).not.toContain(link.token);
  });

  test("is over after three days, when it is revoked, and when its address is invited again", async () => {
    const old = await invite(newAddress());
    await stores.sql`UPDATE organization_invites SET expires_at = now() WHERE id = ${old.id}`;
    const revoked = await invite(newAddress());
    expect((await ask(app, "DELETE", `${home}/invites/${revoked.id}/`)).status).toBe(204);
    expect((await ask(app, "DELETE", `${home}/invites/${revoked.id}/`)).status).toBe(404);
    const address = newAddress();
    const replaced = await invite(address);
    const next = await invite(address);
    for (const link of [
      old,
      revoked,
      replaced,
      { ...next, token: replaced.token },
      { ...next, id: old.id },
    ]) {
      expect((await look(link)).status).toBe(401);
      expect((await accept(link)).status).toBe(401);
    }
    expect((await accept(next)).status).toBe(201);
  });

  test("is made by administrators, up to their own level, and ends when its maker may not make it any more", async () => {
    const [member, admin] = [await addMember(1), await addMember(8)];
    expect((await invite(newAddress(), 1, member.key)).status).toBe(403);
    expect((await invite(newAddress(), 15, admin.key)).status).toBe(403);
    const link = await invite(newAddress(), 8, admin.key);
    expect(link.status).toBe(201);
    await stores.sql`UPDATE organization_memberships SET level = 1 WHERE user_id = ${admin.user_id}`;
    expect((await accept(link)).status).toBe(401);
    const stranger = await addStranger(stores.sql);
    expect((await invite(newAddress(), 1, stranger.key)).status).toBe(403);
  });

  test("takes an account that exists by its own password only", async () => {
    const { key, user_id } = await addAccount(stores.sql, newAddress());
    const address = await givePassword(app, key, "another horse battery");
    const link = await invite(address);
    const wrong = await accept(link);
    expect([wrong.status, wrong.body["code"], wrong.person.set]).toEqual([400, "invalid_credentials", null]);
    const { status, person } = await accept(link, undefined, { password: "another horse battery" });
    expect(status).toBe(201);
    expect((await person.ask("GET", `${home}/members/@me/`)).status).toBe(200);
    const [row] = await stores.sql<{ level: number }[]>`
      SELECT level FROM organization_memberships WHERE user_id = ${user_id} AND organization_id = ${organization_id}`;
    expect(row?.level).toBe(1);
    const again = await invite(address);
    expect([again.status, again.body["attr"]]).toEqual([400, "target_email"]);
  });

  test("is not used up by a password that may not be one, nor by another page than the console's", async () => {
    const link = await invite(newAddress());
    expect((await accept(link, undefined, { password: "short" })).status).toBe(400);
    expect((await accept(link, undefined, {})).body["attr"]).toBe("password");
    expect((await accept(link, undefined, { password: right, level: 15 })).body["attr"]).toBe("level");
    const elsewhere = await fetch(`${app.url}/api/signup/${link.id}/`, {
      method: "POST",
      headers: {
        ...withToken(link.token),
        "sec-fetch-site": "cross-site",
        "content-type": "application/json",
      },
      body: JSON.stringify({ password: right }),
    });
    expect(elsewhere.status).toBe(403);
    expect((await accept(link)).status).toBe(201);
  });

  test("takes an address and nothing else", async () => {
    for (const target_email of [
      "",
      "no address",
      "two@at@example.com",
      "a b@example.com",
      `${"a".repeat(260)}@example.com`,
    ]) {
      const refused = await invite(target_email);
      expect([refused.status, refused.body["attr"]]).toEqual([400, "target_email"]);
    }
    const wrongLevel = await invite(newAddress(), 9);
    expect([wrongLevel.status, wrongLevel.body["attr"]]).toEqual([400, "level"]);
  });

  test("is one of a hundred", async () => {
    await stores.sql`
      INSERT INTO organization_invites (id, organization_id, target_email, level, created_by_id, secure_value)
      SELECT gen_random_uuid(), ${organization_id}, 'many-' || i || '@example.com', 1,
        (SELECT min(id) FROM users), 'sha256$' || encode(sha256(convert_to(i::text, 'UTF8')), 'hex')
      FROM generate_series(1, 100) i`;
    const refused = await invite(newAddress());
    expect([refused.status, refused.body["attr"]]).toEqual([400, "target_email"]);
    await stores.sql`DELETE FROM organization_invites`;
    expect((await invite(newAddress())).status).toBe(201);
  });
});

describe("a member who is removed", () => {
  test("loses sessions, streams, keys and the invitations they made", async () => {
    const address = newAddress();
    const { person } = await accept(await invite(address, 8));
    const issued = await person.ask("POST", "/api/personal_api_keys/", { label: "own", scopes: ["*"] });
    const key = String(issued.body["value"]);
    const theirs = await invite(newAddress(), 1, key);
    const headers = { ...ofConsole, cookie: person.cookie };
    const stream = await fetch(`${app.url}/console/stream/1`, { headers });
    expect(stream.status).toBe(200);
    const [row] = await stores.sql<{ uuid: string }[]>`SELECT uuid FROM users WHERE email = ${address}`;
    expect((await ask(app, "DELETE", `${home}/members/${row!.uuid}/`)).status).toBe(204);
    expect((await person.ask("GET", "/api/projects/1/")).status).toBe(401);
    expect((await ask(app, "GET", "/api/projects/1/", undefined, key)).status).toBe(401);
    expect((await accept(theirs)).status).toBe(401);
    await stream.text();
    const left = await stores.sql`
      SELECT 1 FROM credentials c JOIN users u ON u.id = c.user_id WHERE u.email = ${address}`;
    expect(left).toHaveLength(0);
    const back = new Person(app);
    expect((await back.signIn(address, right)).status).toBe(200);
    expect((await back.ask("GET", "/api/projects/1/")).status).toBe(403);
  });

  test("of one organization of two keeps the keys of the other, and none that this one held", async () => {
    const stranger = await addStranger(stores.sql);
    const { user_id } = stranger;
    await stores.sql`
      INSERT INTO organization_memberships (organization_id, user_id) VALUES (${organization_id}, ${user_id})`;
    const make = (input: object) => issueKey(stores.sql, user_id, { label: "held", scopes: ["*"], ...input });
    const here = await make({ scoped_organizations: [organization_id] });
    const project = await make({ scoped_teams: [1] });
    const both = await make({ scoped_organizations: [organization_id, stranger.organization_id] });
    const [row] = await stores.sql<{ uuid: string }[]>`SELECT uuid FROM users WHERE id = ${user_id}`;
    expect((await ask(app, "DELETE", `${home}/members/${row!.uuid}/`)).status).toBe(204);
    await until(async () => {
      const read = ({ value }: { value: string }) => ask(app, "GET", "/api/organizations/", undefined, value);
      const statuses = await Promise.all([here, project, both].map(async (one) => (await read(one)).status));
      return statuses.join() === "401,401,200";
    });
    const kept = await ask(app, "GET", "/api/personal_api_keys/@current/", undefined, both.value);
    expect(kept.body["scoped_organizations"]).toEqual([stranger.organization_id]);
    expect((await ask(app, "GET", "/api/projects/", undefined, stranger.key)).status).toBe(200);
  });
});
