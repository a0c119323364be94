// Which of the bodies that still arrive are ended when memory is used up: those with the fewest bytes for their age,
// first of unknown owners, then of owners that hold more than an equal part.

import type { Clock } from "../../core/clock.ts";
import { uploadLimits } from "./limits.ts";

/** Whose bytes they are: a project by its number, a personal key by a text. */
export type BodyOwner = number | string;

/** The owner of bytes whose owner is not known. */
export const unknownOwner: BodyOwner = 0;

export interface ArrivingBody {
  readonly owner: BodyOwner;
  /** Bytes that it has of the budget. */
  readonly bytes: number;
  /** Whether its sender is waited for, and may be too slow. */
  readonly mayEnd: boolean;
  /** For how long its sender was waited for, in ms. */
  age(now: number): number;
  /** Bytes a second that have arrived. */
  rate(now: number): number;
  /** Ends its reception; its bytes are released when this returns. */
  end(): void;
}

/** Who needs bytes that are not free. */
export interface Demand {
  /** How many are missing. */
  bytes: number;
  rank: number;
  /** The body that needs the bytes; while it arrives itself, it ends none that arrives faster. */
  body?: ArrivingBody;
  /** The owner whose share is used up; undefined when the whole budget is. */
  shareOf?: BodyOwner | undefined;
  /** Only bodies of a lower rank are ended. */
  isLowerOnly?: boolean;
}

interface SlowOfOwner {
  owner: BodyOwner;
  rank: number;
  /** The fastest first. */
  bodies: { body: ArrivingBody; rate: number }[];
  bytes: number;
}

export class SlowBodies {
  readonly #arriving: Set<ArrivingBody>;
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #rankOf: (owner: BodyOwner) => number;
  /** The bodies that may be ended, as of uploadLimits.slowOrderMs ago at most. */
  #slow: SlowOfOwner[] = [];
  #sortedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param arriving all bodies that still arrive; one that is ended is deleted from it.
   * @param rankOf which owners come first; the unknown owner has the lowest rank.
   */
  constructor(
    arriving: Set<ArrivingBody>,
    clock: Pick<Clock, "elapsed">,
    rankOf: (owner: BodyOwner) => number,
  ) {
    this.#arriving = arriving;
    this.#clock = clock;
    this.#rankOf = rankOf;
  }

  /** Ends one body; false, and none is ended, where all that may end do not free enough. */
  endOne(demand: Demand): boolean {
    if (this.#arriving.size === 0) return false;
    const now = this.#clock.elapsed();
    if (now - this.#sortedAt >= uploadLimits.slowOrderMs) this.#sort(now);
    const eligible = this.#slow.filter(({ owner, rank }) => {
      if (demand.shareOf !== undefined) return owner === demand.shareOf;
      return demand.isLowerOnly ? rank < demand.rank : rank <= demand.rank;
    });
    if (eligible.reduce((sum, { bytes }) => sum + bytes, 0) < demand.bytes) return false;
    const slow = this.#slowestOf(eligible, demand.body, now);
    // A newcomer has no rate yet, and gets memory.
    const own = demand.body;
    const hasRate = own && this.#arriving.has(own) && own.age(now) >= uploadLimits.endedAgeMsMin;
    const { body, rate } = slow?.bodies.at(-1) ?? {};
    if (!slow || !body || (hasRate && slow.rank === demand.rank && rate! >= own.rate(now))) return false;
    slow.bodies.pop();
    slow.bytes -= body.bytes;
    this.#arriving.delete(body);
    body.end();
    return true;
  }

  /** The owner whose slowest body is ended next; bodies that may not be ended any more are removed. */
  #slowestOf(
    eligible: readonly SlowOfOwner[],
    own: ArrivingBody | undefined,
    now: number,
  ): SlowOfOwner | undefined {
    let slowest: SlowOfOwner | undefined;
    for (const slow of eligible) {
      let last = slow.bodies.at(-1);
      for (; last && (last.body === own || !this.#mayEnd(last.body, now)); last = slow.bodies.at(-1)) {
        slow.bytes -= last.body.bytes;
        slow.bodies.pop();
      }
      const rate = slowest?.bodies.at(-1)?.rate ?? Number.POSITIVE_INFINITY;
      if (last && (!slowest || slow.rank < slowest.rank || (slow.rank === slowest.rank && last.rate < rate)))
        slowest = slow;
    }
    return slowest;
  }

  #mayEnd(body: ArrivingBody, now: number): boolean {
    return this.#arriving.has(body) && body.mayEnd && body.age(now) >= uploadLimits.endedAgeMsMin;
  }

  #sort(now: number): void {
    this.#sortedAt = now;
    const byOwner = new Map<BodyOwner, SlowOfOwner>();
    for (const body of this.#arriving) {
      if (!this.#mayEnd(body, now)) continue;
      const { owner, bytes } = body;
      const slow = byOwner.getOrInsertComputed(owner, () => {
        return { owner, rank: this.#rankOf(owner), bodies: [], bytes: 0 };
      });
      slow.bodies.push({ body, rate: body.rate(now) });
      slow.bytes += bytes;
    }
    this.#slow = [...byOwner.values()];
    for (const { bodies } of this.#slow) bodies.sort((a, b) => b.rate - a.rate);
  }
}
