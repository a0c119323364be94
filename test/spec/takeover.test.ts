// An account that a stranger has made or stolen, and its owner's way back: what the stranger kept opens nothing.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { addAccount, addStranger, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { givePassword, ofConsole, Person } from "../support/people.ts";
import { personalKey, runSluice, type Server, startServer, storesOf, until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

let server: Server & { dataDir: string };

beforeAll(async () => {
  server = await startServer({ TRUSTED_PROXIES: "127.0.0.1" });
}, storesStartMsMax);

afterAll(cleanUp);

async function invite(organization_id: string, target_email: string, key: string) {
  const path = `/api/organizations/${organization_id}/invites/`;
  const { body } = await ask(server, "POST", path, { target_email, level: 1 }, key);
  const [id = "", token = ""] = String(body["link"]).split("#invite=")[1]?.split(".") ?? [];
  return async (person: Person, password: string) => {
    const headers = { ...ofConsole, authorization: `Bearer ${token}` };
    return await person.ask("POST", `/api/signup/${id}/`, { password }, headers);
  };
}

async function currentOrganization(): Promise<string> {
  return String((await ask(server, "GET", "/api/organizations/@current/")).body["id"]);
}

const namesOf = ({ body }: { body: Record<string, unknown> }) =>
  (body["results"] as { name: string }[]).map(({ name }) => name);

const issue = async (person: Person, label: string) =>
  await person.ask("POST", "/api/personal_api_keys/", { label, scopes: ["*"] });

test("an account made in a stranger's name opens nothing to its maker once its owner has it", async () => {
  const email = "ceo@victim.example";
  const attacker = new Person(server);
  const accept = await invite(await currentOrganization(), email, personalKey);
  expect((await accept(attacker, "the attacker's own")).status).toBe(201);
  const kept = String((await issue(attacker, "kept")).body["value"]);
  expect(namesOf(await ask(server, "GET", "/api/organizations/", undefined, kept))).toEqual([
    "Default organization",
  ]);
  const victim = await addStranger((await storesOf(server)).sql);
  const join = await invite(victim.organization_id, email, victim.key);
  const owner = new Person(server);
  expect((await join(owner, "what the owner would choose")).status).toBe(400);
  const reset = await runSluice(["user", "password", "--email", email], { DATA_DIR: server.dataDir });
  expect([reset.exitCode, reset.stderr]).toEqual([
    0,
    expect.stringContaining("ended: personal API keys 1, sessions 1, invitations 0"),
  ]);
  expect((await ask(server, "POST", "/api/organizations/", { name: "More" }, kept)).status).toBe(401);
  await until(async () => (await attacker.ask("GET", "/api/users/@me/")).status === 401);
  const accepted = await join(owner, reset.stdout.trim());
  expect([accepted.status, accepted.body]).toEqual([
    201,
    { success: true, personal_api_keys: [], sessions: [] },
  ]);
  expect(namesOf(await owner.ask("GET", "/api/organizations/"))).toEqual([
    "Default organization",
    "Strangers",
  ]);
  expect((await ask(server, "GET", "/api/organizations/", undefined, kept)).status).toBe(401);
});

test("a key that a thief has made stays where it was, and is shown to who accepts another invitation", async () => {
  const { sql } = await storesOf(server);
  const membership = { organization_id: await currentOrganization(), level: 8 };
  const { key } = await addAccount(sql, "ann@victim.example", membership);
  const email = await givePassword(server, key, "ann's own password");
  const thief = new Person(server);
  await thief.signIn(email, "ann's own password");
  const stolen = String((await issue(thief, "stolen")).body["value"]);
  const victim = await addStranger(sql);
  const theirs = (await ask(server, "GET", "/api/projects/@current/", undefined, victim.key)).body["id"];
  const join = await invite(victim.organization_id, email, victim.key);
  const ann = new Person(server);
  const accepted = await join(ann, "ann's own password");
  expect(accepted.body).toMatchObject({
    success: true,
    personal_api_keys: [{ label: "stolen", scopes: ["*"] }, { label: "all" }],
    sessions: [{ key_label: null, is_current: false }],
  });
  expect(accepted.text).not.toContain(stolen);
  const opened = async (method: string, path: string, body?: unknown) =>
    (await ask(server, method, path, body, stolen)).status;
  const organization = `/api/organizations/${victim.organization_id}/`;
  for (const path of [
    `/api/projects/${theirs}/`,
    `/api/projects/${theirs}/events/`,
    `${organization}members/`,
  ])
    expect([path, await opened("GET", path)]).toEqual([path, 403]);
  expect(await opened("GET", organization)).toBe(404);
  expect(await opened("PATCH", `/api/projects/${theirs}/`, { name: "Mine" })).toBe(403);
  for (const path of ["/api/organizations/", "/api/projects/"])
    expect(JSON.stringify((await ask(server, "GET", path, undefined, stolen)).body)).not.toContain(
      "Strangers",
    );
  const own = (await ask(server, "GET", "/api/users/@me/", undefined, stolen)).body;
  expect((own["organizations"] as object[]).length).toBe(1);
  // Nor by another key, which it makes, widens or replaces.
  const keys = "/api/personal_api_keys/";
  const made = await ask(server, "POST", keys, { label: "made", scopes: ["*"] }, stolen);
  const further = String(made.body["value"]);
  expect((await ask(server, "GET", `/api/projects/${theirs}/`, undefined, further)).status).toBe(403);
  for (const limits of [{ scoped_organizations: [victim.organization_id] }, { scoped_teams: [theirs] }]) {
    expect(await opened("POST", keys, { label: "x", scopes: ["*"], ...limits })).toBe(400);
    expect(await opened("PATCH", `${keys}${made.body["id"]}/`, limits)).toBe(400);
  }
  const wide = await issue(ann, "wide");
  const limited = await ann.ask("POST", keys, {
    label: "limited",
    scopes: ["*"],
    scoped_organizations: [victim.organization_id],
  });
  for (const { body } of [wide, limited]) {
    expect(await opened("POST", `${keys}${body["id"]}/roll/`)).toBe(403);
    expect(await opened("PATCH", `${keys}${body["id"]}/`, { scoped_organizations: [] })).toBe(403);
    expect(await opened("DELETE", `${keys}${body["id"]}/`)).toBe(403);
  }
  // Its session in a browser reaches as far.
  const browser = new Person(server);
  await browser.ask("POST", "/api/login/", { personal_api_key: stolen });
  expect((await browser.ask("GET", `/api/projects/${theirs}/`)).status).toBe(403);
  // Ann's own new key and her session reach both.
  expect(
    (await ask(server, "GET", `/api/projects/${theirs}/`, undefined, String(wide.body["value"]))).status,
  ).toBe(200);
  expect((await ann.ask("GET", `/api/projects/${theirs}/`)).status).toBe(200);
});

test("a key reaches what it creates, by itself and in its browser, and one whose limits end what the changer reaches", async () => {
  const create = await ask(server, "POST", "/api/organizations/", { name: "Made by a key" });
  const path = `/api/organizations/${create.body["id"]}/`;
  expect(create.status).toBe(201);
  expect((await ask(server, "GET", path)).status).toBe(200);
  expect((await ask(server, "PATCH", path, { name: "Changed" })).body["name"]).toBe("Changed");
  const browser = new Person(server);
  await browser.ask("POST", "/api/login/", { personal_api_key: personalKey });
  const second = await browser.ask("POST", "/api/organizations/", { name: "Made in a browser" });
  expect((await browser.ask("GET", `/api/organizations/${second.body["id"]}/`)).status).toBe(200);
  expect((await ask(server, "DELETE", `/api/organizations/${second.body["id"]}/`)).status).toBe(204);
  const limits = { label: "limited", scopes: ["*"], scoped_organizations: [create.body["id"]] };
  const { id, value } = (await ask(server, "POST", "/api/personal_api_keys/", limits)).body;
  expect((await ask(server, "GET", path, undefined, String(value))).status).toBe(200);
  const other = (await ask(server, "GET", "/api/organizations/")).body["results"] as { id: string }[];
  await ask(server, "PATCH", `/api/personal_api_keys/${id}/`, { scoped_organizations: [] });
  const reached = (await ask(server, "GET", "/api/organizations/", undefined, String(value))).body["results"];
  expect(reached).toHaveLength(other.length);
  expect((await ask(server, "DELETE", path)).status).toBe(204);
  expect((await ask(server, "GET", path)).status).toBe(404);
});

test("who comes back to an organization finds that older keys do not", async () => {
  const { sql } = await storesOf(server);
  const { key, user_id, organization_id } = await addStranger(sql);
  const home = await currentOrganization();
  const add = () =>
    sql`INSERT INTO organization_memberships (organization_id, user_id) VALUES (${home}, ${user_id})`;
  await add();
  const statusOf = async (id: string) =>
    (await ask(server, "GET", `/api/organizations/${id}/`, undefined, key)).status;
  expect([await statusOf(home), await statusOf(organization_id)]).toEqual([404, 200]);
  await sql`DELETE FROM organization_memberships WHERE user_id = ${user_id} AND organization_id = ${organization_id}`;
  await sql`INSERT INTO organization_memberships (organization_id, user_id) VALUES (${organization_id}, ${user_id})`;
  await until(async () => (await statusOf(organization_id)) === 404);
});
