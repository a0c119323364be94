// The worker of batch exports: creates the runs that are due, claims those that may start, and delivers them. Several
// processes share the work; a run belongs to one of them.

import { unavailable } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { toReason } from "../../core/log.ts";
import { LeaseQueue } from "../../storage/postgres/lease_queue.ts";
import { readWatermarks } from "../../storage/watermark.ts";
import { Semaphore } from "../../work/semaphore.ts";
import type { Destination } from "../destinations/destination.ts";
import { type DestinationType, probe, unsupportedTypes } from "../destinations/destinations.ts";
import { shownFailure } from "../failure.ts";
import { findNextInRange, type Grid, intervalsIn, nextDue, openGrid } from "../interval.ts";
import { exportLimits } from "../limits.ts";
import { chooseMoment, readFirstMoment } from "../source/store.ts";
import { attemptRun, type RunServices } from "./run.ts";
import * as runStore from "./run_store.ts";
import * as schedule from "./schedule_store.ts";

/** Equal in all processes, so that it is logged once. */
const unservableReason =
  "No server can run this: files are written by one with EXPORT_FILE_DIR and the embedded ClickHouse";

export class ExportWorker extends LeaseQueue<runStore.ClaimedRun> {
  readonly #services: RunServices;
  readonly #probes = new Semaphore(
    exportLimits.probesAtOnceMax,
    exportLimits.probesWaitingMax,
    limits.waitingFreeMultiple,
  );
  #reported: ReadonlySet<string> = new Set();
  /** Destination types that this process cannot write to. */
  readonly #unsupported: readonly DestinationType[];
  /** Every event that arrived before it is stored. */
  #watermark = 0;
  #logsDeletedAt = Number.NEGATIVE_INFINITY;

  constructor(services: RunServices) {
    const { sql } = services;
    super({
      ...services,
      ...exportLimits,
      atOnceMax: exportLimits.runsAtOnceMax,
      pollMs: exportLimits.tickMs,
      name: "batch exports",
      rows: (now) => runStore.leasedRuns(sql, this.#due(now)),
      prepare: () => this.#prepare(),
      attempt: (run, lease) => attemptRun(run, services, lease),
    });
    this.#services = services;
    this.#unsupported = unsupportedTypes(services);
  }

  /**
   * Tests a destination; resolves to the reason why it does not work, or to undefined.
   * @throws Fault unavailable when too many are being tested, of this project or in all.
   */
  async probe(destination: Destination, project_id: number): Promise<string | undefined> {
    const wait = { owner: project_id, msMax: exportLimits.probeWaitMsMax, busy: tooManyProbes };
    return await this.#probes.run(wait, async () => {
      try {
        await probe(destination, this.#services);
        return undefined;
      } catch (thrown) {
        return shownFailure(thrown, destination.secrets).message;
      }
    });
  }

  /** Before runs are claimed: creates due ones, and ends those that are no longer wanted. */
  async #prepare(): Promise<void> {
    const { sql, clock } = this.#services;
    await this.#deleteOldLogs();
    await runStore.cancelOrphans(sql, clock.now());
    const now = clock.now();
    await schedule.scheduleRuns(sql, now, (due) => {
      const grid = openGrid(due);
      const run = nextDue(due, grid, now);
      const until = run?.end ?? Math.max(due.scheduled_until.getTime(), grid.before(now));
      return { run, until, due_at: grid.after(until) };
    });
    await this.#backfill();
    const { through, unseen } = await readWatermarks(sql, clock.now());
    this.#watermark = through;
    this.#reportUnseen(unseen);
    if (this.#unsupported.length > 0) await this.#reportUnservable(this.#due(clock.now()));
  }

  /** Backfills are no queue of leases: one is advanced by a single conditional UPDATE, so there is nothing to lease. */
  async #backfill(): Promise<void> {
    for (const backfill of await schedule.waitingBackfills(this.#services.sql)) {
      try {
        await this.#advance(backfill);
      } catch (thrown) {
        this.#services.log.warn("a backfill could not be advanced", {
          backfill: backfill.id,
          reason: toReason(thrown),
        });
      }
    }
  }

  async #advance(backfill: schedule.OpenBackfill): Promise<void> {
    const { sql, clock } = this.#services;
    const grid = openGrid(backfill);
    let end = backfill.range_end.getTime();
    const start = backfill.range_start?.getTime() ?? (await this.#firstMoment(backfill, grid)) ?? end;
    // All data is of the unfinished interval: it is exported at once.
    if (backfill.end_at === null && start >= end) end = Math.max(end, backfill.created_at.getTime());
    const subject = { batch_export_id: backfill.batch_export_id, run_id: null };
    const intervals = intervalsIn(start, end, grid);
    if (intervals > exportLimits.backfillRunsMax) {
      await schedule.endBackfill(sql, backfill.id, "Failed", clock.now());
      const found = `the first data is of ${new Date(start).toISOString()}, and until its end there are ${intervals}`;
      const message = `Backfill failed: ${found} intervals: send start_at`;
      await runStore.writeLog(sql, clock.now(), subject, "ERROR", message);
      return;
    }
    await schedule.setRange(sql, backfill.id, { start, end }, intervals, clock.now());
    const run = findNextInRange(backfill.scheduled_until?.getTime() ?? start, end, grid);
    if (run) {
      await schedule.advanceBackfill(sql, backfill, run, clock.now());
      return;
    }
    const ended = await schedule.endBackfill(sql, backfill.id, "Completed", clock.now());
    if (!ended) return;
    const { runs, failed } = ended;
    const message = `Backfill finished: ${runs - failed} of ${runs} runs completed`;
    await runStore.writeLog(sql, clock.now(), subject, failed > 0 ? "WARNING" : "INFO", message);
  }

  /** The interval boundary before the project's first data; undefined when there is none. */
  async #firstMoment({ project_id, model, by_timestamp }: schedule.OpenBackfill, grid: Grid) {
    const { clickhouse } = this.#services;
    const first = await readFirstMoment(clickhouse, project_id, chooseMoment(model, by_timestamp));
    return first === undefined ? undefined : grid.before(first);
  }

  #due(now: number): runStore.Due {
    return { now, watermark: this.#watermark, unsupported: this.#unsupported };
  }

  /** Reports each run once, whichever process does. */
  async #reportUnservable(due: runStore.Due): Promise<void> {
    const { sql, log } = this.#services;
    for (const { id, batch_export_id } of await runStore.markUnservable(sql, due, unservableReason)) {
      log.warn("no server can run a batch export", { batch_export: batch_export_id, run: id });
      await runStore.writeLog(sql, due.now, { batch_export_id, run_id: id }, "WARNING", unservableReason);
    }
  }

  /** Reports each unseen journal once: exports may miss its last events. */
  #reportUnseen(unseen: readonly string[]): void {
    const before = this.#reported;
    this.#reported = new Set(unseen);
    for (const journal of this.#reported.difference(before)) {
      const message = "a journal has not reported for a while: exports continue without it";
      this.#services.log.warn(message, { journal });
    }
  }

  async #deleteOldLogs(): Promise<void> {
    const { sql, clock } = this.#services;
    if (clock.elapsed() - this.#logsDeletedAt < exportLimits.logsPollMs) return;
    this.#logsDeletedAt = clock.elapsed();
    await runStore.deleteOldLogs(sql, clock.now());
  }
}

const tooManyProbes = () =>
  unavailable("Too many destinations are being tried out already. Please retry.", 10);
