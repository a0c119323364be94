// A budget of bytes for request bodies in memory, with a share for each owner. It counts and allocates nothing. Bytes
// are acquired when they are here: the announced length of a body decides how it is received, and acquires nothing.

import { type Clock, PolledSet, systemClock } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import { Semaphore } from "../semaphore.ts";
import { exhausted } from "./body_faults.ts";
import { uploadLimits } from "./limits.ts";
import { type ArrivingBody, type BodyOwner, SlowBodies, unknownOwner } from "./slow_bodies.ts";
import { WaitingBodies } from "./waiting_bodies.ts";

interface MemoryBudgetOptions {
  /** Bytes of all bodies together. */
  bytesMax: number;
  /** Bytes of one owner's bodies, and of all bodies whose owner is not known. */
  shareBytesMax: number;
  /** How long acquireSoon() and claim() wait, in ms; uploadLimits.memoryWaitMsMax by default. */
  waitMsMax?: number;
  clock?: Pick<Clock, "elapsed">;
}

export class MemoryBudget {
  readonly bytesMax: number;
  readonly shareBytesMax: number;
  readonly clock: Pick<Clock, "elapsed">;
  /** Bodies whose sender is waited for. */
  readonly arriving = new Set<ArrivingBody>();
  /** All bodies that are being received: late ones are refused. */
  readonly receiving = new PolledSet(uploadLimits.pollMs, uploadLimits.lateAtOnceMax);
  /** The uploads of which enough arrives to be worth a turn. */
  busyUploads = 0;
  /** Threads that inflate: more would take cores from the event loop. */
  readonly inflaters = new Semaphore(
    uploadLimits.inflatesAtOnceMax,
    uploadLimits.inflatesWaitingMax,
    limits.workingFreeMultiple,
  );
  readonly waiting: WaitingBodies;
  readonly #slow: SlowBodies;
  /** What bodies that are not short may use of the budget, and what those longer than wholeBodyBytesMax may. */
  readonly #usualBytesMax: number;
  readonly #longBytesMax: number;
  readonly #unseenBytesMax: number;
  readonly #shares = new Map<BodyOwner, number>();
  readonly #claims = new Set<MemoryLease>();
  #held = 0;
  /** Bytes of short bodies that are received unseen, and of longer ones. */
  readonly #unseen: [number, number] = [0, 0];

  constructor({ bytesMax, shareBytesMax, ...options }: MemoryBudgetOptions) {
    const { waitMsMax = uploadLimits.memoryWaitMsMax, clock = systemClock } = options;
    this.bytesMax = bytesMax;
    this.shareBytesMax = shareBytesMax;
    this.clock = clock;
    this.waiting = new WaitingBodies(waitMsMax);
    this.#slow = new SlowBodies(this.arriving, clock, (owner) => this.#rankOf(owner));
    this.#usualBytesMax = bytesMax * uploadLimits.memoryUsualFraction;
    this.#longBytesMax = bytesMax * uploadLimits.memoryLongFraction;
    this.#unseenBytesMax = Math.min(uploadLimits.unseenBytesMax, bytesMax / 16);
  }

  get held(): number {
    return this.#held;
  }

  /** Bytes that the bodies of one owner hold now; without an owner, those whose owner is not known. */
  heldBy(owner: BodyOwner = unknownOwner): number {
    return this.#shares.get(owner) ?? 0;
  }

  /**
   * A lease for one request, to be closed when the request is over. @param announced the length of its body, if it is
   * known: whether it is short follows from it.
   */
  open(announced = Number.NaN): MemoryLease {
    return new MemoryLease(this, announced < uploadLimits.shortBytesMax);
  }

