// How many may be at work at once, and how many may wait for it. Never lets a place get lost or be taken
// twice.

export class Places {
  #free: number;
  readonly #waitingMax: number;
  readonly #waiting: Set<() => void> = new Set();

  constructor(places: number, waitingMax: number) {
    this.#free = places;
    this.#waitingMax = waitingMax;
  }

  /**
   * Resolves to what gives the place back, or to undefined when too many wait already.
   * @throws the signal's reason when it aborts while waiting.
   */
  async enter(abort: AbortSignal): Promise<(() => void) | undefined> {
    abort.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else {
      if (this.#waiting.size >= this.#waitingMax) return undefined;
      await this.#wait(abort);
    }
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#leave();
    };
  }

  async #wait(abort: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      if (this.#waiting.delete(resolve)) reject(abort.reason);
    };
    this.#waiting.add(resolve);
    abort.addEventListener("abort", onAbort, { once: true });
    await promise.finally(() => abort.removeEventListener("abort", onAbort));
  }

  /** The place goes to whoever waited longest. */
  #leave(): void {
    const [first] = this.#waiting;
    if (!first) {
      this.#free++;
      return;
    }
    this.#waiting.delete(first);
    first();
  }
}
