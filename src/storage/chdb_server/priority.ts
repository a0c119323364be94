// The engine has a lower priority than the server while its INSERTs are on time. On few cores a live capture waits
// several times for an INSERT's threads (socket, write, sync, answer): its p99 at 500 a second was 20 to 40 ms, and is
// 5. An INSERT that takes too long, because other programs keep the cores busy, gives the engine its usual priority
// back. Beside the engine's own reads, which would delay captures at that priority, an INSERT gets more time, but not
// without limit. A late read does so only where the engine has had hardly any CPU time (a long one has it), and step by
// step: where half the way suffices, captures wait no longer than before.

import { readFileSync, writeFileSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import { chdbServerLimits } from "./limits.ts";

interface EnginePriorityOptions {
  /** Sets by how many steps of nice the engine's priority is lower. */
  set: (steps: number) => void;
  clock: Clock;
  usedMs?: () => number;
  /** Calls `run` after so many ms, unless the returned function is called before. */
  after?: (ms: number, run: () => void) => () => void;
}

export class EnginePriority {
  readonly #options: EnginePriorityOptions;
  #steps = 0;
  /** End of its usual priority, by clock.elapsed(). */
  #frontUntil = Number.NEGATIVE_INFINITY;
  #hasStored = false;
  #reads = 0;

  constructor(options: EnginePriorityOptions) {
    this.#options = options;
  }

  /** Runs an INSERT, at the lower priority unless one was late before. */
  async during<T>(insert: () => Promise<T>): Promise<T> {
    const { after = afterTimer } = this.#options;
    this.#hasStored = true;
    this.#stepBack();
    const { insertLateMs, insertLateBesideReadsMs } = chdbServerLimits;
    const toFront = () => this.#toFront(0);
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

  /** Runs a read, after the first INSERT at the lower priority, too; a start and its migrations have the usual one. */
  async beside<T>(read: () => Promise<T>): Promise<T> {
    if (this.#hasStored) this.#stepBack();
    this.#reads++;
    const forget = this.#liftWhenStarved();
    try {
      return await read();
    } finally {
      forget();
      this.#reads--;
    }
  }

  /** Checks again and again whether others keep the cores busy, until the returned function is called. */
  #liftWhenStarved(): () => void {
    const { clock, after = afterTimer, usedMs = readUsedMs } = this.#options;
    const { frontMs, readLateMs, readStarvedCores, readLiftSteps } = chdbServerLimits;
    const [before, beganAt] = [usedMs(), clock.elapsed()];
    let forget = after(readLateMs, () => {
      const isStarved = usedMs() - before < (clock.elapsed() - beganAt) * readStarvedCores;
      // One of several late reads lifts it at a time.
      const isLifted = clock.elapsed() + frontMs - this.#frontUntil < readLateMs / 2;
      if (isStarved && !isLifted) this.#toFront(Math.max(0, this.#steps - readLiftSteps));
      forget = this.#liftWhenStarved();
    });
    return () => forget();
  }

  #toFront(steps: number): void {
    this.#frontUntil = this.#options.clock.elapsed() + chdbServerLimits.frontMs;
    this.#set(steps);
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

function readUsedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function afterTimer(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/**
 * Lowers the priority of this process's session by steps of nice. Only where Linux shares the cores by sessions
 * (sched_autogroup) and the session is this process's own: nice of threads could not be taken back without privileges.
 * It is a preference; the server works without it.
 */
export function setSessionNice(steps: number): void {
  try {
    if (readSession(readFileSync("/proc/self/stat", "utf8")) !== process.pid) return;
    writeFileSync("/proc/self/autogroup", String(steps));
  } catch {
    // Not Linux, or a Linux that does not share by sessions.
  }
}

/**
 * The session in the text of /proc/PID/stat, as proc(5) describes it: state, parent, group and session follow the name,
 * which may contain anything.
 */
function readSession(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
}
