// The worker of batch exports: creates the runs that are due, claims those that may start, and delivers them. Several
// processes share the work; a run belongs to one of them.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { exportLimits } from "../limits.ts";
import { reasonOf } from "../../core/log.ts";
import { readWatermarks } from "../../storage/watermark.ts";
import { FairShare } from "../../work/fair_share.ts";
import { Semaphore } from "../../work/semaphore.ts";
import { every, type Ticking } from "../../work/tick.ts";
import { probe } from "./deliver.ts";
import { type Destination, type DestinationType, destinationSecrets } from "../destinations/config.ts";
import { whyNoFiles } from "../destinations/objects/file.ts";
import { shownFailure } from "../destinations/failure.ts";
import { alignedBefore, intervalMs, intervalsIn, nextDue, nextOfRange } from "./interval.ts";
import { forgetLogs, writeLog } from "../logs/store.ts";
import { attemptRun, type RunMeans } from "./attempt.ts";
import {
  cancelOrphans,
  type ClaimedRun,
  claimRuns,
  type Due,
  dueRuns,
  releaseRuns,
  showUntaken,
} from "./store.ts";
import {
  advanceBackfill,
  completeBackfill,
  type DueExport,
  type OpenBackfill,
  scheduleRuns,
  setRange,
  waitingBackfills,
} from "./schedule_store.ts";
import { firstArrivalOf } from "../source/store.ts";

export type ExportWorkerOptions = Omit<RunMeans, "owner">;

/** The same text in every process, so that it is logged once. */
const untakenReason =
  "No server takes this run: files are written by one that has EXPORT_FILE_DIR and the embedded ClickHouse";

