// Makes the stores ready for this program: tables, and the first accounts. Never gives up on stores that a later
// start found away: it tries again until they answer.

import { UserError } from "../core/fault.ts";
import { accountLimits } from "./limits.ts";
import { type Log, reasonOf } from "../core/log.ts";
import { migrate } from "../storage/migrate.ts";
import type { Stores } from "../storage/stores.ts";
import { every } from "../work/tick.ts";
import { type Bootstrapped, type BootstrapInput, bootstrap } from "./bootstrap.ts";

export interface Prepared {
  /** Whether the stores are ready already. */
  ready: boolean;
  /** What the first start made; undefined later. */
  bootstrapped: Bootstrapped | undefined;
  /** Calls back once the stores are ready: at once, or after a later try. Returns what ends the trying. */
  whenReady(start: () => void): () => Promise<void>;
}

/**
 * Migrates and bootstraps.
 * @param insist as a first start does: a later one captures from saved keys until the stores answer.
 * @param alone whether no other process can be starting on this Postgres.
 * @throws UserError naming what is wrong with a store; any other error only when it insists.
 */
export async function prepare(
  stores: Stores,
  input: BootstrapInput,
  { insist, alone, log }: { insist: boolean; alone: boolean; log: Log },
): Promise<Prepared> {
  try {
    await migrate(stores, { log });
    const bootstrapped = await bootstrap(stores.sql, input, { alone });
    return { ready: true, bootstrapped, whenReady: atOnce };
  } catch (thrown) {
    if (insist || thrown instanceof UserError) throw thrown;
    warnAway(thrown, log);
    // The keys of accounts that are made now are shown by the next start: this one has greeted already.
    const again = async () => {
      await migrate(stores, { log });
      await bootstrap(stores.sql, input, { alone: false });
    };
    return { ready: false, bootstrapped: undefined, whenReady: (start) => later(again, start, log) };
  }
}

function atOnce(start: () => void): () => Promise<void> {
  start();
  return async () => {};
}

function later(again: () => Promise<unknown>, start: () => void, log: Log): () => Promise<void> {
  let ready = false;
  const retry = async () => {
    if (ready) return;
    try {
      await again();
    } catch (thrown) {
      if (thrown instanceof UserError) throw thrown;
      return warnAway(thrown, log);
    }
    ready = true;
    log.info("the stores are ready");
    start();
  };
  const ticking = every(accountLimits.prepareAgainMs, "preparing the stores", retry, log);
  return () => ticking.close();
}

function warnAway(thrown: unknown, log: Log): void {
  log.warn("the stores are not ready; capturing into the journal until they are", {
    reason: reasonOf(thrown),
  });
}
