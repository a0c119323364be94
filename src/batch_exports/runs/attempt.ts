// One attempt at a run: reads the export, delivers the interval, writes the result.

import type { Secrets } from "../../access/secret.ts";
import type { Clock } from "../../core/clock.ts";
import { exportLimits } from "../limits.ts";
import { type Log, reasonOf } from "../../core/log.ts";
import type { Lease } from "../../storage/postgres/lease_queue.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { checkPropertyFilters, compilePropertyFilters } from "../../storage/events/property_filter.ts";
import { ownColumns, personColumns } from "../source/columns.ts";
import { kill, type Means } from "../source/delivery.ts";
import type { Destination } from "../destinations/destination.ts";
import { deliver, openDestination } from "../destinations/destinations.ts";
import { ExportError, shownFailure } from "../destinations/failure.ts";
import type { ExportInterval } from "./interval.ts";
import { writeLog } from "../logs/store.ts";
import { compileQuery } from "../query/compile.ts";
import { isoText } from "../destinations/objects/object_key.ts";
import type { LogEntryLevel, RunStatus } from "../model.ts";
import { backoffMs } from "./state.ts";
import { type ClaimedRun, endRun, type Ending, pauseFailing } from "./store.ts";
import type { ExportSource, ExportStatement } from "../source/store.ts";

export interface RunCounts {
  /** An attempt ended with this status. */
  ended(status: RunStatus): void;
  rows(count: number): void;
  /** The duration of an attempt, in seconds. */
  seconds(value: number): void;
}

export interface RunMeans extends Means {
  sql: Postgres;
  secrets: Secrets;
  clock: Clock;
  log: Log;
  counts: RunCounts;
}

/** Makes one attempt and writes the result. */
export async function attemptRun(run: ClaimedRun, means: RunMeans, lease: Lease): Promise<void> {
  const { sql, clock, counts } = means;
  if (lease.signal.aborted) return;
  const began = clock.elapsed();
  const ending = await deliverRun(run, means, lease.signal);
  if (lease.signal.aborted) return;
  const bareError = ending.latest_error && "The run failed, and why could not be stored";
  const isOurs = await lease.end((bare) =>
    endRun(sql, run, bare ? { ...ending, latest_error: bareError } : ending, clock.now()),
  );
  if (!isOurs) return;
  counts.ended(ending.status);
  counts.rows(ending.records_completed ?? 0);
  counts.seconds((clock.elapsed() - began) / 1000);
  await tell(run, means, ending);
}

async function deliverRun(run: ClaimedRun, means: RunMeans, abort: AbortSignal): Promise<Ending> {
  const mark = `sluice export run ${run.id}`;
  const interval = intervalOf(run);
  const range = rangeText(interval);
  let secrets: readonly string[] = [];
  try {
    if (run.attempts >= exportLimits.attemptsMax) {
      throw new ExportError(
        `Given up: ${run.attempts} attempts failed, or their process ended while it ran`,
        true,
      );
    }
    await say(run, means, "INFO", `Starting batch export for range ${range}`);
    if (run.taken_over) {
      await say(run, means, "WARNING", "Its process is gone; another one takes it over from the beginning");
      await kill(means.clickhouse, mark).catch(() => {});
    }
    const hidden = means.secrets.open(run.destination_secrets);
    const destination = openDestination(run.destination_type, run.destination_config, hidden);
    secrets = destination.secrets;
    const source = sourceOf(run, destination, interval, means.clock.now());
    const rows = await deliver(destination, { ...means, source, mark, abort });
    return {
      status: "Completed",
      attempts: run.attempts,
      records_completed: rows,
      records_total_count: rows,
      latest_error: null,
    };
  } catch (thrown) {
    const { message, final } = shownFailure(thrown, secrets);
    const attempts = Math.min(exportLimits.attemptsMax, run.attempts + 1);
    const given_up = final || attempts >= exportLimits.attemptsMax;
    const pause = backoffMs(attempts, exportLimits.retryMsMin, exportLimits.retryMsMax);
    return {
      status: given_up ? "Failed" : "FailedRetryable",
      attempts,
      records_completed: null,
      records_total_count: null,
      latest_error: message,
      next_attempt_at: means.clock.now() + pause,
    };
  }
}

/** Logs how it ended, and pauses an export that keeps failing. */
async function tell(run: ClaimedRun, means: RunMeans, ending: Ending): Promise<void> {
  const about = `Batch export for range ${rangeText(intervalOf(run))}`;
  const { clock, sql, log } = means;
  const { records_completed: rows, latest_error: error } = ending;
  if (ending.status === "Completed") {
    if (rows === 0) {
      const none = "Batch export will finish early as there is no data matching specified filters";
      await say(run, means, "INFO", `${none} in range ${rangeText(intervalOf(run))}`);
    }
    await say(run, means, "INFO", `${about} finished successfully with ${rows} records exported`);
  } else if (ending.status === "FailedRetryable") {
    const seconds = Math.round(((ending.next_attempt_at ?? 0) - clock.now()) / 1000);
    const again = `attempt ${ending.attempts} failed; the next one begins in ${seconds} s`;
    await say(run, means, "WARNING", `${about}: ${again}: ${error}`);
  } else {
    await say(run, means, "ERROR", `${about} failed with a non-recoverable error: ${error}`);
    log.warn("a batch export's run failed", { batch_export: run.batch_export_id, run: run.id });
    if (await pauseFailing(sql, run.batch_export_id, clock.now())) {
      await say(run, means, "ERROR", pausedText);
    }
  }
}

/** A log line that cannot be written does not fail the run. */
async function say(
  run: ClaimedRun,
  { sql, clock, log }: RunMeans,
  level: LogEntryLevel,
  message: string,
): Promise<void> {
  const line = { batch_export_id: run.batch_export_id, run_id: run.id, level, message };
  await writeLog(sql, line, clock.now()).catch((thrown: unknown) => {
    log.debug("a line of an export's log was lost", { message, reason: reasonOf(thrown) });
  });
}

function intervalOf({ data_interval_start, data_interval_end }: ClaimedRun): ExportInterval {
  return { start: data_interval_start?.getTime() ?? null, end: data_interval_end.getTime() };
}

function sourceOf(
  run: ClaimedRun,
  destination: Destination,
  interval: ExportInterval,
  now: number,
): ExportSource {
  const { project_id, model, native_query, filters } = run;
  const own = native_query === null ? undefined : compileQuery(native_query, model);
  return {
    project_id,
    model,
    interval,
    choice: destination.choice,
    conditions: filters === null ? [] : [filterOf(filters, run, now)],
    columns: own ? ownColumns(own) : model === "persons" ? personColumns : destination.kind.columns,
    own,
  };
}

/** Filters were checked when they were stored. */
function filterOf(filters: unknown, { model: rows, project_id }: ClaimedRun, now: number): ExportStatement {
  const params: Record<string, unknown> = { project_id };
  const text = compilePropertyFilters(checkPropertyFilters(filters, "filters"), params, "f", { rows, now });
  return { text, params };
}

function rangeText({ start, end }: ExportInterval): string {
  return `${start === null ? "START" : isoText(start)} - ${isoText(end)}`;
}

const { failuresMax, failuresAmong } = exportLimits;
const pausedText = `Batch export paused: ${failuresMax} of its last ${failuresAmong} runs failed`;
