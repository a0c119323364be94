// Those that wait for something that is used up, in order of arrival. Who is admitted next, and how many may wait, is
// decided by the caller.

import { type FairWaiter, type Owner, personKey } from "./fair_share.ts";
import { Tally } from "./maps.ts";

export interface Waiting<Need> extends FairWaiter {
  /** What it waits for. */
  readonly need: Need;
  readonly begin: () => void;
}

export class WaitingLine<Need = undefined> {
  readonly all = new Set<Waiting<Need>>();
  readonly #counts = new Tally<Owner>();

  /** How many of one owner wait, or by a personKey() of one of its people. */
  countOf(key: Owner): number {
    return this.#counts.of(key);
  }

  /** Resolves when it is admitted. @throws the signal's reason when it aborts before. */
  async enter(
    owner: Owner,
    need: Need,
    abort: AbortSignal,
    more: Omit<FairWaiter, "owner"> = {},
  ): Promise<void> {
    const { promise, resolve: begin, reject } = Promise.withResolvers<void>();
    const waiting: Waiting<Need> = { ...more, owner, need, begin };
    const onAbort = (): void => {
      if (this.#delete(waiting)) reject(abort.reason);
    };
    this.all.add(waiting);
    this.#count(waiting, 1);
    abort.addEventListener("abort", onAbort, { once: true });
    if (abort.aborted) onAbort();
    await promise.finally(() => abort.removeEventListener("abort", onAbort));
  }

  admit(waiting: Waiting<Need>): void {
    if (this.#delete(waiting)) waiting.begin();
  }

  #delete(waiting: Waiting<Need>): boolean {
    if (!this.all.delete(waiting)) return false;
    this.#count(waiting, -1);
    return true;
  }

  #count(waiting: Waiting<Need>, by: number): void {
    for (const key of [waiting.owner, personKey(waiting)]) this.#counts.add(key, by);
  }
}
