import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { openPasswords } from "../../src/accounts/sign_in/passwords.ts";
import { listSessions, startSession } from "../../src/accounts/sign_in/session_store.ts";
import { findSigningUser } from "../../src/accounts/sign_in/user_store.ts";
import { projectCommand } from "../../src/cli/accounts.ts";
import type { CliContext, Command } from "../../src/cli/command.ts";
import { keyCommand } from "../../src/cli/key.ts";
import { userCommand } from "../../src/cli/user.ts";
import { readConfig } from "../../src/config.ts";
import { systemClock } from "../../src/core/clock.ts";
import { UserError } from "../../src/core/fault.ts";
import { hashKey } from "../../src/core/id.ts";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";

let accounts: FirstAccounts;
let printed: string[];
let errors: string[];

beforeAll(async () => {
  accounts = await openFirstAccounts();
}, startMsMax);

afterAll(() => accounts.close());

beforeEach(() => {
  printed = [];
  errors = [];
});

async function run(command: Command, ...args: string[]): Promise<number> {
  const { host, port, user, pass, database } = accounts.sql.options;
  const url = `postgres://${String(user)}:${String(pass)}@${host[0]}:${port[0]}/${database}`;
  const context: CliContext = {
    config: readConfig({
      DATA_DIR: accounts.dataDir,
      DATABASE_URL: url,
      SECRET_KEY: "a secret key for these tests",
    }),
    print: (line) => void printed.push(line),
    printError: (line) => void errors.push(line),
    terminal: false,
  };
  return command.run(args, context);
}

async function complaint(
  command: Command,
  ...args: string[]
): Promise<{ message: string; exitCode: number }> {
  const reason: unknown = await run(command, ...args).catch((thrown: unknown) => thrown);
  if (!(reason instanceof UserError)) throw new Error(`expected a complaint, got ${String(reason)}`);
  expect(printed).toEqual([]);
  expect(reason.message).not.toContain("\n");
  return { message: reason.message, exitCode: reason.exitCode };
}

test("project create makes a project in the oldest organization and prints it", async () => {
  expect(await run(projectCommand, "create", "--name", "Web shop")).toBe(0);
  expect(printed).toHaveLength(1);
  expect(printed[0]).toMatch(/^\d+\tphc_[0-9A-Za-z]{43}\tWeb shop$/);
});

test("project create takes a key and an organization, and prints JSON", async () => {
  const args = [
    "--name",
    "Given",
    "--api-key",
    "given-key",
    "--organization",
    accounts.organization_id,
    "--json",
  ];
  expect(await run(projectCommand, "create", ...args)).toBe(0);
  expect(JSON.parse(printed[0] ?? "")).toMatchObject({
    name: "Given",
    api_token: "given-key",
    organization: accounts.organization_id,
  });
});

test("project list prints every project", async () => {
  expect(await run(projectCommand, "list")).toBe(0);
  expect(printed[0]).toBe(`${accounts.project_id}\t${accounts.project_api_key}\tDefault project`);
  printed = [];
  await run(projectCommand, "list", "--json");
  expect(JSON.parse(printed[0] ?? "")[0]).toMatchObject({ id: accounts.project_id, name: "Default project" });
});

test("project refuses what cannot be, in one line", async () => {
  const wrong = async (...args: string[]) => (await complaint(projectCommand, ...args)).exitCode;
  expect(await wrong()).toBe(2);
  expect(await wrong("make")).toBe(2);
  expect(await wrong("create")).toBe(2);
  expect(await wrong("create", "--name", "x".repeat(201))).toBe(2);
  expect(await wrong("create", "--name", "x", "--api-key", "phx_personal")).toBe(2);
  expect(await wrong("create", "--name", "x", "--api-key", "two words")).toBe(2);
  expect(await wrong("create", "--name", "x", "--organization", "5")).toBe(2);
  expect(await wrong("list", "--name", "x")).toBe(2);
  expect(
    await complaint(projectCommand, "create", "--name", "x", "--api-key", accounts.project_api_key),
  ).toEqual({
    message: "Another project has this API key.",
    exitCode: 1,
  });
  expect(
    await complaint(projectCommand, "create", "--name", "x", "--organization", crypto.randomUUID()),
  ).toEqual({
    message: "The organization does not exist.",
    exitCode: 1,
  });
});

test("key issue prints the key alone on standard output, so that a script can take it", async () => {
  expect(await run(keyCommand, "issue", "--label", "report", "--scopes", "query:read, project:read")).toBe(0);
  expect(printed).toHaveLength(1);
  const [row] = await accounts.sql`
    SELECT label, scopes FROM personal_api_keys WHERE secure_value = ${hashKey(printed[0] ?? "")}`;
  expect({ ...row }).toEqual({ label: "report", scopes: ["query:read", "project:read"] });
});

