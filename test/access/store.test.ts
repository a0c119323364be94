import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { openProjectKeys, type ProjectKeys } from "../../src/access/project_keys.ts";
import { sleep, systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { createOrganization } from "../../src/organizations/store.ts";
import { createProject, removeProject } from "../../src/projects/store.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";

let accounts: FirstAccounts;
let keys: ProjectKeys;

beforeAll(async () => {
  accounts = await openFirstAccounts();
  const path = join(accounts.dataDir, "project_keys.json");
  const [read] = await accounts.sql<{ id: string }[]>`SELECT id::text FROM database_identity`;
  const database = () => read?.id;
  keys = await openProjectKeys({ sql: accounts.sql, database, path, log: silentLog, clock: systemClock });
}, startMsMax);

afterAll(async () => {
  await keys.close();
  await accounts.close();
});

/** Polls, for what comes by itself; the test's own time limit bounds it. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(5);
}

async function newKey(): Promise<{ id: number; api_token: string }> {
  return createProject(accounts.sql, { organization_id: accounts.organization_id, name: "One more" });
}

test("the first project's key is known from the start", () => {
  expect(keys.find(accounts.project_api_key)).toBe(accounts.project_id);
});

test("a new key is admitted right after its project was made", async () => {
  const { id, api_token } = await newKey();
  expect(await keys.admit(api_token)).toBe(id);
});

test("Postgres notifies of new and deleted projects", async () => {
  const { id, api_token } = await newKey();
  await until(() => keys.find(api_token) === id);
  await removeProject(accounts.sql, id);
  await until(() => keys.find(api_token) === undefined);
});

test("a project's new key replaces the old one", async () => {
  const { id, api_token } = await newKey();
  await until(() => keys.find(api_token) === id);
  await accounts.sql`UPDATE projects SET api_token = ${`${api_token}x`} WHERE id = ${id}`;
  await until(() => keys.find(`${api_token}x`) === id);
  expect(keys.find(api_token)).toBeUndefined();
});

test("the keys of a deleted organization end with it", async () => {
  const { sql, user_id } = accounts;
  const organization_id = await createOrganization(sql, {
    name: "Short",
    owner_id: user_id,
    project_name: "Lived",
  });
  const { id, api_token } = await createProject(sql, { organization_id, name: "Lived too" });
  await until(() => keys.find(api_token) === id);
  await sql`DELETE FROM organizations WHERE id = ${organization_id}`;
  await until(() => keys.find(api_token) === undefined);
});

test("listening survives the death of its connection", async () => {
  const { sql } = accounts;
  const listeners = (): Promise<{ pid: number }[]> => sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity WHERE query ILIKE 'listen%sluice_project_keys%'`;
  await until(async () => (await listeners()).length === 1);
  const [before] = await listeners();
  await sql`SELECT pg_terminate_backend(${before?.pid ?? 0})`;
  await until(async () => (await listeners()).some(({ pid }) => pid !== before?.pid));
  const { id, api_token } = await newKey();
  await until(() => keys.find(api_token) === id);
});
