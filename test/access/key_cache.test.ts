import { afterAll, beforeAll, expect, test } from "bun:test";
import { type CachedKey, cachedKeys, openKeyCache } from "../../src/access/key_cache.ts";
import { accessLimits } from "../../src/access/limits.ts";
import { type Lookup, recordKeyUse } from "../../src/access/store.ts";
import { hashKey } from "../../src/core/id.ts";
import { removeOrganization } from "../../src/organizations/store.ts";
import { revokeKey, rollKey, updateKey } from "../../src/personal_api_keys/store.ts";
import { removeProject } from "../../src/projects/store.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";
import { addMember, type Member, stillClock } from "../support/members.ts";
import { until } from "../support/server.ts";

let accounts: FirstAccounts;

beforeAll(async () => {
  accounts = await openFirstAccounts();
}, startMsMax);

afterAll(() => accounts.close());

function foundOf(id: string): Lookup {
  const key = {
    id,
    scopes: ["*"],
    scoped_teams: [],
    scoped_organizations: [],
    last_used_at: null,
    reach_key_id: null,
    is_session: false,
  };
  const user = { id: 1, uuid: "", email: "", current_organization_id: null, current_project_id: null };
  return { holder: { key, user }, project: undefined, organization: undefined };
}

/** Answers that say how often they were asked for. */
function counting(answer: (secure_value: string) => Promise<Lookup | undefined> = async (id) => foundOf(id)) {
  const counts = { holder: 0 };
  const standing: CachedKey = {
    findHolder: (secure_value) => {
      counts.holder++;
      return answer(secure_value);
    },
  };
  return { counts, standing };
}

test("a found entry is read again when it is accessLimits.foundAgeMsMax old, counted from the start of its read", async () => {
  const clock = stillClock();
  const { counts, standing } = counting(async (id) => {
    clock.passed += 100;
    return foundOf(id);
  });
  const remembered = cachedKeys(standing, clock);
  const first = await remembered.findHolder("a", {});
  clock.passed = accessLimits.foundAgeMsMax - 1;
  expect(await remembered.findHolder("a", {})).toBe(first!);
  expect(counts.holder).toBe(1);
  clock.passed = accessLimits.foundAgeMsMax;
  await remembered.findHolder("a", {});
  expect(counts.holder).toBe(2);
  expect(accessLimits.foundAgeMsMax).toBeLessThan(5000);
});

test("each key and each thing that is named is a question of its own", async () => {
  const { counts, standing } = counting();
  const remembered = cachedKeys(standing, stillClock());
  for (let i = 0; i < 2; i++) {
    expect((await remembered.findHolder("a", {}))?.holder.key.id).toBe("a");
    expect((await remembered.findHolder("b", {}))?.holder.key.id).toBe("b");
  }
  expect(counts.holder).toBe(2);
});

test("a missing or forbidden entry is read each time", async () => {
  const answers: (Lookup | undefined)[] = [
    undefined,
    foundOf("a"),
    {
      ...foundOf("a"),
      project: { id: 7, organization_id: "o", timezone: "UTC", week_start: 0, membership_level: null },
    },
  ];
  for (const answer of answers) {
    const { counts, standing } = counting(async () => answer);
    const remembered = cachedKeys(standing, stillClock());
    await remembered.findHolder("a", { project_id: 7 });
    await remembered.findHolder("a", { project_id: 7 });
    expect([counts.holder, remembered.size()]).toEqual([2, 0]);
  }
});

test("an answer to a question from before a change is not remembered", async () => {
  const { promise, resolve } = Promise.withResolvers<Lookup>();
  const { counts, standing } = counting(() => promise);
  const remembered = cachedKeys(standing, stillClock());
  const before = remembered.findHolder("a", {});
  remembered.forget();
  resolve(foundOf("a"));
  expect((await before)?.holder.key.id).toBe("a");
  await remembered.findHolder("a", {});
  expect([counts.holder, remembered.size()]).toEqual([2, 1]);
});

test("no more than accessLimits.foundMax are remembered: the oldest goes", async () => {
  const { counts, standing } = counting();
  const remembered = cachedKeys(standing, stillClock());
  for (let i = 0; i <= accessLimits.foundMax; i++) await remembered.findHolder(String(i), {});
  expect(remembered.size()).toBe(accessLimits.foundMax);
  await remembered.findHolder("1", {});
  expect(counts.holder).toBe(accessLimits.foundMax + 1);
  await remembered.findHolder("0", {});
  expect(counts.holder).toBe(accessLimits.foundMax + 2);
});

