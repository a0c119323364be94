// One after the other, with a gap: work that is short each time and comes in crowds leaves room between for what
// cannot wait. Never lets two go at once.

import { sleep } from "../core/clock.ts";

/** A way through that opens for one at a time, in the order they came, `gapMs` milliseconds apart. */
export function openThrottle(gapMs: number): () => Promise<void> {
  let next: Promise<void> = Promise.resolve();
  return () => {
    const mine = next;
    next = mine.then(() => sleep(gapMs));
    return mine;
  };
}
