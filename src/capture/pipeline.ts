// The stages of a body: scan, authorize, append, commit, report. Knows nothing of HTTP.

import type { ProjectKeys } from "../access/project_keys.ts";
import { free } from "../core/chunks.ts";
import { yieldToEventLoop } from "../core/clock.ts";
import { Fault, unavailable } from "../core/fault.ts";
import { RepairableFault } from "../core/json/json_walker.ts";
import type { MemoryLease } from "../work/bodies/memory_budget.ts";
import { appendEvents } from "./append_events.ts";
import type { AppendContext } from "./append_slow_path.ts";
import type { CaptureJournal, EventLane } from "./capture_journal.ts";
import type { CaptureOptions, CaptureResult, EndpointRules } from "./capture_options.ts";
import { refuseCookieless } from "./cookieless/visit.ts";
import { openBodyQuota } from "./daily_quota/daily_quotas.ts";
import { repairBody } from "./decode/repair.ts";
import { Outcomes, type Reason, type Warning } from "./fields/outcome.ts";
import { CommitGroups } from "./journal/lane.ts";
import { captureLimits } from "./limits.ts";
import type { ReceivedBody } from "./receive/received_body.ts";
import { Recorder } from "./recordings/recorder.ts";
import { BodyScanner } from "./scan/body_scanner.ts";
import { type EventIndex, isHistorical, isNoBatch, readBodyKey } from "./scan/event_index.ts";
import { readEventTime } from "./scan/timestamp.ts";

/** A body, and what else its request has. */
export interface CaptureInput
  extends Pick<EndpointRules, "allowsNameless">, Partial<Pick<EndpointRules, "isForBatches">> {
  /** Closed by its receiver, once the promise of capture() is settled. */
  body: ReceivedBody;
  /** When the client sent it by its own clock, in microseconds since 1970; NaN when only the body may have it. */
  sent_at: number;
  isVerbose?: boolean;
  /** Why items that are not objects are ignored, by their index in the batch. */
  refused?: ReadonlyMap<number, Reason>;
  /** Collects the first warning of each event, by the event's index in the batch. */
  warnings?: Map<number, Warning>;
  /** The request's lease; memory for copies of long recordings is acquired from it. */
  lease?: MemoryLease;
  /** The client's address, if it is known; read only for cookieless events, and not stored. */
  address?: () => string | undefined;
}

/**
 * Captures one body: scan, authorize, append, commit, report. When it resolves, every accepted event is as safe as
 * `ack` requires, and events and warnings are counted.
 * @throws Fault for a body refused whole; then nothing of it is stored.
 */
export async function capture(input: CaptureInput, options: CaptureOptions): Promise<CaptureResult> {
  if (input.body.bytes.length === 0) throw new Fault("no_data", "The request has no body.");
  if (options.journal.isFull) throw unavailable("Events cannot be stored right now. Send them again later.");
  const received = options.clock.now() * 1000;
  // A short body of a known project goes from scan to append in one turn of the event loop: each further turn costs as
  // much as its scan.
  const scanning = scan(input);
  const scanner = scanning instanceof BodyScanner ? scanning : await scanning;
  const authorizing = authorize(scanner.index, input, options.keys);
  const project_id = typeof authorizing === "number" ? authorizing : await authorizing;
  // Memory of the lists of ignored events and of warnings.
  const listed = Math.min(scanner.index.items, captureLimits.ignoredListMax);
  if (input.isVerbose) input.lease?.acquire(listed * captureLimits.listedBytes);
  const progress = begin(scanner, { project_id, received }, input, options);
  let accepted = 0;
  try {
    const appending = appendEvents(progress);
    // The names of ignored events and warnings are read from the body later.
    if (scanner.index.ignored.total + progress.warned.total > 0) scanner.index.detach();
    accepted = typeof appending === "number" ? appending : await appending;
    await commit(progress, accepted, options.ack);
  } catch (thrown) {
    progress.quota?.settle(0);
    throw thrown;
  }
  progress.quota?.settle(accepted);
  return await report(progress, accepted, options);
}

/** Indexes a body, or its repaired copy. @throws Fault for one that is malformed and cannot be repaired. */
function scan(input: CaptureInput): BodyScanner | Promise<BodyScanner> {
  const { allowsNameless, refused, isVerbose } = input;
  const scanner = input.body.scanner({ allowsNameless, refused, isVerbose });
  try {
    if (scanFirst(scanner)) return scanner;
  } catch (thrown) {
    return scanRepaired(thrown, input);
  }
  return scanOn(scanner).catch((thrown: unknown) => scanRepaired(thrown, input));
}

/** Scans the first slice, or all of a short body; true when all of it is scanned. */
export function scanFirst(scanner: BodyScanner): boolean {
  const { index } = scanner;
  let isDone: boolean;
  do isDone = scanner.advance(captureLimits.sliceBytesMax);
  while (!isDone && index.isShared);
  // More events than fit in the shared memory are appended in slices.
  if (!index.fast) index.detach();
  return isDone;
}

/** Scans what follows the first slice, and yields to the event loop between slices. */
export async function scanOn(scanner: BodyScanner): Promise<BodyScanner> {
  do await yieldToEventLoop();
  while (!scanner.advance(captureLimits.sliceBytesMax));
  return scanner;
}

async function scanRepaired(
  thrown: unknown,
  { body, allowsNameless, refused, isVerbose, lease }: CaptureInput,
): Promise<BodyScanner> {
  if (!(thrown instanceof RepairableFault)) throw thrown;
  const repaired = await repairBody(body.bytes, lease);
  if (!repaired) throw thrown;
  return await scanOn(body.scanner({ allowsNameless, refused, isVerbose, repaired }));
}

