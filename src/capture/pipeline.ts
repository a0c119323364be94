// The way of a body: scan, authorize, append, commit, report. Nothing of HTTP is known here.

import { type Clock, yieldToEventLoop } from "../core/clock.ts";
import { free } from "../core/chunks.ts";
import { Fault } from "../core/fault.ts";
import { captureLimits } from "./limits.ts";
import type { MemoryLease } from "../work/memory_budget.ts";
import type { ProjectKeys } from "../access/project_keys.ts";
import { isHistorical, isNoBatch, keyOf } from "./event/body_key.ts";
import type { Salts } from "./cookieless/salts.ts";
import { visitingOf } from "./cookieless/visiting.ts";
import { readEventTime } from "./event/event.ts";
import type { GroupTypes } from "./event/groups.ts";
import type { Journal } from "./journal/journal.ts";
import { type Appending, appendEvents } from "./columns/append_events.ts";
import { Outcomes, type Reason, type Warning } from "./event/outcome.ts";
import { Recorder } from "./recordings/recorder.ts";
import { repairBody } from "./decode/repair.ts";
import { BodyScanner } from "./scan/body_scanner.ts";
import type { EventLaneName } from "./journal/segments/segment.ts";
import type { EventIndex } from "./scan/event_index.ts";
import { RepairableFault } from "./scan/json_lexer.ts";
import { CommitGroups } from "./journal/commit_waiters.ts";
import { UsedLanes } from "./journal/used_lanes.ts";
import type { ReceivedBody } from "./receive/received_body.ts";
import type { WarningBook } from "./warnings/warning_book.ts";

export interface CaptureCounts {
  /** Every event of an answered request: accepted + ignored. */
  received(events: number): void;
  accepted(lane: EventLaneName, events: number): void;
  ignored(reason: Reason, events: number): void;
  /** Accepted events that were altered or lack what their kind needs; one event may have several warnings. */
  warned(warning: Warning, events: number): void;
}

export interface CaptureOptions {
  journal: Journal;
  keys: ProjectKeys;
  book: WarningBook;
  counts: CaptureCounts;
  clock: Clock;
  groupTypes: GroupTypes;
  /** Of the days whose events without a cookie are taken. */
  salts: Salts;
  /** When an answer may be sent: rows on disk, in ClickHouse, or only in memory. */
  ack: "journal" | "stored" | "memory";
  recordingRetentionDays: number;
}

/** A body, and what its request says beside it. */
export interface Sent {
  /** It is closed by whoever received it, once the promise is settled. */
  body: ReceivedBody;
  /** When the client sent it by its own clock, in microseconds since 1970; NaN when only the body may say. */
  sent_at: number;
  /** Events without a name are `$identify` calls (/engage). */
  nameless: boolean;
  /** Sent where batches go: an object that is neither a batch nor an event lacks its `batch`. */
  asBatch?: boolean;
  /** Why items stand for nothing that are no objects, by their place in the batch. */
  refused?: ReadonlyMap<number, Reason>;
  /** Where the first warning of each event is noted, by its place in the batch. */
  warnings?: Map<number, Warning>;
  /** What the request holds; long recordings are copied, and their copies acquired from it. */
  lease?: MemoryLease;
  /** The client's address, if it is known; asked only for events without a cookie, and never kept. */
  address?: () => string | undefined;
}

export interface Captured {
  /** Events and snapshots. */
  accepted: number;
  /** Whether snapshots were left because the project wants none. */
  recordingsUnwanted: boolean;
  ignored: Outcomes<Reason>;
  warned: Outcomes<Warning>;
}

/**
 * Takes one body in: scan, authorize, append, commit, report. When it resolves, every accepted event is as safe as
 * `ack` says, and counted; and so is what is told of ignored and altered ones.
 * @throws Fault for a body refused whole; then nothing of it is kept.
 */
export async function capture(sent: Sent, options: CaptureOptions): Promise<Captured> {
  if (sent.body.bytes.length === 0) throw new Fault("no_data", "The request has no body.");
  if (options.journal.full) throw journalFull();
  const received = options.clock.now() * 1000;
  // A short body of a known project goes from scan to append in one turn: each further one costs as much as its scan.
  const scanning = scan(sent);
  const scanner = scanning instanceof BodyScanner ? scanning : await scanning;
  const authorizing = authorize(scanner.index, sent, options.keys);
  const project_id = typeof authorizing === "number" ? authorizing : await authorizing;
  const taking = begin(scanner, { project_id, received }, sent, options);
  const appending = appendEvents(taking);
  // What is told of odd events is read out of the body later.
  if (scanner.index.ignored.total + taking.warned.total > 0) scanner.index.detach();
  const accepted = typeof appending === "number" ? appending : await appending;
  await commit(taking, accepted, options.ack);
  return await report(taking, accepted, options);
}

/** Indexes a body, or its repaired copy. @throws Fault for one that is malformed and cannot be repaired. */
function scan(sent: Sent): BodyScanner | Promise<BodyScanner> {
  const { nameless, refused } = sent;
  const scanner = sent.body.scanner({ nameless, refused });
  try {
    if (scanFirst(scanner)) return scanner;
  } catch (thrown) {
    return scanRepaired(thrown, sent);
  }
  return scanOn(scanner).catch((thrown: unknown) => scanRepaired(thrown, sent));
}

