// Long lists in slices, with a turn of the event loop for others between two slices.

import { yieldToEventLoop } from "../core/clock.ts";
import { limits } from "../core/limits.ts";

/** Slices of at most `size`. Elements added after the first slice was asked for are left out. */
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
