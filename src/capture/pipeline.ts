// The way of a body: scan, admit, rows, ack. Reads as a table of contents; knows nothing of HTTP.

import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import type { ProjectKeys } from "../access/project_keys.ts";
import { isHistorical, keyOf } from "./admit.ts";
import { type Sending, readEvent, readTime } from "./event.ts";
import type { Journal } from "./journal.ts";
import type { Lane } from "./lane.ts";
import type { Ignored, Reason } from "./outcome.ts";
import { emptyRow } from "./row.ts";
import { entryLength, field } from "./member.ts";
import { Scan } from "./scan.ts";
import type { LaneName } from "./segment.ts";

export interface CaptureCounts {
  /** Every event of an answered request: accepted + ignored. */
  received(events: number): void;
  accepted(lane: LaneName, events: number): void;
  ignored(reason: Reason, events: number): void;
}

export interface CaptureOptions {
  journal: Journal;
  keys: ProjectKeys;
  counts: CaptureCounts;
  clock: Clock;
  /** When an answer may be sent: rows on disk, in ClickHouse, or only in memory. */
  ack: "journal" | "stored" | "memory";
}

export interface Captured {
  accepted: number;
  ignored: Ignored;
}

/**
 * Takes one decoded body in. When it resolves, every accepted event is as safe as `ack` says, and counted.
 * @throws Fault for a body refused whole; then nothing of it is kept.
 */
export async function capture(body: Uint8Array, options: CaptureOptions): Promise<Captured> {
  const { journal, keys, counts } = options;
  const received = options.clock.now() * 1000;
  if (body.length === 0) throw new Fault("no_data", "The request has no body.");
  if (journal.full) throw journalFull();
  const scan = await scanBody(body);
  const key = keyOf(scan);
  const project_id = keys.find(key) ?? (await keys.admit(key));
  const historical_migration = isHistorical(scan);
  const lane = journal.lane(historical_migration);
  const sending: Sending = { project_id, historical_migration, received, skew: skewOf(scan, received) };
  const accepted = await layRows(scan, sending, lane, journal);
  if (accepted > 0) await acknowledge(lane, options);
  counts.received(accepted + scan.ignored.total);
  counts.accepted(lane.name, accepted);
  for (const [reason, events] of scan.ignored.counts) counts.ignored(reason, events);
  return { accepted, ignored: scan.ignored };
}

async function scanBody(body: Uint8Array): Promise<Scan> {
  const scan = new Scan(body);
  while (!scan.advance(limits.sliceBytesMax)) await othersTurn();
  return scan;
}

/** Lays every event that is one into its month's open block; between slices others get their turn. */
async function layRows(scan: Scan, sending: Sending, lane: Lane, journal: Journal): Promise<number> {
  const failedBefore = lane.failedGroups;
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
      if (reason) scan.ignored.add(scan.entries[at + field.ordinal]!, reason);
      else {
        lane.append(row);
        accepted++;
      }
    }
    if (lane.crowded) await lane.commit();
    else if (at < end) await othersTurn();
  }
  if (lane.failedGroups !== failedBefore) throw journalFull();
  return accepted;
}

/** Filled anew for every event; used only between two awaits. */
const row = emptyRow();

async function acknowledge(lane: Lane, { journal, ack }: CaptureOptions): Promise<void> {
  const failedBefore = lane.failedGroups;
  if (ack === "memory") return void lane.commit().catch(() => {});
  await lane.commit();
  if (lane.failedGroups !== failedBefore) throw journalFull();
  if (ack === "stored") await journal.stored(lane);
}

/**
 * How far the client's clock is ahead, when it says what it shows and the difference is more than transit.
 */
function skewOf(scan: Scan, received: number): number {
  const sent = scan.member("sent_at");
  if (!sent || scan.bytes[sent[0]] !== 0x22) return 0;
  const skew = readTime(scan.bytes, sent[0], sent[1]) - received;
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
