// A budget of bytes for request bodies in memory, with a share for each owner. It counts and allocates nothing. Bytes
// are acquired when they are here: the announced length of a body decides how it is received, and acquires nothing.

import { type Clock, PolledSet, systemClock } from "../../core/clock.ts";
import { type Fault, unavailable } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import type { Owner } from "../fair_share.ts";
import { Semaphore, WaitingLine } from "../semaphore.ts";
import { uploadLimits } from "./limits.ts";

/** The owner of bytes whose owner is not known; others are projects by their numbers, personal keys by a text. */
export const unknownOwner: Owner = 0;

export const exhausted = (): Fault =>
  unavailable(
    "The server has no memory for further request bodies. Send the request again later.",
    uploadLimits.memoryRetrySeconds,
  );

/**
 * The budget of one of `workers` workers. One body of the largest size always fits: `bodyBytesMax` on the wire,
 * inflated to the limit, with its index.
 */
export function openBodyMemory(bodyBytesMax: number, workers: number): MemoryBudget {
  const largest = bodyBytesMax + limits.inflatedBytesMax + limits.indexBytesMax;
  const bytesMax = Math.max(uploadLimits.memoryBytes / workers, largest * uploadLimits.memoryLargestMin);
  const shareBytesMax = Math.max(largest, bytesMax * uploadLimits.memoryFraction);
  return new MemoryBudget({ bytesMax, shareBytesMax });
}

export class MemoryBudget {
  /** Bytes of all bodies together. */
  readonly bytesMax: number;
  /** Bytes of one owner's bodies, and of all bodies whose owner is not known. */
  readonly shareBytesMax: number;
  readonly clock: Pick<Clock, "elapsed">;
  /** Bodies whose sender is waited for. */
  readonly arriving = new Set<MemoryLease>();
  readonly claiming = new Set<MemoryLease>();
  /** All bodies that are being received: late ones are refused. */
  readonly receiving = new PolledSet(uploadLimits.pollMs, uploadLimits.lateAtOnceMax);
  /** Threads that inflate: more would take cores from the event loop. */
  readonly inflaters = new Semaphore(
    uploadLimits.inflatesAtOnceMax,
    uploadLimits.inflatesWaitingMax,
    limits.workingFreeMultiple,
  );
  /** How long a body waits for memory, in ms. */
  readonly waitMsMax: number;
  /** Bodies that wait for memory, until their attempts to get what they need succeed. */
  readonly waiting = new WaitingLine<() => boolean>();
  #isRetryDue = false;
  readonly #shares = new Map<Owner, number>();
  held = 0;
  /** Bytes of short bodies that are received unseen, and of longer ones. */
  readonly #unseen: [number, number] = [0, 0];
  /** The bodies that may be ended, the slowest last, as of uploadLimits.slowOrderMs ago at most. */
  #slow: { body: MemoryLease; rank: number; rate: number }[] = [];
  #sortedAt = Number.NEGATIVE_INFINITY;

  constructor(options: Pick<MemoryBudget, "bytesMax" | "shareBytesMax"> & Partial<MemoryBudget>) {
    this.bytesMax = options.bytesMax;
    this.shareBytesMax = options.shareBytesMax;
    this.clock = options.clock ?? systemClock;
    this.waitMsMax = options.waitMsMax ?? uploadLimits.memoryWaitMsMax;
  }

  /** Bytes that the bodies of one owner hold now; without an owner, those whose owner is not known. */
  heldBy(owner: Owner = unknownOwner): number {
    return this.#shares.get(owner) ?? 0;
  }

  /**
   * A lease for one request, to be closed when the request is over. @param announced the length of its body, if it is
   * known: whether it is short follows from it.
   */
  open(announced = Number.NaN): MemoryLease {
    return new MemoryLease(this, announced < uploadLimits.shortBytesMax);
  }