  /** Acquires the bytes of a short body that has arrived and has no lease; false when there are not so many left. */
  acquireShort(bytes: number): boolean {
    for (let beyond: number; (beyond = this.#held + bytes - this.bytesMax) > 0;) {
      if (!this.#slow.endOne({ bytes: beyond, rank: ranks.within })) return false;
    }
    this.#held += bytes;
    return true;
  }

  /** Returns what acquireShort() acquired. */
  releaseShort(bytes: number): void {
    this.#held -= bytes;
    if (this.waiting.line.all.size > 0) this.waiting.released();
  }

  /**
   * Whether a body of so many announced bytes may be received whole, so that nothing is known of it until all of
   * it is here. What the runtime collects meanwhile is bounded by this; releaseUnseen() follows.
   */
  acquireUnseen(announced: number): boolean {
    const bytes = announced + uploadLimits.openUploadBytes;
    const kind = announced < uploadLimits.shortBytesMax ? 0 : 1;
    if (this.#unseen[kind] + bytes > this.#unseenBytesMax) return false;
    this.#unseen[kind] += bytes;
    return true;
  }

  releaseUnseen(announced: number): void {
    this.#unseen[announced < uploadLimits.shortBytesMax ? 0 : 1] -= announced + uploadLimits.openUploadBytes;
  }

  /**
   * For leases. False, and nothing is acquired, when the budget or the owner's share is used up, and no body may be
   * ended for it.
   */
  tryAcquire(lease: MemoryLease, bytes: number): boolean {
    const { owner, bytes: before } = lease;
    const size = before + bytes;
    const isShort = lease.isShort && size <= uploadLimits.shortLeaseBytesMax;
    const bytesMax = isShort ? this.bytesMax : this.#bytesMaxFor(size);
    const shareMax = isShort ? Number.POSITIVE_INFINITY : this.shareBytesMax;
    for (;;) {
      const beyondShare = this.heldBy(owner) + bytes - shareMax;
      const beyond = this.#held + bytes - bytesMax;
      if (beyondShare <= 0 && beyond <= 0) break;
      const ended = beyondShare > 0 ? this.#endFor(lease, beyondShare, owner) : this.#endFor(lease, beyond);
      if (!ended) return false;
    }
    this.#held += bytes;
    this.#shares.set(owner, this.heldBy(owner) + bytes);
    return true;
  }

  /** For leases: returns acquired bytes. */
  release(owner: BodyOwner, bytes: number): void {
    const share = this.heldBy(owner) - bytes;
    this.#held -= bytes;
    if (share > 0) this.#shares.set(owner, share);
    else this.#shares.delete(owner);
    if (this.waiting.line.all.size > 0) this.waiting.released();
  }

  /** For leases: moves its bytes to another owner's share; false when that share is used up. */
  move(lease: MemoryLease, to: BodyOwner): boolean {
    const { bytes, owner: from, isShort } = lease;
    const shareMax = isShort && bytes <= uploadLimits.shortLeaseBytesMax ? Infinity : this.shareBytesMax;
    for (let beyond: number; (beyond = this.heldBy(to) + bytes - shareMax) > 0;) {
      if (!this.#endFor(lease, beyond, to)) return false;
    }
    if (bytes === 0) return true;
    // In this order the bytes are never free in between.
    this.#shares.set(to, this.heldBy(to) + bytes);
    this.#held += bytes;
    this.release(from, bytes);
    return true;
  }

  /**
   * For leases: whether so many more bytes fit beside all that is acquired and claimed. Claims make long bodies wait
   * for each other, and refuse nothing.
   */
  claim(lease: MemoryLease, bytes: number): boolean {
    const { owner } = lease;
    for (let beyond: number; (beyond = this.#held + bytes - this.#longBytesMax) > 0;) {
      const demand = { bytes: beyond, rank: this.#rankOf(owner), isLowerOnly: true };
      if (!this.#slow.endOne(demand)) return false;
    }
    let [allBytes, ownerBytes] = [this.#held + bytes, this.heldBy(owner) + bytes];
    for (const other of this.#claims) {
      if (other.lapse()) continue;
      allBytes += other.claimed;
      if (other.owner === owner) ownerBytes += other.claimed;
    }
    if (allBytes > this.#longBytesMax || ownerBytes > this.shareBytesMax) return false;
    this.#claims.add(lease);
    return true;
  }

  /** For leases: ends a claim. */
  unclaim(lease: MemoryLease): void {
    if (this.#claims.delete(lease) && this.waiting.line.all.size > 0) this.waiting.released();
  }

  #bytesMaxFor(size: number): number {
    return size > limits.wholeBodyBytesMax ? this.#longBytesMax : this.#usualBytesMax;
  }

  #endFor(lease: MemoryLease, bytes: number, shareOf?: BodyOwner): boolean {
    if (this.arriving.size === 0) return false;
    return this.#slow.endOne({ bytes, rank: this.#rankOf(lease.owner), body: lease, shareOf });
  }

  /** Bodies without an owner are ended first, then those of owners that hold more than an equal part. */
  #rankOf(owner: BodyOwner): number {
    if (owner === unknownOwner) return ranks.nobody;
    return this.heldBy(owner) > this.bytesMax / Math.max(2, this.#shares.size) ? ranks.above : ranks.within;
  }
}

const ranks = { nobody: 0, above: 1, within: 2 };

/** The bytes that one request holds of a budget. */
export class MemoryLease implements ArrivingBody {
  readonly isShort: boolean;
  readonly budget: MemoryBudget;
  #owner: BodyOwner = unknownOwner;
  #bytes = 0;
  #closed = false;
  /** Ends the reception of the body; undefined while none arrives. */
  #onEnd: (() => void) | undefined;
  /** From when on its sender is waited for, and the bytes that have arrived since. */
  #arrivalAt = 0;
  #arrivedBytes = 0;
  #pausedAt: number | undefined;
  /** Whether it has a claim, and the bytes that may still be acquired under it. */
  #hasClaim = false;
  #claimed = 0;
  #claimedAt = 0;
  #arrivedAtClaim = 0;

  constructor(budget: MemoryBudget, isShort: boolean) {
    this.budget = budget;
    this.isShort = isShort;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get owner(): BodyOwner {
    return this.#owner;
  }

  get isPaused(): boolean {
    return this.#pausedAt !== undefined;
  }

  get isOwned(): boolean {
    return this.#owner !== unknownOwner;
  }

  get claimed(): number {
    return this.#claimed;
  }

  /**
   * Acquires so many bytes more.
   * @throws Fault unavailable with Retry-After when there are not so many left; then nothing is acquired.
   */
  acquire(bytes: number): void {
    if (!this.tryAcquire(bytes)) throw exhausted();
  }

  /** As acquire(), but returns false instead of a fault. */
  tryAcquire(bytes: number): boolean {
    if (this.#closed) throw new Error("memory is acquired through a closed lease");
    if (!this.budget.tryAcquire(this, bytes)) return false;
    this.#bytes += bytes;
    if (this.#claimed > 0) this.#claimed = Math.max(0, this.#claimed - bytes);
    return true;
  }

  /** As acquire(), but waits. @throws Fault unavailable when no memory is freed in time, or too many wait. */
  async acquireSoon(bytes: number): Promise<void> {
    if (this.tryAcquire(bytes)) return;
    if (bytes > this.budget.shareBytesMax) throw exhausted();
    await this.#wait(() => this.tryAcquire(bytes));
  }

  /**
   * Resolves when so many more bytes fit. They are not acquired: while the body arrives fast enough, other long bodies
   * wait for it. @throws Fault unavailable as acquireSoon().
   */
  async claim(bytes: number): Promise<void> {
    if (this.#tryClaim(bytes)) return;
    if (this.#bytes + bytes > this.budget.shareBytesMax) throw exhausted();
    await this.#wait(() => this.#tryClaim(bytes));
  }

  /** Acquires or releases the difference to so many bytes. @throws Fault unavailable as acquire(). */
  resize(bytes: number): void {
    if (bytes > this.#bytes) this.acquire(bytes - this.#bytes);
    else this.release(this.#bytes - bytes);
    this.#unclaim();
  }

  /** Returns so many bytes, which were freed. */
  release(bytes: number): void {
    if (bytes > this.#bytes) throw new Error(`${bytes} bytes are released of ${this.#bytes}`);
    this.#bytes -= bytes;
    this.budget.release(this.#owner, bytes);
  }

  /**
   * Counts what the lease holds, and will hold, in this owner's share.
   * @throws Fault unavailable when the share is exceeded; then nothing is changed.
   */
  assign(owner: BodyOwner): void {
    if (owner === this.#owner) return;
    if (!this.budget.move(this, owner)) throw exhausted();
    this.#owner = owner;
  }

  close(): void {
    if (this.#closed) return;
    this.budget.arriving.delete(this);
    this.#unclaim();
    this.release(this.#bytes);
    this.#closed = true;
  }

  /**
   * From now on the body's sender is waited for, and the body may be ended by `onEnd`, which releases its bytes.
   * @throws Fault unavailable when there is no memory for one more.
   */
  beginArrival(onEnd: () => void): void {
    this.acquire(uploadLimits.openUploadBytes);
    this.#onEnd = onEnd;
    this.#arrivalAt = this.budget.clock.elapsed();
    this.budget.arriving.add(this);
  }

  /** Counts bytes that have arrived. */
  count(bytes: number): void {
    this.#arrivedBytes += bytes;
  }

  endArrival(): void {
    if (!this.#onEnd) return;
    this.#onEnd = undefined;
    this.budget.arriving.delete(this);
    this.release(uploadLimits.openUploadBytes);
  }

  /** Its sender is not waited for until resume(): the body waits for something of ours. */
  pause(): void {
    this.#pausedAt ??= this.budget.clock.elapsed();
  }

  resume(): void {
    if (this.#pausedAt === undefined) return;
    const paused = this.budget.clock.elapsed() - this.#pausedAt;
    this.#arrivalAt += paused;
    this.#claimedAt += paused;
    this.#pausedAt = undefined;
  }

  get mayEnd(): boolean {
    return this.#onEnd !== undefined && !this.isPaused && this.lapse();
  }

  age(now: number): number {
    return (this.#pausedAt ?? now) - this.#arrivalAt;
  }

  rate(now: number): number {
    return (this.#arrivedBytes * 1000) / Math.max(1, this.age(now));
  }

  end(): void {
    const onEnd = this.#onEnd;
    this.endArrival();
    onEnd?.();
  }

  /** Ends the claim of a body that arrives too slowly for it; returns whether it has none now. */
  lapse(): boolean {
    if (!this.#hasClaim) return true;
    if (this.#onEnd === undefined || this.isPaused) return false;
    const ms = this.budget.clock.elapsed() - this.#claimedAt;
    const least = (ms * uploadLimits.claimBytesPerSecondMin) / 1000;
    if (ms < uploadLimits.endedAgeMsMin || this.#arrivedBytes - this.#arrivedAtClaim >= least) return false;
    this.#unclaim();
    return true;
  }

  #tryClaim(bytes: number): boolean {
    if (!this.budget.claim(this, bytes)) return false;
    this.#hasClaim = true;
    this.#claimed = bytes;
    // The claim's time begins with the pause, which resume() adds.
    this.#claimedAt = this.#pausedAt ?? this.budget.clock.elapsed();
    this.#arrivedAtClaim = this.#arrivedBytes;
    return true;
  }

  #unclaim(): void {
    if (!this.#hasClaim) return;
    this.#hasClaim = false;
    this.#claimed = 0;
    this.budget.unclaim(this);
  }

  async #wait(attempt: () => boolean): Promise<void> {
    this.pause();
    try {
      if (!(await this.budget.waiting.enter(this.#owner, attempt))) throw exhausted();
    } finally {
      this.resume();
    }
  }
}