/** The project whose key the body names. @throws Fault as readBodyKey() and ProjectKeys.admit(). */
function authorize(index: EventIndex, input: CaptureInput, keys: ProjectKeys): number | Promise<number> {
  const key = readBodyKey(index);
  if (input.isForBatches && isNoBatch(index))
    throw new Fault("invalid_payload", "The body has no batch: send an array of events as batch.");
  const known = keys.find(key);
  if (known !== undefined) return known;
  index.detach();
  return keys.admit(key);
}

/** The append of one body, from begin() to report(). */
interface CaptureProgress extends AppendContext {
  lanes: ReturnType<typeof openLanes>;
}

/**
 * Prepares the append: the lane, the client's clock skew, how cookieless events are handled.
 * @throws Fault as CaptureQuota.chooseLane() and refuseCookieless().
 */
function begin(
  scanner: BodyScanner,
  { project_id, received }: { project_id: number; received: number },
  input: CaptureInput,
  options: CaptureOptions,
): CaptureProgress {
  const { journal, keys, groupTypes, definitions, salts, dailyQuotas } = options;
  const { recordingRetentionDays: retentionDays } = options;
  const quota = keys.dailyEventQuota(project_id);
  const { index } = scanner;
  const { allowsNameless, lease, address } = input;
  const historical_migration = isHistorical(index);
  const lanes = openLanes(journal, project_id, historical_migration);
  const skew = readSkew(index, received, input.sent_at);
  const cookieless = { ...keys.cookieless(project_id), salts: salts.days, zones: salts.zones, address };
  const now = received / 1000;
  // Nearly always the salts of all days in question are known, and the entries need not be searched.
  if (cookieless.enabled && (now < salts.wholeFrom || now >= salts.wholeUntil)) refuseCookieless(index);
  const groups = new CommitGroups();
  const wanted = keys.records(project_id);
  const ofEvent = { project_id, historical_migration, received, skew };
  const warned = Object.assign(new Outcomes<Warning>(), {
    firsts: input.warnings,
    isListed: input.isVerbose,
  });
  return {
    scanner,
    lanes,
    groups,
    journal,
    definitions,
    eventContext: { ...ofEvent, allowsNameless, groupTypes, cookieless },
    warned,
    quota: quota === Number.POSITIVE_INFINITY ? undefined : openBodyQuota(dailyQuotas, project_id, quota),
    newRecorder: () =>
      new Recorder({ project_id, received, skew, journal, wanted, retentionDays, lease, groups, warned }),
  };
}

/**
 * The lanes of one body's events: one, unless the project has so much pending meanwhile that its further events go to
 * the historical lane. @throws Fault as CaptureQuota.chooseLane().
 */
function openLanes(journal: CaptureJournal, project_id: number, isHistorical: boolean) {
  const { live, historical, quota } = journal;
  const used = [quota.chooseLane(project_id, isHistorical)];
  return {
    /** The lane for the next rows. Nothing is refused here: a body that was begun is appended to its end. */
    next: (): EventLane => {
      if (used.at(-1) === live && quota.isOverLiveQuota(project_id)) used.push(historical);
      return used.at(-1)!;
    },
    /** Resolves when all rows of these lanes that are on disk now are in ClickHouse. */
    stored: () => Promise.all(used.map((lane) => journal.stored(lane))),
  };
}

/** Resolves when all rows are as safe as `ack` requires. @throws Fault unavailable when some could not be written. */
async function commit(
  { groups, lanes, recorder }: CaptureProgress,
  accepted: number,
  ack: CaptureOptions["ack"],
): Promise<void> {
  groups.check();
  const committing = groups.commit();
  if (ack === "memory") return void committing.catch(() => {});
  await committing;
  if (ack === "stored") await Promise.all([accepted > 0 && lanes.stored(), recorder?.stored()]);
}

/** Counts the outcomes of the events, and writes the warnings. */
async function report(
  progress: CaptureProgress,
  accepted: number,
  options: CaptureOptions,
): Promise<CaptureResult> {
  const { warned, recorder, eventContext } = progress;
  const { project_id, historical_migration } = eventContext;
  const { index } = progress.scanner;
  const { ignored, repaired } = index;
  const { counts, book, ack } = options;
  const { recorded = 0, unwanted = false } = recorder ?? {};
  counts.received(accepted + recorded + ignored.total);
  counts.accepted(historical_migration ? "historical" : "live", accepted);
  if (recorded > 0) counts.accepted("recordings", recorded);
  if (!historical_migration && accepted > 0) book.count(project_id, accepted);
  if (ignored.total + warned.total > 0) {
    for (const [reason, events] of ignored.counts) counts.ignored(reason, events);
    for (const [warning, events] of warned.counts) counts.warned(warning, events);
    const written = book.record(project_id, { ignored, warned }, index.bytes, repaired);
    if (ack !== "memory") await written;
  }
  if (repaired) free(index.bytes);
  return { project_id, accepted: accepted + recorded, recordingsUnwanted: unwanted, ignored, warned };
}

/**
 * How far the client's clock is ahead, in microseconds; 0 when it is unknown, or the difference is no more than
 * transit. A batch has the clock in its `sent_at`, or else in its request's query or form. A single event's `sent_at`
 * does not count.
 */
function readSkew(index: EventIndex, received: number, requestSentAt: number): number {
  const range = index.shape === "batch" ? index.member("sent_at") : undefined;
  const isText = range && index.bytes[range[0]] === 0x22;
  const batchSentAt = isText ? readEventTime(index.bytes, range[0], range[1], received) : Number.NaN;
  const skew = (Number.isNaN(batchSentAt) ? requestSentAt : batchSentAt) - received;
  return Math.abs(skew) >= captureLimits.skewMicrosMin ? skew : 0;
}
