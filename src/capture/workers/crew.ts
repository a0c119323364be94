// The crew: all workers of a server but the first, which is the server itself, and what it keeps for them. Never holds
// a request up that one of them does not take part in.

import { existsSync, readdirSync } from "node:fs";
import { limits } from "../../core/limits.ts";
import { coresHere } from "../../core/machine.ts";
import type { Log } from "../../core/log.ts";
import type { Metrics, Readings } from "../../http/metrics.ts";
import { type Ticking, every } from "../../work/tick.ts";
import type { Answers } from "../../work/link.ts";
import type { MergeRow } from "../merge_row.ts";
import type { OpenedCapture } from "../open.ts";
import type { Unlisted } from "../tally.ts";
import { Member } from "./member.ts";
import { type WorkerOrder, workerDir } from "./order.ts";

export interface CrewOptions {
  /** All workers, the first among them. */
  workers: number;
  /** Worker 1's own. */
  capture: OpenedCapture;
  metrics: Metrics;
  log: Log;
}

/** What every worker is told alike. */
export type CommonOrder = Omit<WorkerOrder, "number" | "ownDir">;

export class Crew {
  readonly #options: CrewOptions;
  #members: Member[] = [];
  #flushing = false;
  #reading: Ticking | undefined;

  constructor(options: CrewOptions) {
    this.#options = options;
    const serving = options.metrics.registry.gauge("sluice_workers", "Capture workers that serve now.");
    serving.follow(() => 1 + this.#members.filter((member) => member.serves).length);
  }

  /** Resolves when every worker serves, or did not come up the first time. */
  async start(order: CommonOrder): Promise<void> {
    const { workers, log } = this.#options;
    const answers = this.#answers();
    const isFlushing = () => this.#flushing;
    this.#members = Array.from({ length: workers - 1 }, (_, i) => {
      const number = i + 2;
      const own = { ...order, number, ownDir: workerDir(order.dataDir, number) };
      return new Member({ order: own, answers, isFlushing, log });
    });
    if (workers > 1) {
      this.#reading = every(limits.workerReadMs, "reading what workers counted", () => this.#look(), log);
    }
    await Promise.all(this.#members.map((member) => member.start()));
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

  async #read(): Promise<Readings[]> {
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

/**
 * How many workers there are to be: as many as `asked`, or as the machine bears. Only Linux shares one port among
 * processes.
 */
export function workersOf(asked: number | undefined, log: Log, cores = coresHere()): number {
  const fitting = Math.max(1, Math.min(limits.workersUnaskedMax, Math.floor(cores / limits.coresPerWorker)));
  const wanted = asked ?? fitting;
  if (wanted > 1 && process.platform !== "linux") {
    const why = "several workers share a port, which this system does not spread connections over";
    log[asked === undefined ? "info" : "warn"](`one capture worker: ${why}`, { wanted });
    return 1;
  }
  const chosen_by = asked === undefined ? "the machine's cores" : "WORKERS";
  log.info("capture workers", { workers: wanted, cores, chosen_by });
  return wanted;
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
