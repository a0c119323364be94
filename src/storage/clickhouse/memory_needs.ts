// Statements that needed more memory than the smallest level allows: repeated, they skip the levels that failed.

import { type Clock, systemClock } from "../../core/clock.ts";
import { putNewest } from "../../work/maps.ts";
import { clickhouseLimits } from "./limits.ts";

interface Statement {
  text: string;
  params?: Record<string, unknown> | undefined;
}

export class MemoryNeeds {
  readonly #clock: Pick<Clock, "elapsed">;
  /** Levels in the order in which they were added. */
  readonly #levels = new Map<string, { level: number; untilMs: number }>();

  constructor(clock: Pick<Clock, "elapsed"> = systemClock) {
    this.#clock = clock;
  }

  /** The index of the level to begin with; 0, the smallest, for an unknown statement, or one seen long ago. */
  findLevel(statement: Statement): number {
    const found = this.#levels.size > 0 ? this.#levels.get(buildKey(statement)) : undefined;
    return found && this.#clock.elapsed() < found.untilMs ? found.level : 0;
  }

  add(statement: Statement, level: number): void {
    const untilMs = this.#clock.elapsed() + clickhouseLimits.readNeedKeptMs;
    putNewest(this.#levels, buildKey(statement), { level, untilMs }, clickhouseLimits.readNeedsMax);
  }
}

/** A key of text and parameters without `now`, which always differs. Bigints of events' keys are not JSON. */
function buildKey({ text, params }: Statement): string {
  const plain = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
  return Bun.hash(`${text}\0${JSON.stringify({ ...params, now: undefined }, plain)}`).toString(36);
}
