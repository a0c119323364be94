// A semaphore: how many may work at once, and how many may wait for it, shared fairly among owners.

import { FairShare, type Owner, type FairWaiter } from "./fair_share.ts";

interface Waiter extends FairWaiter {
  begin(): void;
}

export class Semaphore {
  readonly #places: FairShare;
  readonly #share: number;
  readonly #waitingMax: number;
  /** In order of arrival. */
  readonly #waiting: Set<Waiter> = new Set();
  readonly #waitingOf = new Map<Owner, number>();

  /** `share`: as in FairShare, for the places and for the queue. */
  constructor(places: number, waitingMax: number, share: number = Number.POSITIVE_INFINITY) {
    this.#places = new FairShare(places, share);
    this.#share = share;
    this.#waitingMax = waitingMax;
  }

  /**
   * Resolves to the function that returns the place, or to undefined when too many wait already, of this owner or in
   * all.
   * @throws the signal's reason when it aborts while waiting.
   */
  async enter(abort: AbortSignal, owner: Owner = ""): Promise<(() => void) | undefined> {
    abort.throwIfAborted();
    // No queue to check first: those that wait are held back by their own shares, and may not take this place.
    if (this.#places.mayTake(owner)) this.#places.take(owner);
    else {
      if (this.#isLineFull(owner)) return undefined;
      await this.#wait(owner, abort);
    }
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#places.leave(owner);
      this.#letIn();
    };
  }

  #isLineFull(owner: Owner): boolean {
    const room = this.#waitingMax - this.#waiting.size;
    if (room <= 0) return true;
    return this.#share !== Number.POSITIVE_INFINITY && (this.#waitingOf.get(owner) ?? 0) >= room;
  }

  async #wait(owner: Owner, abort: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { owner, begin: resolve };
    const onAbort = (): void => {
      if (this.#drop(waiter)) reject(abort.reason);
    };
    this.#waiting.add(waiter);
    this.#waitingOf.set(owner, (this.#waitingOf.get(owner) ?? 0) + 1);
    abort.addEventListener("abort", onAbort, { once: true });
    await promise.finally(() => abort.removeEventListener("abort", onAbort));
  }

  #drop(waiter: Waiter): boolean {
    if (!this.#waiting.delete(waiter)) return false;
    const rest = (this.#waitingOf.get(waiter.owner) ?? 0) - 1;
    if (rest > 0) this.#waitingOf.set(waiter.owner, rest);
    else this.#waitingOf.delete(waiter.owner);
    return true;
  }

  /** One free place may admit several: the shares of all owners grow with it. */
  #letIn(): void {
    for (let next = this.#places.next(this.#waiting); next; next = this.#places.next(this.#waiting)) {
      this.#drop(next);
      this.#places.take(next.owner);
      next.begin();
    }
  }
}

/**
 * Enters within `msMax`. Resolves to the function that returns the place, or to undefined when too many wait already or
 * no place was free in time.
 */
export async function withinSemaphore(
  places: Semaphore,
  msMax: number,
  owner: Owner,
): Promise<(() => void) | undefined> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(late), msMax);
  try {
    return await places.enter(late.signal, owner);
  } catch (thrown) {
    if (thrown === late) return undefined;
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
}
