// Permits shared out among owners, such as projects: the owner with the fewest comes first, and no owner takes all.

import { workLimits } from "./limits.ts";
import { putNewest, Tally } from "./maps.ts";

/** Who a permit is counted for: a project, or a text for work that belongs to none. */
export type Owner = number | string;

/**
 * An owner gets another permit only while it holds fewer than `freeMultiple` times the free permits, so that some are
 * always left for the next owner. A single owner gets about m / (1 + m) of all permits. This is the rule of dynamic
 * thresholds in the shared buffers of switches (Choudhury and Hahne, 1998).
 */
export class FairShare {
  #free: number;
  readonly #freeMultiple: number;
  /** Keyed by owner, and by person of an owner. */
  readonly #held = new Tally<Owner>();
  /**
   * Owners that had a permit, the latest last: of two owners with as many permits, the one served longer ago is first.
   */
  readonly #served = new Map<Owner, number>();
  #order = 0;

  /** Without a `freeMultiple`, one owner may have all permits while no other waits. */
  constructor(permits: number, freeMultiple: number = Number.POSITIVE_INFINITY) {
    this.#free = permits;
    this.#freeMultiple = freeMultiple;
  }

  get free(): number {
    return this.#free;
  }

  /** `weight`, `spare`: as in FairWaiter. */
  mayTake(owner: Owner, weight = 1, spare = 0): boolean {
    const free = this.#free;
    if (free <= spare) return false;
    return (
      this.#freeMultiple === Number.POSITIVE_INFINITY ||
      this.heldBy(owner) * weight < this.#freeMultiple * free
    );
  }

  heldBy(owner: Owner): number {
    return this.#held.of(owner);
  }

  acquire(owner: Owner, person?: Owner): void {
    this.#free--;
    this.#order++;
    for (const key of [owner, personKey({ owner, person })]) {
      this.#held.add(key, 1);
      putNewest(this.#served, key, this.#order, workLimits.shareOwnersMax);
    }
  }

  leave(owner: Owner, person?: Owner): void {
    this.#free++;
    for (const key of [owner, personKey({ owner, person })]) this.#held.add(key, -1);
  }

  /** The next one of those that wait; undefined when none of them may acquire a permit. */
  next<Item extends FairWaiter>(waiting: Iterable<Item>): Item | undefined {
    let best: Item | undefined;
    for (const item of waiting) {
      if (!this.mayTake(item.owner, item.weight, item.spare)) continue;
      if (!best || this.#isBefore(item, best)) best = item;
    }
    return best;
  }

  /** Acquires permits for as many of those that wait as may have one; returns them in their order. */
  acquireFor<Item extends FairWaiter>(waiting: readonly Item[]): Item[] {
    const waiters = new Set(waiting);
    const admitted: Item[] = [];
    for (let item = this.next(waiters); item; item = this.next(waiters)) {
      waiters.delete(item);
      this.acquire(item.owner, item.person);
      admitted.push(item);
    }
    return admitted;
  }

  #isBefore(waiter: FairWaiter, rival: FairWaiter): boolean {
    const isSame = waiter.owner === rival.owner;
    const [key, otherKey] = isSame ? [personKey(waiter), personKey(rival)] : [waiter.owner, rival.owner];
    const [heldCount, otherHeld] = [this.heldBy(key), this.heldBy(otherKey)];
    if (heldCount !== otherHeld) return heldCount < otherHeld;
    return (this.#served.get(key) ?? 0) < (this.#served.get(otherKey) ?? 0);
  }
}

/** A key that no owner has. */
export function personKey({ owner, person = "" }: FairWaiter): string {
  return JSON.stringify([owner, person]);
}

export interface FairWaiter {
  owner: Owner;
  /** Who of the owner's people it is for: those of one owner take turns. */
  person?: Owner | undefined;
  /** How many permits one permit of this owner counts as; 1 by default. */
  weight?: number;
  /** How many permits it leaves free for others, which need them for less; 0 by default. */
  spare?: number;
}
