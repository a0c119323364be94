// The pool of a server's workers except worker 1, which is the server itself, and what worker 1 answers them.

import { existsSync, readdirSync } from "node:fs";
import type { Log } from "../../core/log.ts";
import { coresHere } from "../../core/machine.ts";
import { wordsIn } from "../../core/words.ts";
import type { Metrics, MetricsRead } from "../../http/metrics/metrics.ts";
import { type FlushTrouble, worstTrouble } from "../../storage/engine_watch.ts";
import { type IntervalTask, startInterval } from "../../work/interval.ts";
import type { Answers } from "../../work/rpc.ts";
import type { MergeRow } from "../event/merge_row.ts";
import { captureLimits } from "../limits.ts";
import type { OpenedCapture } from "../open.ts";
import type { Unlisted } from "../warnings/warning_quota.ts";
import type { WorkerConfig } from "./worker.ts";
import { WorkerProcess } from "./worker_process.ts";

interface WorkerPoolOptions {
  workers: ReturnType<typeof countWorkers>;
  capture: OpenedCapture;
  metrics: Metrics;
  log: Log;
}

/** The part of the configuration that all workers share. */
type CommonConfig = Omit<WorkerConfig, "number" | "ownDir">;

export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  #members: WorkerProcess[] = [];
  #flushing = false;
  #reading: IntervalTask | undefined;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    const serving = (): number => 1 + this.#members.filter((member) => member.serves).length;
    const help = "Capture workers that serve now.";
    options.metrics.registry.followed("gauge", "sluice_workers", help, serving);
  }

  /** Resolves when each worker serves, or has failed to start once. */
  async start(config: CommonConfig): Promise<void> {
    const { workers, log } = this.#options;
    const { count, ...why } = workers;
    const answers = this.#answers();
    const isFlushing = () => this.#flushing;
    this.#members = Array.from({ length: count - 1 }, (_, i) => {
      const workerConfig = toWorkerConfig(config, i + 2);
      return new WorkerProcess({ config: workerConfig, answers, isFlushing, log });
    });
    const read = async () => void (await this.read());
    if (count > 1)
      this.#reading = startInterval(captureLimits.workerReadMs, "reading what workers counted", read, log);
    await Promise.all(this.#members.map((member) => member.start()));
    log.info("capture workers", { workers: count, ...why });
  }

  flush(): void {
    this.#flushing = true;
    for (const member of this.#members) member.flush();
  }

  async metrics(): Promise<string> {
    const { metrics } = this.#options;
    return metrics.registry.render(await this.read());
  }

  async read(): Promise<MetricsRead[]> {
    return (await Promise.all(this.#members.map((member) => member.read()))).flat();
  }

  /** @throws when one of the workers that serve cannot write its journal. */
  async check(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.check()));
  }

  async readTrouble(): Promise<FlushTrouble> {
    const workerTroubles = this.#members.map((member) => member.readTrouble());
    return worstTrouble([this.#options.capture.trouble(), ...(await Promise.all(workerTroubles))]);
  }

  /** Resolves when all have answered their requests; then they flush and end. */
  async quiet(): Promise<void> {
    await this.#reading?.close();
    await Promise.all(this.#members.map((member) => member.quiet()));
  }

  async gone(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.gone()));
  }

  #answers(): Answers {
    const { journal, book } = this.#options.capture;
    return {
      merges: async (rows: MergeRow[]) => {
        // Merges get their time of arrival here, as this journal's watermark depends on it.
        const created_at = journal.stamp();
        for (const row of rows) journal.merges.append({ ...row, created_at, timestamp: created_at });
        await journal.merges.commit();
      },
      list: ({ project_id, type, count }: Omit<Unlisted, "minute">) => book.admit(project_id, type, count),
      unlisted: (unlisted: Unlisted[]) => book.countUnlisted(unlisted),
      live: (counts: [project_id: number, events: number][]) => {
        for (const [project_id, events] of counts) book.count(project_id, events);
      },
    };
  }
}

/** The settings that a worker needs: the rest of the configuration has secrets. */
const handedOn: readonly (keyof CommonConfig)[] = wordsIn(`
  dataDir databaseUrl postgres clickhouseUrl clickhouseCluster embedded host port inside captureAck flushIntervalMs
  journalBytesMax journalArchive workers bodyBytesMax idleTimeoutSeconds trustedProxies recordingRetentionDays logLevel
`);

function toWorkerConfig(common: CommonConfig, number: number): WorkerConfig {
  const shared = Object.fromEntries(handedOn.map((name) => [name, common[name]])) as unknown as CommonConfig;
  return { ...shared, number, ownDir: workerDir(common.dataDir, number) };
}

/** How many workers to start: as many as `requested`, by default as the machine has cores for. */
export function countWorkers(
  requested: number | undefined,
  cores = coresHere(),
  platform = process.platform,
) {
  const { workersByDefaultMax, coresPerWorker } = captureLimits;
  const fitting = Math.max(1, Math.min(workersByDefaultMax, Math.floor(cores / coresPerWorker)));
  /** Why, for the log. */
  const chosen_by = requested === undefined ? "the machine's cores" : "WORKERS";
  const count = requested ?? fitting;
  if (count === 1 || platform === "linux") return { count, chosen_by, cores };
  return { count: 1, chosen_by: "the system, which does not spread connections over processes", cores };
}

export function leftBehind(dataDir: string, workers: number): string[] {
  const folder = `${dataDir}/workers`;
  if (!existsSync(folder)) return [];
  const numbers = readdirSync(folder)
    .map(Number)
    .filter((number) => Number.isInteger(number) && number > workers);
  return numbers.toSorted((a, b) => a - b).map((number) => workerDir(dataDir, number));
}

function workerDir(dataDir: string, number: number): string {
  return `${dataDir}/workers/${number}`;
}
