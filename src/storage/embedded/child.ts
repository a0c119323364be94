// A child process: started, watched, restarted when it dies, stopped. It ends with its owner.

import type { Subprocess } from "bun";
import { sleep, withinMs } from "../../core/clock.ts";
import { UserError } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { type Log, toReason } from "../../core/log.ts";
import { retryUntilDone } from "../../work/retry.ts";
import { embeddedLimits } from "./limits.ts";

/** A child stops when its standard input ends, which also happens when its owner is killed. */
export type ChildProcess = Subprocess<"pipe", "pipe", "pipe">;

export interface ChildPlan {
  /** Its name in the log: "the embedded Postgres". */
  name: string;
  command: () => Promise<string[]> | string[];
  /** Default: our own environment. */
  env?: Record<string, string>;
  /** Its working folder, which must not contain configuration files of ours. */
  cwd?: string;
  firstLine?: string;
  /** Resolves when the child answers; `lines` are those of its standard output. */
  ready(child: ChildProcess, lines: AsyncIterator<string>): Promise<void>;
  /** Whether it failed to start because an earlier process still locks its folder. */
  isBusy?(reason: string): boolean;
  /** Receives the child's messages over Bun's channel between processes, which is opened for it. */
  received?(message: unknown): void;
  /** Asks a running child to stop, before its standard input ends; never rejects. */
  farewell?(): Promise<void>;
  /** How long it may take to stop before it is killed, in ms; limits.childStopMsMax by default. */
  stopMsMax?: number;
  /** Called when the child did not stop in time. */
  kill(child: ChildProcess): void;
  /**
   * Whether the first failure fails the start. Otherwise the caller continues without the child, which is started again
   * until it is ready.
   */
  insist?: boolean;
  log: Log;
}

