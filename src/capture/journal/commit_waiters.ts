// Group commit: those who wait until one group of a lane is on the disk, and the groups that one request waits for.

import { Fault } from "../../core/fault.ts";

/** Called in the turn in which the group's end is known, without a promise. Neither method may throw. */
export interface CommitWaiter {
  /** The group is on the disk. */
  kept(): void;
  /** It could not be written: its rows are dropped. */
  refused(fault: Fault): void;
}

export class CommitWaiters {
  /** Why the group could not be written. */
  fault: Fault | undefined;
  #isKept = false;
  readonly #waiters: CommitWaiter[] = [];
  #promised: PromiseWithResolvers<void> | undefined;

  /**
   * Resolves when the group is on the disk.
   * @throws Fault unavailable when it could not be written.
   */
  get promise(): Promise<void> {
    if (!this.#promised) {
      this.#promised = Promise.withResolvers<void>();
      this.#promised.promise.catch(() => {});
      if (this.#isKept) this.#promised.resolve();
      if (this.fault) this.#promised.reject(this.fault);
    }
    return this.#promised.promise;
  }

  /** Before the group is written only. */
  add(waiter: CommitWaiter): void {
    this.#waiters.push(waiter);
  }

  /** The group is on the disk. */
  keep(): void {
    this.#isKept = true;
    this.#promised?.resolve();
    for (const waiter of this.#waiters) waiter.kept();
  }

  /** The group could not be written. */
  refuse(): void {
    const detail = "The journal cannot be written. Send the events again later.";
    const fault = new Fault("unavailable", detail, { retryAfterSeconds: 5 });
    this.fault = fault;
    this.#promised?.reject(fault);
    for (const waiter of this.#waiters) waiter.refused(fault);
  }
}

/** Where rows are committed by groups. */
export interface Committing {
  /** The group that rows appended in this turn belong to. */
  readonly group: CommitWaiters;
  /** Writes that group, and resolves or rejects with it. */
  commit(): Promise<void>;
}

/** The groups that hold the rows of one request: what it is answered depends on these and no others. */
export class CommitGroups {
  readonly #joined: { lane: Committing; group: CommitWaiters }[] = [];

  /** Notes that rows were appended to `lane` in this turn. */
  join(lane: Committing): void {
    const { group } = lane;
    for (let i = this.#joined.length - 1; i >= 0; i--) if (this.#joined[i]!.group === group) return;
    this.#joined.push({ lane, group });
  }

  /** Throws when one of the groups is known to have failed. @throws Fault unavailable. */
  check(): void {
    for (const { group } of this.#joined) if (group.fault) throw group.fault;
  }

  /**
   * Resolves when all rows are on the disk.
   * @throws Fault unavailable when some could not be written.
   */
  async commit(): Promise<void> {
    for (const { lane, group } of this.#joined) if (lane.group === group) void lane.commit();
    for (const { group } of this.#joined) await group.promise;
  }
}
