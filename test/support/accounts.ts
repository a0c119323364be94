// A Postgres of its own for one test file, with the accounts' tables and one organization. Never shared
// between files.

import { rmSync } from "node:fs";
import type { KeyHolder } from "../../src/access/store.ts";
import { bootstrap } from "../../src/accounts/prepare.ts";
import { silentLog } from "../../src/core/log.ts";
import { findUserId } from "../../src/personal_api_keys/store.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { attachPostgres } from "../../src/storage/stores.ts";
import { makeStoresFolder } from "./made_stores.ts";

export interface Accounts {
  sql: Postgres;
  dataDir: string;
  close(): Promise<void>;
}

/** Starting a Postgres takes longer than a test may by default. */
export const startMsMax = 300_000;

/** Empty tables. */
export async function openAccounts(): Promise<Accounts> {
  const dataDir = await makeStoresFolder(["postgres"]);
  const { sql, close } = await attachPostgres({ dataDir, log: silentLog });
  return {
    sql,
    dataDir,
    close: async () => {
      await close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export interface FirstAccounts extends Accounts {
  organization_id: string;
  project_id: number;
  project_api_key: string;
  personal_api_key: string;
  user_id: number;
}

/** Tables with what the first start makes. */
export async function openFirstAccounts(): Promise<FirstAccounts> {
  const accounts = await openAccounts();
  const keys = {
    bootstrapProjectApiKey: undefined,
    bootstrapPersonalApiKey: undefined,
    bootstrapEmail: undefined,
  };
  const made = await bootstrap(accounts.sql, keys);
  const user_id = await findUserId(accounts.sql, undefined);
  if (!made?.projectApiKey || !made.personalApiKey || !user_id)
    throw new Error("the first start made nothing");
  const {
    organization_id,
    project_id,
    projectApiKey: project_api_key,
    personalApiKey: personal_api_key,
  } = made;
  return { ...accounts, organization_id, project_id, project_api_key, personal_api_key, user_id };
}

/** Another user, a member of nothing. */
export async function addUser(sql: Postgres, email: string): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    INSERT INTO users (uuid, distinct_id, email) VALUES (${crypto.randomUUID()}, ${email}, ${email})
    RETURNING id`;
  if (!row) throw new Error("no user was made");
  return row.id;
}

/** A session by a password of the user, as lists have it. */
export function holderOf(id: number): KeyHolder {
  const limits = { scoped_teams: [], scoped_organizations: [], reach_key_id: null };
  return {
    key: { id: "session", scopes: ["*"], ...limits, last_used_at: null, is_session: true },
    user: { id, uuid: "", email: "", current_organization_id: null, current_project_id: null },
  };
}
