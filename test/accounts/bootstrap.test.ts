import { afterEach, beforeEach, expect, test } from "bun:test";
import { bootstrap } from "../../src/accounts/prepare.ts";
import { normalizedEmail } from "../../src/accounts/sign_in/signing.ts";
import { findSigningUser } from "../../src/accounts/sign_in/user_store.ts";
import { markServed } from "../../src/accounts/store.ts";
import { UserError } from "../../src/core/fault.ts";
import { hashKey } from "../../src/core/id.ts";
import { listAllProjects } from "../../src/projects/store.ts";
import { type Accounts, openAccounts, startMsMax } from "../support/accounts.ts";

let accounts: Accounts;

beforeEach(async () => {
  accounts = await openAccounts();
}, startMsMax);

afterEach(() => accounts.close());

const nothingGiven = {
  bootstrapProjectApiKey: undefined,
  bootstrapPersonalApiKey: undefined,
  bootstrapEmail: undefined,
};

test("of several first starts at once one makes the accounts, and later ones none", async () => {
  const { sql } = accounts;
  const starts = await Promise.all(Array.from({ length: 5 }, () => bootstrap(sql, nothingGiven)));
  expect(starts.filter((made) => made !== undefined)).toHaveLength(1);
  expect(await bootstrap(sql, nothingGiven)).toBeUndefined();
  const [made] = starts.filter((start) => start !== undefined);
  expect(await listAllProjects(sql)).toMatchObject([
    { name: "Default project", api_token: made?.projectApiKey },
  ]);
  const counts = await sql`
    SELECT (SELECT count(*)::integer FROM organizations) AS organizations,
      (SELECT count(*)::integer FROM users) AS users,
      (SELECT count(*)::integer FROM personal_api_keys) AS keys,
      (SELECT max(level) FROM organization_memberships) AS level`;
  expect({ ...counts[0] }).toEqual({ organizations: 1, users: 1, keys: 1, level: 15 });
});

test("keys and address that are given are used, and not handed back", async () => {
  const { sql } = accounts;
  const config = {
    bootstrapProjectApiKey: "phc_given",
    bootstrapPersonalApiKey: "phx_given-key",
    bootstrapEmail: "max@hedgebox.example",
  };
  const made = await bootstrap(sql, config);
  expect(made).toMatchObject({ projectApiKey: undefined, personalApiKey: undefined });
  expect(await listAllProjects(sql)).toMatchObject([{ api_token: "phc_given" }]);
  const [row] = await sql`
    SELECT u.email, k.secure_value, k.scopes FROM personal_api_keys k JOIN users u ON u.id = k.user_id`;
  expect({ ...row }).toEqual({
    email: "max@hedgebox.example",
    secure_value: hashKey("phx_given-key"),
    scopes: ["*"],
  });
  expect(JSON.stringify(made)).not.toContain("given");
});

test("a personal key cannot be the project's key", async () => {
  const config = { ...nothingGiven, bootstrapProjectApiKey: "phx_wrong-kind" };
  const reason = await bootstrap(accounts.sql, config).catch((thrown: unknown) => thrown);
  expect(reason).toBeInstanceOf(UserError);
  expect(reason).toHaveProperty(
    "message",
    "BOOTSTRAP_PROJECT_API_KEY must not begin with phx_, as personal API keys do",
  );
});

test("keys that are made up are handed back, to be shown once", async () => {
  const made = await bootstrap(accounts.sql, nothingGiven);
  expect(made?.projectApiKey).toMatch(/^phc_[0-9A-Za-z]{43}$/);
  expect(made?.personalApiKey).toMatch(/^phx_[0-9A-Za-z]{47}$/);
  const [row] = await accounts.sql`SELECT email FROM users`;
  expect({ ...row }).toEqual({ email: "admin@example.com" });
});

test("accounts that were made and deleted are not made again", async () => {
  const { sql } = accounts;
  await bootstrap(sql, nothingGiven);
  await sql`DELETE FROM organizations`;
  expect(await bootstrap(sql, nothingGiven)).toBeUndefined();
  expect(await listAllProjects(sql)).toEqual([]);
});

test("while no start has served, each start replaces the personal key and hands it back; later ones do not", async () => {
  const { sql } = accounts;
  const first = await bootstrap(sql, nothingGiven);
  expect(await bootstrap(sql, nothingGiven)).toBeUndefined();
  const second = await bootstrap(sql, nothingGiven, { alone: true });
  expect(second?.personalApiKey).toMatch(/^phx_/);
  expect(second?.personalApiKey).not.toBe(first?.personalApiKey);
  expect(second?.projectApiKey).toBe(first?.projectApiKey);
  const keys = await sql`SELECT secure_value FROM personal_api_keys`;
  expect(keys).toMatchObject([{ secure_value: hashKey(second?.personalApiKey ?? "") }]);
  await markServed(sql);
  expect(await bootstrap(sql, nothingGiven, { alone: true })).toBeUndefined();
});

test("an address that is given is stored as people sign in with it", async () => {
  await bootstrap(accounts.sql, { ...nothingGiven, bootstrapEmail: "Ünal@Shop.example" });
  expect(await findSigningUser(accounts.sql, normalizedEmail("Ünal@Shop.example"))).toBeDefined();
});
