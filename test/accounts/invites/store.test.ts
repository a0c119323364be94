// Invitations in Postgres: valid for three days, while their maker may invite, and used once.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { invitesMax } from "../../../src/accounts/invites/model.ts";
import {
  acceptInvite,
  findInvite,
  getInviteId,
  listInvites,
  makeInvites,
  revokeInvite,
} from "../../../src/accounts/invites/store.ts";
import { Fault } from "../../../src/core/fault.ts";
import { hashKey } from "../../../src/core/id.ts";
import { changeMember } from "../../../src/organizations/members_store.ts";
import { addUser, type FirstAccounts, openFirstAccounts, startMsMax } from "../../support/accounts.ts";

/** Of the form that the table takes. */
const password_hash = await Bun.password.hash("secret", {
  algorithm: "argon2id",
  memoryCost: 8,
  timeCost: 1,
});

let accounts: FirstAccounts;

beforeAll(async () => {
  accounts = await openFirstAccounts();
}, startMsMax);

afterAll(() => accounts.close());

beforeEach(async () => {
  await accounts.sql`DELETE FROM organization_invites`;
  await accounts.sql`UPDATE organization_memberships SET level = 15 WHERE user_id = ${accounts.user_id}`;
});

async function made(target_email: string, level = 1): Promise<{ id: string; token: string }> {
  const { sql, organization_id, user_id: created_by_id } = accounts;
  const invite = { organization_id, created_by_id, target_email, first_name: "", level };
  const [made] = await makeInvites(sql, [invite]);
  return { id: made!.invite.id, token: made!.token };
}

const listed = async () =>
  (await listInvites(accounts.sql, accounts.organization_id, { limit: 10, offset: 0 })).rows.map(
    ({ target_email }) => target_email,
  );

test("the token of a link is stored as its hash, and opens its own invitation alone", async () => {
  const [one, other] = [await made("ann@shop.example"), await made("bob@shop.example")];
  const rows = await accounts.sql`SELECT * FROM organization_invites`;
  expect(JSON.stringify(rows)).not.toContain(one.token);
  expect(rows.map((row) => row["secure_value"])).toContain(hashKey(one.token));
  expect(await findInvite(accounts.sql, one.id, one.token)).toMatchObject({
    target_email: "ann@shop.example",
  });
  expect(await findInvite(accounts.sql, one.id, other.token)).toBeUndefined();
  expect(
    await acceptInvite(accounts.sql, { ...one, token: other.token, joining: { user_id: accounts.user_id } }),
  ).toBeUndefined();
});

test("an address has one invitation: a later one replaces it", async () => {
  const first = await made("ann@shop.example");
  const second = await made("ann@shop.example", 8);
  expect(await listed()).toEqual(["ann@shop.example"]);
  expect(await findInvite(accounts.sql, first.id, first.token)).toBeUndefined();
  expect(await findInvite(accounts.sql, second.id, second.token)).toBeDefined();
});

test("a member is not invited, whatever case their address is in", async () => {
  const { sql, organization_id, user_id: created_by_id } = accounts;
  const joined = await addUser(sql, "Mia@Shop.example");
  await sql`INSERT INTO organization_memberships (organization_id, user_id, level) VALUES (${organization_id}, ${joined}, 1)`;
  const invite = {
    organization_id,
    created_by_id,
    target_email: "mia@shop.example",
    first_name: "",
    level: 1,
  };
  expect(makeInvites(sql, [{ ...invite, target_email: "new@shop.example" }, invite])).rejects.toThrow(
    "member",
  );
  expect(await listed()).toEqual([]);
});

test("so many are open at once and no more; one that is over leaves its place", async () => {
  const { sql, organization_id, user_id: created_by_id } = accounts;
  for (let i = 0; i < invitesMax; i++) await made(`user${i}@shop.example`);
  const invite = {
    organization_id,
    created_by_id,
    target_email: "late@shop.example",
    first_name: "",
    level: 1,
  };
  expect(makeInvites(sql, [invite])).rejects.toThrow("at most");
  // Another one to the same address takes no further place.
  await made("user0@shop.example");
  await sql`UPDATE organization_invites SET expires_at = now() WHERE target_email = 'user1@shop.example'`;
  expect((await makeInvites(sql, [invite]))[0]).toMatchObject({
    invite: { target_email: "late@shop.example" },
  });
});

