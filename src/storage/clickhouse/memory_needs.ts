// Which statements needed more memory than the smallest level allows: asked again, they do not fail there first.

import { type Clock, systemClock } from "../../core/clock.ts";
import { putNewest } from "../../work/maps.ts";
import { clickhouseLimits } from "./limits.ts";

interface Statement {
  text: string;
  params?: Record<string, unknown>;
}

export class MemoryNeeds {
  readonly #clock: Pick<Clock, "elapsed">;
  /** In the order in which they were added. */
  readonly #levels = new Map<string, { level: number; untilMs: number }>();

  constructor(clock: Pick<Clock, "elapsed"> = systemClock) {
    this.#clock = clock;
  }

  /** The index of the level to begin with; 0, the smallest, for what is not known or was seen long ago. */
  levelOf(statement: Statement): number {
    const found = this.#levels.size > 0 ? this.#levels.get(keyOf(statement)) : undefined;
    return found && this.#clock.elapsed() < found.untilMs ? found.level : 0;
  }

  add(statement: Statement, level: number): void {
    const untilMs = this.#clock.elapsed() + clickhouseLimits.readNeedKeptMs;
    putNewest(this.#levels, keyOf(statement), { level, untilMs }, clickhouseLimits.readNeedsMax);
  }
}

/** All but `now`, which each moment has its own of. Keys of events are whole numbers that JSON does not have. */
function keyOf({ text, params }: Statement): string {
  const plain = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
  return Bun.hash(`${text}\0${JSON.stringify({ ...params, now: undefined }, plain)}`).toString(36);
}
