import { afterAll, beforeAll, expect, test } from "bun:test";
import { hashKey } from "../../src/core/id.ts";
import {
  findUserId,
  issueKey,
  listAllKeys,
  listKeysPage,
  revokeKey,
} from "../../src/personal_api_keys/store.ts";
import { addUser, type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";

let accounts: FirstAccounts;
let user_id: number;

beforeAll(async () => {
  accounts = await openFirstAccounts();
  user_id = await addUser(accounts.sql, "Max@Example.com");
}, startMsMax);

afterAll(() => accounts.close());

test("an issued key is shown once and rests as its hash", async () => {
  const { sql, project_id, organization_id } = accounts;
  const input = {
    label: "nightly report",
    scopes: ["query:read", "project:read"],
    scoped_teams: [project_id],
    scoped_organizations: [organization_id],
  };
  const { value, ...key } = await issueKey(sql, user_id, input);
  expect(value).toMatch(/^phx_[0-9A-Za-z]{47}$/);
  expect(key).toMatchObject({ ...input, mask_value: `phx_...${value.slice(-4)}`, last_used_at: null });
  const page = { limit: 10, offset: 0 };
  expect(await listKeysPage(sql, user_id, page)).toEqual({ count: 1, rows: [{ ...key, value: null }] });
  const [row] = await sql`SELECT * FROM personal_api_keys WHERE id = ${key.id}`;
  expect(row?.["secure_value"]).toBe(hashKey(value));
  expect(JSON.stringify(row)).not.toContain(value);
});

test("a key is revoked once, and by its own user or the operator only", async () => {
  const { sql } = accounts;
  const { id } = await issueKey(sql, user_id, { label: "short", scopes: ["*"] });
  expect(await revokeKey(sql, id, accounts.user_id)).toBe(false);
  expect(await revokeKey(sql, id, user_id)).toBe(true);
  expect(await revokeKey(sql, id, user_id)).toBe(false);
  const other = await issueKey(sql, user_id, { label: "short too", scopes: ["*"] });
  expect(await revokeKey(sql, other.id, null)).toBe(true);
});

test("the operator sees every key with whose it is", async () => {
  const emails = (await listAllKeys(accounts.sql)).map(({ email }) => email);
  expect(emails).toContain("admin@example.com");
  expect(emails).toContain("Max@Example.com");
});

test("users are found by their address in any case, the first one without an address", async () => {
  const { sql } = accounts;
  expect(await findUserId(sql, "max@example.COM")).toBe(user_id);
  expect(await findUserId(sql, undefined)).toBe(accounts.user_id);
  expect(await findUserId(sql, "nobody@example.com")).toBeUndefined();
});
