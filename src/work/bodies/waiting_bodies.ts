// Bodies that wait for memory, in order of arrival.

import { type Polled, PolledSet } from "../../core/clock.ts";
import { WaitingLine } from "../waiting_line.ts";
import { uploadLimits } from "./limits.ts";
import type { BodyOwner } from "./slow_bodies.ts";

export class WaitingBodies implements Polled {
  /** Each waits until its attempt to get what it needs succeeds. */
  readonly line = new WaitingLine<() => boolean>();
  readonly #msMax: number;
  /** Polls this while any wait, since claims of others lapse by time. */
  readonly #polled = new PolledSet(uploadLimits.memoryWaitPollMs, 1);
  #isDue = false;

  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** Resolves to false when no memory was freed in time, or too many bodies of this owner wait. */
  async enter(owner: BodyOwner, attempt: () => boolean): Promise<boolean> {
    if (this.line.countOf(owner) >= uploadLimits.memoryWaitingMax) return false;
    this.#polled.add(this);
    return await this.line.enter(owner, attempt, AbortSignal.timeout(this.#msMax)).then(
      () => true,
      () => false,
    );
  }

  /** Memory was released. Once in a turn all that wait try again, however many bodies ended in it. */
  released(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => this.poll());
  }

  /** Admits all whose attempt succeeds: one whose owner's share is used up does not delay others. */
  poll(): boolean {
    this.#isDue = false;
    for (const waiting of this.line.all) if (waiting.need()) this.line.admit(waiting);
    return this.line.all.size === 0 && this.#polled.delete(this);
  }
}