const member = () => addMember(accounts.sql);

/** All that other processes may change under a key. */
const changes: Record<string, (one: Member) => Promise<unknown>> = {
  "the key is revoked": ({ key_id, user_id }) => revokeKey(accounts.sql, key_id, user_id),
  "the key is rolled": ({ key_id, user_id }) => rollKey(accounts.sql, key_id, user_id),
  "the key's scopes change": ({ key_id, user_id }) => {
    const { key, user } = foundOf(key_id).holder;
    return updateKey(
      accounts.sql,
      key_id,
      { key, user: { ...user, id: user_id } },
      { scopes: ["query:read"] },
    );
  },
  "the user is deactivated": ({ user_id }) =>
    accounts.sql`UPDATE users SET is_active = false WHERE id = ${user_id}`,
  "the user is deleted": ({ user_id }) => accounts.sql`DELETE FROM users WHERE id = ${user_id}`,
  "the user's current project changes": ({ user_id, project_id }) =>
    accounts.sql`UPDATE users SET current_project_id = ${project_id} WHERE id = ${user_id}`,
  "the membership ends": ({ user_id }) =>
    accounts.sql`DELETE FROM organization_memberships WHERE user_id = ${user_id}`,
  "the membership's level changes": ({ user_id }) =>
    accounts.sql`UPDATE organization_memberships SET level = 1 WHERE user_id = ${user_id}`,
  "the project is deleted": ({ project_id }) => removeProject(accounts.sql, project_id),
  "the organization is deleted": ({ organization_id, user_id }) =>
    removeOrganization(accounts.sql, organization_id, user_id),
};

for (const [what, change] of Object.entries(changes)) {
  test(`Postgres tells that ${what}, and it is asked again`, async () => {
    const { sql } = accounts;
    const one = await member();
    // Time stands still: nothing is forgotten for its age.
    const standing = openKeyCache({ sql, clock: stillClock() });
    const ask = () => standing.findHolder(hashKey(one.value), { project_id: one.project_id });
    // It listens by then: that it does was a reason to forget, too.
    const { unlisten } = await sql.listen("sluice_access", () => {});
    expect((await ask())?.project?.membership_level).toBe(15);
    expect(standing.size()).toBe(1);
    await change(one);
    await until(async () => standing.size() === 0);
    await unlisten();
    await standing.close();
  });
}

test("that a key was used is no change, nor is a new name", async () => {
  const { sql } = accounts;
  const { key_id, project_id, organization_id } = await member();
  const heard: string[] = [];
  const { unlisten } = await sql.listen("sluice_access", (word) => heard.push(word));
  await recordKeyUse(sql, { id: key_id, is_session: false }, new Date(), new Date(0));
  await sql`UPDATE personal_api_keys SET label = 'other' WHERE id = ${key_id}`;
  await sql`UPDATE projects SET name = 'other' WHERE id = ${project_id}`;
  await sql`UPDATE organizations SET name = 'other' WHERE id = ${organization_id}`;
  await sql.notify("sluice_access", "the end");
  await until(async () => heard.includes("the end"));
  expect(heard).toEqual(["the end"]);
  await unlisten();
});

test("when its connection dies nothing is taken for known, and it listens again", async () => {
  const { sql } = accounts;
  const { value } = await member();
  const standing = openKeyCache({ sql, clock: stillClock() });
  const { unlisten } = await sql.listen("sluice_access", () => {});
  await standing.findHolder(hashKey(value), {});
  const listeners = () => sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity WHERE query ILIKE '%listen%sluice_access%' AND pid <> pg_backend_pid()`;
  const [before] = await listeners();
  await sql`SELECT pg_terminate_backend(${before!.pid})`;
  await until(async () => standing.size() === 0);
  await until(async () => (await listeners()).some(({ pid }) => pid !== before!.pid));
  await standing.findHolder(hashKey(value), {});
  await sql`NOTIFY sluice_access`;
  await until(async () => standing.size() === 0);
  await unlisten();
  await standing.close();
});
