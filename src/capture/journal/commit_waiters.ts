// Those who wait for one group of a lane to be on the disk. Never knows what is in it.

import { Fault } from "../../core/fault.ts";

/** One who is told in the turn in which it is known, and makes no promise for that. Neither may throw. */
export interface CommitWaiter {
  /** The group is on the disk. */
  kept(): void;
  /** It could not be written: its rows are dropped. */
  refused(fault: Fault): void;
}

export class CommitWaiters {
  readonly #waiters: CommitWaiter[] = [];
  #promised: PromiseWithResolvers<void> | undefined;

  /**
   * Resolves when the group is on the disk; asked for before it is settled.
   * @throws Fault unavailable when it could not be written.
   */
  get promise(): Promise<void> {
    if (!this.#promised) {
      this.#promised = Promise.withResolvers<void>();
      this.#promised.promise.catch(() => {});
    }
    return this.#promised.promise;
  }

  add(waiter: CommitWaiter): void {
    this.#waiters.push(waiter);
  }

  /** Tells all of them; nobody may wait any more after that. */
  keep(): void {
    this.#promised?.resolve();
    for (const waiter of this.#waiters) waiter.kept();
  }

  /** The same when the group could not be written. */
  refuse(): void {
    const detail = "The journal cannot be written. Send the events again later.";
    const fault = new Fault("unavailable", detail, { retryAfterSeconds: 5 });
    this.#promised?.reject(fault);
    for (const waiter of this.#waiters) waiter.refused(fault);
  }
}