export class ExportWorker {
  readonly #options: ExportWorkerOptions;
  readonly #owner = crypto.randomUUID();
  readonly #running = new Set<Promise<void>>();
  readonly #places = new FairShare(exportLimits.runsAtOnceMax, limits.waitingShare);
  readonly #probes = new Semaphore(
    exportLimits.probesAtOnceMax,
    exportLimits.probesWaitingMax,
    limits.waitingShare,
  );
  readonly #released = new AbortController();
  readonly #unseen = new Set<string>();
  /** Destination types that this process cannot write to. */
  readonly #unable: readonly DestinationType[];
  #ticking: Ticking | undefined;
  #looking: Promise<void> | undefined;
  #again = false;
  #forgotAt = Number.NEGATIVE_INFINITY;

  constructor(options: ExportWorkerOptions) {
    this.#options = options;
    this.#unable = whyNoFiles(options) === undefined ? [] : ["File"];
  }

  start(): void {
    this.#ticking ??= every(exportLimits.tickMs, "batch exports", () => this.#turn(), this.#options.log);
  }

  /** Looks for work now instead of at the next tick. */
  wake(): void {
    if (!this.#ticking) return;
    void this.#turn().catch((thrown: unknown) => {
      this.#options.log.debug("batch exports could not be looked at", { reason: reasonOf(thrown) });
    });
  }

  /**
   * Tests a destination; why it does not work, or undefined when it does.
   * @throws Fault unavailable when too many are being tested, of this project or in all.
   */
  async probe(destination: Destination, project_id: number): Promise<string | undefined> {
    const wait = { owner: project_id, msMax: exportLimits.probeWaitMsMax, busy: tooManyProbes };
    return await this.#probes.run(wait, async () => {
      try {
        await probe(destination, this.#options);
        return undefined;
      } catch (thrown) {
        return shownFailure(thrown, destinationSecrets(destination)).message;
      }
    });
  }

  /** Stops the running runs and releases them to other processes; resolves when none is left. */
  async close(): Promise<void> {
    this.#released.abort();
    await this.#ticking?.close();
    await this.#looking?.catch(() => {});
    await Promise.all(this.#running);
    if (!this.#ticking) return;
    const { sql, clock } = this.#options;
    await releaseRuns(sql, this.#owner, clock.now()).catch(() => {});
  }

  /** One pass at a time; a call during a pass causes another one after it. */
  #turn(): Promise<void> {
    this.#again = true;
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #look(): Promise<void> {
    while (this.#again && !this.#released.signal.aborted) {
      this.#again = false;
      const { sql, clock } = this.#options;
      await this.#forget();
      await cancelOrphans(sql, clock.now());
      await scheduleRuns(sql, clock.now(), (due) => this.#decide(due));
      await this.#backfill();
      await this.#claim();
    }
  }

  #decide({ interval, scheduled_until, start_at, end_at }: DueExport) {
    const lengthMs = intervalMs(interval);
    const now = this.#options.clock.now();
    const schedule = {
      lengthMs,
      until: scheduled_until.getTime(),
      startAt: start_at?.getTime() ?? null,
      endAt: end_at?.getTime() ?? null,
    };
    const run = nextDue(schedule, now);
    return run ? { run } : { until: alignedBefore(now, lengthMs) };
  }

  async #backfill(): Promise<void> {
    for (const backfill of await waitingBackfills(this.#options.sql)) {
      try {
        await this.#advance(backfill);
      } catch (thrown) {
        const { log } = this.#options;
        log.warn("a backfill could not be moved on", { backfill: backfill.id, reason: reasonOf(thrown) });
      }
    }
  }

  async #advance(backfill: OpenBackfill): Promise<void> {
    const { sql, clock } = this.#options;
    const lengthMs = intervalMs(backfill.interval);
    let end = backfill.range_end.getTime();
    const start = backfill.range_start?.getTime() ?? (await this.#firstMoment(backfill, lengthMs)) ?? end;
    // All data arrived in the interval that has not ended: what is there is run at once.
    if (backfill.end_at === null && start >= end) end = Math.max(end, backfill.created_at.getTime());
    await setRange(sql, backfill.id, { start, end }, intervalsIn(start, end, lengthMs), clock.now());
    const run = nextOfRange(backfill.scheduled_until?.getTime() ?? start, end, lengthMs);
    if (run) {
      await advanceBackfill(sql, backfill, run, clock.now());
      return;
    }
    const ended = await completeBackfill(sql, backfill.id, clock.now());
    if (!ended) return;
    const { runs, failed } = ended;
    const line = {
      batch_export_id: backfill.batch_export_id,
      run_id: null,
      level: failed > 0 ? ("WARNING" as const) : ("INFO" as const),
      message: `Backfill finished: ${runs - failed} of ${runs} runs completed`,
    };
    await writeLog(sql, line, clock.now());
  }

  /** The interval boundary before the project's first data; undefined when there is none. */
  async #firstMoment({ project_id, model }: OpenBackfill, lengthMs: number): Promise<number | undefined> {
    const { text, params } = firstArrivalOf(project_id, model);
    const [found] = await this.#options.clickhouse.query<{ rows: string; first: string }>(text, params, {
      settings: { max_threads: 1 },
      kind: "export",
    });
    if (!found || found.rows === "0") return undefined;
    return alignedBefore(Number(found.first), lengthMs);
  }

  async #claim(): Promise<void> {
    const { sql, clock } = this.#options;
    const { through, unseen } = await readWatermarks(sql, clock.now());
    this.#report(unseen);
    const unable = this.#unable;
    if (unable.length > 0) await this.#tellUntaken({ now: clock.now(), through, unable });
    for (let look = 0; look < limits.claimLooksMax; look++) {
      if (await this.#begin({ now: clock.now(), through, unable })) return;
    }
  }

  /**
   * Starts as many due runs as there are places, shared by project; false when other processes claimed some of them.
   */
  async #begin(due: Due): Promise<boolean> {
    const { sql } = this.#options;
    const places = this.#places;
    if (places.free === 0 || this.#released.signal.aborted) return true;
    const waiting = (await dueRuns(sql, due, places.free)).map(({ id, project_id, backfill }) => ({
      id,
      owner: project_id,
      weight: backfill ? exportLimits.backfillWeight : 1,
    }));
    const wanted = places.takeFor(waiting);
    if (wanted.length === 0) return true;
    const ids = wanted.map(({ id }) => id);
    const claimed = new Map<string, ClaimedRun>();
    try {
      const claim = { owner: this.#owner, now: due.now, ids };
      for (const run of await claimRuns(sql, claim)) claimed.set(run.id, run);
    } finally {
      for (const { id, owner } of wanted) if (!claimed.has(id)) places.leave(owner);
    }
    for (const run of claimed.values()) this.#run(run);
    return claimed.size === wanted.length;
  }

  #run(run: ClaimedRun): void {
    const means = { ...this.#options, owner: this.#owner };
    const running = attemptRun(run, means, this.#released.signal).finally(() => {
      this.#running.delete(running);
      this.#places.leave(run.project_id);
      this.wake();
    });
    this.#running.add(running);
  }

  /** Once for each run, whichever process reports it. */
  async #tellUntaken(due: Due): Promise<void> {
    const { sql, log } = this.#options;
    for (const { id, batch_export_id } of await showUntaken(sql, due, untakenReason)) {
      log.warn("no server takes a batch export's run", { batch_export: batch_export_id, run: id });
      const line = { batch_export_id, run_id: id, level: "WARNING", message: untakenReason } as const;
      await writeLog(sql, line, due.now);
    }
  }

  /** Once for each journal that is gone: its last events may be missing in exports. */
  #report(unseen: readonly string[]): void {
    for (const journal of unseen) {
      if (this.#unseen.has(journal)) continue;
      this.#options.log.warn("a journal was not seen for a while: exports go on without it", { journal });
    }
    this.#unseen.clear();
    for (const journal of unseen) this.#unseen.add(journal);
  }

  async #forget(): Promise<void> {
    const { sql, clock } = this.#options;
    if (clock.elapsed() - this.#forgotAt < exportLimits.logsLookMs) return;
    this.#forgotAt = clock.elapsed();
    await forgetLogs(sql, clock.now());
  }
}

function tooManyProbes(): Fault {
  const detail = "Too many destinations are being tried out already. Please retry.";
  return new Fault("unavailable", detail, { retryAfterSeconds: 10 });
}
