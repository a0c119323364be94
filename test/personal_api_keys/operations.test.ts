import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { personalKeysMax } from "../../src/personal_api_keys/operations.ts";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { startMsMax } from "../support/accounts.ts";
import { type Account, addStranger, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Server, startServer, storesOf } from "../support/server.ts";

let server: Server;
let sql: Postgres;
let owner: Account & { organization_id: string };
let stranger: Account & { organization_id: string };
let project_id: number;

beforeAll(async () => {
  server = await startServer();
  ({ sql } = await storesOf(server));
}, startMsMax);
beforeEach(async () => {
  [owner, stranger] = [await addStranger(sql), await addStranger(sql)];
  const [row] = await sql<{ id: number }[]>`
    SELECT id FROM projects WHERE organization_id = ${owner.organization_id}`;
  project_id = row!.id;
});
afterAll(cleanUp, startMsMax);

const home = "/api/personal_api_keys/";
const call = (method: string, path: string, body?: unknown, key = owner.key) =>
  ask(server, method, path, body, key);
const statusOf = async (key: string) => (await call("GET", `${home}@current`, undefined, key)).status;
const input = { label: "made", scopes: ["query:read"] };

test("issuing shows the value once, and the key works", async () => {
  const { status, body } = await call("POST", home, { ...input, id: "forged", mask_value: "forged" });
  const { id, value } = body as { id: string; value: string };
  expect([status, id === "forged", value.slice(0, 4), value.length]).toEqual([201, false, "phx_", 51]);
  expect(body).toMatchObject({ ...input, scoped_teams: [], scoped_organizations: [], last_rolled_at: null });
  const current = await call("GET", `${home}@current/`, undefined, value);
  expect(current.body).toMatchObject({ id, mask_value: `phx_...${value.slice(-4)}` });
  for (const path of [home, `${home}${id}/`, `${home}@current`]) {
    expect((await call("GET", path)).text).not.toContain(value);
  }
  const list = await call("GET", `${home}?limit=1`);
  expect(list.body).toMatchObject({ count: 2, results: [{ id }] });
});

test("a wish that makes no sense is refused in the words of the API", async () => {
  const member = "You must be a member of all organizations that you are scoping the key to.";
  const team = "You must be a member of all teams that you are scoping the key to.";
  const wrong: [object, ...unknown[]][] = [
    [{ scopes: ["*"] }, "required", "This field is required.", "label"],
    [{ ...input, label: " " }, "blank", "This field may not be blank.", "label"],
    [
      { ...input, label: "x".repeat(41) },
      "max_length",
      "Ensure this field has no more than 40 characters.",
      "label",
    ],
    [{ label: "a" }, "required", "This field is required.", "scopes"],
    [{ ...input, scopes: [] }, "empty", "This list may not be empty.", "scopes"],
    [{ ...input, scopes: "*" }, "not_a_list", 'Expected a list of items but got type "str".', "scopes"],
    [{ ...input, scopes: ["invalid"] }, "invalid_input", "Invalid scope: invalid", "scopes"],
    [{ ...input, scoped_teams: ["x"] }, "invalid_input", "A valid integer is required.", "scoped_teams__0"],
    [{ ...input, scoped_teams: [999_999] }, "invalid_input", team, "scoped_teams"],
    [
      { ...input, scoped_organizations: [stranger.organization_id] },
      "invalid_input",
      member,
      "scoped_organizations",
    ],
  ];
  // A key made without the restriction that was meant would reach every project.
  for (const name of ["scoped_team", "expires_at"]) {
    const refused = await call("POST", home, { ...input, [name]: [1] });
    expect([refused.status, refused.body["attr"]]).toEqual([400, name]);
  }
  for (const [body, code, detail, attr] of wrong) {
    expect(problemOf(await call("POST", home, body))).toEqual([400, "validation_error", code, detail, attr]);
  }
});

test("a user has at most ten keys, however many are requested at once", async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => call("POST", home, input)));
  const made = answers.filter(({ status }) => status === 201);
  expect(made.length).toBe(personalKeysMax - 1);
  const detail = "You can only have 10 personal API keys. Remove an existing key before creating a new one.";
  const refused = answers.find(({ status }) => status !== 201)!;
  expect(problemOf(refused)).toEqual([400, "validation_error", "invalid_input", detail, null]);
  await call("DELETE", `${home}${made[0]!.body["id"]}/`);
  expect((await call("POST", home, input)).status).toBe(201);
});

