// Time. A clock is handed down, so that a test can stop it; no other file reads the system's clock.

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

/** Resolves after `ms`; with `unref` it does not keep the process alive. */
export function sleep(ms: number, unref = false): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    if (unref) timer.unref();
  });
}

/** The callers of yieldToEventLoop(), in their order. */
const queue: (() => void)[] = [];
let first = 0;

/**
 * Resolves after the other work of this turn of the event loop. One caller goes on in each turn: however many long
 * bodies are processed at once, a request waits for one slice of one of them.
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
  // shift() would move the whole array each time.
  if (first >= queueFrontMax) first -= queue.splice(0, first).length;
  resolve();
}

/** Unused places at the front of the queue before it is moved. */
const queueFrontMax = 1024;
