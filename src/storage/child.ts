// A part that runs as a child process: started, watched, started again when it dies alone, stopped. Never
// leaves an orphan.

import type { Subprocess } from "bun";
import { withinMs } from "../core/deadline.ts";
import { UserError } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { type Log, reasonOf } from "../core/log.ts";

/** The end of a child's standard input is its order to stop: so it also stops when its owner is killed. */
export type ChildProcess = Subprocess<"pipe", "pipe", "pipe">;

export interface ChildPlan {
  /** What the log calls it: "the embedded Postgres". */
  name: string;
  /** The command of the next life. */
  command: () => Promise<string[]> | string[];
  /** Unset: ours. */
  env?: Record<string, string>;
  /** Its working folder: not ours, where no configuration file of ours is to be read. */
  cwd?: string;
  /** Written to its standard input first. */
  firstLine?: string;
  /** Resolves when it can be asked; `lines` are those of its standard output. */
  ready(child: ChildProcess, lines: AsyncIterator<string>): Promise<void>;
  /** Whether it did not start because an earlier life has not let go yet. */
  isBusy?(reason: string): boolean;
  /** Asks a child that works to stop, before its standard input ends; never rejects. */
  farewell?(): Promise<void>;
  /** How long it may take to stop before it is killed, in ms; limits.childStopMsMax unless told. */
  stopMsMax?: number;
  /** When asking did not help. */
  kill(child: ChildProcess): void;
  log: Log;
}

export interface Child {
  /** Resolves when the process is gone. */
  stop(): Promise<void>;
}

/**
 * Resolves when the child is ready for the first time.
 * @throws UserError with the child's last words when it does not come up within limits.childStartMsMax.
 */
export async function startChild(plan: ChildPlan): Promise<Child> {
  const { name, log } = plan;
  let stopping: Promise<void> | undefined;
  let life = await startFirstLife(plan);

  async function watch(): Promise<void> {
    for (;;) {
      const upSince = performance.now();
      const code = await life.child.exited;
      if (stopping) return;
      log.warn(`${name} died and is started again`, { code, last_words: life.words.join("\n") });
      // One that lived for a while was well: its next life begins at once.
      const livedLong = performance.now() - upSince > limits.childRestartMsMax;
      if (!(await revive(livedLong ? 0 : firstPauseMs))) return;
      log.info(`${name} is back`);
    }
  }

  async function revive(pauseMs: number): Promise<boolean> {
    for (
      let pause = pauseMs;
      ;
      pause = Math.min(Math.max(pause, firstPauseMs) * 2, limits.childRestartMsMax)
    ) {
      await Bun.sleep(pause);
      if (stopping) return false;
      try {
        life = await startLife(plan);
        return true;
      } catch (thrown) {
        if (!stopping) log.warn(`${name} did not start again`, { reason: reasonOf(thrown) });
      }
    }
  }

  const watching = watch();
  const stop = async (): Promise<void> => {
    await plan.farewell?.();
    await endLife(plan, life.child);
    await watching;
    // A life that began while we were told to stop.
    await endLife(plan, life.child);
  };
  return { stop: () => (stopping ??= stop()) };
}

const firstPauseMs = 100;

/** A child of an owner that was killed may still be finishing what it had begun. */
async function startFirstLife(plan: ChildPlan): Promise<Life> {
  const { name, log } = plan;
  const begun = performance.now();
  let waiting = false;
  for (;;) {
    try {
      return await startLife(plan);
    } catch (thrown) {
      const reason = reasonOf(thrown);
      const late = performance.now() - begun > limits.childStartMsMax;
      if (late || !plan.isBusy?.(reason)) throw new UserError(`${name} did not start: ${reason}`);
      if (!waiting) log.warn(`${name} of an earlier life still runs and is waited for`);
      waiting = true;
      await Bun.sleep(firstPauseMs * 5);
    }
  }
}

interface Life {
  child: ChildProcess;
  /** The last lines of its standard error. */
  words: string[];
}

async function startLife(plan: ChildPlan): Promise<Life> {
  const { env, cwd, firstLine } = plan;
  // Detached: a terminal's Ctrl-C must not stop a store before its owner has written what it holds.
  const streams = { stdin: "pipe", stdout: "pipe", stderr: "pipe", detached: true } as const;
  const child: ChildProcess = Bun.spawn(await plan.command(), {
    ...(env && { env }),
    ...(cwd && { cwd }),
    ...streams,
  });
  const words: string[] = [];
  const listening = forward(plan, child.stderr, words);
  if (firstLine !== undefined) child.stdin.write(`${firstLine}\n`);
  child.stdin.flush();
  const died = child.exited.then(async (code) => {
    await Promise.race([listening, Bun.sleep(firstPauseMs)]);
    throw new Error(words.join("; ") || `it exited with code ${code}`);
  });
  died.catch(() => {});
  try {
    await withinMs(Promise.race([plan.ready(child, linesOf(child.stdout)), died]), limits.childStartMsMax);
  } catch (thrown) {
    await endLife(plan, child);
    throw thrown;
  }
  return { child, words };
}

async function endLife(plan: ChildPlan, child: ChildProcess): Promise<void> {
  try {
    await child.stdin.end();
  } catch {
    // It closed its end first.
  }
  try {
    await withinMs(child.exited, plan.stopMsMax ?? limits.childStopMsMax);
  } catch {
    plan.log.warn(`${plan.name} did not stop and is killed`);
    plan.kill(child);
    child.kill("SIGKILL");
    await child.exited;
  }
}

/** A store's own log is of interest when something is wrong: it goes to debug, its last lines are kept. */
async function forward(
  { name, log }: ChildPlan,
  stream: ReadableStream<Uint8Array>,
  words: string[],
): Promise<void> {
  const lines = linesOf(stream);
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    const line = next.value.slice(0, limits.childLineCharsMax);
    words.push(line);
    if (words.length > limits.childLinesMax) words.shift();
    log.debug(`${name}: ${line}`);
  }
}

/** Lines of a stream; one longer than anybody reads comes in pieces. */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line.trim() !== "");
    if (rest.length > limits.childLineCharsMax) {
      yield rest;
      rest = "";
    }
  }
  if (rest.trim()) yield rest;
}
