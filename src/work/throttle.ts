// One at a time, with a gap: short tasks that arrive in crowds leave time in between for urgent work.

import { sleep } from "../core/clock.ts";

/** Resolves the callers one by one in their order, `gapMs` milliseconds apart. */
export function openThrottle(gapMs: number): () => Promise<void> {
  let next: Promise<void> = Promise.resolve();
  return () => {
    const mine = next;
    next = mine.then(() => sleep(gapMs));
    return mine;
  };
}
