// Time. A clock is handed down, so that a test can stop it; no other file reads the system's clock.

import { limits } from "./limits.ts";

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

/** Resolves after so many milliseconds, or as soon as the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(wake, signal?.aborted ? 0 : ms);
    signal?.addEventListener("abort", wake);
    function wake(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", wake);
      resolve();
    }
  });
}

export interface Polled {
  /** Acts if that is due and `mayAct`; returns whether it acted. */
  poll(mayAct: boolean): boolean;
}

/** Polls its members by one timer, which runs while there are any. */
export class PolledSet {
  readonly #members = new Set<Polled>();
  readonly #ms: number;
  readonly #actingMax: number;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** `ms`: between two ticks, of which the first may come at once. `actingMax`: members that act in one tick. */
  constructor(ms: number, actingMax: number) {
    this.#ms = ms;
    this.#actingMax = actingMax;
  }

  add(member: Polled): void {
    this.#members.add(member);
    this.#timer ??= setInterval(() => this.#poll(), this.#ms);
  }

  /** False when it is no member. */
  delete(member: Polled): boolean {
    return this.#members.delete(member);
  }

  #poll(): void {
    let left = this.#actingMax;
    for (const member of this.#members) if (member.poll(left > 0)) left--;
    if (this.#members.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/**
 * Resolves in the next turn of the event loop, before all that wait in yieldToEventLoop(): for short work that others
 * wait for, such as a group of rows on its way to the disk.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** The callers of yieldToEventLoop(), in their order. */
const queue: (() => void)[] = [];
let first = 0;

/**
 * Resolves after the other work of this turn of the event loop. One caller continues in each turn: however many long
 * bodies are processed at once, a request waits for one slice of one of them.
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    if (queue.push(resolve) - first === 1) setImmediate(resumeNext);
  });
}

function resumeNext(): void {
  const resolve = queue[first++]!;
  if (first === queue.length) {
    queue.length = 0;
    first = 0;
  } else setImmediate(resumeNext);
  // shift() would move the whole array each time.
  if (first >= queueFrontMax) first -= queue.splice(0, first).length;
  resolve();
}

/** Unused entries at the front of the queue before it is moved. */
const queueFrontMax = 1024;

/** Work that pauses after each slice. */
export type Slices<Made> = Generator<void, Made>;

/** Runs the work to its end, with a turn of the event loop after the first slice, and then after every `turnSlices`. */
export async function runInTurns<Made>(work: Slices<Made>, turnSlices = 1): Promise<Made> {
  for (let slice = 0; ; slice++) {
    const { done, value } = work.next();
    if (done) return value;
    if (slice % turnSlices === 0) await yieldToEventLoop();
  }
}

/** Runs the work to its end in this turn. */
export function runAtOnce<Made>(work: Slices<Made>): Made {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** A time-out. The work itself is not stopped; a late result is dropped. */
export class DeadlineError extends Error {
  readonly code = "TIMEOUT";

  constructor(msMax: number) {
    super(`no answer within ${msMax} ms`);
    this.name = "DeadlineError";
  }
}

/** The result of `work`, or DeadlineError after `msMax` milliseconds. */
export async function withinMs<T>(work: Promise<T>, msMax: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new DeadlineError(msMax)), msMax);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The midnight (UTC) from which events are kept that are kept for so many days, in ms; only whole days expire. */
export function keptFrom(now: number, days: number): number {
  return (Math.floor(now / limits.dayMs) - days) * limits.dayMs;
}
