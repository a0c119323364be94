// The way of a body: scan, admit, rows, ack. Reads as a table of contents; knows nothing of HTTP.

import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import type { ProjectKeys } from "../access/project_keys.ts";
import { mergeKind } from "../persons/merge.ts";
import { isHistorical, keyOf } from "./admit.ts";
import { type Sending, readEvent, readTime } from "./event.ts";
import type { GroupTypes } from "./group.ts";
import type { Journal } from "./journal.ts";
import type { Lane } from "./lane.ts";
import type { MergeRow } from "./merge_row.ts";
import { Outcomes, type Reason, type Warning, warningBit, warnings } from "./outcome.ts";
import { type Row, emptyRow } from "./row.ts";
import { entryLength, field } from "./member.ts";
import { Scan } from "./scan.ts";
import { textOf } from "./span.ts";
import type { EventLaneName } from "./segment.ts";
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
}

/** A body as it was decoded, and what its request says beside it. */
export interface Sent {
  body: Uint8Array;
  /** When the client sent it by its own clock, in microseconds since 1970; NaN when only the body may say. */
  sent_at: number;
  /** Events without a name are `$identify` calls (/engage). */
  nameless: boolean;
}

export interface Captured {
  accepted: number;
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
  const scan = await scanBody(sent);
  const key = keyOf(scan);
  const project_id = keys.find(key) ?? (await keys.admit(key));
  const historical_migration = isHistorical(scan);
  const lane = journal.lane(historical_migration);
  const skew = skewOf(scan, received, sent.sent_at);
  const { nameless } = sent;
  const groupTypes = options.groupTypes;
  const sending: Sending = { project_id, historical_migration, received, skew, nameless, groupTypes };
  const warned = new Outcomes<Warning>();
  const accepted = await layRows(scan, sending, warned, lane, journal);
  if (accepted > 0) await acknowledge(lane, options);
  const { ignored, bytes } = scan;
  counts.received(accepted + ignored.total);
  counts.accepted(historical_migration ? "historical" : "live", accepted);
  for (const [reason, events] of ignored.counts) counts.ignored(reason, events);
  for (const [warning, events] of warned.counts) counts.warned(warning, events);
  if (!historical_migration && accepted > 0) book.count(project_id, accepted);
  const noted = book.note({ project_id, bytes, ignored, warned });
  if (options.ack !== "memory") await noted;
  return { accepted, ignored, warned };
}

async function scanBody({ body, nameless }: Sent): Promise<Scan> {
  const scan = new Scan(body, nameless);
  while (!scan.advance(limits.sliceBytesMax)) await othersTurn();
  return scan;
}

/** Lays every event that is one into its month's open block; between slices others get their turn. */
async function layRows(
  scan: Scan,
  sending: Sending,
  warned: Outcomes<Warning>,
  lane: Lane<Row>,
  journal: Journal,
): Promise<number> {
  const failedBefore = failures(lane, journal);
  const end = scan.count * entryLength;
  let accepted = 0;
  let at = 0;
  while (at < end) {
    const rowsEnd = Math.min(end, at + limits.sliceRowsMax * entryLength);
    const bytesEnd = scan.entries[at + field.item]! + limits.sliceBytesMax;
    const created = journal.stamp();
    for (; at < rowsEnd && scan.entries[at + field.item]! <= bytesEnd; at += entryLength) {
      row.created_at = created;
      const reason = readEvent(scan, at, sending, row);
      if (reason) scan.ignored.add(scan.entries[at + field.ordinal]!, reason, entryOf(scan, at));
      else {
        lane.append(row);
        accepted++;
        if (row.merge !== mergeKind.none) journal.merges.append(mergeOf(row));
        if (row.warned !== 0) noteWarnings(scan, at, warned);
      }
    }
    if (lane.crowded || journal.merges.crowded) await commitAll(lane, journal);
    else if (at < end) await othersTurn();
  }
  if (failures(lane, journal) !== failedBefore) throw journalFull();
  return accepted;
}

/** Filled anew for every event; used only between two awaits. */
const row = emptyRow();

function entryOf(scan: Scan, at: number): Int32Array {
  return scan.entries.subarray(at, at + entryLength);
}

function noteWarnings(scan: Scan, at: number, warned: Outcomes<Warning>): void {
  for (const warning of warnings) {
    if ((row.warned & warningBit[warning]) === 0) continue;
    warned.add(scan.entries[at + field.ordinal]!, warning, entryOf(scan, at), row.uuid);
  }
}

async function acknowledge(lane: Lane<Row>, { journal, ack }: CaptureOptions): Promise<void> {
  const failedBefore = failures(lane, journal);
  if (ack === "memory") return void commitAll(lane, journal).catch(() => {});
  await commitAll(lane, journal);
  if (failures(lane, journal) !== failedBefore) throw journalFull();
  if (ack === "stored") await journal.stored(lane);
}

/** Groups that could not be written, of the events' lane and of the merges'. */
function failures(lane: Lane<Row>, { merges }: Journal): number {
  return lane.failedGroups + merges.failedGroups;
}

/** Merges are as safe as their events; what another request left in their lane goes along. */
async function commitAll(lane: Lane<Row>, { merges }: Journal): Promise<void> {
  if (merges.openRows + merges.writingRows === 0) await lane.commit();
  else await Promise.all([lane.commit(), merges.commit()]);
}

/** An anonymous id comes under the identified one, an event's id under its alias, and dangerously the other way. */
function mergeOf({ project_id, merge, distinct_id, other_id, timestamp, created_at }: Row): MergeRow {
  const [own, other] = [textOf(distinct_id), textOf(other_id)];
  const [from, into] = merge === mergeKind.alias ? [own, other] : [other, own];
  return { project_id, kind: merge, from, into, at: timestamp, created_at, timestamp: created_at };
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

function othersTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
