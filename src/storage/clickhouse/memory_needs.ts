// Which statements needed more memory than the small place has: asked again, they do not run there first, in vain.

import { type Clock, systemClock } from "../../core/clock.ts";
import { clickhouseLimits } from "./limits.ts";

interface Statement {
  text: string;
  params?: Record<string, unknown>;
}

export class MemoryNeeds {
  readonly #clock: Pick<Clock, "elapsed">;
  /** In the order in which they were added. */
  readonly #places = new Map<string, { place: number; untilMs: number }>();

  constructor(clock: Pick<Clock, "elapsed"> = systemClock) {
    this.#clock = clock;
  }

  /** The index of the place to begin with; 0, the smallest, for what is not known or was seen long ago. */
  placeOf(statement: Statement): number {
    const found = this.#places.size > 0 ? this.#places.get(keyOf(statement)) : undefined;
    return found && this.#clock.elapsed() < found.untilMs ? found.place : 0;
  }

  add(statement: Statement, place: number): void {
    const key = keyOf(statement);
    this.#places.delete(key);
    this.#places.set(key, { place, untilMs: this.#clock.elapsed() + clickhouseLimits.readNeedKeptMs });
    const [oldest = ""] = this.#places.keys();
    if (this.#places.size > clickhouseLimits.readNeedsMax) this.#places.delete(oldest);
  }
}

/** All but `now`, which each moment has its own of. Keys of events are whole numbers that JSON does not have. */
function keyOf({ text, params }: Statement): string {
  const plain = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
  return Bun.hash(`${text}\0${JSON.stringify({ ...params, now: undefined }, plain)}`).toString(36);
}