  /**
   * Whether a body of so many announced bytes may be received whole, so that nothing is known of it until all of
   * it is here. What the runtime collects meanwhile is bounded by this; releaseUnseen() follows.
   */
  acquireUnseen(announced: number): boolean {
    const bytes = announced + uploadLimits.openUploadBytes;
    const kind = announced < uploadLimits.shortBytesMax ? 0 : 1;
    if (this.#unseen[kind] + bytes > Math.min(uploadLimits.unseenBytesMax, this.bytesMax / 16)) return false;
    this.#unseen[kind] += bytes;
    return true;
  }

  releaseUnseen(announced: number): void {
    this.#unseen[announced < uploadLimits.shortBytesMax ? 0 : 1] -= announced + uploadLimits.openUploadBytes;
  }

  /** Leases only: counts so many bytes more, or fewer, of an owner. */
  count(owner: Owner, bytes: number): void {
    this.held += bytes;
    const share = this.heldBy(owner) + bytes;
    if (share > 0) this.#shares.set(owner, share);
    else this.#shares.delete(owner);
    if (bytes < 0) this.retry();
  }

  /** Leases only: whether so many more bytes fit into the budget and the owner's share; slow bodies end for them. */
  fits(lease: MemoryLease, bytes: number): boolean {
    const size = lease.bytes + bytes;
    const { memoryLongFraction, memoryUsualFraction } = uploadLimits;
    const usual = size > limits.wholeBodyBytesMax ? memoryLongFraction : memoryUsualFraction;
    const part = isSmall(lease, size) ? 1 : usual;
    if (!this.fitsShare(lease, bytes, lease.owner)) return false;
    return this.#endSlow(this.held + bytes - this.bytesMax * part, lease);
  }

  /** Leases only: whether so many more bytes fit into this owner's share, which no small lease needs. */
  fitsShare(lease: MemoryLease, bytes: number, owner: Owner): boolean {
    if (isSmall(lease, owner === lease.owner ? lease.bytes + bytes : bytes)) return true;
    return this.#endSlow(this.heldBy(owner) + bytes - this.shareBytesMax, lease, owner);
  }

  /**
   * Leases only: whether so many more bytes fit beside all that is acquired and claimed. Claims make long bodies wait
   * for each other, and refuse nothing.
   */
  fitsClaims(lease: MemoryLease, bytes: number): boolean {
    const bytesMax = this.bytesMax * uploadLimits.memoryLongFraction;
    const rankMax = this.#findRank(lease.owner) - 1;
    if (!this.#endSlow(this.held + bytes - bytesMax, lease, undefined, rankMax)) return false;
    let [all, ownBytes] = [this.held + bytes, this.heldBy(lease.owner) + bytes];
    for (const { claimed, owner } of this.claiming) {
      all += claimed;
      if (owner === lease.owner) ownBytes += claimed;
    }
    return all <= bytesMax && ownBytes <= this.shareBytesMax;
  }

  /** Memory was released, or bodies became slow: all that wait try again in order of arrival, once in a turn. */
  retry(): void {
    if (this.#isRetryDue || this.waiting.all.size === 0) return;
    this.#isRetryDue = true;
    setImmediate(() => {
      this.#isRetryDue = false;
      // One whose owner's share is used up does not delay others.
      for (const waiting of this.waiting.all) if (waiting.need()) this.waiting.admit(waiting);
    });
  }

  /** The order in which slow bodies are ended: without an owner, of owners above an equal part, of others. */
  #findRank(owner: Owner): number {
    if (owner === unknownOwner) return 0;
    return this.heldBy(owner) > this.bytesMax / Math.max(2, this.#shares.size) ? 1 : rankMost;
  }

  /**
   * Ends bodies until so many bytes are released, those with the fewest bytes for their age first. False, and none is
   * ended, where all that may end release fewer.
   * @param lease needs the bytes; while its body arrives itself, it ends none of its rank that arrives faster.
   * @param owner whose share is used up; undefined when the whole budget is.
   * @param rankMax of the bodies that may end for the whole budget; a short body that is here ends any.
   */
  #endSlow(bytes: number, lease: MemoryLease, owner?: Owner, rankMax?: number): boolean {
    if (bytes <= 0) return true;
    if (this.arriving.size === 0) return false;
    const now = this.clock.elapsed();
    const rank = lease.isShort && !lease.onEnd ? rankMost : this.#findRank(lease.owner);
    // A newcomer has no rate yet, and gets memory.
    const ownRate = lease.rate(now) ?? Number.POSITIVE_INFINITY;
    const slowest = this.#sortSlow(now);
    const ending: MemoryLease[] = [];
    let missing = bytes;
    for (let i = slowest.length - 1; i >= 0 && missing > 0; i--) {
      const { body, rate, ...other } = slowest[i]!;
      if (body === lease || !this.arriving.has(body) || !mayEnd(body, now)) continue;
      if (owner === undefined ? other.rank > (rankMax ?? rank) : body.owner !== owner) continue;
      if (other.rank >= rank && rate >= ownRate) continue;
      ending.push(body);
      missing -= body.bytes;
    }
    if (missing > 0) return false;
    for (const body of ending) body.end();
    return true;
  }

  #sortSlow(now: number) {
    if (now - this.#sortedAt >= uploadLimits.slowOrderMs) {
      this.#sortedAt = now;
      this.#slow = [...this.arriving]
        .filter((body) => mayEnd(body, now))
        .map((body) => ({ body, rank: this.#findRank(body.owner), rate: body.rate(now)! }))
        .sort((a, b) => b.rank - a.rank || b.rate - a.rate);
    }
    while (this.#slow.length > 0 && !this.arriving.has(this.#slow.at(-1)!.body)) this.#slow.pop();
    return this.#slow;
  }
}

/** Whether its sender is waited for, and may be too slow. */
function mayEnd(body: MemoryLease, now: number): boolean {
  return body.pausedAt === undefined && body.claimed === 0 && body.rate(now) !== undefined;
}

const rankMost = 2;

/** Whether only the whole budget bounds the lease when it has so many bytes. */
function isSmall({ isShort }: MemoryLease, size: number): boolean {
  return isShort && size <= uploadLimits.shortLeaseBytesMax;
}

/** The bytes that one request holds of a budget. Its fields are changed by its methods only, but for arrivedBytes. */
export class MemoryLease {
  readonly budget: MemoryBudget;
  readonly isShort: boolean;
  owner: Owner = unknownOwner;
  bytes = 0;
  /** Bytes that may still be acquired under its claim. */
  claimed = 0;
  /** Bytes that have arrived since its sender is waited for. */
  arrivedBytes = 0;
  /** Moment from which its sender is waited for. */
  #arrivalAt = 0;
  /** Moment since which its body waits for something of ours. */
  pausedAt: number | undefined;
  /** Ends the reception of the body; undefined while none arrives. */
  onEnd: (() => void) | undefined;
  #closed = false;

  constructor(budget: MemoryBudget, isShort: boolean) {
    this.budget = budget;
    this.isShort = isShort;
  }

  /**
   * Acquires so many bytes more.
   * @throws Fault unavailable with Retry-After when there are not so many left; then nothing is acquired.
   */
  acquire(bytes: number): void {
    if (!this.tryAcquire(bytes)) throw exhausted();
  }

  /** Variant of acquire(), but returns false instead of a fault. */
  tryAcquire(bytes: number): boolean {
    if (this.#closed) throw new Error("memory is acquired through a closed lease");
    if (!this.budget.fits(this, bytes)) return false;
    this.claimed = Math.max(0, this.claimed - bytes);
    this.#count(bytes);
    return true;
  }

  /**
   * Resolves when `attempt` to have so many bytes more succeeds. Meanwhile the sender is not waited for.
   * @throws Fault unavailable when it does not in time, never can, or too many bodies wait.
   */
  async waitFor(bytes: number, attempt: () => boolean): Promise<void> {
    if (attempt()) return;
    if (this.bytes + bytes > this.budget.shareBytesMax) throw exhausted();
    const { waiting, waitMsMax } = this.budget;
    if (waiting.countWaiting(this.owner) >= uploadLimits.memoryWaitingMax) throw exhausted();
    const entered = waiting.enter(this.owner, attempt, AbortSignal.timeout(waitMsMax));
    await this.paused(entered).catch(() => {
      throw exhausted();
    });
  }

  /**
   * Claims so many bytes more as soon as they fit. They are not acquired: until unclaim(), other long bodies wait for
   * this one. @throws Fault unavailable as waitFor().
   */
  async claim(bytes: number): Promise<void> {
    await this.waitFor(bytes, () => {
      if (!this.budget.fitsClaims(this, bytes)) return false;
      this.claimed = bytes;
      this.budget.claiming.add(this);
      return true;
    });
  }

  unclaim(): void {
    this.claimed = 0;
    if (this.budget.claiming.delete(this)) this.budget.retry();
  }

  /** Acquires or releases the difference to so many bytes, and ends a claim. @throws Fault unavailable as acquire(). */
  resize(bytes: number): void {
    if (bytes > this.bytes) this.acquire(bytes - this.bytes);
    else this.release(this.bytes - bytes);
    this.unclaim();
  }

  release(bytes: number): void {
    if (bytes > this.bytes) throw new Error(`${bytes} bytes are released of ${this.bytes}`);
    this.#count(-bytes);
  }

  /**
   * Counts what the lease holds, and will hold, in this owner's share.
   * @throws Fault unavailable when the share is exceeded; then nothing is changed.
   */
  assign(owner: Owner): void {
    if (owner === this.owner) return;
    if (!this.budget.fitsShare(this, this.bytes, owner)) throw exhausted();
    this.budget.count(owner, this.bytes);
    this.budget.count(this.owner, -this.bytes);
    this.owner = owner;
  }

  close(): void {
    if (this.#closed) return;
    this.budget.arriving.delete(this);
    this.unclaim();
    this.release(this.bytes);
    this.#closed = true;
  }

  /**
   * From now on the body's sender is waited for, and the body may be ended by `onEnd`, which releases its bytes.
   * @throws Fault unavailable when there is no memory for one more.
   */
  beginArrival(onEnd: () => void): void {
    this.onEnd = onEnd;
    this.#arrivalAt = this.budget.clock.elapsed();
    this.acquire(uploadLimits.openUploadBytes);
    this.budget.arriving.add(this);
  }

  endArrival(): void {
    this.onEnd = undefined;
    if (this.budget.arriving.delete(this)) this.release(uploadLimits.openUploadBytes);
  }

  /** Ends the reception; the bytes are released when this returns. */
  end(): void {
    const onEnd = this.onEnd;
    this.endArrival();
    onEnd?.();
  }

  /** Resolves as this work of ours does. Meanwhile the sender is not waited for. */
  async paused(work: Promise<void>): Promise<void> {
    const { clock } = this.budget;
    const pausedAt = clock.elapsed();
    this.pausedAt = pausedAt;
    try {
      await work;
    } finally {
      this.#arrivalAt += clock.elapsed() - pausedAt;
      this.pausedAt = undefined;
    }
  }

  /** Bytes a second that have arrived; undefined while none arrive, and of a young body, which is given time. */
  rate(now: number): number | undefined {
    const ms = (this.pausedAt ?? now) - this.#arrivalAt;
    return this.onEnd && ms >= uploadLimits.endedAgeMsMin ? (this.arrivedBytes * 1000) / ms : undefined;
  }

  #count(bytes: number): void {
    this.bytes += bytes;
    this.budget.count(this.owner, bytes);
  }
}
