// Bounds what all readers of recordings use together: how many pages are read at once, and bytes of memory of pages
// being expanded or sent. A reader for whom there is no memory waits, for a bounded time and in a bounded queue.

import { Fault } from "../../core/fault.ts";
import { Semaphore } from "../../work/semaphore.ts";
import { snapshotLimits } from "./limits.ts";

/** Reserved bytes of one page. */
export interface Reservation {
  /** Reduces the reservation to `bytes`; larger numbers change nothing. */
  shrink(bytes: number): void;
  release(): void;
}

interface Waiting {
  project_id: number;
  bytes: number;
  admit: () => void;
}

export class ReadingBudget {
  readonly #bytesMax: number;
  readonly #waitMsMax: number;
  readonly #semaphore = new Semaphore(
    snapshotLimits.snapshotReadsMax,
    snapshotLimits.snapshotReadsWaitingMax,
  );
  readonly #waiting = new Set<Waiting>();
  /** Reserved bytes by project. */
  readonly #reserved = new Map<number, number>();
  #bytes = 0;

  /** `bytesMax`: of all pages together; one project may use half of them. `waitMsMax`: wait of a reader, in ms. */
  constructor({
    bytesMax = snapshotLimits.snapshotReadsBytesMax,
    waitMsMax = snapshotLimits.snapshotReadWaitMsMax,
  }: { bytesMax?: number; waitMsMax?: number } = {}) {
    this.#bytesMax = bytesMax;
    this.#waitMsMax = waitMsMax;
  }

  /** Bytes reserved now. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Runs `read` on a place.
   * @throws Fault unavailable when none becomes free; what `read` throws.
   */
  async within<Read>(gone: AbortSignal, read: () => Promise<Read>): Promise<Read> {
    return await this.#semaphore.run({ abort: gone, msMax: this.#waitMsMax, busy }, read);
  }

  /** @throws Fault unavailable when so many bytes do not become free. */
  async reserve(project_id: number, bytes: number, gone: AbortSignal): Promise<Reservation> {
    if (!this.#tryAcquire(project_id, bytes)) {
      if (this.#waiting.size >= snapshotLimits.snapshotReadsWaitingMax) throw busy();
      await this.#wait(project_id, bytes, AbortSignal.any([gone, AbortSignal.timeout(this.#waitMsMax)]));
    }
    let held = bytes;
    const shrink = (to: number) => {
      if (to >= held) return;
      this.#release(project_id, held - to);
      held = to;
    };
    return { shrink, release: () => shrink(0) };
  }

  async #wait(project_id: number, bytes: number, abort: AbortSignal): Promise<void> {
    const { promise, resolve: admit, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { project_id, bytes, admit };
    const onAbort = (): void => {
      if (this.#waiting.delete(waiting)) reject(busy());
    };
    this.#waiting.add(waiting);
    abort.addEventListener("abort", onAbort, { once: true });
    if (abort.aborted) onAbort();
    await promise.finally(() => abort.removeEventListener("abort", onAbort));
  }

  /** A page that exceeds a share may run alone in its project. */
  #tryAcquire(project_id: number, bytes: number): boolean {
    const own = this.#reserved.get(project_id) ?? 0;
    if (this.#bytes > 0 && this.#bytes + bytes > this.#bytesMax) return false;
    if (own > 0 && own + bytes > this.#bytesMax / 2) return false;
    this.#reserved.set(project_id, own + bytes);
    this.#bytes += bytes;
    return true;
  }

  #release(project_id: number, bytes: number): void {
    const left = (this.#reserved.get(project_id) ?? 0) - bytes;
    if (left > 0) this.#reserved.set(project_id, left);
    else this.#reserved.delete(project_id);
    this.#bytes -= bytes;
    // First come, first served, except for projects that have their share.
    for (const waiting of this.#waiting) {
      if (!this.#tryAcquire(waiting.project_id, waiting.bytes)) continue;
      this.#waiting.delete(waiting);
      waiting.admit();
    }
  }
}

function busy(): Fault {
  const detail = "Too many recordings are being read. Please retry.";
  return new Fault("unavailable", detail, { retryAfterSeconds: 5 });
}