test("a key neither issues nor becomes nor touches one that reaches further than itself", async () => {
  const { organization_id } = owner;
  const held = await issueKey(sql, owner.user_id, {
    label: "held",
    scopes: ["*"],
    scoped_organizations: [organization_id],
  });
  const narrow = { ...input, scoped_organizations: [organization_id] };
  expect((await call("POST", home, narrow, held.value)).status).toBe(201);
  const [other] = await sql<{ id: string }[]>`
    SELECT id FROM personal_api_keys WHERE user_id = ${owner.user_id} AND label = 'all'`;
  for (const [method, path, body] of [
    ["POST", home, input],
    ["PATCH", `${home}${held.id}/`, { scoped_organizations: [] }],
    ["POST", `${home}${other!.id}/roll/`, undefined],
    ["PATCH", `${home}${other!.id}/`, { label: "x" }],
    ["DELETE", `${home}${other!.id}/`, undefined],
  ] as const) {
    const refused = await call(method, path, body, held.value);
    expect([method, refused.status, refused.body["code"]]).toEqual([method, 403, "permission_denied"]);
  }
  const byTeam = await issueKey(sql, owner.user_id, {
    label: "t",
    scopes: ["*"],
    scoped_teams: [project_id],
  });
  expect((await call("POST", home, input, byTeam.value)).status).toBe(403);
  expect((await call("POST", home, { ...input, scoped_teams: [project_id] }, byTeam.value)).status).toBe(201);
});

test("all but @current need every scope", async () => {
  const { value, id } = await issueKey(sql, owner.user_id, { label: "few", scopes: ["project:write"] });
  expect(await statusOf(value)).toBe(200);
  for (const [method, path] of [
    ["GET", home],
    ["POST", home],
    ["GET", `${home}${id}/`],
    ["PATCH", `${home}${id}/`],
    ["DELETE", `${home}${id}/`],
    ["POST", `${home}${id}/roll/`],
  ] as const) {
    const refused = await call(method, path, method === "GET" ? undefined : "{", value);
    expect(refused.body["detail"]).toBe("API key missing required scope '*'");
  }
});

test("a change keeps what it does not name, and takes effect at once", async () => {
  const { body } = await call("POST", home, { ...input, scopes: ["project:read"] });
  const { id, value } = body as { id: string; value: string };
  expect((await call("GET", "/api/projects/", undefined, value)).status).toBe(200);
  const changed = await call("PATCH", `${home}${id}/`, { scopes: ["person:read"], mask_value: "forged" });
  expect(changed.body).toMatchObject({
    id,
    label: "made",
    scopes: ["person:read"],
    mask_value: body["mask_value"],
  });
  expect((await call("GET", "/api/projects/", undefined, value)).status).toBe(403);
  expect((await call("PATCH", `${home}${id}/`, {})).status).toBe(200);
  expect((await call("PUT", `${home}${id}/`, { label: "x" })).body).toMatchObject({ attr: "scopes" });
});

test("rolling gives a new value, and the old one is refused at once", async () => {
  const { body } = await call("POST", home, input);
  const rolled = await call("POST", `${home}${body["id"]}/roll`);
  expect(rolled.body).toMatchObject({ id: body["id"], label: "made", last_rolled_at: expect.any(String) });
  expect(await statusOf(body["value"] as string)).toBe(401);
  expect(await statusOf(rolled.body["value"] as string)).toBe(200);
});

test("revoking takes effect at once", async () => {
  const { body } = await call("POST", home, input);
  expect(await statusOf(body["value"] as string)).toBe(200);
  expect((await call("DELETE", `${home}${body["id"]}/`)).status).toBe(204);
  expect(await statusOf(body["value"] as string)).toBe(401);
  expect((await call("DELETE", `${home}${body["id"]}/`)).status).toBe(404);
});

test("another user's key is not there, nor is one whose id makes no sense", async () => {
  const { id } = await issueKey(sql, stranger.user_id, { label: "theirs", scopes: ["*"] });
  for (const wrong of [id, "0", "-1", "%00", "%FF", "a%2Fb", "x".repeat(5000)]) {
    for (const [method, path] of [
      ["GET", ""],
      ["PATCH", ""],
      ["PUT", ""],
      ["DELETE", ""],
      ["POST", "roll/"],
    ] as const) {
      const refused = await call(method, `${home}${wrong}/${path}`);
      expect(problemOf(refused)).toEqual([404, "invalid_request", "not_found", "Not found.", null]);
    }
  }
});
