// Stands in for src/core/clock.ts in a simulation.

import { machine } from "./machine.ts";

export interface Clock {
  now(): number;
  elapsed(): number;
}

export const systemClock: Clock = {
  now: () => {
    throw new Error("the system's clock is not simulated");
  },
  elapsed: () => machine().time.now,
};

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const { time, life } = machine();
    time.schedule(ms, resolve, life);
  });
}

export function yieldToEventLoop(): Promise<void> {
  return sleep(0);
}
