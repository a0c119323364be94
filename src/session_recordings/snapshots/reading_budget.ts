// Bounds what all readers of recordings use together: how many pages are read at once, and bytes of memory of pages
// being expanded. A reader for whom there is no memory waits, for a bounded time and in a bounded queue.

import { unavailable } from "../../core/fault.ts";
import { FairShare, type Owner } from "../../work/fair_share.ts";
import { Tally } from "../../work/maps.ts";
import { Semaphore, type Waiting, WaitingLine } from "../../work/semaphore.ts";
import { snapshotLimits } from "./limits.ts";

/** Reserved bytes of one page. */
export interface Reservation {
  /** Reduces the reservation to `bytes`; larger numbers change nothing. */
  shrink(bytes: number): void;
  release(): void;
}

export class ReadingBudget {
  readonly #bytesMax: number;
  readonly #waitMsMax: number;
  readonly #semaphore = new Semaphore(
    snapshotLimits.snapshotReadsMax,
    snapshotLimits.snapshotReadsWaitingMax,
    1,
  );
  /** Those that wait for so many bytes. */
  readonly #line = new WaitingLine<number>();
  /** The order of projects; bytes are bounded by #reserved. */
  readonly #order = new FairShare(Number.POSITIVE_INFINITY);
  /** Reserved bytes by project. */
  readonly #reserved = new Tally<Owner>();
  #bytes = 0;

  /** `bytesMax`: of all pages together; one project may use half of them. `waitMsMax`: wait of a reader, in ms. */
  constructor({
    bytesMax = snapshotLimits.snapshotReadsBytesMax,
    waitMsMax = snapshotLimits.snapshotReadWaitMsMax,
  }: { bytesMax?: number; waitMsMax?: number } = {}) {
    this.#bytesMax = bytesMax;
    this.#waitMsMax = waitMsMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Runs `read` with a permit.
   * @throws Fault unavailable when none becomes free; what `read` throws.
   */
  async within<Read>(project_id: number, gone: AbortSignal, read: () => Promise<Read>): Promise<Read> {
    const wait = { owner: project_id, abort: gone, msMax: this.#waitMsMax, busy };
    return await this.#semaphore.run(wait, read);
  }

  /** @throws Fault unavailable when the bytes do not become free in time. */
  async reserve(project_id: number, bytes: number, gone: AbortSignal): Promise<Reservation> {
    if (this.#mayAcquire(project_id, bytes)) this.#acquire(project_id, bytes);
    else {
      // A project may have fewer waiting readers than the line has free places: some are left for another.
      const free = snapshotLimits.snapshotReadsWaitingMax - this.#line.all.size;
      if (this.#line.countWaiting(project_id) >= free) throw busy();
      const abort = AbortSignal.any([gone, AbortSignal.timeout(this.#waitMsMax)]);
      await this.#line.enter(project_id, bytes, abort).catch(() => {
        throw busy();
      });
    }
    let held = bytes;
    const shrink = (to: number) => {
      if (to >= held) return;
      if (to === 0) this.#order.leave(project_id);
      this.#release(project_id, held - to);
      held = to;
    };
    return { shrink, release: () => shrink(0) };
  }

  /** A page that exceeds a share may run alone in its project. */
  #mayAcquire(project_id: Owner, bytes: number): boolean {
    const reservedOfProject = this.#reserved.of(project_id);
    if (this.#bytes > 0 && this.#bytes + bytes > this.#bytesMax) return false;
    return reservedOfProject === 0 || reservedOfProject + bytes <= this.#bytesMax / 2;
  }

  #acquire(project_id: Owner, bytes: number): void {
    this.#order.acquire(project_id);
    this.#reserved.add(project_id, bytes);
    this.#bytes += bytes;
  }

  /** Admits as many waiting readers as then find memory. */
  #release(project_id: number, bytes: number): void {
    this.#reserved.add(project_id, -bytes);
    this.#bytes -= bytes;
    for (let next = this.#next(); next; next = this.#next()) {
      this.#acquire(next.owner, next.need);
      this.#line.admit(next);
    }
  }

  /** Of the waiting readers that find memory, the one whose project reads least, or was admitted longest ago. */
  #next(): Waiting<number> | undefined {
    return this.#order.next([...this.#line.all].filter(({ owner, need }) => this.#mayAcquire(owner, need)));
  }
}

const busy = () => unavailable("Too many recordings are being read. Please retry.");
