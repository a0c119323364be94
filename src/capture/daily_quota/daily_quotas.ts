// How many events of the present UTC day projects with a quota have had accepted. Deciding reads memory only; the
// processes of all servers exchange their counts through Postgres every dailyCountsMs.

import { type Clock, withinMs } from "../../core/clock.ts";
import { newUuid } from "../../core/id.ts";
import type { Log } from "../../core/log.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import type { Uses } from "../../storage/services.ts";
import { type IntervalTask, startInterval } from "../../work/interval.ts";
import { type DailyCountSource, dailyCountSource } from "./store.ts";

const dayMs = 86_400_000;
/** How often a process writes its counts and reads those of others, in ms. */
const dailyCountsMs = 2000;
/** How long that may take, in ms; until it succeeds, a process knows of the others what it knew. */
const dailyCountsMsMax = 2000;

type DailyQuotasOptions = Uses<"clock" | "log"> & { source: DailyCountSource };

export class DailyQuotas {
  readonly #options: DailyQuotasOptions;
  /** Counted from 1970. */
  #day = 0;
  /** Keyed by project: what this process has counted, and what the others had when they were last read. */
  #own = new Map<number, number>();
  #others = new Map<number, number>();
  #changed = new Set<number>();
  /** Whether the others' counts of the day were read; a process that starts knows none. */
  #hasRead = false;
  #ticking: IntervalTask | undefined;

  constructor(options: DailyQuotasOptions) {
    this.#options = options;
  }

  /** Reads what others have counted, for at most dailyCountsMsMax, and from then on exchanges counts. */
  async open(): Promise<void> {
    const name = "exchanging the counts of daily quotas";
    // The interval logs a failure when it happens again.
    await this.poll().catch(() => {});
    this.#ticking = startInterval(dailyCountsMs, name, () => this.poll(), this.#options.log);
  }

  /** Counts up to `events` more of a project; returns how many of them are within its quota of the day. */
  acquire(project_id: number, quota: number, events: number): number {
    this.#beginDay();
    const ownCount = this.#own.get(project_id) ?? 0;
    const quotaLeft = quota - ownCount - (this.#others.get(project_id) ?? 0);
    const granted = Math.max(0, Math.min(events, quotaLeft));
    if (granted > 0) this.#count(project_id, ownCount + granted);
    return granted;
  }

  /** Uncounts events that were acquired and then ignored for other reasons. */
  release(project_id: number, events: number): void {
    this.#beginDay();
    this.#count(project_id, Math.max(0, (this.#own.get(project_id) ?? 0) - events));
  }

  /** Writes changed counts and reads those of others. @throws what Postgres or the deadline throws. */
  async poll(): Promise<void> {
    this.#beginDay();
    const day = this.#day;
    const changed = this.#changed;
    const hasRead = this.#hasRead;
    if (hasRead && changed.size === 0) return;
    this.#changed = new Set();
    try {
      await withinMs(this.#exchange(day, [...changed], hasRead), dailyCountsMsMax);
    } catch (thrown) {
      if (day === this.#day) for (const project_id of changed) this.#changed.add(project_id);
      throw thrown;
    }
  }

  /** Writes the last counts, so that the next start knows them. */
  async close(): Promise<void> {
    await this.#ticking?.close();
    if (this.#changed.size > 0) await this.poll().catch(() => {});
  }

  async #exchange(day: number, changed: number[], hasRead: boolean): Promise<void> {
    const { source } = this.#options;
    const date = new Date(day * dayMs).toISOString().slice(0, 10);
    const ownCounts = changed.map((project_id) => ({ project_id, events: this.#own.get(project_id) ?? 0 }));
    if (ownCounts.length > 0) await source.write(date, ownCounts);
    const otherCounts = await source.readOthers(date, hasRead ? changed : undefined);
    if (day !== this.#day) return;
    for (const { project_id, events } of otherCounts) this.#others.set(project_id, events);
    this.#hasRead = true;
  }

  #count(project_id: number, events: number): void {
    this.#own.set(project_id, events);
    this.#changed.add(project_id);
  }

  #beginDay(): void {
    const day = Math.floor(this.#options.clock.now() / dayMs);
    if (day === this.#day) return;
    this.#day = day;
    this.#own = new Map();
    this.#others = new Map();
    this.#changed = new Set();
  }
}

/** The quota as the events of one body use it. */
export function openBodyQuota(
  quotas: Pick<DailyQuotas, "acquire" | "release">,
  project_id: number,
  max: number,
) {
  let acquired = 0;
  return {
    /** Counts the body's next events; returns how many of them, from the first on, are within the quota. */
    acquire: (events: number): number => {
      const granted = quotas.acquire(project_id, max, events);
      acquired += granted;
      return granted;
    },
    /** Uncounts those that were not accepted, or could not be written. */
    settle: (accepted: number): void => {
      if (acquired > accepted) quotas.release(project_id, acquired - accepted);
    },
  };
}

export type BodyQuota = ReturnType<typeof openBodyQuota>;

export async function openDailyQuotas(sql: Postgres, clock: Clock, log: Log): Promise<DailyQuotas> {
  const quotas = new DailyQuotas({ source: dailyCountSource(sql, newUuid()), clock, log });
  await quotas.open();
  return quotas;
}
