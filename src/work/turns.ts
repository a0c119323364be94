// Long lists worked off slice by slice, with a turn of the loop for everybody else between two slices. Never holds
// more than a slice in one turn.

import { yieldToEventLoop } from "../core/clock.ts";
import { limits } from "../core/limits.ts";

/**
 * Slices of at most `size` of what `all` holds when it is asked for the first: what is added meanwhile is in none.
 */
export async function* inTurns<One>(
  all: readonly One[],
  size: number = limits.mergesAtOnceMax,
): AsyncGenerator<One[], void, undefined> {
  const { length } = all;
  for (let from = 0; from < length; from += size) {
    if (from > 0) await yieldToEventLoop();
    yield all.slice(from, Math.min(length, from + size));
  }
}
