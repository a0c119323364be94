// Prepares the stores at the start: migrations and the first accounts. When a later start finds that the stores do not
// answer, it retries until they do.

import { UserError } from "../core/fault.ts";
import { type Log, toReason } from "../core/log.ts";
import { WrongStore } from "../storage/identity.ts";
import { migrate } from "../storage/migrate.ts";
import type { Stores } from "../storage/stores.ts";
import { startInterval } from "../work/interval.ts";
import { bootstrap, type BootstrapInput, type Bootstrapped } from "./bootstrap.ts";

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
