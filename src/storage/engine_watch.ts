// Watches whether ClickHouse answers the flush and ends its statements. An embedded engine that does not is restarted,
// a remote one is reported. Decided by what this process and the kernel observe, since the engine may hang as a whole.

import { readdirSync, readFileSync } from "node:fs";
import { withinMs } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import type { Child } from "./embedded/child.ts";
import { storageLimits } from "./limits.ts";
import { isStoreLocked } from "./postgres/store_locks.ts";
import type { Uses } from "./services.ts";

/** Milliseconds for which a flush has had no success; 0 without trouble. */
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

export function worstTrouble(troubles: readonly FlushTrouble[]): FlushTrouble {
  const findWorst = (figure: "failingMs" | "silentMs" | "memoryMs") =>
    Math.max(0, ...troubles.map((trouble) => trouble[figure]));
  const failingMs = findWorst("failingMs");
  const code = troubles.find((trouble) => trouble.failingMs === failingMs)?.code ?? "";
  return { failingMs, silentMs: findWorst("silentMs"), memoryMs: findWorst("memoryMs"), code };
}

const overdue = "a statement outlives its kill";

interface EngineWatchOptions extends Uses<"sql" | "clickhouse" | "clock" | "log"> {
  /** The embedded engine; undefined for a remote one. */
  engine: Pick<Child, "pid" | "restart"> | undefined;
  /** Resolves to the trouble of all flushes that use this engine. */
  readTrouble(): Promise<FlushTrouble>;
  readCpu?: typeof readCpuTime;
}

export class EngineWatch {
  restarts = 0;
  readonly #options: EngineWatchOptions & { readCpu: typeof readCpuTime };
  #trouble = noTrouble;
  /** When the engine was halfway to a restart, and its CPU time then. */
  #halfway: { at: number; usedMs: number; delayedMs: number } | undefined;
  #isReported = false;
  #pauseMs = 0;
  /** No restart comes before this time, by clock.elapsed(). */
  #notBefore = 0;

  constructor(options: EngineWatchOptions) {
    this.#options = { readCpu: readCpuTime, ...options };
  }

  /** @throws an error with a code when a flush has failed or hung for too long. */
  check(): void {
    const { failingMs, silentMs, code } = this.#trouble;
    if (failingMs < storageLimits.flushSilentMsMax) return;
    const failureCode = silentMs >= storageLimits.flushSilentMsMax ? "FLUSH_HUNG" : `FLUSH_FAILED_${code}`;
    throw Object.assign(new Error("nothing is stored"), { code: failureCode.slice(0, 40) });
  }

  async poll(): Promise<void> {
    const { engine, readCpu, clock, log } = this.#options;
    this.#trouble = await this.#options.readTrouble();
    const { lateness, reason } = this.#findLatest();
    const pid = engine?.pid;
    if (lateness < 0.5) this.#isReported = false;
    if (lateness < 0.5 || (engine && pid === undefined)) return void (this.#halfway = undefined);
    if (pid !== undefined) this.#halfway ??= { ...readCpu(pid), at: clock.elapsed() };
    if (lateness < 1 || (lateness < storageLimits.engineStarvedFactor && this.#isStarved(pid, reason)))
      return;
    const hindrance = await this.#findHindrance();
    if (hindrance === undefined) return this.#restart(reason);
    if (!this.#isReported) log.warn("ClickHouse is stuck and is not restarted", { reason, hindrance });
    this.#isReported = true;
  }

  #findLatest(): { lateness: number; reason: string } {
    const { silentMs, memoryMs } = this.#trouble;
    const { overdueMs } = this.#options.clickhouse.running;
    const found = [
      { lateness: silentMs / storageLimits.flushSilentMsMax, reason: "a flush has no answer" },
      { lateness: memoryMs / storageLimits.flushMemoryMsMax, reason: "its memory is used up" },
      { lateness: overdueMs / storageLimits.statementOverdueMsMax, reason: overdue },
    ];
    return found.reduce((worst, next) => (next.lateness > worst.lateness ? next : worst));
  }

  /**
   * Whether other programs left it hardly any CPU time since it was halfway: then it may be slow, not stuck. A hung
   * engine waits for no core, and one that computes without end has one. A statement that is killed may need some
   * seconds of a core until its block ends.
   */
  #isStarved(pid: number | undefined, reason: string): boolean {
    if (!this.#halfway || pid === undefined) return false;
    const passedMs = this.#options.clock.elapsed() - this.#halfway.at;
    // This process may have been stopped itself, and has just begun to watch.
    if (passedMs < storageLimits.engineWatchedMsMin) return true;
    const { usedMs, delayedMs } = this.#options.readCpu(pid);
    const { engineStarvedCores, engineBlockCores } = storageLimits;
    const leastMs = passedMs * (reason === overdue ? engineBlockCores : engineStarvedCores);
    const isDelayed = delayedMs - this.#halfway.delayedMs > passedMs * engineStarvedCores;
    return isDelayed && usedMs - this.#halfway.usedMs < leastMs;
  }

  async #findHindrance(): Promise<string | undefined> {
    const { engine, clickhouse, sql, clock } = this.#options;
    if (!engine) return "it is not embedded";
    if (clickhouse.running.isRewriting) return "tables are being changed";
    // A backup or migration whose Postgres does not answer has failed.
    const isLocked = await withinMs(isStoreLocked(sql), limits.healthMsMax).catch(() => false);
    if (isLocked) return "a backup or a migration runs";
    return clock.elapsed() < this.#notBefore ? "it was restarted a short time ago" : undefined;
  }

  #restart(reason: string): void {
    const { engineRestartPauseMsMin, engineRestartPauseMsMax } = storageLimits;
    const now = this.#options.clock.elapsed();
    if (now - this.#notBefore > engineRestartPauseMsMax) this.#pauseMs = 0;
    this.#pauseMs = Math.min(Math.max(engineRestartPauseMsMin, 2 * this.#pauseMs), engineRestartPauseMsMax);
    this.#notBefore = now + this.#pauseMs;
    this.#halfway = undefined;
    this.restarts++;
    void this.#options.engine?.restart(reason);
  }
}

/** CPU time of a process, and the time that its threads waited for a core, added up; 0 where it is not shown. */
function readCpuTime(pid: number): { usedMs: number; delayedMs: number } {
  const time = { usedMs: 0, delayedMs: 0 };
  for (const thread of listThreads(pid)) {
    try {
      const [used, delayed] = readFileSync(`${thread}/schedstat`, "utf8").split(" ");
      time.usedMs += Number(used) / 1e6;
      time.delayedMs += Number(delayed) / 1e6;
    } catch {
      // It has just ended.
    }
  }
  return time;
}

function listThreads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);
  } catch {
    return [];
  }
}
