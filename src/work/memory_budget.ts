// A budget of bytes for request bodies in memory, with a share for each project. It counts and allocates nothing.

import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { workLimits } from "./limits.ts";

interface MemoryBudgetOptions {
  /** Bytes of all bodies together. */
  bytesMax: number;
  /** Bytes of one project's bodies, and of all bodies whose project is not known. */
  shareBytesMax: number;
  /** How long acquireSoon() waits, in ms; workLimits.bodyMemoryWaitMsMax by default. */
  waitMsMax?: number;
}

/** The project number of bodies whose project is not known. */
const nobody = 0;

interface Waiter {
  lease: MemoryLease;
  bytes: number;
  granted(): void;
}

export class MemoryBudget {
  readonly bytesMax: number;
  readonly shareBytesMax: number;
  /** The parts of it for bodies that are not short, and for those longer than limits.wholeBodyBytesMax. */
  readonly #usualBytesMax: number;
  readonly #longBytesMax: number;
  readonly #waitMsMax: number;
  readonly #shares = new Map<number, number>();
  readonly #waiting = new Set<Waiter>();
  #held = 0;

  constructor({ bytesMax, shareBytesMax, waitMsMax = workLimits.bodyMemoryWaitMsMax }: MemoryBudgetOptions) {
    this.bytesMax = bytesMax;
    this.shareBytesMax = shareBytesMax;
    this.#waitMsMax = waitMsMax;
    this.#usualBytesMax = bytesMax * workLimits.bodyMemoryUsualShare;
    this.#longBytesMax = bytesMax * workLimits.bodyMemoryLongShare;
  }

  get held(): number {
    return this.#held;
  }

  /** Bytes that the bodies of one project hold now; without a project, those whose project is not known. */
  heldBy(project_id: number = nobody): number {
    return this.#shares.get(project_id) ?? 0;
  }

  /** A lease for one request, to be closed when the request is over. */
  open(): MemoryLease {
    return new MemoryLease(this);
  }

