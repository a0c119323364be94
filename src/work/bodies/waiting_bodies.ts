// Bodies that wait for memory, in order of arrival.

import { uploadLimits } from "./limits.ts";
import type { BodyOwner } from "./slow_bodies.ts";

interface Waiter {
  owner: BodyOwner;
  /** Tries again; true when it has what it waits for. */
  attempt(): boolean;
  granted(): void;
}

export class WaitingBodies {
  count = 0;
  readonly #msMax: number;
  readonly #waiting = new Set<Waiter>();
  /** Claims of others lapse by time. */
  #timer: ReturnType<typeof setInterval> | undefined;
  #isDue = false;

  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** Resolves to false when no memory was freed in time, or too many bodies of this owner wait. */
  enter(owner: BodyOwner, attempt: () => boolean): Promise<boolean> {
    let before = 0;
    for (const waiter of this.#waiting) if (waiter.owner === owner) before++;
    if (before >= uploadLimits.memoryWaitingMax) return Promise.resolve(false);
    this.#timer ??= setInterval(() => this.#grant(), uploadLimits.memoryWaitPollMs);
    return new Promise((resolve) => {
      const done = (granted: boolean) => {
        clearTimeout(timer);
        this.#waiting.delete(waiter);
        this.count = this.#waiting.size;
        resolve(granted);
      };
      const waiter: Waiter = { owner, attempt, granted: () => done(true) };
      const timer = setTimeout(() => done(false), this.#msMax);
      this.#waiting.add(waiter);
      this.count = this.#waiting.size;
    });
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
    for (const waiter of this.#waiting) if (waiter.attempt()) waiter.granted();
    if (this.count > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
