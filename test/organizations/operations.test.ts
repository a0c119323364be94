import { afterAll, beforeAll, expect, test } from "bun:test";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { startMsMax } from "../support/accounts.ts";
import { addAccount, addStranger, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, type Server, startServer, storesOf, until } from "../support/server.ts";

let server: Server;
let sql: Postgres;
let first: { id: string; user_id: number };

beforeAll(async () => {
  server = await startServer();
  ({ sql } = await storesOf(server));
  const [row] = await sql<{ id: string; user_id: number }[]>`
    SELECT organization_id AS id, user_id FROM organization_memberships`;
  if (!row) throw new Error("there is no first organization");
  first = row;
}, startMsMax);
afterAll(cleanUp, startMsMax);

const home = "/api/organizations/";
const notFound = [404, "invalid_request", "not_found", "Not found.", null];
const tooLow = [
  403,
  "authentication_error",
  "permission_denied",
  "Your organization access level is insufficient.",
  null,
];

async function make(body: Record<string, unknown> = { name: "Made" }): Promise<Record<string, unknown>> {
  const made = await ask(server, "POST", home, body);
  if (made.status !== 201) throw new Error(made.text);
  return made.body;
}

async function keyOf(input: { scopes: string[]; scoped_teams?: number[]; scoped_organizations?: string[] }) {
  return (await issueKey(sql, first.user_id, { label: "held", ...input })).value;
}

