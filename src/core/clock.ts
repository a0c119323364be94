// Time, as everybody here gets it: handed down, so that a test can hold it still. Nothing else reads the
// system's.

export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number;
  /** Milliseconds from an arbitrary start that never goes back; for durations. */
  elapsed(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
};

/** Resolves after `ms`; never keeps the process alive by itself when `unref` is true. */
export function sleep(ms: number, unref = false): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    if (unref) timer.unref();
  });
}

/** Those who let others go first, in the order in which they came. */
const queue: (() => void)[] = [];
let first = 0;

/**
 * Resolves when everybody else who has something to do in this turn of the loop has done it. Of all who wait here one
 * goes on in a turn: however many long bodies are worked off at once, a request waits for one stretch of one of them.
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    if (queue.push(resolve) - first === 1) setImmediate(goOn);
  });
}

function goOn(): void {
  const resolve = queue[first++]!;
  if (first === queue.length) {
    queue.length = 0;
    first = 0;
  } else setImmediate(goOn);
  // An array whose front is shifted off would be moved each time.
  if (first >= queueFrontMax) first -= queue.splice(0, first).length;
  resolve();
}

/** Places of the queue that may lie unused before it is moved. */
const queueFrontMax = 1024;
