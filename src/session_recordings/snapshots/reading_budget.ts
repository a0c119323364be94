// Bounds what all readers of recordings use together: how many pages are read at once, and bytes of memory of pages
// being expanded or sent. A reader without room waits, for a bounded time and in a bounded queue.

import { Fault } from "../../core/fault.ts";
import { snapshotLimits } from "./limits.ts";
import { Semaphore } from "../../work/semaphore.ts";

export interface ReadingBudgetOptions {
  /** Bytes of all pages together; one project may use half of them. */
  bytesMax?: number;
  /** Wait of a reader, in ms. */
  waitMsMax?: number;
}

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

  constructor({ bytesMax, waitMsMax }: ReadingBudgetOptions = {}) {
    this.#bytesMax = bytesMax ?? snapshotLimits.snapshotReadsBytesMax;
    this.#waitMsMax = waitMsMax ?? snapshotLimits.snapshotReadWaitMsMax;
  }

  /** Bytes reserved now. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Runs `read` with a permit of the semaphore.
   * @throws Fault unavailable when none comes free in time; whatever `read` throws.
   */
  async within<Read>(gone: AbortSignal, read: () => Promise<Read>): Promise<Read> {
    const leave = await this.#waited(gone, (abort) => this.#semaphore.enter(abort));
    if (!leave) throw busy();
    try {
      return await read();
    } finally {
      leave();
    }
  }

  /** Reserves memory for a page. @throws Fault unavailable when that many bytes do not come free in time. */
  async reserve(project_id: number, bytes: number, gone: AbortSignal): Promise<Reservation> {
    if (!this.#take(project_id, bytes)) {
      if (this.#waiting.size >= snapshotLimits.snapshotReadsWaitingMax) throw busy();
      await this.#waited(gone, (abort) => this.#wait({ project_id, bytes, admit: () => {} }, abort));
    }
    let held = bytes;
    const shrink = (to: number) => {
      if (to >= held) return;
      this.#give(project_id, held - to);
      held = to;
    };
    return { shrink, release: () => shrink(0) };
  }

  /** `gone` is aborted when the client disconnects. */
  async #waited<Got>(gone: AbortSignal, wait: (abort: AbortSignal) => Promise<Got>): Promise<Got> {
    const late = AbortSignal.timeout(this.#waitMsMax);
    try {
      return await wait(AbortSignal.any([gone, late]));
    } catch (thrown) {
      if (gone.aborted || late.aborted) throw busy();
      throw thrown;
    }
  }

  async #wait(waiting: Waiting, abort: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      if (this.#waiting.delete(waiting)) reject(abort.reason);
    };
    waiting.admit = resolve;
    this.#waiting.add(waiting);
    abort.addEventListener("abort", onAbort, { once: true });
    if (abort.aborted) onAbort();
    await promise.finally(() => abort.removeEventListener("abort", onAbort));
  }

  /** A page that exceeds a share may run alone in its project. */
  #take(project_id: number, bytes: number): boolean {
    const own = this.#reserved.get(project_id) ?? 0;
    if (this.#bytes > 0 && this.#bytes + bytes > this.#bytesMax) return false;
    if (own > 0 && own + bytes > this.#bytesMax / 2) return false;
    this.#reserved.set(project_id, own + bytes);
    this.#bytes += bytes;
    return true;
  }

  #give(project_id: number, bytes: number): void {
    const left = (this.#reserved.get(project_id) ?? 0) - bytes;
    if (left > 0) this.#reserved.set(project_id, left);
    else this.#reserved.delete(project_id);
    this.#bytes -= bytes;
    // First come, first served, except for projects that have their share.
    for (const waiting of this.#waiting) {
      if (!this.#take(waiting.project_id, waiting.bytes)) continue;
      this.#waiting.delete(waiting);
      waiting.admit();
    }
  }
}

function busy(): Fault {
  const detail = "Too many recordings are being read. Please retry.";
  return new Fault("unavailable", detail, { retryAfterSeconds: 5 });
}
