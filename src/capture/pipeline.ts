// The way of a body: scan, admit, rows, ack. Reads as a table of contents; knows nothing of HTTP.

import { type Clock, yieldToEventLoop } from "../core/clock.ts";
import { free } from "../core/chunks.ts";
import { Fault } from "../core/fault.ts";
import { captureLimits } from "./limits.ts";
import type { MemoryLease } from "../work/memory_budget.ts";
import type { ProjectKeys } from "../access/project_keys.ts";
import { isHistorical, isNoBatch, keyOf } from "./event/body_key.ts";
import type { Salts } from "./cookieless/salts.ts";
import { visitingOf } from "./cookieless/visiting.ts";
import { type Sending, readEventTime } from "./event/event.ts";
import type { GroupTypes } from "./event/groups.ts";
import type { Journal } from "./journal/journal.ts";
import { appendSlices, appendEvents } from "./columns/append_events.ts";
import { Outcomes, type Reason, type Warning } from "./event/outcome.ts";
import { Recorder } from "./recordings/recorder.ts";
import { repairBody } from "./decode/repair.ts";
import { BodyScanner } from "./scan/body_scanner.ts";
import type { EventLaneName } from "./journal/segments/segment.ts";
import type { ScanArena } from "./wasm/scan_arena.ts";
import { RepairableFault } from "./scan/json_lexer.ts";
import { UsedLanes } from "./journal/used_lanes.ts";
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

/** A body as it was decoded, and what its request says beside it. */
export interface Sent {
  body: Uint8Array;
  /** When the client sent it by its own clock, in microseconds since 1970; NaN when only the body may say. */
  sent_at: number;
  /** Events without a name are `$identify` calls (/engage). */
  nameless: boolean;
  /** Sent where batches go: an object that is neither a batch nor an event lacks its `batch`. */
  asBatch?: boolean;
  /** The arena that `body` lies in, if it does; it is ours until the promise is settled. */
  arena?: ScanArena | undefined;
  /** One that a short body may be copied to and laid from at once: it is ours until the first turn of others. */
  borrowed?: ScanArena | undefined;
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
 * Takes one decoded body in. When it resolves, every accepted event is as safe as `ack` says, and counted;
 * and so is what is told of ignored and altered ones.
 * @throws Fault for a body refused whole; then nothing of it is kept.
 */
export async function capture(sent: Sent, options: CaptureOptions): Promise<Captured> {
  const { journal, keys, counts, book } = options;
  const received = options.clock.now() * 1000;
  if (sent.body.length === 0) throw new Fault("no_data", "The request has no body.");
  if (journal.full) throw journalFull();
  // A short request waits for nothing but its bytes and the disk: each further turn costs as much as its scan.
  let { borrowed } = sent;
  let scan = scanOf(sent, borrowed);
  try {
    if (!scan.advance(captureLimits.sliceBytesMax)) {
      if (borrowed) scan = scanOf(sent);
      borrowed = undefined;
      await scanOn(scan);
    }
  } catch (thrown) {
    borrowed = undefined;
    scan = await scanRepaired(thrown, sent);
  }
  const key = keyOf(scan);
  if (sent.asBatch && isNoBatch(scan))
    throw new Fault("invalid_payload", "The body has no batch: send an array of events as batch.");
  let project_id = keys.find(key);
  if (project_id === undefined) {
    project_id = await keys.admit(key);
    // Meanwhile others had the arena.
    if (borrowed) scan = await scanOn(scanOf(sent));
    borrowed = undefined;
  }
  const historical_migration = isHistorical(scan);
  const lanes = new UsedLanes(journal, project_id, historical_migration);
  const skew = skewOf(scan, received, sent.sent_at);
  const { nameless } = sent;
  const groupTypes = options.groupTypes;
  const visiting = visitingOf(options, project_id, received, scan, sent.address);
  const origin = { project_id, historical_migration, received, skew };
  const sending: Sending = { ...origin, nameless, groupTypes, visiting };
  const warned = new Outcomes<Warning>(sent.warnings);
  const retentionDays = options.recordingRetentionDays;
  const wanted = keys.records(project_id);
  const { lease } = sent;
  const recorder = new Recorder({ project_id, received, journal, wanted, retentionDays, lease });
  const going = { lane: lanes.lane, nextLane: () => lanes.next(), borrowed: borrowed !== undefined };
  const appending = { scan, sending, warned, journal, recorder, ...going };
  const columns = scan.isPartial ? appendSlices(appending) : appendEvents(appending);
  const { ignored } = scan;
  // What is told of odd events is read out of the body later.
  const bytes = borrowed && ignored.total + warned.total > 0 ? scan.bytes.slice() : scan.bytes;
  const accepted = typeof columns === "number" ? columns : await columns;
  if (lanes.failed) throw journalFull();
  if (accepted > 0 && options.ack === "memory") lanes.commit().catch(() => {});
  else if (accepted > 0) {
    await lanes.commit();
    if (lanes.failed) throw journalFull();
    if (options.ack === "stored") await lanes.stored();
  }
  const { taken } = recorder;
  if (taken > 0) await recorder.acknowledge(options.ack);
  counts.accepted(historical_migration ? "historical" : "live", accepted);
  countFates(counts, { accepted, taken, ignored, warned });
  if (!historical_migration && accepted > 0) book.count(project_id, accepted);
  if (ignored.total + warned.total > 0) {
    const noted = book.note({ project_id, bytes, ignored, warned, repaired: scan.repaired });
    if (options.ack !== "memory") await noted;
  }
  if (scan.repaired && options.ack !== "memory") free(scan.bytes);
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

/** The scan of a body where it lies, or of its copy in `borrowed`. */
function scanOf({ body, nameless, arena, refused }: Sent, borrowed?: ScanArena): BodyScanner {
  const scan = new BodyScanner(borrowed?.hold(body) ?? body, nameless, borrowed ?? arena);
  scan.refused = refused;
  return scan;
}

/** Scans a repaired copy of a body that was refused for what can be repaired. @throws what was thrown, if it cannot. */
async function scanRepaired(thrown: unknown, { body, nameless, refused, lease }: Sent): Promise<BodyScanner> {
  if (!(thrown instanceof RepairableFault)) throw thrown;
  const repaired = await repairBody(body, lease);
  if (!repaired) throw thrown;
  const scan = new BodyScanner(repaired.bytes, nameless);
  scan.refused = refused;
  scan.repaired = repaired;
  return await scanOn(scan);
}

/** Goes on behind the first slice; others get their turn between slices. */
export async function scanOn(scan: BodyScanner): Promise<BodyScanner> {
  do await yieldToEventLoop();
  while (!scan.advance(captureLimits.sliceBytesMax));
  return scan;
}

/**
 * How far the client's clock is ahead, when it says what it shows and the difference is more than transit.
 * A batch says so in `sent_at`, or else its request's query or form; a single event's own `sent_at` is
 * none of these.
 */
function skewOf(scan: BodyScanner, received: number, otherwise: number): number {
  const own = scan.shape === "batch" ? scan.member("sent_at") : undefined;
  const isText = own && scan.bytes[own[0]] === 0x22;
  const read = isText ? readEventTime(scan.bytes, own[0], own[1]) : Number.NaN;
  const skew = (Number.isNaN(read) ? otherwise : read) - received;
  return Math.abs(skew) >= captureLimits.skewMicrosMin ? skew : 0;
}

function journalFull(): Fault {
  return new Fault("unavailable", "Events cannot be kept right now. Send them again later.", {
    retryAfterSeconds: 5,
  });
}
