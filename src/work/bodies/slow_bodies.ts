// Which bodies that still arrive are ended when memory is used up: those that have brought the fewest bytes for their
// age, of nobody first, then of owners above their part.

import type { Clock } from "../../core/clock.ts";
import { uploadLimits } from "./limits.ts";

/** Whose bytes they are: a project by its number, a personal key by a text. */
export type BodyOwner = number | string;

/** The owner of bytes of which nobody knows whose they are. */
export const nobody: BodyOwner = 0;

/** A body that still arrives. */
export interface ArrivingBody {
  readonly owner: BodyOwner;
  /** Bytes that it has of the budget. */
  readonly bytes: number;
  /** Whether its sender is waited for, and may be too slow. */
  readonly mayEnd: boolean;
  /** For how long its sender was waited for, in ms. */
  age(now: number): number;
  /** Bytes a second that it has brought. */
  rate(now: number): number;
  /** Ends its reception; its bytes are released when this returns. */
  end(): void;
}

/** Who needs bytes that are not free. */
export interface Demand {
  bytes: number;
  /** Its owner's rank. */
  rank: number;
  /** The body, if it arrives itself: it ends nothing that comes faster. */
  body?: ArrivingBody;
  /** The owner whose share is used up; undefined when the whole budget is. */
  shareOf?: BodyOwner | undefined;
  /** Only bodies of a lower rank are ended. */
  lowerOnly?: boolean;
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
  /** In the order in which owners lose bodies. */
  #order: SlowOfOwner[] = [];
  #orderedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param arriving all bodies that still arrive; one that is ended is deleted from it.
   * @param rankOf which owners come first; nobody has the lowest rank.
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
    if (now - this.#orderedAt >= uploadLimits.slowOrderMs) this.#sort(now);
    const eligible = this.#order.filter(({ owner, rank }) => {
      if (demand.shareOf !== undefined) return owner === demand.shareOf;
      return demand.lowerOnly ? rank < demand.rank : rank <= demand.rank;
    });
    if (eligible.reduce((sum, { bytes }) => sum + bytes, 0) < demand.bytes) return false;
    return eligible.some((slow) => this.#endSlowest(slow, demand, now));
  }

  #endSlowest(slow: SlowOfOwner, { body: own, rank }: Demand, now: number): boolean {
    // A newcomer has shown nothing yet, and is given room.
    const hasShown = own !== undefined && own.age(now) >= uploadLimits.endedAgeMsMin;
    const rateMax = hasShown && slow.rank === rank ? own.rate(now) : Number.POSITIVE_INFINITY;
    for (let next = slow.bodies.pop(); next; next = slow.bodies.pop()) {
      const { body, rate } = next;
      if (body === own || !this.#mayEnd(body, now)) {
        slow.bytes -= body.bytes;
        continue;
      }
      if (rate >= rateMax) {
        slow.bodies.push(next);
        return false;
      }
      slow.bytes -= body.bytes;
      this.#arriving.delete(body);
      body.end();
      return true;
    }
    slow.bytes = 0;
    return false;
  }

  #mayEnd(body: ArrivingBody, now: number): boolean {
    return this.#arriving.has(body) && body.mayEnd && body.age(now) >= uploadLimits.endedAgeMsMin;
  }

  #sort(now: number): void {
    this.#orderedAt = now;
    const byOwner = new Map<BodyOwner, SlowOfOwner>();
    for (const body of this.#arriving) {
      if (!this.#mayEnd(body, now)) continue;
      const { owner, bytes } = body;
      let slow = byOwner.get(owner);
      if (!slow) byOwner.set(owner, (slow = { owner, rank: this.#rankOf(owner), bodies: [], bytes: 0 }));
      slow.bodies.push({ body, rate: body.rate(now) });
      slow.bytes += bytes;
    }
    this.#order = [...byOwner.values()].toSorted((a, b) => a.rank - b.rank || b.bytes - a.bytes);
    for (const { bodies } of this.#order) bodies.sort((a, b) => b.rate - a.rate);
  }
}
