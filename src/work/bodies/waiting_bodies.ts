// Bodies that wait for memory, in order of arrival.

import { WaitingLine } from "../waiting_line.ts";
import { uploadLimits } from "./limits.ts";
import type { BodyOwner } from "./slow_bodies.ts";

export class WaitingBodies {
  /** Each waits until its attempt to get what it needs succeeds. */
  readonly line = new WaitingLine<() => boolean>();
  readonly #msMax: number;
  /** Claims of others lapse by time. */
  #timer: ReturnType<typeof setInterval> | undefined;
  #isDue = false;

  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** Resolves to false when no memory was freed in time, or too many bodies of this owner wait. */
  async enter(owner: BodyOwner, attempt: () => boolean): Promise<boolean> {
    if (this.line.countOf(owner) >= uploadLimits.memoryWaitingMax) return false;
    this.#timer ??= setInterval(() => this.#grant(), uploadLimits.memoryWaitPollMs);
    return await this.line.enter(owner, attempt, AbortSignal.timeout(this.#msMax)).then(
      () => true,
      () => false,
    );
  }

  /** Memory was released. Once in a turn all that wait try again, however many bodies ended in it. */
  released(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => this.#grant());
  }

  /** One whose owner's share is used up does not hold up others. */
  #grant(): void {
    this.#isDue = false;
    for (const waiting of this.line.all) if (waiting.need()) this.line.admit(waiting);
    if (this.line.all.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
