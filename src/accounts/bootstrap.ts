// The first start on an empty database: one organization, project, user and key. Never hands back a key that
// the operator gave, and never runs twice, whoever else starts at the same moment.

import { wrongProjectKey } from "../access/project_keys.ts";
import { UserError } from "../core/fault.ts";
import { hashKey, maskKey, newPersonalKey, newProjectKey, randomBase62 } from "../core/id.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { createFirstAccounts, reissueFirstKey } from "./store.ts";

export interface Bootstrapped {
  organization_id: string;
  project_id: number;
  /** To be shown once. Undefined when the operator gave the key: then it must not be shown. */
  projectApiKey: string | undefined;
  personalApiKey: string | undefined;
}

/** What the operator may give, each made up otherwise. */
export interface BootstrapInput {
  bootstrapProjectApiKey: string | undefined;
  bootstrapPersonalApiKey: string | undefined;
  bootstrapEmail: string | undefined;
}

/** A reserved domain: nothing is ever delivered there. */
const firstEmail = "admin@example.com";

/**
 * Makes the first accounts, with the keys of BOOTSTRAP_* where they are given. While no start has served, a later one
 * replaces the personal key, since nobody has seen it. Undefined once one has.
 * @param alone whether no other process can be starting on this database; false unless told.
 * @throws UserError when BOOTSTRAP_PROJECT_API_KEY cannot be a project's key.
 */
export async function bootstrap(
  sql: Postgres,
  input: BootstrapInput,
  { alone }: { alone: boolean } = { alone: false },
): Promise<Bootstrapped | undefined> {
  const { bootstrapProjectApiKey, bootstrapPersonalApiKey, bootstrapEmail = firstEmail } = input;
  const wrong = bootstrapProjectApiKey === undefined ? undefined : wrongProjectKey(bootstrapProjectApiKey);
  if (wrong) throw new UserError(`BOOTSTRAP_PROJECT_API_KEY ${wrong}`);
  const personalApiKey = bootstrapPersonalApiKey ?? newPersonalKey();
  const key = { secure_value: hashKey(personalApiKey), mask_value: maskKey(personalApiKey) };
  const api_token = bootstrapProjectApiKey ?? newProjectKey();
  const made = await createFirstAccounts(sql, {
    organization_name: "Default organization",
    slug: "default-organization",
    project_name: "Default project",
    email: bootstrapEmail,
    api_token,
    personal_api_key: { id: randomBase62(22), label: "First start", ...key, scopes: ["*"] },
  });
  const idleSeconds = alone ? 0 : otherStartSeconds;
  const first = made ? { ...made, api_token } : await reissueFirstKey(sql, { ...key, idleSeconds });
  if (!first) return undefined;
  return {
    organization_id: first.organization_id,
    project_id: first.project_id,
    projectApiKey: first.api_token === bootstrapProjectApiKey ? undefined : first.api_token,
    personalApiKey: bootstrapPersonalApiKey === undefined ? personalApiKey : undefined,
  };
}

/** How long another process that made the accounts is given to serve, in seconds: several starts of it. */
const otherStartSeconds = 120;
