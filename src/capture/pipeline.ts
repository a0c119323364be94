// The way of a body: scan, admit, rows, ack. Reads as a table of contents; knows nothing of HTTP.

import { type Clock, othersTurn } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import type { ProjectKeys } from "../access/project_keys.ts";
import { isHistorical, isNoBatch, keyOf } from "./admit.ts";
import { type Sending, readTime } from "./event.ts";
import type { GroupTypes } from "./group.ts";
import type { Journal } from "./journal.ts";
import { commitAll, failures, layParts, layRows } from "./lay.ts";
import { Outcomes, type Reason, type Warning } from "./outcome.ts";
import { Recorder } from "./recorder.ts";
import { Scan } from "./scan.ts";
import type { EventLaneName } from "./segment.ts";
import type { Slab } from "./slab.ts";
import type { WarningBook } from "./warning_book.ts";

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
  /** The slab that `body` lies in, if it does; it is ours until the promise is settled. */
  slab?: Slab | undefined;
  /** One that a short body may be copied to and laid from at once: it is ours until the first turn of others. */
  lent?: Slab | undefined;
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
  let { lent } = sent;
  let scan = new Scan(lent?.hold(sent.body) ?? sent.body, sent.nameless, lent ?? sent.slab);
  if (!scan.advance(limits.sliceBytesMax)) {
    if (lent) scan = new Scan(sent.body, sent.nameless);
    lent = undefined;
    await scanOn(scan);
  }
  const key = keyOf(scan);
  if (sent.asBatch && isNoBatch(scan))
    throw new Fault("invalid_payload", "The body has no batch: send an array of events as batch.");
  let project_id = keys.find(key);
  if (project_id === undefined) {
    project_id = await keys.admit(key);
    // Meanwhile others had the slab.
    if (lent) scan = await scanOn(new Scan(sent.body, sent.nameless));
    lent = undefined;
  }
  const historical_migration = isHistorical(scan);
  const lane = journal.lane(historical_migration);
  const skew = skewOf(scan, received, sent.sent_at);
  const { nameless } = sent;
  const groupTypes = options.groupTypes;
  const sending: Sending = { project_id, historical_migration, received, skew, nameless, groupTypes };
  const warned = new Outcomes<Warning>();
  const failedBefore = failures(lane, journal);
  const retentionDays = options.recordingRetentionDays;
  const wanted = keys.records(project_id);
  const recorder = new Recorder({ project_id, received, journal, wanted, retentionDays });
  const laying = { scan, sending, warned, lane, journal, recorder, lent: lent !== undefined };
  const laid = scan.isPartial ? layParts(laying) : layRows(laying);
  const { ignored } = scan;
  // What is told of odd events is read out of the body later.
  const bytes = lent && ignored.total + warned.total > 0 ? scan.bytes.slice() : scan.bytes;
  const accepted = typeof laid === "number" ? laid : await laid;
  if (failures(lane, journal) !== failedBefore) throw journalFull();
  if (accepted > 0 && options.ack === "memory") commitAll(lane, journal).catch(() => {});
  else if (accepted > 0) {
    await commitAll(lane, journal);
    if (failures(lane, journal) !== failedBefore) throw journalFull();
    if (options.ack === "stored") await journal.stored(lane);
  }
  const { taken } = recorder;
  if (taken > 0) await recorder.acknowledge(options.ack);
  counts.received(accepted + taken + ignored.total);
  counts.accepted(historical_migration ? "historical" : "live", accepted);
  if (taken > 0) counts.accepted("recordings", taken);
  for (const [reason, events] of ignored.counts) counts.ignored(reason, events);
  for (const [warning, events] of warned.counts) counts.warned(warning, events);
  if (!historical_migration && accepted > 0) book.count(project_id, accepted);
  if (ignored.total + warned.total > 0) {
    const noted = book.note({ project_id, bytes, ignored, warned });
    if (options.ack !== "memory") await noted;
  }
  return { accepted: accepted + taken, recordingsUnwanted: recorder.unwanted, ignored, warned };
}

/** Goes on behind the first slice; others get their turn between slices. */
async function scanOn(scan: Scan): Promise<Scan> {
  do await othersTurn();
  while (!scan.advance(limits.sliceBytesMax));
  return scan;
}

/**
 * How far the client's clock is ahead, when it says what it shows and the difference is more than transit.
 * A batch says so in `sent_at`, or else its request's query or form; a single event's own `sent_at` is
 * none of these.
 */
function skewOf(scan: Scan, received: number, otherwise: number): number {
  const own = scan.shape === "batch" ? scan.member("sent_at") : undefined;
  const isText = own && scan.bytes[own[0]] === 0x22;
  const read = isText ? readTime(scan.bytes, own[0], own[1]) : Number.NaN;
  const skew = (Number.isNaN(read) ? otherwise : read) - received;
  return Math.abs(skew) >= limits.skewMicrosMin ? skew : 0;
}

function journalFull(): Fault {
  return new Fault("unavailable", "Events cannot be kept right now. Send them again later.", {
    retryAfterSeconds: 5,
  });
}