test("creating answers 201 with every field, in its type", async () => {
  const logo_media_id = crypto.randomUUID();
  const made = await make({ name: "  Ångström & Söhne ", logo_media_id, enforce_2fa: "yes" });
  expect(Object.keys(made)).toEqual([
    ..."id name slug logo_media_id created_at updated_at membership_level plugins_access_level".split(" "),
    ..."teams projects available_product_features is_member_join_email_enabled metadata".split(" "),
    ..."customer_id enforce_2fa member_count is_ai_data_processing_approved".split(" "),
    ..."is_active is_not_active_reason is_pending_deletion".split(" "),
  ]);
  expect(made).toMatchObject({
    name: "Ångström & Söhne",
    slug: "angstrom-sohne",
    logo_media_id,
    membership_level: 15,
    plugins_access_level: 9,
    teams: [{ name: "Default project", organization: made["id"], timezone: "UTC" }],
    projects: [{ name: "Default project", organization_id: made["id"] }],
    available_product_features: [],
    is_member_join_email_enabled: true,
    metadata: '{"instance_tag":"none"}',
    customer_id: null,
    enforce_2fa: true,
    member_count: "1",
    is_ai_data_processing_approved: null,
  });
  expect(made["created_at"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z$/);
});

test("creating switches the maker's current organization and project", async () => {
  const made = await make();
  expect((await ask(server, "GET", `${home}@current/`)).body["id"]).toBe(made["id"]);
  const [project] = made["projects"] as { id: number }[];
  expect((await ask(server, "GET", "/api/projects/@current/")).body["id"]).toBe(project!.id);
});

test("a taken slug gets a tail, and a name without letters one of its own", async () => {
  const slugs = [await make({ name: "Twice" }), await make({ name: "twice!" })].map((made) => made["slug"]);
  expect(slugs[0]).toBe("twice");
  expect(slugs[1]).toMatch(/^twice-[a-z0-9]{4}$/);
  expect((await make({ name: "日本" }))["slug"]).toMatch(/^[a-z0-9]+$/);
});

test("what is only shown cannot be set", async () => {
  const forged = {
    id: crypto.randomUUID(),
    slug: "forged",
    membership_level: 1,
    member_count: "9",
    teams: [],
  };
  const made = await make({ name: "Forged", ...forged, plugins_access_level: 0, customer_id: "x" });
  expect(made).toMatchObject({ slug: "forged", membership_level: 15, member_count: "1", customer_id: null });
  expect(made["id"]).not.toBe(forged.id);
  expect(made["plugins_access_level"]).toBe(9);
});

test("a wrong field is refused in the words of the API", async () => {
  const wrong: [unknown, unknown[]][] = [
    [{}, ["required", "This field is required.", "name"]],
    [{ name: "x".repeat(65) }, ["max_length", "Ensure this field has no more than 64 characters.", "name"]],
    [{ enforce_2fa: 2, name: "" }, ["blank", "This field may not be blank.", "name"]],
    [{ name: "a", logo_media_id: "b" }, ["invalid_input", "“b” is not a valid UUID.", "logo_media_id"]],
    [
      { name: "a", is_member_join_email_enabled: null },
      ["null", "This field may not be null.", "is_member_join_email_enabled"],
    ],
    ["null", ["null", "No data provided", null]],
    ["[]", ["invalid_input", "Invalid data. Expected a dictionary, but got list.", null]],
  ];
  for (const [body, [code, detail, attr]] of wrong) {
    const refused = problemOf(await ask(server, "POST", home, body));
    expect(refused).toEqual([400, "validation_error", code, detail, attr]);
  }
  expect(await ask(server, "POST", home, "{")).toMatchObject({ status: 400, body: { code: "parse_error" } });
});

test("lists the user's own, oldest first, a page at a time, keeping other query keys", async () => {
  await make({ name: "Last" });
  const { body } = await ask(server, "GET", `${home}?limit=1&_=%20y`);
  expect(body).toMatchObject({
    next: `${server.url}${home}?_=+y&limit=1&offset=1`,
    previous: null,
    results: [{ id: first.id }],
  });
  const all = (await ask(server, "GET", "/api/organizations")).body;
  const created = (all["results"] as { created_at: string }[]).map((one) => one.created_at);
  expect(created).toEqual(created.toSorted());
  expect(all["count"]).toBe(created.length);
});

test("a change answers the whole and leaves the slug and what is not named", async () => {
  const { id } = await make({ name: "Before", enforce_2fa: true });
  const changed = await ask(server, "PATCH", `${home}${id}/`, {
    name: "After",
    is_member_join_email_enabled: "no",
  });
  expect(changed).toMatchObject({
    status: 200,
    body: { name: "After", slug: "before", enforce_2fa: true, is_member_join_email_enabled: false },
  });
  expect((await ask(server, "PATCH", `${home}${id}`, { enforce_2fa: null })).body["enforce_2fa"]).toBeNull();
  const before = (await ask(server, "GET", `${home}${id}/`)).body;
  expect(await ask(server, "PATCH", `${home}${id}/`, {})).toMatchObject({ status: 200, body: before });
  expect((await ask(server, "PUT", `${home}${id}/`, {})).body).toMatchObject({
    code: "required",
    attr: "name",
  });
  expect((await ask(server, "PUT", `${home}${id}/`, { name: "Put" })).body).toMatchObject({ name: "Put" });
});

test("a member reads, an administrator changes, an owner deletes", async () => {
  const { id } = await make();
  const organization_id = id as string;
  const member = await addAccount(sql, "member@example.com", { organization_id, level: 1 });
  const admin = await addAccount(sql, "admin@example.org", { organization_id, level: 8 });
  const path = `${home}${organization_id}/`;
  const read = await ask(server, "GET", path, undefined, member.key);
  expect(read.body).toMatchObject({ membership_level: 1, member_count: "3" });
  expect(problemOf(await ask(server, "PATCH", path, { name: "x" }, member.key))).toEqual(tooLow);
  expect(await ask(server, "PATCH", path, { name: "x" }, admin.key)).toMatchObject({ status: 200 });
  for (const { key } of [member, admin]) {
    expect(problemOf(await ask(server, "DELETE", path, undefined, key))).toEqual(tooLow);
  }
  expect((await ask(server, "DELETE", path)).status).toBe(204);
});

test("for strangers it does not exist, whatever they send", async () => {
  const stranger = await addStranger(sql);
  for (const [method, body] of [["GET"], ["PATCH", "{"], ["PUT", {}], ["DELETE"]] as const) {
    const refused = await ask(server, method, `${home}${first.id}/`, body, stranger.key);
    expect(problemOf(refused)).toEqual(notFound);
  }
  const { body } = await ask(server, "GET", home, undefined, stranger.key);
  expect(body).toMatchObject({ count: 1, results: [{ id: stranger.organization_id }] });
});

test("an id that makes no sense is not there", async () => {
  for (const id of ["0", "-1", "abc", "%00", "%FF", "9".repeat(40), crypto.randomUUID()]) {
    for (const method of ["GET", "PATCH", "DELETE"]) {
      expect([id, ...problemOf(await ask(server, method, `${home}${id}/`))]).toEqual([id, ...notFound]);
    }
  }
});

test("a key held to organizations sees only these and makes none; one held to projects sees none", async () => {
  const { id } = await make();
  const held = await keyOf({ scopes: ["*"], scoped_organizations: [first.id] });
  expect((await ask(server, "GET", home, undefined, held)).body).toMatchObject({
    results: [{ id: first.id }],
  });
  expect(problemOf(await ask(server, "GET", `${home}${id}/`, undefined, held))).toEqual(notFound);
  expect((await ask(server, "GET", `${home}@current/`, undefined, held)).body["id"]).toBe(first.id);
  expect((await ask(server, "POST", home, { name: "x" }, held)).status).toBe(403);
  const narrow = await keyOf({ scopes: ["*"], scoped_teams: [1] });
  expect((await ask(server, "GET", home, undefined, narrow)).body["detail"]).toBe(
    "API keys with scoped projects are only supported on project-based endpoints.",
  );
});

test("deleting takes its projects, its capture keys and the keys held to it alone", async () => {
  const made = await make();
  const id = made["id"] as string;
  const [team] = made["teams"] as { id: number; api_token: string }[];
  const event = { api_key: team!.api_token, event: "e", distinct_id: "d" };
  await until(async () => (await post(server, "/capture/", event)).status === 200);
  const alone = await keyOf({ scopes: ["*"], scoped_organizations: [id] });
  const both = await keyOf({ scopes: ["*"], scoped_organizations: [id, first.id] });
  const inside = await keyOf({ scopes: ["*"], scoped_teams: [team!.id] });
  expect((await ask(server, "DELETE", `${home}${id}/`)).text).toBe("");
  expect(problemOf(await ask(server, "DELETE", `${home}${id}/`))).toEqual(notFound);
  expect((await ask(server, "GET", `/api/projects/${team!.id}/`)).status).toBe(404);
  for (const gone of [alone, inside]) {
    expect((await ask(server, "GET", "/api/personal_api_keys/@current", undefined, gone)).status).toBe(401);
  }
  const left = await ask(server, "GET", "/api/personal_api_keys/@current", undefined, both);
  expect(left.body["scoped_organizations"]).toEqual([first.id]);
  await until(async () => (await post(server, "/capture/", event)).status === 401);
  // The user survives, and something else is current.
  expect((await ask(server, "GET", `${home}@current/`)).status).toBe(200);
});

test("the last organization may go too", async () => {
  const stranger = await addStranger(sql);
  const gone = await ask(server, "DELETE", `${home}${stranger.organization_id}/`, undefined, stranger.key);
  expect(gone.status).toBe(204);
  expect((await ask(server, "GET", `${home}@current/`, undefined, stranger.key)).body["detail"]).toBe(
    "Current organization not found.",
  );
  expect((await ask(server, "GET", home, undefined, stranger.key)).body["count"]).toBe(0);
});

test("other methods are answered with those allowed", async () => {
  const refused = await ask(server, "DELETE", home);
  expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
  const options = await ask(server, "OPTIONS", `${home}${first.id}/`);
  expect([options.status, options.headers.get("allow")]).toEqual([204, "DELETE, GET, HEAD, PATCH, PUT"]);
  const head = await ask(server, "HEAD", home);
  expect([head.status, head.text]).toEqual([200, ""]);
});

test("a setting that does not exist is refused by name, and what replies show may be sent back", async () => {
  for (const [method, path] of [
    ["POST", home],
    ["PATCH", `${home}@current/`],
    ["PUT", `${home}@current/`],
  ] as const) {
    const refused = await ask(server, method, path, {
      name: "New",
      members_can_use_personal_api_keys: false,
    });
    expect([refused.status, refused.body["attr"]]).toEqual([400, "members_can_use_personal_api_keys"]);
  }
  const { body } = await ask(server, "GET", `${home}@current/`);
  expect(body["name"]).not.toBe("New");
  expect((await ask(server, "PUT", `${home}@current/`, body)).status).toBe(200);
});