test("an invitation is over with its time, and while its maker may not invite to its level", async () => {
  const { sql, user_id } = accounts;
  const plain = await made("ann@shop.example", 8);
  const owner = await made("olga@shop.example", 15);
  const found = async ({ id, token }: { id: string; token: string }) =>
    (await findInvite(sql, id, token)) !== undefined;
  await sql`UPDATE organization_memberships SET level = 8 WHERE user_id = ${user_id}`;
  expect([await found(plain), await found(owner)]).toEqual([true, false]);
  await sql`UPDATE organization_memberships SET level = 1 WHERE user_id = ${user_id}`;
  expect([await found(plain), await listed()]).toEqual([false, []]);
  await sql`UPDATE organization_memberships SET level = 15 WHERE user_id = ${user_id}`;
  expect(await found(owner)).toBe(true);
  await sql`UPDATE organization_invites SET expires_at = now() - interval '1 second'`;
  expect(await acceptInvite(sql, { ...plain, joining: { user_id } })).toBeUndefined();
});

test("of two who accept at once one joins, with an account of the invitation's address and level", async () => {
  const { sql, organization_id } = accounts;
  const one = await made("new@shop.example", 8);
  const joining = { first_name: "New", password_hash };
  const ids = await Promise.all([1, 2].map(() => acceptInvite(sql, { ...one, joining })));
  const [id, ...more] = ids.filter((found) => found !== undefined);
  expect(more).toEqual([]);
  const rows = await sql`
    SELECT u.email, u.first_name, u.password_hash, m.level, u.current_organization_id
    FROM users u JOIN organization_memberships m ON m.user_id = u.id WHERE u.id = ${id!}`;
  expect({ ...rows[0] }).toEqual({
    email: "new@shop.example",
    first_name: "New",
    password_hash,
    level: 8,
    current_organization_id: organization_id,
  });
});

test("an account that has the address already uses up no invitation, and a member's level stays", async () => {
  const { sql, user_id } = accounts;
  await addUser(sql, "has@shop.example");
  const one = await made("has@shop.example");
  expect(await acceptInvite(sql, { ...one, joining: { first_name: "", password_hash } })).toBeUndefined();
  expect(await findInvite(sql, one.id, one.token)).toBeDefined();
  expect(await acceptInvite(sql, { ...one, joining: { user_id } })).toBe(user_id);
  const [row] = await sql<
    { level: number }[]
  >`SELECT level FROM organization_memberships WHERE user_id = ${user_id}`;
  expect(row?.level).toBe(15);
});

test("an invitation is revoked once, and only in its own organization", async () => {
  const { sql, organization_id } = accounts;
  const { id } = await made("ann@shop.example");
  const strange = "018f6d00-0000-7000-8000-000000000009";
  expect(await revokeInvite(sql, strange, id)).toBe(false);
  expect(getInviteId(sql, strange, id)).rejects.toBeInstanceOf(Fault);
  expect(await getInviteId(sql, organization_id, id)).toBe(id);
  expect([
    await revokeInvite(sql, organization_id, id),
    await revokeInvite(sql, organization_id, id),
  ]).toEqual([true, false]);
});

test("an administrator who becomes a member leaves no invitations that fill the organization's places", async () => {
  const { sql, organization_id, user_id: actor_id } = accounts;
  const user_id = await addUser(sql, "admin2@shop.example");
  await sql`
    INSERT INTO organization_memberships (organization_id, user_id, level) VALUES (${organization_id}, ${user_id}, 8)`;
  const invite = { organization_id, created_by_id: user_id, first_name: "", level: 1 };
  const invites = Array.from({ length: invitesMax }, (_, i) => ({
    ...invite,
    target_email: `p${i}@shop.example`,
  }));
  await makeInvites(sql, invites);
  await changeMember(sql, { organization_id, actor_id, user_id }, 1);
  await made("fresh@shop.example");
  expect(await listed()).toEqual(["fresh@shop.example"]);
});

test("an invitation is accepted while another is made for its address", async () => {
  const { sql, organization_id } = accounts;
  const first = await made("dan@shop.example");
  const { promise: held, resolve: free } = Promise.withResolvers<void>();
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
  const holder = sql.begin(async (tx) => {
    await tx`SELECT FROM organizations WHERE id = ${organization_id} FOR UPDATE`;
    lock();
    await held;
  });
  await locked;
  const waitFor = async (count: number) => {
    for (;;) {
      const [row] = await sql<{ count: number }[]>`
        SELECT count(*)::integer AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
      if (row!.count >= count) return;
      await Bun.sleep(5);
    }
  };
  const again = made("dan@shop.example");
  await waitFor(1);
  const accepting = acceptInvite(sql, { ...first, joining: { first_name: "Dan", password_hash } });
  await waitFor(2);
  free();
  await holder;
  const [, user_id] = await Promise.allSettled([again, accepting]);
  expect(user_id).toMatchObject({ status: "fulfilled" });
});

test("an invitation of an administrator who was demoted meanwhile is refused", async () => {
  await accounts.sql`UPDATE organization_memberships SET level = 1 WHERE user_id = ${accounts.user_id}`;
  await expect(made("late@shop.example")).rejects.toMatchObject({ code: "permission_denied" });
});
