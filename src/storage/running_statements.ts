// Counts what this process waits for in ClickHouse, as far as a restart of the engine depends on it.

import { systemClock } from "../core/clock.ts";

export class RunningStatements {
  #rewriting = 0;
  /** When the limit of each statement that is being killed was over, by systemClock.elapsed(). */
  readonly killed = new Map<string, number>();

  /** Milliseconds for which a statement that is being killed outlives its limit: the longest; 0 without one. */
  get overdueMs(): number {
    return Math.max(0, ...[...this.killed.values()].map((limitMs) => systemClock.elapsed() - limitMs));
  }

  /** Whether there is one that changes tables or rewrites parts. */
  get isRewriting(): boolean {
    return this.#rewriting > 0;
  }

  async during<T>(text: string, run: () => Promise<T>): Promise<T> {
    const count = rewrites.test(text) ? 1 : 0;
    this.#rewriting += count;
    try {
      return await run();
    } finally {
      this.#rewriting -= count;
    }
  }
}

const rewrites = /^\s*(ALTER|CREATE|DELETE|DROP|OPTIMIZE|RENAME|UPDATE)\b/i;
