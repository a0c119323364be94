// The pool: all workers of a server but the first, which is the server itself, and what it keeps for them. Never holds
// a request up that one of them does not take part in.

import { existsSync, readdirSync } from "node:fs";
import { workerLimits } from "./limits.ts";
import { coresHere } from "../../core/machine.ts";
import type { Log } from "../../core/log.ts";
import type { Metrics, MetricsRead } from "../../http/metrics/metrics.ts";
import { type Ticking, every } from "../../work/tick.ts";
import type { Answers } from "../../work/rpc.ts";
import type { MergeRow } from "../flush/merge_row.ts";
import type { OpenedCapture } from "../open.ts";
import type { Unlisted } from "../warnings/warning_quota.ts";
import { WorkerProcess } from "./worker_process.ts";
import { type WorkerConfig, workerDir } from "./worker_config.ts";

export interface WorkerPoolOptions {
  /** All of them, the first among them. */
  workers: Workers;
  /** Worker 1's own. */
  capture: OpenedCapture;
  metrics: Metrics;
  log: Log;
}

/** What every worker is told alike. */
export type CommonConfig = Omit<WorkerConfig, "number" | "ownDir">;

export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  #members: WorkerProcess[] = [];
  #flushing = false;
  #reading: Ticking | undefined;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    const serving = options.metrics.registry.gauge("sluice_workers", "Capture workers that serve now.");
    serving.follow(() => 1 + this.#members.filter((member) => member.serves).length);
  }

  /** Resolves when every worker serves, or did not come up the first time. */
  async start(order: CommonConfig): Promise<void> {
    const { workers, log } = this.#options;
    const { count, ...why } = workers;
    const answers = this.#answers();
    const isFlushing = () => this.#flushing;
    this.#members = Array.from({ length: count - 1 }, (_, i) => {
      const own = orderOf(order, i + 2);
      return new WorkerProcess({ order: own, answers, isFlushing, log });
    });
    const look = () => this.#look();
    if (count > 1)
      this.#reading = every(workerLimits.workerReadMs, "reading what workers counted", look, log);
    await Promise.all(this.#members.map((member) => member.start()));
    log.info("capture workers", { workers: count, ...why });
  }

  /** Lets what is sealed go to ClickHouse. */
  flush(): void {
    this.#flushing = true;
    for (const member of this.#members) member.flush();
  }

  /** The metrics of all workers, added up. */
  async metrics(): Promise<string> {
    const { metrics } = this.#options;
    return metrics.registry.render(await this.#read());
  }

  /** @throws when one of the workers that serve cannot write its journal. */
  async check(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.check()));
  }

  /** Resolves when all have answered what they were asked. They flush what they hold, and end. */
  async quiet(): Promise<void> {
    await this.#reading?.close();
    await Promise.all(this.#members.map((member) => member.quiet()));
  }

  /** Resolves when all are gone. */
  async gone(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.gone()));
  }

  async #look(): Promise<void> {
    await this.#read();
  }

  async #read(): Promise<MetricsRead[]> {
    return (await Promise.all(this.#members.map((member) => member.read()))).flat();
  }

  #answers(): Answers {
    const { journal, book } = this.#options.capture;
    return {
      merges: async (rows: MergeRow[]) => {
        // In the order of arrival here, by this journal's clock, which its watermark goes by.
        const created_at = journal.stamp();
        for (const row of rows) journal.merges.append({ ...row, created_at, timestamp: created_at });
        await journal.merges.commit();
      },
      room: ({ project_id, type, count }: Omit<Unlisted, "minute">) => book.admit(project_id, type, count),
      unlisted: (unlisted: Unlisted[]) => book.countUnlisted(unlisted),
      live: (counts: [project_id: number, events: number][]) => {
        for (const [project_id, events] of counts) book.count(project_id, events);
      },
    };
  }
}

/** Only what a worker needs: the rest of a configuration has secrets in it. */
function orderOf(common: CommonConfig, number: number): WorkerConfig {
  const { dataDir, databaseUrl, postgres, clickhouseUrl, embedded, host, port, inside, captureAck } = common;
  const { flushIntervalMs, journalBytesMax, workers, bodyBytesMax, trustedProxies } = common;
  const { recordingRetentionDays, logLevel } = common;
  const ownDir = workerDir(dataDir, number);
  const stores = { dataDir, ownDir, databaseUrl, postgres, clickhouseUrl, embedded };
  const sizes = { journalBytesMax, workers, bodyBytesMax };
  const bounds = { captureAck, flushIntervalMs, ...sizes, recordingRetentionDays };
  return { number, host, port, inside, trustedProxies, logLevel, ...stores, ...bounds };
}

export interface Workers {
  count: number;
  /** Why, as the log tells it. */
  chosen_by: string;
  cores: number;
}

/** How many workers there are to be: as many as `asked`, or as the machine bears. */
export function workersOf(
  asked: number | undefined,
  cores = coresHere(),
  platform = process.platform,
): Workers {
  const fitting = Math.max(
    1,
    Math.min(workerLimits.workersUnaskedMax, Math.floor(cores / workerLimits.coresPerWorker)),
  );
  const chosen_by = asked === undefined ? "the machine's cores" : "WORKERS";
  const count = asked ?? fitting;
  if (count === 1 || platform === "linux") return { count, chosen_by, cores };
  return { count: 1, chosen_by: "the system, which does not spread connections over processes", cores };
}

/** Folders of workers that a start with fewer of them does not start. */
export function leftBehind(dataDir: string, workers: number): string[] {
  const folder = `${dataDir}/workers`;
  if (!existsSync(folder)) return [];
  const numbers = readdirSync(folder)
    .map(Number)
    .filter((number) => Number.isInteger(number) && number > workers);
  return numbers.toSorted((a, b) => a - b).map((number) => workerDir(dataDir, number));
}
