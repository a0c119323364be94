// Places shared out among owners, such as projects: whoever holds the fewest comes first, and nobody takes all. Never
// waits itself.

import { workLimits } from "./limits.ts";

/** Whom a place is counted for: a project, or a text for what belongs to none. */
export type Owner = number | string;

/**
 * An owner gets one more place only while it holds fewer than `share` times those that are free: some are always left
 * for the next one, without knowing who that will be. Alone, an owner has about share / (1 + share) of all.
 * The rule is that of dynamic thresholds in switches' shared buffers (Choudhury and Hahne, 1998).
 */
export class FairShare {
  #free: number;
  readonly #share: number;
  readonly #held = new Map<Owner, number>();
  /** Who had a place, the latest last: of two with as many places the one that waited longer for a turn is first. */
  readonly #served = new Map<Owner, number>();
  #turn = 0;

  /** Without a `share`, one owner may have all places while nobody else waits. */
  constructor(places: number, share: number = Number.POSITIVE_INFINITY) {
    this.#free = places;
    this.#share = share;
  }

  get free(): number {
    return this.#free;
  }

  /** `weight`: how many places it counts as among those its owner holds, where it is to be held back. */
  mayTake(owner: Owner, weight = 1): boolean {
    const free = this.#free;
    if (free <= 0) return false;
    return this.#share === Number.POSITIVE_INFINITY || this.heldBy(owner) * weight < this.#share * free;
  }

  heldBy(owner: Owner): number {
    return this.#held.get(owner) ?? 0;
  }

  take(owner: Owner): void {
    this.#free--;
    this.#held.set(owner, this.heldBy(owner) + 1);
    this.#served.delete(owner);
    this.#served.set(owner, ++this.#turn);
    const [oldest] = this.#served.keys();
    if (this.#served.size > workLimits.shareOwnersMax && oldest !== undefined) this.#served.delete(oldest);
  }

  leave(owner: Owner): void {
    this.#free++;
    const held = this.heldBy(owner) - 1;
    if (held > 0) this.#held.set(owner, held);
    else this.#held.delete(owner);
  }

  /** Who of those that wait comes next; undefined when none of them may take a place. */
  next<One extends FairWaiter>(waiting: Iterable<One>): One | undefined {
    let best: One | undefined;
    for (const one of waiting) {
      if (this.mayTake(one.owner, one.weight) && (!best || this.#isBefore(one.owner, best.owner))) best = one;
    }
    return best;
  }

  /** Takes places for as many of those that wait as may have one, in their order. */
  takeFor<One extends FairWaiter>(waiting: readonly One[]): One[] {
    const left = new Set(waiting);
    const taken: One[] = [];
    for (let one = this.next(left); one; one = this.next(left)) {
      left.delete(one);
      this.take(one.owner);
      taken.push(one);
    }
    return taken;
  }

  #isBefore(owner: Owner, other: Owner): boolean {
    if (owner === other) return false;
    const [held, otherHeld] = [this.heldBy(owner), this.heldBy(other)];
    if (held !== otherHeld) return held < otherHeld;
    return (this.#served.get(owner) ?? 0) < (this.#served.get(other) ?? 0);
  }
}

/** One that waits for a place. */
export interface FairWaiter {
  owner: Owner;
  /** As FairShare.mayTake() has it; 1 unless told. */
  weight?: number;
}