  /** Takes the bytes of a short body, which has no lease; false when there are not so many left. */
  acquireShort(bytes: number): boolean {
    if (this.#held + bytes > this.bytesMax) return false;
    this.#held += bytes;
    return true;
  }

  /** Returns what acquireShort() took. */
  releaseShort(bytes: number): void {
    this.#held -= bytes;
    if (this.#waiting.size > 0) this.#grant();
  }

  /**
   * For leases. False, and nothing is taken, when the budget or the project's share is exceeded. `before`: bytes that
   * the lease holds already.
   */
  take(project_id: number, bytes: number, before: number): boolean {
    const share = this.heldBy(project_id) + bytes;
    const isLong = before + bytes > limits.wholeBodyBytesMax;
    const most = isLong ? this.#longBytesMax : this.#usualBytesMax;
    if (this.#held + bytes > most || share > this.shareBytesMax) return false;
    this.#held += bytes;
    this.#shares.set(project_id, share);
    return true;
  }

  /** For leases: returns what take() took. */
  give(project_id: number, bytes: number): void {
    const share = this.heldBy(project_id) - bytes;
    this.#held -= bytes;
    if (share > 0) this.#shares.set(project_id, share);
    else this.#shares.delete(project_id);
    if (this.#waiting.size > 0) this.#grant();
  }

  /** For leases: moves bytes from one project's share to another's; false when that share is exceeded. */
  move(from: number, to: number, bytes: number): boolean {
    const share = this.heldBy(to) + bytes;
    if (share > this.shareBytesMax) return false;
    // In this order the bytes are never free in between.
    this.#shares.set(to, share);
    this.#held += bytes;
    this.give(from, bytes);
    return true;
  }

  /** For leases: resolves to false when the bytes were not free in time. */
  wait(lease: MemoryLease, bytes: number): Promise<boolean> {
    if (this.#waiting.size >= workLimits.bodyMemoryWaitingMax) return Promise.resolve(false);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        lease,
        bytes,
        granted: () => {
          clearTimeout(timer);
          resolve(true);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(waiter);
        resolve(false);
      }, this.#waitMsMax);
      this.#waiting.add(waiter);
    });
  }

  /** In order of arrival, but a waiter whose project's share is used up does not hold up others. */
  #grant(): void {
    for (const waiter of this.#waiting) {
      if (!waiter.lease.tryAcquire(waiter.bytes)) continue;
      this.#waiting.delete(waiter);
      waiter.granted();
    }
  }
}

/** The bytes that one request holds of a budget. */
export class MemoryLease {
  readonly #budget: MemoryBudget;
  #project: number = nobody;
  #bytes = 0;
  #closed = false;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Takes so many bytes more, before they are allocated.
   * @throws Fault unavailable with Retry-After when there are not so many left; then nothing is taken.
   */
  acquire(bytes: number): void {
    if (!this.tryAcquire(bytes)) throw exhausted();
  }

  /** As acquire(), but returns false instead of a fault. */
  tryAcquire(bytes: number): boolean {
    if (this.#closed) throw new Error("memory is acquired through a closed lease");
    if (!this.#budget.take(this.#project, bytes, this.#bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /**
   * As acquire(), but waits for its turn. Only for a request that holds nothing that others wait for.
   * @throws Fault unavailable when there was no room in time, or too many wait.
   */
  async acquireSoon(bytes: number): Promise<void> {
    if (this.tryAcquire(bytes)) return;
    if (bytes > this.#budget.shareBytesMax || !(await this.#budget.wait(this, bytes))) throw exhausted();
  }

  /** Acquires or releases the difference to so many bytes. @throws Fault unavailable as acquire(). */
  hold(bytes: number): void {
    if (bytes > this.#bytes) this.acquire(bytes - this.#bytes);
    else this.release(this.#bytes - bytes);
  }

  /** Returns so many bytes, which were freed. */
  release(bytes: number): void {
    if (bytes > this.#bytes) throw new Error(`${bytes} bytes are released of ${this.#bytes}`);
    this.#bytes -= bytes;
    this.#budget.give(this.#project, bytes);
  }

  /**
   * Counts what the lease holds, and will hold, in this project's share.
   * @throws Fault unavailable when the share is exceeded; then nothing is changed.
   */
  assign(project_id: number): void {
    if (project_id === this.#project) return;
    if (!this.#budget.move(this.#project, project_id, this.#bytes)) throw exhausted();
    this.#project = project_id;
  }

  close(): void {
    if (this.#closed) return;
    this.release(this.#bytes);
    this.#closed = true;
  }
}

/** The fault of a request that finds no memory. */
export function exhausted(): Fault {
  const detail =
    "The server holds as many request bodies as its memory allows. Send the request again later.";
  return new Fault("unavailable", detail, { retryAfterSeconds: workLimits.bodyMemoryRetrySeconds });
}

/**
 * The budget of one of `workers` workers. One body of the largest size always fits: `bodyBytesMax` on the wire,
 * inflated to the limit, with its index.
 */
export function openBodyMemory(bodyBytesMax: number, workers: number): MemoryBudget {
  const largest = bodyBytesMax + limits.inflatedBytesMax + limits.indexBytesMax;
  const bytesMax = Math.max(workLimits.bodyMemoryBytes / workers, largest * workLimits.bodyMemoryLargestMin);
  return new MemoryBudget({
    bytesMax,
    shareBytesMax: Math.max(largest, bytesMax * workLimits.bodyMemoryShare),
  });
}

const budgets = new WeakMap<object, MemoryBudget>();

/** From now on the memory of this request's body is acquired from `memory`. */
export function chargeBody(request: object, memory: MemoryBudget): void {
  budgets.set(request, memory);
}

/** What the memory of this request's body is acquired from; undefined when nobody charged it. */
export function budgetOf(request: object): MemoryBudget | undefined {
  return budgets.get(request);
}
