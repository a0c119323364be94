// Prepares the stores at the start: migrations, and on an empty database one organization, project, user and key, once,
// even when several processes start at the same time. When a later start finds that the stores do not answer, it
// retries until they do.

import { wrongProjectKey } from "../access/project_keys.ts";
import type { Config } from "../config.ts";
import { UserError } from "../core/fault.ts";
import { hashKey, maskKey, newPersonalKey, newProjectKey } from "../core/id.ts";
import { type Log, toReason } from "../core/log.ts";
import { WrongStore } from "../storage/identity.ts";
import { migrate } from "../storage/migrate.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import type { Stores } from "../storage/stores.ts";
import { startInterval } from "../work/interval.ts";
import { createFirstAccounts, reissueFirstKey } from "./store.ts";

/**
 * Migrates the stores and creates the first accounts.
 * @param insist whether stores that do not answer are an error, as for a first start; later starts capture with saved
 *   keys until the stores answer.
 * @param alone whether no other process can be starting on this Postgres.
 * @param ownJournals names of the journals in this process's folder: nobody else has them.
 * @param hide hides from reads what is to be deleted.
 * @param ending ends the wait for older servers, with its reason.
 * @throws UserError when something is wrong with a store; any other error only with `insist`.
 */
export async function prepare(
  stores: Stores,
  input: BootstrapInput,
  {
    insist,
    hide,
    ...migrating
  }: Parameters<typeof migrate>[1] & { insist: boolean; hide(): Promise<void>; alone: boolean; log: Log },
): Promise<{
  /** The accounts of the first start; undefined later. */
  bootstrapped: Bootstrapped | undefined;
  /** Calls `start` when the stores are ready, `end` when one is another's. Returns a function that ends the retries. */
  whenReady(start: () => void, end: (reason: UserError) => void): () => Promise<void>;
}> {
  const { alone, log } = migrating;
  const attempt = async (isAlone: boolean, ending?: AbortSignal) => {
    await migrate(stores, { ...migrating, ...(ending && { ending }) });
    await hide();
    return await bootstrap(stores.sql, input, { alone: isAlone });
  };
  try {
    const bootstrapped = await attempt(alone);
    const startAtOnce = (start: () => void) => {
      start();
      return async () => {};
    };
    return { bootstrapped, whenReady: startAtOnce };
  } catch (thrown) {
    if (insist || thrown instanceof UserError) throw thrown;
    warnUnreachable(thrown, log);
    // Keys that a retry creates are shown by the next start: this one has already printed its greeting.
    const again = (ending: AbortSignal) => attempt(false, ending);
    return { bootstrapped: undefined, whenReady: (start, end) => startLater(again, start, end, log) };
  }
}

function startLater(
  retry: (ending: AbortSignal) => Promise<unknown>,
  start: () => void,
  end: (reason: UserError) => void,
  log: Log,
): () => Promise<void> {
  const ending = new AbortController();
  let done = false;
  const tick = async () => {
    if (done) return;
    try {
      await retry(ending.signal);
    } catch (thrown) {
      if (ending.signal.aborted) return;
      done = thrown instanceof WrongStore;
      if (thrown instanceof WrongStore) return end(thrown);
      if (thrown instanceof UserError) throw thrown;
      return warnUnreachable(thrown, log);
    }
    done = true;
    log.info("the stores are ready");
    start();
  };
  const ticking = startInterval(prepareAgainMs, "preparing the stores", tick, log);
  return async () => {
    ending.abort(new UserError("the server stops"));
    await ticking.close();
  };
}

/** The pause between two attempts to prepare stores that do not answer, in ms. */
const prepareAgainMs = 2000;

function warnUnreachable(thrown: unknown, log: Log): void {
  log.warn("the stores are not ready; capturing into the journal until they are", {
    reason: toReason(thrown),
  });
}

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