/** Scans the first slice, or all of a short body; true when it is through. */
export function scanFirst(scanner: BodyScanner): boolean {
  const { index } = scanner;
  let isThrough: boolean;
  do isThrough = scanner.advance(captureLimits.sliceBytesMax);
  while (!isThrough && index.isShared);
  // More events than the shared memory has room for are appended in slices.
  if (!index.fast) index.detach();
  return isThrough;
}

/** Goes on behind the first slice; others get their turn between slices. */
export async function scanOn(scanner: BodyScanner): Promise<BodyScanner> {
  do await yieldToEventLoop();
  while (!scanner.advance(captureLimits.sliceBytesMax));
  return scanner;
}

async function scanRepaired(thrown: unknown, { body, nameless, refused, lease }: Sent): Promise<BodyScanner> {
  if (!(thrown instanceof RepairableFault)) throw thrown;
  const repaired = await repairBody(body.bytes, lease);
  if (!repaired) throw thrown;
  return await scanOn(new BodyScanner(repaired.bytes, { nameless, refused, repaired }));
}

/** The project whose key the body names. @throws Fault as keyOf() and ProjectKeys.admit(). */
function authorize(index: EventIndex, sent: Sent, keys: ProjectKeys): number | Promise<number> {
  const key = keyOf(index);
  if (sent.asBatch && isNoBatch(index))
    throw new Fault("invalid_payload", "The body has no batch: send an array of events as batch.");
  const known = keys.find(key);
  if (known !== undefined) return known;
  index.detach();
  return keys.admit(key);
}

/** What one body's events are appended with. */
interface Taking extends Appending {
  lanes: UsedLanes;
}

function begin(
  scanner: BodyScanner,
  { project_id, received }: { project_id: number; received: number },
  sent: Sent,
  options: CaptureOptions,
): Taking {
  const { journal, keys, groupTypes, recordingRetentionDays: retentionDays } = options;
  const { index } = scanner;
  const { nameless, lease } = sent;
  const historical_migration = isHistorical(index);
  const lanes = new UsedLanes(journal, project_id, historical_migration);
  const skew = skewOf(index, received, sent.sent_at);
  const visiting = visitingOf(options, project_id, received, index, sent.address);
  const groups = new CommitGroups();
  const wanted = keys.records(project_id);
  return {
    scanner,
    sending: { project_id, historical_migration, received, skew, nameless, groupTypes, visiting },
    warned: new Outcomes<Warning>(sent.warnings),
    lanes,
    groups,
    journal,
    recorder: new Recorder({ project_id, received, journal, wanted, retentionDays, lease, groups }),
  };
}

/** Resolves when all rows are as safe as `ack` says. @throws Fault unavailable when some could not be written. */
async function commit(
  { groups, lanes, recorder }: Taking,
  accepted: number,
  ack: CaptureOptions["ack"],
): Promise<void> {
  groups.check();
  const committing = groups.commit();
  if (ack === "memory") return void committing.catch(() => {});
  await committing;
  if (ack === "stored") await Promise.all([accepted > 0 && lanes.stored(), recorder.stored()]);
}

/** Counts what became of the events, and has warnings noted. */
async function report(taking: Taking, accepted: number, options: CaptureOptions): Promise<Captured> {
  const { warned, recorder, sending } = taking;
  const { project_id, historical_migration } = sending;
  const { bytes, ignored, repaired } = taking.scanner.index;
  const { counts, book, ack } = options;
  const { taken } = recorder;
  counts.accepted(historical_migration ? "historical" : "live", accepted);
  countFates(counts, { accepted, taken, ignored, warned });
  if (!historical_migration && accepted > 0) book.count(project_id, accepted);
  if (ignored.total + warned.total > 0) {
    const noted = book.note({ project_id, bytes, ignored, warned, repaired });
    if (ack !== "memory") await noted;
  }
  if (repaired && ack !== "memory") free(bytes);
  return { accepted: accepted + taken, recordingsUnwanted: recorder.unwanted, ignored, warned };
}

/** What became of a body's events, but for the lane they went to. */
interface Fates {
  accepted: number;
  /** Snapshots that were taken. */
  taken: number;
  ignored: Outcomes<Reason>;
  warned: Outcomes<Warning>;
}

function countFates(counts: CaptureCounts, { accepted, taken, ignored, warned }: Fates): void {
  counts.received(accepted + taken + ignored.total);
  if (taken > 0) counts.accepted("recordings", taken);
  for (const [reason, events] of ignored.counts) counts.ignored(reason, events);
  for (const [warning, events] of warned.counts) counts.warned(warning, events);
}

/**
 * How far the client's clock is ahead, when it says what it shows and the difference is more than transit.
 * A batch says so in `sent_at`, or else its request's query or form; a single event's own `sent_at` is
 * none of these.
 */
function skewOf(index: EventIndex, received: number, otherwise: number): number {
  const own = index.shape === "batch" ? index.member("sent_at") : undefined;
  const isText = own && index.bytes[own[0]] === 0x22;
  const read = isText ? readEventTime(index.bytes, own[0], own[1]) : Number.NaN;
  const skew = (Number.isNaN(read) ? otherwise : read) - received;
  return Math.abs(skew) >= captureLimits.skewMicrosMin ? skew : 0;
}

function journalFull(): Fault {
  return new Fault("unavailable", "Events cannot be kept right now. Send them again later.", {
    retryAfterSeconds: 5,
  });
}
