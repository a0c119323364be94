// A run of an export, from top to bottom. Its steps:
//
//   claim      run_store.ts leases a run that is due to this process, as long as the process lives
//   watermark  it is due only when every journal has passed its interval's end: nothing of it can come later
//   read       the rows are counted; persons are copied first, since they change
//   convert    the columns of a native_query get the types that the engine gives them
//   write      the destination gets the rows, under the same names in every attempt
//   record     the end is stored, unless the claim was lost; then its log and its counts

import type { Secrets } from "../../access/secret.ts";
import { keptFrom } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import { toReason } from "../../core/log.ts";
import type { SqlParser } from "../../query/sql/parser/parser.ts";
import { readStoredZone } from "../../storage/clickhouse/zones.ts";
import { checkPropertyFilters, compilePropertyFilters } from "../../storage/events/property_filter.ts";
import type { Lease } from "../../storage/postgres/lease_queue.ts";
import type { Uses } from "../../storage/services.ts";
import type { Destination } from "../destinations/destination.ts";
import { openDestination } from "../destinations/destinations.ts";
import { ExportError, shownFailure } from "../failure.ts";
import { isoText } from "../interval.ts";
import { exportLimits } from "../limits.ts";
import type { LogEntryLevel, RunStatus } from "../model.ts";
import { compileQuery } from "../query/compile.ts";
import { ownColumns, personColumns, toTypedColumn } from "../source/columns.ts";
import * as statements from "../source/statements.ts";
import * as rowSource from "../source/store.ts";
import * as runStore from "./run_store.ts";

export interface RunCounts {
  ended(status: RunStatus): void;
  rows(count: number): void;
  /** The duration of an attempt, in seconds. */
  seconds(value: number): void;
}

export interface RunServices extends statements.ExportServices, Uses<"sql" | "log"> {
  secrets: Secrets;
  parse: SqlParser["parse"];
  counts: RunCounts;
  /** Days after which events expire; a project may have fewer. Undefined: they are kept. */
  eventRetentionDays?: number | undefined;
}

type Attempt = RunServices & { run: runStore.ClaimedRun };

/** One attempt at a claimed run. An error of a step ends the attempt. */
export async function attemptRun(run: runStore.ClaimedRun, services: RunServices, lease: Lease) {
  const { signal: abort } = lease;
  if (abort.aborted) return;
  const attempt = { ...services, run };
  const began = services.clock.elapsed();
  let secrets: readonly string[] = [];
  let result: runStore.AttemptResult;
  try {
    const tag = `sluice export run ${run.id}`;
    await begin(attempt, tag);
    const storedSecrets = services.secrets.open(run.destination_secrets);
    const destination = openDestination(run.destination_type, run.destination_config, storedSecrets);
    secrets = destination.secrets;
    const source = await buildSource(attempt, destination);
    const refused: statements.ExportWork["refused"] = { count: 0, named: [] };
    const place = readPlace(run);
    let written: readonly string[] = [];
    const record = async (keys: readonly string[]): Promise<void> => {
      written = keys;
      await runStore.recordFiles(services.sql, run, place, keys);
    };
    const rows = await withRows({ ...services, source, tag, abort, refused, record }, async (work) =>
      work.rows === 0 ? 0 : await destination.kind.write(await convert(work), destination.config),
    );
    await removeStale({ ...attempt, tag, abort }, destination, place, written);
    await writeRefused(attempt, refused);
    const counts = { completed: rows, failed: refused.count };
    result = { status: "Completed", attempts: run.attempts, rows: counts };
  } catch (thrown) {
    result =
      thrown instanceof IntervalExpired
        ? { status: "Cancelled", attempts: run.attempts, latest_error: thrown.message }
        : failedResult(run, shownFailure(thrown, secrets), services.clock.now());
  }
  if (!abort.aborted) await record(attempt, lease, result, began);
}

async function begin(attempt: Attempt, tag: string): Promise<void> {
  const { run } = attempt;
  if (run.attempts >= exportLimits.attemptsMax)
    throw new ExportError(`Stopped after ${run.attempts} attempts: each failed, or its process ended`, true);
  await writeLine(attempt, "INFO", `Starting batch export for range ${rangeText(run)}`);
  await refuseExpired(attempt);
  if (!run.taken_over) return;
  await writeLine(attempt, "WARNING", "The process ended; another one restarts the run");
  await statements.killStatements(attempt.clickhouse, tag).catch(() => {});
}

/** The run would replace files of events that have expired since. It is no failure of its export. */
class IntervalExpired extends ExportError {
  constructor() {
    super("Events of its interval have expired: the files that an earlier run wrote stay", true);
  }
}

