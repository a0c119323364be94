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

/** Resolves when everybody else who has something to do in this turn of the loop has done it. */
export function othersTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
