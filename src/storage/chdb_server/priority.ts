// The engine stands behind the server while its INSERTs are on time. On few cores a live capture waits several times
// behind an INSERT's threads (socket, write, sync, answer): its p99 at 500 a second was 20 to 40 ms, and is 5. An
// INSERT that takes too long, because other programs keep the cores busy, brings the engine back to the front. Beside
// the engine's own reads, which would delay captures in front, it is given longer, but not without end.

import { readFileSync, writeFileSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import { chdbServerLimits } from "./limits.ts";

interface EnginePriorityOptions {
  /** Sets how many steps of nice the engine stands behind: 0 or chdbServerLimits.stepsBehind. */
  set: (steps: number) => void;
  clock: Clock;
  /** Calls `run` after so many ms, unless what it returns is called before. */
  after?: (ms: number, run: () => void) => () => void;
}

export class EnginePriority {
  readonly #options: EnginePriorityOptions;
  #steps = 0;
  /** Of clock.elapsed(): until when it stays in front. */
  #frontUntil = Number.NEGATIVE_INFINITY;
  #hasStored = false;
  #reads = 0;

  constructor(options: EnginePriorityOptions) {
    this.#options = options;
  }

  /** Runs an INSERT, behind the server unless one was late before. */
  async during<T>(insert: () => Promise<T>): Promise<T> {
    const { clock, after = afterTimer } = this.#options;
    this.#hasStored = true;
    this.#stepBack();
    const { insertLateMs, insertLateBesideReadsMs, frontMs } = chdbServerLimits;
    const toFront = (): void => {
      this.#frontUntil = clock.elapsed() + frontMs;
      this.#set(0);
    };
    let forget = after(insertLateMs, () => {
      if (this.#reads === 0) toFront();
      else forget = after(insertLateBesideReadsMs - insertLateMs, toFront);
    });
    try {
      return await insert();
    } finally {
      forget();
    }
  }

  /** Runs a read: once there was an INSERT, behind the server as well. A start and its migrations are in front. */
  async beside<T>(read: () => Promise<T>): Promise<T> {
    if (this.#hasStored) this.#stepBack();
    this.#reads++;
    try {
      return await read();
    } finally {
      this.#reads--;
    }
  }

  #stepBack(): void {
    if (this.#options.clock.elapsed() >= this.#frontUntil) this.#set(chdbServerLimits.stepsBehind);
  }

  #set(steps: number): void {
    if (steps === this.#steps) return;
    this.#steps = steps;
    this.#options.set(steps);
  }
}

function afterTimer(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/**
 * Sets by how many steps of nice this process's session stands behind others. Only where Linux shares the cores by
 * sessions (sched_autogroup) and the session is this process's own: nice of threads could not be taken back without
 * privileges. It is a preference; the server works without it.
 */
export function setSessionNice(steps: number): void {
  try {
    if (sessionOf(readFileSync("/proc/self/stat", "utf8")) !== process.pid) return;
    writeFileSync("/proc/self/autogroup", String(steps));
  } catch {
    // Not Linux, or one without sessions' shares.
  }
}

/**
 * The session in the text of /proc/PID/stat, as proc(5) has it: behind the name, which may hold anything, come state,
 * parent, group and session.
 */
function sessionOf(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
}
