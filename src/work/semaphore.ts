// A semaphore: how many may work at once, and how many may wait for it, shared fairly among owners.

import { FairShare, type FairWaiter, type Owner, personKey } from "./fair_share.ts";
import { Tally } from "./maps.ts";

export class Semaphore {
  readonly #permits: FairShare;
  readonly #freeMultiple: number;
  readonly #waitingMax: number;
  readonly #line = new WaitingLine();

  /** `freeMultiple`: as in FairShare, for the permits and for the queue. */
  constructor(permits: number, waitingMax: number, freeMultiple: number = Number.POSITIVE_INFINITY) {
    this.#permits = new FairShare(permits, freeMultiple);
    this.#freeMultiple = freeMultiple;
    this.#waitingMax = waitingMax;
  }

  /**
   * Resolves to the function that returns the permit, or to undefined when too many wait already, of this owner or in
   * all.
   * @throws the signal's reason when it aborts while waiting.
   */
  async enter(
    owner: Owner = "",
    abort: AbortSignal = never,
    more: Omit<FairWaiter, "owner"> = {},
  ): Promise<(() => void) | undefined> {
    abort.throwIfAborted();
    const { person } = more;
    const leave = this.tryEnter(owner, more);
    if (leave || this.#isLineFull(owner, person)) return leave;
    await this.#line.enter(owner, undefined, abort, more);
    return this.#leaveOnce(owner, person);
  }

  /** The function that returns a permit; undefined when none is free for this owner. */
  tryEnter(
    owner: Owner,
    { person, weight, spare }: Omit<FairWaiter, "owner"> = {},
  ): (() => void) | undefined {
    // No queue to check first: those that wait are held back by their own shares, and may not acquire this permit.
    if (!this.#permits.mayTake(owner, weight, spare)) return undefined;
    this.#permits.acquire(owner, person);
    return this.#leaveOnce(owner, person);
  }

  /** How many wait, of all owners. */
  get waiting(): number {
    return this.#line.all.size;
  }

  #leaveOnce(owner: Owner, person: Owner | undefined): () => void {
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      this.#permits.leave(owner, person);
      this.#letIn();
    };
  }

  /**
   * Runs `work` with a permit.
   * @param wait `msMax`: how long a permit is waited for, in ms; for ever by default. `busy` makes the error when too
   *   many wait already, or the wait has ended without a permit.
   * @throws what `busy` makes, what `work` throws.
   */
  async run<T>(
    wait: Partial<FairWaiter> & { abort?: AbortSignal; msMax?: number; busy(): Error },
    work: () => Promise<T>,
  ): Promise<T> {
    const { owner, abort = never, msMax, busy, ...more } = wait;
    const late = new AbortController();
    const timer = msMax === undefined ? undefined : setTimeout(() => late.abort(), msMax);
    const waiting = AbortSignal.any([abort, late.signal]);
    const leave = await this.enter(owner, waiting, more)
      .catch((thrown: unknown) => {
        if (!waiting.aborted) throw thrown;
      })
      .finally(() => clearTimeout(timer));
    if (!leave) throw busy();
    try {
      return await work();
    } finally {
      leave();
    }
  }

  #isLineFull(owner: Owner, person: Owner | undefined): boolean {
    const free = this.#waitingMax - this.#line.all.size;
    if (free <= 0 || this.#freeMultiple === Number.POSITIVE_INFINITY) return free <= 0;
    const placesLeft = free - this.#line.countWaiting(owner);
    if (placesLeft <= 0 || person === undefined) return placesLeft <= 0;
    return this.#line.countWaiting(personKey({ owner, person })) >= placesLeft;
  }

  /** One free permit may admit several: the shares of all owners grow with it. */
  #letIn(): void {
    const { all } = this.#line;
    for (let next = this.#permits.next(all); next; next = this.#permits.next(all)) {
      this.#permits.acquire(next.owner, next.person);
      this.#line.admit(next);
    }
  }
}

const never = new AbortController().signal;

export interface Waiting<Need> extends FairWaiter {
  /** The need that it waits for. */
  readonly need: Need;
  readonly begin: () => void;
}

/** Waits in order of arrival. Who is admitted next, and how many may wait, is decided by the caller. */
export class WaitingLine<Need = undefined> {
  readonly all = new Set<Waiting<Need>>();
  readonly #counts = new Tally<Owner>();

  /** How many of one owner wait, or by a personKey() of one of its people. */
  countWaiting(key: Owner): number {
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
