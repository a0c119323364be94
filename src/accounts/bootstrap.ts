// The first start on an empty database creates one organization, project, user and key, once, even when several
// processes start at the same time.

import { wrongProjectKey } from "../access/project_keys.ts";
import type { Config } from "../config.ts";
import { UserError } from "../core/fault.ts";
import { hashKey, maskKey, newPersonalKey, newProjectKey } from "../core/id.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { createFirstAccounts, reissueFirstKey } from "./store.ts";

/** The first accounts. A key that the operator gave is not returned, since it must not be shown. */
export interface Bootstrapped {
  organization_id: string;
  project_id: number;
  /** Must be shown once, like the personal key; undefined when the operator gave it. */
  projectApiKey: string | undefined;
  personalApiKey: string | undefined;
}

/** Settings of the operator; undefined ones are generated. */
export type BootstrapInput = Pick<
  Config,
  "bootstrapProjectApiKey" | "bootstrapPersonalApiKey" | "bootstrapEmail"
>;

/** An address in a reserved domain, where no mail is delivered. */
const firstEmail = "admin@example.com";

/**
 * Creates the first accounts, with the keys of BOOTSTRAP_* when given. Until a start has served, later starts replace
 * the personal key, which nobody has seen; after that the result is undefined.
 * @param alone whether no other process can be starting on this database; by default false.
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
  const first =
    (await createFirstAccounts(sql, { email: bootstrapEmail, api_token, ...key })) ??
    (await reissueFirstKey(sql, key, alone ? 0 : otherStartSeconds));
  if (!first) return undefined;
  const { api_token: projectKey, ...ids } = first;
  return {
    ...ids,
    projectApiKey: projectKey === bootstrapProjectApiKey ? undefined : projectKey,
    personalApiKey: bootstrapPersonalApiKey === undefined ? personalApiKey : undefined,
  };
}

/** How long another process that created the accounts has to begin serving, in seconds: the time of several starts. */
const otherStartSeconds = 120;
