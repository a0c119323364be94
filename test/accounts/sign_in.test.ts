import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { findKeyHolder } from "../../src/access/store.ts";
import { signInLimits } from "../../src/accounts/sign_in/limits.ts";
import { listSessions, startSession } from "../../src/accounts/sign_in/session_store.ts";
import { changeUser, findSigningUser } from "../../src/accounts/sign_in/user_store.ts";
import { hashKey } from "../../src/core/id.ts";
import { isForAnyOrigin } from "../../src/http/sdk_path.ts";
import { issueKey, revokeKey, rollKey } from "../../src/personal_api_keys/store.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { managementRoutes, type RunningApp, startApp } from "../support/app.ts";
import { addAccount, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { givePassword, ofConsole, Person } from "../support/people.ts";
import { personalKey, storesOf, until } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

const uuids = /[0-9a-f]{8}-[0-9a-f-]{27}/g;
const right = "correct horse battery";
let app: RunningApp;
let stores: Stores;
let organization_id: string;
let round = 0;

beforeAll(async () => {
  app = await startApp({ TRUSTED_PROXIES: "127.0.0.1" });
  stores = await storesOf(app);
  organization_id = app.bootstrapped!.organization_id;
}, startMsMax);

/** A member with a password. */
async function addPerson(password = right) {
  const email = `person-${++round}@example.com`;
  const account = await addAccount(stores.sql, email, { organization_id, level: 1 });
  await givePassword(app, account.key, password);
  return { ...account, email };
}

async function signedIn() {
  const account = await addPerson();
  const person = new Person(app);
  expect((await person.signIn(account.email, right)).status).toBe(200);
  return { ...account, person };
}

const me = "/api/users/@me/";
const statusOf = async (person: Person, path = me) => (await person.ask("GET", path)).status;

describe("signing in", () => {
  test("by address and password opens the API to the console, with every scope of one's own", async () => {
    const { person, email } = await signedIn();
    const { body } = await person.ask("GET", me);
    expect(body).toMatchObject({ email, has_password: true });
    expect(await statusOf(person, "/api/projects/1/insights/")).toBe(200);
    expect(await statusOf(person, "/api/personal_api_keys/")).toBe(200);
    expect((await person.ask("DELETE", "/api/projects/1/")).status).toBe(403);
    const member = await person.ask("GET", `/api/organizations/${organization_id}/members/@me/`);
    expect(Date.parse(String(member.body["last_login"]))).toBeGreaterThan(0);
  });

  test("takes the address in any case, and the password exactly, however its letters are composed", async () => {
    const { email } = await addPerson(" Pässword ");
    const person = new Person(app);
    expect((await person.signIn(` ${email.toUpperCase()} `, " Pässword ".normalize("NFD"))).status).toBe(200);
    expect((await person.signIn(email, "Pässword")).status).toBe(400);
  });

  test("answers wrong passwords, unknown accounts and accounts without one alike", async () => {
    const { email } = await addPerson();
    const bare = `bare-${++round}@example.com`;
    await addAccount(stores.sql, bare);
    const answers = [];
    for (const [one, password] of [
      [email, "wrong horse battery"],
      [email, "x".repeat(128)],
      ["nobody@example.com", right],
      [bare, right],
    ] as const) {
      const { status, body } = await new Person(app).signIn(one, password);
      answers.push(JSON.stringify({ status, body }));
    }
    expect([...new Set(answers)]).toEqual([
      JSON.stringify({
        status: 400,
        body: {
          type: "validation_error",
          code: "invalid_credentials",
          detail: "Invalid email or password.",
          attr: null,
        },
      }),
    ]);
  });

  test("is refused to a deactivated user, and their session ends", async () => {
    const { person, email, user_id } = await signedIn();
    await stores.sql`UPDATE users SET is_active = false WHERE id = ${user_id}`;
    expect((await new Person(app).signIn(email, right)).status).toBe(400);
    await until(async () => (await statusOf(person)) === 401);
  });

  test("names the field that is missing, too long or unknown", async () => {
    const person = new Person(app);
    const attrs = [];
    for (const body of [
      {},
      { email: "a@example.com" },
      { email: "a@example.com", password: "x".repeat(129) },
      { email: `${"a".repeat(250)}@example.com`, password: right },
      { email: "no address", password: right },
      { email: "a@example.com", password: right, remember: true },
    ]) {
      const answered = await person.ask("POST", "/api/login/", body);
      expect(answered.status).toBe(400);
      attrs.push(answered.body["attr"]);
    }
    expect(attrs).toEqual(["email", "password", "password", "email", "email", "remember"]);
  });

  test("by a personal key gives a session of the key's scopes, which ends with the key", async () => {
    const { user_id } = await addPerson();
    const narrow = await issueKey(stores.sql, user_id, { label: "narrow", scopes: ["insight:read"] });
    const person = new Person(app);
    const login = await person.ask("POST", "/api/login/", { personal_api_key: narrow.value });
    expect(login.status).toBe(200);
    expect(await statusOf(person, "/api/projects/1/insights/")).toBe(200);
    expect(await statusOf(person, "/api/projects/1/dashboards/")).toBe(403);
    await revokeKey(stores.sql, narrow.id, user_id);
    await until(async () => (await statusOf(person, "/api/projects/1/insights/")) === 401);
    const refused = await new Person(app).ask("POST", "/api/login/", { personal_api_key: narrow.value });
    expect([refused.status, refused.body["attr"]]).toEqual([400, "personal_api_key"]);
  });

  test("ends the sessions of a key that is rolled", async () => {
    const { key } = await addPerson();
    const person = new Person(app);
    await person.ask("POST", "/api/login/", { personal_api_key: key });
    const own = await ask(app, "GET", "/api/personal_api_keys/@current/", undefined, key);
    await ask(app, "POST", `/api/personal_api_keys/${String(own.body["id"])}/roll/`, {}, key);
    await until(async () => (await statusOf(person)) === 401);
  });
});

describe("tries", () => {
  const wrong = "wrong horse battery";

  test("are counted by account and address, whether the account exists or not, and right ones wait as well", async () => {
    const { email } = await addPerson();
    for (const one of [email, `unknown-${round}@example.com`]) {
      const stranger = new Person(app);
      for (let i = 0; i < signInLimits.accountAttemptsMax; i++) {
        expect((await stranger.signIn(one, wrong)).status).toBe(400);
      }
      const { status, headers } = await stranger.signIn(one, right);
      expect(status).toBe(429);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(500);
      // They lock nobody out elsewhere.
      expect((await new Person(app).signIn(one, right)).status).toBe(one === email ? 200 : 400);
    }
  });

  test("of many strangers leave the browsers that are known, and people who are signed in", async () => {
    const { person, email } = await signedIn();
    const [unknown, forged] = [new Person(app), new Person(app)];
    // A browser in which another account has signed in is known to that one only.
    forged.known = (await signedIn()).person.known;
    // The sign-in itself counted. Who finds the queue of strangers full counts as well.
    const strangers = Array.from(
      { length: signInLimits.accountAttemptsAnywhereMax - 1 },
      () => new Person(app),
    );
    const tried = await Promise.all(strangers.map((stranger) => stranger.signIn(email, wrong)));
    for (const { status } of tried) expect([400, 503]).toContain(status);
    for (const one of [unknown, forged]) expect((await one.signIn(email, right)).status).toBe(429);

    const next = "another horse battery";
    const change = async (current_password: string) =>
      (await person.ask("PATCH", me, { password: next, current_password })).status;
    for (let i = 1; i < signInLimits.accountAttemptsMax; i++) expect(await change(wrong)).toBe(400);
    expect([await change(right), await change(next)]).toEqual([200, 429]);
    await person.ask("POST", "/api/logout/");
    expect((await person.signIn(email, next)).status).toBe(200);
    // Nor does a known browser guess for ever.
    for (let i = 1; i < signInLimits.accountAttemptsMax; i++) {
      expect((await person.signIn(email, wrong)).status).toBe(400);
    }
    expect((await person.signIn(email, next)).status).toBe(429);
  });

  test(
    "of one visitor behind a proxy that is not named lock out no other account, no key and no invitation",
    async () => {
      const other = await startApp();
      const { sql } = await storesOf(other);
      const email = "late@example.com";
      const membership = { organization_id: other.bootstrapped!.organization_id, level: 1 };
      const { key } = await addAccount(sql, email, membership);
      await givePassword(other, key, right);
      for (let i = 0; i < signInLimits.addressAttemptsMax / signInLimits.accountAttemptsMax; i++) {
        for (let n = 0; n < signInLimits.accountAttemptsMax; n++) {
          expect((await new Person(other).signIn(`victim-${i}@example.com`, wrong)).status).toBe(400);
        }
        expect((await new Person(other).signIn(`victim-${i}@example.com`, wrong)).status).toBe(429);
      }
      expect((await new Person(other).signIn(email, wrong)).status).toBe(400);
      expect((await new Person(other).signIn(email, right)).status).toBe(200);
      const byKey = await new Person(other).ask("POST", "/api/login/", { personal_api_key: key });
      expect(byKey.status).toBe(200);
    },
    startMsMax,
  );
});

describe("a session", () => {
  test("is a cookie of 256 random bits that no script reads and no other site sends, stored as a hash", async () => {
    const { person, user_id } = await signedIn();
    const again = new Person(app);
    await again.signIn((await person.ask("GET", me)).body["email"] as string, right);
    expect(again.set).toMatch(
      /^sluice_session=[0-9A-Za-z]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=2592000$/,
    );
    expect(again.cookie).not.toBe(person.cookie);
    const rows = await stores.sql<{ secure_value: string; days: number }[]>`
      SELECT secure_value, extract(day FROM expires_at - created_at)::integer AS days
      FROM user_sessions WHERE user_id = ${user_id}`;
    expect(rows).toHaveLength(2);
    for (const { secure_value, days } of rows) {
      expect([secure_value.replace(/[0-9a-f]{64}/, "…"), days]).toEqual(["session$…", 30]);
      expect(secure_value).not.toContain(person.cookie.split("=")[1]!);
    }
  });

  test("is taken from the console's own script only", async () => {
    const { person } = await signedIn();
    const { "sec-fetch-site": _, ...noSite } = ofConsole;
    const { "x-sluice-console": __, ...noHeader } = ofConsole;
    const sites = ["cross-site", "same-site", "none", ""].map((site) => ({
      ...ofConsole,
      "sec-fetch-site": site,
    }));
    for (const headers of [...sites, noSite, noHeader, {}]) {
      for (const [method, path] of [
        ["GET", me],
        ["POST", "/api/projects/1/insights/"],
        ["GET", "/console/stream/1"],
      ] as const) {
        const { status, body } = await person.ask(method, path, method === "POST" ? {} : undefined, headers);
        expect([status, body["code"]]).toEqual([401, "not_authenticated"]);
      }
      const login = await person.ask(
        "POST",
        "/api/login/",
        { email: "a@example.com", password: right },
        headers,
      );
      expect([login.status, login.body["code"], person.set]).toEqual([403, "permission_denied", null]);
    }
    expect(await statusOf(person)).toBe(200);
  });

  test("is no key, and a key is no session", async () => {
    const { person, key } = await signedIn();
    const token = person.cookie.split("=")[1]!;
    for (const bearer of [token, `session$${token}`]) {
      expect((await ask(app, "GET", me, undefined, bearer)).status).toBe(401);
      expect(await findKeyHolder(stores.sql, hashKey(bearer))).toBeUndefined();
    }
    const odd = new Person(app);
    for (const value of [key, hashKey(key), "", "x".repeat(43), `${token}; sluice_session=${token}`]) {
      odd.cookie = `sluice_session=${value}`;
      expect(await statusOf(odd)).toBe(401);
    }
  });

  test("gives way to a key in a header, valid or not", async () => {
    const { person } = await signedIn();
    const wins = (key: string) =>
      person.ask("GET", me, undefined, { ...ofConsole, authorization: `Bearer ${key}` });
    expect((await wins("phx_nobody_has_this_key")).status).toBe(401);
    expect((await wins(personalKey)).body["email"]).not.toBe((await person.ask("GET", me)).body["email"]);
  });

  test("opens nothing of capture, SDKs or files, and no guarded path answers with CORS", async () => {
    const { person } = await signedIn();
    const event = { event: "e", distinct_id: "d" };
    for (const path of ["/capture/", "/batch/", "/flags/", "/api/surveys/"]) {
      const plain = new Person(app);
      const [with_, without] = await Promise.all([
        person.ask("POST", path, event),
        plain.ask("POST", path, event),
      ]);
      const [one, other] = [with_, without].map(({ status, text }) => [status, text.replace(uuids, "")]);
      expect(one).toEqual(other!);
    }
    const guarded = managementRoutes(app).filter(({ hooks }) => hooks.detail?.security !== undefined);
    expect(guarded.length).toBeGreaterThan(100);
    expect(guarded.map(({ path }) => path).filter(isForAnyOrigin)).toEqual([]);
    const origin = { ...ofConsole, origin: "https://elsewhere.example" };
    for (const path of [me, "/console/stream/99", "/api/nowhere/", "/console/nowhere"]) {
      const { headers } = await person.ask("GET", path, undefined, origin);
      expect(headers.get("access-control-allow-origin")).toBeNull();
    }
    const preflight = await fetch(`${app.url}${me}`, {
      method: "OPTIONS",
      headers: { origin: "https://elsewhere.example", "access-control-request-method": "GET" },
    });
    expect(preflight.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("is not made by a password that was changed, or a key that was rolled or revoked, while it was checked", async () => {
    const { sql } = stores;
    const browser = { user_agent: "", replaces: undefined };
    const { user_id, email } = await addPerson();
    const hash = async () => (await findSigningUser(sql, email))!.password_hash!;
    const password = { user_id, email, password_hash: await hash() };
    expect(await startSession(sql, password, browser)).toBeString();
    const password_hash = password.password_hash.replace("$v=19$", "$v=16$");
    await changeUser(sql, user_id, { password_hash });
    expect(await startSession(sql, password, browser)).toBeUndefined();
    const issue = async () => {
      const { id, value } = await issueKey(sql, user_id, { label: "signs in", scopes: ["*"] });
      return { user_id, key: { id, secure_value: hashKey(value) } };
    };
    const [rolled, revoked] = [await issue(), await issue()];
    expect(await startSession(sql, rolled, browser)).toBeString();
    await rollKey(sql, rolled.key.id, user_id);
    await revokeKey(sql, revoked.key.id, user_id);
    for (const signer of [rolled, revoked]) {
      expect(await startSession(sql, signer, browser)).toBeUndefined();
    }
    expect(await listSessions(sql, user_id, "")).toEqual([]);
  });

  test("is over after signing out, for a copied cookie too", async () => {
    const { person } = await signedIn();
    const thief = new Person(app);
    thief.cookie = person.cookie;
    expect((await person.ask("POST", "/api/logout/")).status).toBe(204);
    expect(person.set).toContain("Max-Age=0");
    expect(await statusOf(person)).toBe(401);
    await until(async () => (await statusOf(thief)) === 401);
  });

  test("is over after another sign-in in its browser, after 30 days, and when it is ended from another", async () => {
    const { person, email, user_id } = await signedIn();
    const before = new Person(app);
    before.cookie = person.cookie;
    await person.signIn(email, right);
    await until(async () => (await statusOf(before)) === 401);
    const other = new Person(app);
    await other.signIn(email, right);
    const listed = (await person.ask("GET", `${me}sessions/`)).body["results"] as {
      id: string;
      is_current: boolean;
    }[];
    expect(listed.map(({ is_current }) => is_current)).toEqual([false, true]);
    const path = `${me}sessions/${listed[0]!.id}/`;
    expect((await person.ask("DELETE", path)).status).toBe(204);
    expect((await person.ask("DELETE", path)).status).toBe(404);
    await until(async () => (await statusOf(other)) === 401);
    await stores.sql`UPDATE user_sessions SET expires_at = now() WHERE user_id = ${user_id}`;
    await until(async () => (await statusOf(person)) === 401);
  });

  test("is ended by somebody else for nobody", async () => {
    const { person } = await signedIn();
    const other = await signedIn();
    const [own] = (await person.ask("GET", `${me}sessions/`)).body["results"] as { id: string }[];
    expect((await other.person.ask("DELETE", `${me}sessions/${own!.id}/`)).status).toBe(404);
    expect((await ask(app, "GET", `/api/users/${crypto.randomUUID()}/sessions/`)).status).toBe(403);
    expect(await statusOf(person)).toBe(200);
  });

  test("is one of twenty at most", async () => {
    const { email, user_id, person } = await signedIn();
    await stores.sql`
      INSERT INTO user_sessions (id, user_id, secure_value, user_agent, created_at)
      SELECT 's' || i || ${email}, ${user_id}, 'session$' || encode(sha256(convert_to(${email} || i, 'UTF8')), 'hex'), '',
        now() + i * interval '1 second'
      FROM generate_series(1, ${signInLimits.sessionsMax}) i`;
    await new Person(app).signIn(email, right);
    const [row] = await stores.sql<{ count: number }[]>`
      SELECT count(*)::integer AS count FROM user_sessions WHERE user_id = ${user_id}`;
    expect(row!.count).toBe(signInLimits.sessionsMax);
    expect(await statusOf(person)).toBe(401);
  });
});

test(
  "with SITE_URL of https the cookie travels over TLS only, and is no other host's",
  async () => {
    const other = await startApp({ SITE_URL: "https://sluice.example" });
    const person = new Person(other);
    const email = await givePassword(other, personalKey, right);
    await person.signIn(email, right);
    expect(person.set).toMatch(
      /^__Host-sluice_session=.*; Path=\/; HttpOnly; SameSite=Strict; Max-Age=2592000; Secure$/,
    );
    expect(await statusOf(person)).toBe(200);
    person.cookie = person.cookie.replace("__Host-", "");
    expect(await statusOf(person)).toBe(401);
  },
  startMsMax,
);

describe("one's own account", () => {
  test("gets another password with the current one, and every other session ends", async () => {
    const { person, email } = await signedIn();
    const other = new Person(app);
    await other.signIn(email, right);
    const change = (body: object) => person.ask("PATCH", me, body);
    const next = "another horse battery";
    for (const current_password of [undefined, "wrong horse battery"]) {
      const { status, body } = await change({ password: next, current_password });
      expect([status, body["attr"]]).toEqual([400, "current_password"]);
    }
    const before = person.cookie;
    const { status, text } = await change({ password: next, current_password: right });
    expect([status, text.includes("argon2id")]).toEqual([200, false]);
    expect(person.cookie).not.toBe(before);
    expect(await statusOf(person)).toBe(200);
    await until(async () => (await statusOf(other)) === 401);
    expect((await new Person(app).signIn(email, right)).status).toBe(400);
    expect((await new Person(app).signIn(email, next)).status).toBe(200);
  });

  test("keeps its keys when its owner changes the password", async () => {
    const { person, key } = await signedIn();
    const change = { password: "another horse battery", current_password: right };
    expect((await person.ask("PATCH", me, change)).status).toBe(200);
    expect((await ask(app, "GET", me, undefined, key)).status).toBe(200);
  });

  test("gets a first password by a session, and by no key", async () => {
    const { key } = await addAccount(stores.sql, `first-${++round}@example.com`, {
      organization_id,
      level: 1,
    });
    const refused = await ask(app, "PATCH", me, { password: right }, key);
    expect([refused.status, refused.body["code"]]).toEqual([403, "permission_denied"]);
    expect((await ask(app, "GET", me, undefined, key)).body["has_password"]).toBe(false);
    const email = await givePassword(app, key, right);
    expect((await new Person(app).signIn(email, right)).status).toBe(200);
    // Another one by a key with the current one, as in the console.
    const next = { password: "another horse battery", current_password: right };
    expect((await ask(app, "PATCH", me, next, key)).status).toBe(200);
  });

  test("takes a password of 8 to 128 characters, however many bytes", async () => {
    const { key } = await addPerson();
    const set = async (password: string) => {
      const body = { password, current_password: right };
      return (await ask(app, "PATCH", me, body, key)).body["code"] ?? "taken";
    };
    expect(await set("1234567")).toBe("invalid_input");
    expect(await set("😀".repeat(7))).toBe("invalid_input");
    expect(await set("x".repeat(129))).toBe("max_length");
    // One character that is eighteen when it is normalized.
    expect(await set("\u{fdfa}".repeat(128))).toBe("max_length");
    expect(await set("😀".repeat(128))).toBe("taken");
  });

  test("changes its names, and its address with the password; never to another's, and not by a restricted key", async () => {
    const { person, user_id } = await signedIn();
    const taken = await addPerson();
    expect((await person.ask("PATCH", me, { first_name: "Ada" })).body["first_name"]).toBe("Ada");
    const address = `new-${++round}@example.com`;
    expect((await person.ask("PATCH", me, { email: address })).status).toBe(400);
    const changed = await person.ask("PATCH", me, { email: address.toUpperCase(), current_password: right });
    expect(changed.body["email"]).toBe(address);
    const refused = await person.ask("PATCH", me, { email: taken.email, current_password: right });
    expect([refused.status, refused.body["attr"]]).toEqual([400, "email"]);
    const both = `both-${++round}@example.com`;
    const asked = await Promise.all(
      [taken, await addPerson()].map(({ key }) =>
        ask(app, "PATCH", me, { email: both, current_password: right }, key),
      ),
    );
    expect(asked.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    const held = await issueKey(stores.sql, user_id, { label: "held", scopes: ["*"], scoped_teams: [1] });
    const byKey = await ask(app, "PATCH", me, { password: "another horse battery" }, held.value);
    expect(byKey.status).toBe(403);
  });
});