/** @throws IntervalExpired */
async function refuseExpired({ run, sql, clock, eventRetentionDays }: Attempt): Promise<void> {
  const days = run.event_retention_days ?? eventRetentionDays;
  if (run.model !== "events" || days === undefined) return;
  if ((run.data_interval_start?.getTime() ?? 0) >= keptFrom(clock.now(), days)) return;
  if (await runStore.wasExported(sql, run, readPlace(run))) throw new IntervalExpired();
}

async function buildSource(attempt: Attempt, destination: Destination): Promise<rowSource.ExportSource> {
  const { run, sql, clock, parse, clickhouse } = attempt;
  const { project_id, model, native_query, filters, by_timestamp } = run;
  const compiled =
    native_query === null ? undefined : await compileQuery(parse, native_query, run, clickhouse.zones);
  return {
    project_id,
    model,
    interval: { start: run.data_interval_start?.getTime() ?? null, end: run.data_interval_end.getTime() },
    // The id ends in random digits; it begins with the time.
    own_name: run.own_names ? `_${run.batch_export_id.slice(-8)}` : "",
    exported: model === "persons" ? await runStore.readExported(sql, run) : undefined,
    moment: rowSource.chooseMoment(model, by_timestamp),
    events: destination.events,
    conditions: filters === null ? [] : [compileFilter(run, clock.now())],
    columns: compiled ? ownColumns(compiled) : model === "persons" ? personColumns : destination.kind.columns,
    compiled,
  };
}

/** Filters were checked when they were stored. */
function compileFilter({ filters, model, project_id, timezone }: runStore.ClaimedRun, now: number) {
  const params: Record<string, unknown> = { project_id };
  const options = { rows: model, now, timezone: readStoredZone(timezone) };
  const text = compilePropertyFilters(checkPropertyFilters(filters, "filters"), params, "f", options);
  return { text, params };
}

/** Persons are copied to a table until `write` has ended: the rows that are written must be those counted. */
async function withRows(
  work: statements.UncountedWork,
  write: (work: statements.ExportWork) => Promise<number>,
): Promise<number> {
  if (work.source.model === "events") return await write(await withRowCount(work));
  const copyId = crypto.randomUUID();
  try {
    await statements.runInsert(work, rowSource.copyStatement(work.source, copyId, work.tag), {});
    return await write(await withRowCount({ ...work, source: { ...work.source, copyId } }));
  } finally {
    const { text, params } = rowSource.dropCopy(copyId, work.clickhouse.tables);
    // A table that could not be dropped is dropped later, by its age.
    await work.clickhouse.command(text, params, { timeoutMs: limits.connectMsMax }).catch(() => {});
  }
}

async function withRowCount(work: statements.UncountedWork): Promise<statements.ExportWork> {
  const found = await statements.queryRows<{ day: string }>(work, rowSource.selectDays(work.source));
  const days = found.map(({ day }) => day);
  if (days.length === 0) return { ...work, days, rows: 0 };
  const count = rowSource.countExported(work.source, days);
  const [counted] = await statements.queryRows<{ rows: string }>(work, count);
  return { ...work, days, rows: Number(counted?.rows ?? 0) };
}

async function convert(work: statements.ExportWork): Promise<statements.ExportWork> {
  const { source, days } = work;
  if (!source.compiled) return work;
  const types = await statements.queryRows<{ type: string }>(work, rowSource.describeRows(source, days));
  const columns = source.columns.map((column, i) => toTypedColumn(column, types[i]?.type ?? "String"));
  return { ...work, source: { ...source, columns } };
}

type Failure = ReturnType<typeof shownFailure>;

function failedResult(run: runStore.ClaimedRun, failure: Failure, now: number): runStore.AttemptResult {
  const { attemptsMax, retryMsMin, retryMsMax } = exportLimits;
  const attempts = Math.min(attemptsMax, run.attempts + 1);
  const status = failure.final || attempts >= attemptsMax ? "Failed" : "FailedRetryable";
  const next_attempt_at = now + backoffMs(attempts, retryMsMin, retryMsMax);
  return { status, attempts, latest_error: failure.message, next_attempt_at };
}

/** The pause after the nth failed attempt, in ms: doubles each time, up to `lastMs`. */
export function backoffMs(failures: number, firstMs: number, lastMs: number): number {
  return Math.min(lastMs, firstMs * 2 ** Math.max(0, failures - 1));
}

