// Watches whether ClickHouse answers the flush and ends its statements. An embedded engine that does not is restarted,
// a remote one is reported. Decided by what this process and the kernel observe, since the engine may hang as a whole.

import { readdirSync, readFileSync } from "node:fs";
import { withinMs } from "../core/deadline.ts";
import { limits } from "../core/limits.ts";
import type { Child } from "./embedded/child.ts";
import { storageLimits } from "./limits.ts";
import { isStoreLocked } from "./postgres/store_locks.ts";
import type { Uses } from "./services.ts";

/** For how long, in ms, a flush that has something to store has had no success; 0 without trouble. */
export interface FlushTrouble {
  /** Nothing was stored. */
  failingMs: number;
  /** There was no answer. */
  silentMs: number;
  /** It was refused, for the memory of the whole engine. */
  memoryMs: number;
  /** The last error: ClickHouse's name of it, or a system's code. */
  code: string;
}

export const noTrouble: FlushTrouble = { failingMs: 0, silentMs: 0, memoryMs: 0, code: "" };

/** Each figure of the flush that has the worst one. */
export function worstTrouble(troubles: readonly FlushTrouble[]): FlushTrouble {
  return troubles.reduce(
    (worst, next) => ({
      failingMs: Math.max(worst.failingMs, next.failingMs),
      silentMs: Math.max(worst.silentMs, next.silentMs),
      memoryMs: Math.max(worst.memoryMs, next.memoryMs),
      code: next.failingMs > worst.failingMs ? next.code : worst.code,
    }),
    noTrouble,
  );
}

interface EngineWatchOptions extends Uses<"sql" | "clickhouse" | "clock" | "log"> {
  /** The embedded engine; undefined for a remote one. */
  engine: Pick<Child, "pid" | "restart"> | undefined;
  /** Resolves to the trouble of all flushes that use this engine. */
  readTrouble(): Promise<FlushTrouble>;
  /** The CPU time of a process, by default as Linux shows it. */
  readCpu?: (pid: number) => CpuTime;
}

interface CpuTime {
  usedMs: number;
  /** The time that its threads waited for a core, added up. */
  delayedMs: number;
}

export class EngineWatch {
  /** How many times the engine was restarted. */
  restarts = 0;
  readonly #options: EngineWatchOptions;
  #trouble = noTrouble;
  /** The engine's CPU time when it was halfway to a restart. */
  #halfway: (CpuTime & { at: number }) | undefined;
  #isReported = false;
  #pauseMs = 0;
  /** No restart comes before this time, by clock.elapsed(). */
  #notBefore = 0;

  constructor(options: EngineWatchOptions) {
    this.#options = options;
  }

  /** @throws an error with a code when a flush has failed or hung for too long. */
  check(): void {
    const { failingMs, silentMs, code } = this.#trouble;
    if (failingMs < storageLimits.flushSilentMsMax) return;
    const shown = silentMs >= storageLimits.flushSilentMsMax ? "FLUSH_HUNG" : `FLUSH_FAILED_${code}`;
    const message = `nothing was stored for ${Math.floor(failingMs / 1000)} s`;
    throw Object.assign(new Error(message), { code: shown.slice(0, 40) });
  }

  async poll(): Promise<void> {
    const { engine, clock, log } = this.#options;
    this.#trouble = await this.#options.readTrouble();
    const { lateness, reason } = this.#findLatest();
    const pid = engine?.pid;
    if (lateness < 0.5) this.#isReported = false;
    if (lateness < 0.5 || (engine && pid === undefined)) return void (this.#halfway = undefined);
    if (pid !== undefined) this.#halfway ??= { ...this.#readCpu(pid), at: clock.elapsed() };
    if (lateness < 1 || (lateness < storageLimits.engineStarvedFactor && this.#isStarved(pid))) return;
    const hindrance = await this.#findHindrance();
    if (hindrance === undefined) return this.#restart(reason);
    if (!this.#isReported) log.warn("ClickHouse is stuck and is not restarted", { reason, hindrance });
    this.#isReported = true;
  }

  /** What has lasted longest, measured by how long it may; 1 is the limit. */
  #findLatest(): { lateness: number; reason: string } {
    const { flushSilentMsMax, flushMemoryMsMax, statementOverdueMsMax } = storageLimits;
    const { silentMs, memoryMs } = this.#trouble;
    const overdueMs = this.#options.clickhouse.running.overdueMs;
    const found = [
      { lateness: silentMs / flushSilentMsMax, reason: "a flush has no answer" },
      { lateness: memoryMs / flushMemoryMsMax, reason: "flushes are refused: its memory is used up" },
      { lateness: overdueMs / statementOverdueMsMax, reason: "a statement outlives its limit and its kill" },
    ];
    return found.reduce((worst, next) => (next.lateness > worst.lateness ? next : worst));
  }

  /**
   * Whether other programs left it hardly any CPU time since it was halfway: then it may be slow, not stuck. A hung
   * engine waits for no core, and one that computes without end has one.
   */
  #isStarved(pid: number | undefined): boolean {
    if (!this.#halfway || pid === undefined) return false;
    const passedMs = this.#options.clock.elapsed() - this.#halfway.at;
    const { usedMs, delayedMs } = this.#readCpu(pid);
    const used = (usedMs - this.#halfway.usedMs) / passedMs;
    const delayed = (delayedMs - this.#halfway.delayedMs) / passedMs;
    // This process may have been stopped itself, and has just begun to watch.
    if (passedMs < storageLimits.engineWatchedMsMin) return true;
    return used < storageLimits.engineStarvedCores && delayed > storageLimits.engineStarvedCores;
  }

  #readCpu(pid: number): CpuTime {
    return (this.#options.readCpu ?? readCpuTime)(pid);
  }

  /** Why it must not be restarted now. */
  async #findHindrance(): Promise<string | undefined> {
    const { engine, clickhouse, sql, clock } = this.#options;
    if (!engine) return "it is not embedded";
    if (clickhouse.running.isRewriting) return "tables are being changed";
    // A backup or migration whose Postgres does not answer has failed.
    if (await withinMs(isStoreLocked(sql), limits.healthMsMax).catch(() => false))
      return "a backup or a migration runs";
    return clock.elapsed() < this.#notBefore ? "it was restarted a short time ago" : undefined;
  }

  #restart(reason: string): void {
    const { engine, clock } = this.#options;
    const { engineRestartPauseMsMin, engineRestartPauseMsMax } = storageLimits;
    const now = clock.elapsed();
    const isSound = now - this.#notBefore > engineRestartPauseMsMax;
    const doubledMs = isSound ? 0 : 2 * this.#pauseMs;
    this.#pauseMs = Math.min(Math.max(engineRestartPauseMsMin, doubledMs), engineRestartPauseMsMax);
    this.#notBefore = now + this.#pauseMs;
    this.#halfway = undefined;
    this.restarts++;
    void engine?.restart(reason);
  }
}

/** Where the system does not show it, a process counts as one that does not wait for a core. */
function readCpuTime(pid: number): CpuTime {
  const time = { usedMs: 0, delayedMs: 0 };
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const [used, delayed] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ");
      time.usedMs += Number(used) / 1e6;
      time.delayedMs += Number(delayed) / 1e6;
    }
  } catch {
    // A thread has just ended, or the process has.
  }
  return time;
}