test("key list shows no key, and key revoke ends one", async () => {
  await run(keyCommand, "issue", "--label", "short", "--scopes", "*", "--json");
  const issued: unknown = JSON.parse(printed[0] ?? "");
  expect(issued).toMatchObject({ label: "short", scopes: ["*"] });
  const { id, value } = issued as { id: string; value: string };
  printed = [];
  expect(await run(keyCommand, "list")).toBe(0);
  expect(printed.join("\n")).toContain(id);
  expect(printed.join("\n")).not.toContain(value);
  printed = [];
  expect(await run(keyCommand, "revoke", id)).toBe(0);
  expect(printed).toEqual([`key ${id} revoked`]);
  printed = [];
  expect((await complaint(keyCommand, "revoke", id)).exitCode).toBe(1);
});

test("key refuses what cannot be, in one line", async () => {
  const wrong = async (...args: string[]) => (await complaint(keyCommand, ...args)).exitCode;
  expect(await wrong()).toBe(2);
  expect(await wrong("issue", "--scopes", "*")).toBe(2);
  expect(await wrong("issue", "--label", "x")).toBe(2);
  expect(await wrong("issue", "--label", "x".repeat(41), "--scopes", "*")).toBe(2);
  expect(await wrong("issue", "--label", "x", "--scopes", "query:delete")).toBe(2);
  expect(await wrong("issue", "--label", "x", "--scopes", "query:read,")).toBe(2);
  expect(await wrong("revoke")).toBe(2);
  expect(await wrong("revoke", "a", "b")).toBe(2);
  expect(await wrong("list", "--label", "x")).toBe(2);
  expect(await wrong("issue", "--label", "x", "--scopes", "*", "--email", "nobody@example.com")).toBe(1);
});

test("an option of another verb is refused, by every verb that has none of its own", async () => {
  for (const [command, ...args] of [
    [keyCommand, "list", "--label", "x"],
    [keyCommand, "revoke", "id", "--label", "x"],
    [projectCommand, "list", "--name", "x"],
    [userCommand, "list", "--email", "x"],
  ] as [Command, ...string[]][]) {
    const message = `${args[0]} has no ${args.at(-2)}`;
    expect(await complaint(command, ...args)).toEqual({ message, exitCode: 2 });
  }
});

test("a database without tables is explained", async () => {
  await accounts.sql`ALTER TABLE projects RENAME TO hidden_projects`;
  const { message } = await complaint(projectCommand, "list");
  await accounts.sql`ALTER TABLE hidden_projects RENAME TO projects`;
  expect(message).toContain("sluice migrate");
});

test("user password gives a user a password that signs in, and ends their sessions, keys and invitations", async () => {
  const { sql, user_id } = accounts;
  const [user] = await sql<{ email: string }[]>`SELECT email FROM users WHERE id = ${user_id}`;
  const [key] = await sql<
    { id: string; secure_value: string }[]
  >`SELECT id, secure_value FROM personal_api_keys`;
  await startSession(sql, { user_id, key: key! }, { user_agent: "", replaces: undefined });
  expect(await run(userCommand, "list")).toBe(0);
  expect(printed[0]).toMatch(new RegExp(`^${user!.email}\tno password\t\\d{4}-`));
  printed = [];
  expect(await run(userCommand, "password", "--email", user!.email.toUpperCase())).toBe(0);
  const [password = ""] = printed;
  expect(password).toMatch(/^[0-9A-Za-z]{24}$/);
  const found = await findSigningUser(sql, user!.email);
  const matches = async (text: string) =>
    await openPasswords(systemClock).matches(text, found?.password_hash, { owner: "", isKnown: true });
  expect([await matches(password), await matches(`${password}x`)]).toEqual([true, false]);
  expect(await listSessions(sql, user_id, "")).toEqual([]);
  expect((await sql`SELECT FROM personal_api_keys WHERE user_id = ${user_id}`).length).toBe(0);
  expect(errors.at(-1)).toBe("ended: personal API keys 2, sessions 1, invitations 0");
  await issueKey(sql, user_id, { label: "ci", scopes: ["*"] });
  expect(await run(userCommand, "password", "--email", user!.email, "--keep-keys")).toBe(0);
  expect(errors.at(-1)).toBe("ended: personal API keys 0, sessions 0, invitations 0");
  expect((await sql`SELECT FROM personal_api_keys WHERE user_id = ${user_id}`).length).toBe(1);
  printed = [];
  expect(await run(userCommand, "list", "--json")).toBe(0);
  expect(JSON.parse(printed[0] ?? "")).toMatchObject([{ email: user!.email, has_password: true }]);
});

test("user says what is wrong", async () => {
  const nobody = await complaint(userCommand, "password", "--email", "nobody@example.com");
  expect(nobody.message).toContain("no user has the address nobody@example.com");
  expect((await complaint(userCommand, "password")).exitCode).toBe(2);
  expect((await complaint(userCommand, "remove")).exitCode).toBe(2);
  expect((await complaint(userCommand, "list", "--email", "a@example.com")).exitCode).toBe(2);
});