/** Stores nothing when the claim was lost. An export that keeps failing is paused. */
async function record(attempt: Attempt, lease: Lease, result: runStore.AttemptResult, began: number) {
  const { run, sql, clock, counts, log } = attempt;
  const { status, latest_error: error, rows: { completed: rows } = { completed: 0 } } = result;
  const why = "The run failed, and why could not be stored";
  const bare = error === undefined ? result : { ...result, latest_error: why };
  const end = (isBare: boolean) => runStore.endRun(sql, run, isBare ? bare : result, clock.now());
  if (!(await lease.end(end))) return;
  if (status === "Cancelled") return await writeLine(attempt, "WARNING", `${rangeText(run)}: ${error}`);
  counts.ended(status);
  counts.rows(rows);
  counts.seconds((clock.elapsed() - began) / 1000);
  const range = rangeText(run);
  const subject = `Batch export for range ${range}`;
  if (status === "Completed") {
    const noRows = "Batch export will finish early as there is no data matching specified filters in range";
    if (rows === 0) await writeLine(attempt, "INFO", `${noRows} ${range}`);
    await writeLine(attempt, "INFO", `${subject} finished successfully with ${rows} records exported`);
  } else if (status === "FailedRetryable") {
    const seconds = Math.round(((result.next_attempt_at ?? 0) - clock.now()) / 1000);
    const retry = `attempt ${result.attempts} failed; the next one begins in ${seconds} s`;
    await writeLine(attempt, "WARNING", `${subject}: ${retry}: ${error}`);
  } else {
    await writeLine(attempt, "ERROR", `${subject} failed with a non-recoverable error: ${error}`);
    log.warn("a batch export's run failed", { batch_export: run.batch_export_id, run: run.id });
    const { failuresMax, failuresAmong } = exportLimits;
    const paused = `Batch export paused: ${failuresMax} of its last ${failuresAmong} runs failed`;
    if (await runStore.pauseFailing(sql, run.batch_export_id, clock.now()))
      await writeLine(attempt, "ERROR", paused);
  }
}

/**
 * Removes what earlier attempts at the interval wrote under names that this one did not use. What cannot be removed is
 * reported in the run's log, and tried again by the interval's next run.
 */
async function removeStale(
  attempt: Attempt & statements.Writing,
  { kind, config }: Destination,
  place: string,
  written: readonly string[],
): Promise<void> {
  const { run, sql, abort } = attempt;
  if (!kind.remove || abort.aborted) return;
  const stale = await runStore.readStale(sql, run, place, written);
  if (stale.length === 0) return;
  try {
    await kind.remove(attempt, config, stale);
    await runStore.forgetFiles(sql, run, written.length > 0);
  } catch (thrown) {
    if (abort.aborted) throw thrown;
    const what = `Files of an earlier attempt could not be removed (${stale.length}, the first is ${stale[0]})`;
    await writeLine(attempt, "WARNING", `${what}: ${toReason(thrown)}`);
  }
}

/** Reads the place whose names depend on the interval alone. */
function readPlace({ destination_config: config, model, own_names }: runStore.ClaimedRun): string {
  const names = ["endpoint_url", "bucket_name", "account_name", "container_name", "path", "prefix"];
  return JSON.stringify([model, own_names, ...names.map((name) => config[name] ?? "")]);
}

async function writeRefused(attempt: Attempt, refused: statements.ExportWork["refused"]): Promise<void> {
  for (const [reason, rows] of Map.groupBy(refused.named, (row) => row.reason)) {
    for (let from = 0; from < rows.length; from += uuidsPerLine) {
      const uuids = rows.slice(from, from + uuidsPerLine).map(({ uuid }) => uuid.slice(0, uuidChars));
      await writeLine(attempt, "WARNING", `Refused because of ${reason}: ${uuids.join(", ")}`);
    }
  }
  const unnamed = refused.count - refused.named.length;
  if (unnamed > 0) await writeLine(attempt, "WARNING", `Refused, and not named here: ${unnamed} more`);
}

const uuidChars = 36;
/** The number that fits in a line of the log. */
const uuidsPerLine = 40;

/** A log line that cannot be written does not fail the run. */
async function writeLine({ run, sql, clock, log }: Attempt, level: LogEntryLevel, message: string) {
  const subject = { batch_export_id: run.batch_export_id, run_id: run.id };
  await runStore.writeLog(sql, clock.now(), subject, level, message).catch((thrown: unknown) => {
    log.debug("a line of an export's log was lost", { message, reason: toReason(thrown) });
  });
}

function rangeText({ data_interval_start: start, data_interval_end: end }: runStore.ClaimedRun): string {
  return `${start === null ? "START" : isoText(start.getTime())} - ${isoText(end.getTime())}`;
}