export interface Child {
  readonly pid: number | undefined;
  /** Ends the process, by a kill if it does not stop in time; another one is started. */
  restart(reason: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Resolves when the child is ready for the first time. Without `insist`, resolves after
 * embeddedLimits.childAwaitedMsMax at the latest, and the start continues in the background.
 * @throws UserError with the child's last output when `insist` is set and it is not ready within
 *   embeddedLimits.childStartMsMax.
 */
export async function startChild(plan: ChildPlan): Promise<Child> {
  const { name, log, insist = true } = plan;
  const ending = new AbortController();
  const { signal: stopping } = ending;
  const course: ChildState = { stopping, child: undefined, isReady: false, isRestarted: false };
  let stopped: Promise<void> | undefined;

  async function watch(life: Life | undefined): Promise<void> {
    for (let now = life; now;) {
      const upSince = performance.now();
      const code = await now.child.exited;
      course.isReady = false;
      if (stopping.aborted) return;
      if (!course.isRestarted)
        log.warn(`${name} died; restarting`, { code, last_words: now.words.join("\n") });
      course.isRestarted = false;
      // A child that ran for a while is restarted at once.
      const livedLong = performance.now() - upSince > limits.childRestartMsMax;
      now = await revive(livedLong ? 0 : firstPauseMs);
    }
  }

  /** The next process that becomes ready; undefined when the child is stopped first. */
  async function revive(pauseMs: number): Promise<Life | undefined> {
    await sleep(pauseMs, stopping);
    const start = () =>
      startLife(plan, course).catch((thrown: unknown) => {
        if (stopping.aborted) return undefined;
        throw thrown;
      });
    const failure = `${name} did not restart`;
    const pauseMsMax = limits.childRestartMsMax;
    const life = await retryUntilDone(start, { stopping, log, failure, pauseMsMax });
    if (life) log.info(`${name} is back`);
    return life;
  }

  async function begin(): Promise<Life | undefined> {
    try {
      return await startFirstLife(plan, course);
    } catch (thrown) {
      if (insist) throw thrown;
      if (!stopping.aborted) log.error(`${name} did not start; retrying`, { reason: toReason(thrown) });
      return await revive(firstPauseMs);
    }
  }

  const beginning = begin();
  await (insist ? beginning : Promise.race([beginning, sleep(embeddedLimits.childAwaitedMsMax)]));
  const watching = beginning.then(watch);
  const stop = async (): Promise<void> => {
    ending.abort();
    await plan.farewell?.();
    // Both the current process and one that started during the stop.
    if (course.child) await endLife(plan, course.child);
    await watching;
    if (course.child) await endLife(plan, course.child);
  };
  return {
    get pid() {
      return course.isReady ? course.child?.pid : undefined;
    },
    restart: (reason) => restart(plan, course, reason),
    stop: () => (stopped ??= stop()),
  };
}

interface ChildState {
  stopping: AbortSignal;
  child: ChildProcess | undefined;
  isReady: boolean;
  /** Whether its present process is ended in order to start another one. */
  isRestarted: boolean;
}

const firstPauseMs = 100;

/** The child of an owner that was killed may still be finishing its work. */
async function startFirstLife(plan: ChildPlan, course: ChildState): Promise<Life> {
  const { name, log } = plan;
  const begun = performance.now();
  let waiting = false;
  for (;;) {
    try {
      return await startLife(plan, course);
    } catch (thrown) {
      const reason = toReason(thrown);
      const isLate = performance.now() - begun > embeddedLimits.childStartMsMax;
      if (isLate || course.stopping.aborted || !plan.isBusy?.(reason))
        throw new UserError(`${name} did not start: ${reason}`);
      if (!waiting) log.warn(`${name} of the previous server still runs; waiting for it`);
      waiting = true;
      await sleep(firstPauseMs * 5);
    }
  }
}

interface Life {
  child: ChildProcess;
  words: string[];
}

async function startLife(plan: ChildPlan, course: ChildState): Promise<Life> {
  const { env, cwd, firstLine, received } = plan;
  // Detached, because a terminal's Ctrl-C must not stop a store before its owner has written everything.
  const streams = { stdin: "pipe", stdout: "pipe", stderr: "pipe", detached: true } as const;
  const command = await plan.command();
  if (course.stopping.aborted) throw new Error("it is being stopped");
  const child: ChildProcess = Bun.spawn(command, {
    ...(env && { env }),
    ...(cwd && { cwd }),
    // JSON takes less time than a structured clone.
    ...(received && { ipc: received, serialization: "json" }),
    ...streams,
  });
  course.child = child;
  const words: string[] = [];
  const listening = forward(plan, child.stderr, words);
  if (firstLine !== undefined) child.stdin.write(`${firstLine}\n`);
  child.stdin.flush();
  const died = child.exited.then(async (code) => {
    await Promise.race([listening, sleep(firstPauseMs)]);
    throw new Error(words.join("; ") || `it exited with code ${code}`);
  });
  died.catch(() => {});
  try {
    await withinMs(
      Promise.race([plan.ready(child, childLines(child.stdout)), died]),
      embeddedLimits.childStartMsMax,
    );
  } catch (thrown) {
    await endLife(plan, child);
    throw thrown;
  }
  course.isReady = true;
  return { child, words };
}

async function restart(plan: ChildPlan, course: ChildState, reason: string): Promise<void> {
  if (course.stopping.aborted || !course.isReady || !course.child) return;
  plan.log.warn(`${plan.name} is restarted`, { reason });
  course.isReady = false;
  course.isRestarted = true;
  await endLife(plan, course.child);
}

async function endLife(plan: ChildPlan, child: ChildProcess): Promise<void> {
  try {
    await child.stdin.end();
  } catch {
    // The child has closed its end.
  }
  try {
    await withinMs(child.exited, plan.stopMsMax ?? limits.childStopMsMax);
  } catch {
    plan.log.warn(`${plan.name} did not stop; killing it`);
    plan.kill(child);
    child.kill("SIGKILL");
    await child.exited;
  }
}

/** The store's log is logged at debug; its last lines are kept for error messages. */
async function forward({ name, log }: ChildPlan, stream: ReadableStream<Uint8Array>, words: string[]) {
  const lines = childLines(stream);
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    const line = next.value.slice(0, embeddedLimits.childLineCharsMax);
    words.push(line);
    if (words.length > embeddedLimits.childLinesMax) words.shift();
    log.debug(`${name}: ${line}`);
  }
}

/** The lines of a stream; a very long line comes in parts. */
async function* childLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let partialLine = "";
  for await (const chunk of stream) {
    partialLine += decoder.decode(chunk, { stream: true });
    const lines = partialLine.split("\n");
    partialLine = lines.pop() ?? "";
    yield* lines.filter((line) => line.trim() !== "");
    if (partialLine.length > embeddedLimits.childLineCharsMax) {
      yield partialLine;
      partialLine = "";
    }
  }
  if (partialLine.trim()) yield partialLine;
}
