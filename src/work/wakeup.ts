// Waiting for something to happen, or for a time to pass.

export class Wakeup {
  readonly #waiting = new Set<() => void>();

  wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Resolves at the next wake(), or after `ms`. */
  async wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }
}
