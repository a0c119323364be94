// The pieces of some blobs, read and expanded: the texts of their events with what a player wants to know of them.
// Their memory is bounded and reserved before it is used; other requests get their turn in between.

import { yieldToEventLoop } from "../../core/clock.ts";
import { snapshotLimits } from "./limits.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { isoWithFraction } from "../../http/fields/field_time.ts";
import type { Blob } from "./blobs.ts";
import { findEvents } from "./event_places.ts";
import { expandEvent } from "./expand.ts";
import type { ReadingBudget, Reservation } from "./reading_budget.ts";
import { type RecordedSession, readChunks } from "./store.ts";

/** An rrweb event: its JSON text in parts, to be joined. */
export interface ExpandedEvent {
  timestamp: number;
  parts: Uint8Array[];
}

export interface ExpandedPiece {
  window_id: string;
  events: ExpandedEvent[];
}

export interface ExpandedPieces {
  pieces: ExpandedPiece[];
  /** To be released when nothing of it is needed any more. */
  reservation: Reservation;
}

export interface PieceReading {
  clickhouse: ClickHouse;
  budget: ReadingBudget;
  session: RecordedSession;
  /** Whoever asks is there no longer. */
  gone: AbortSignal;
}

/** @throws Fault unavailable when there is no room for them. */
export async function readPieces(reading: PieceReading, blobs: readonly Blob[]): Promise<ExpandedPieces> {
  const { budget, session, gone } = reading;
  let [bytes, events] = [0, 0];
  for (const blob of blobs) {
    if (!isTooLarge(blob)) bytes += blob.bytes;
    events += Math.min(blob.events, snapshotLimits.snapshotPageEventsMax);
  }
  const fixed = bytes + events * eventBytes;
  const most = fixed + snapshotLimits.snapshotPageInflatedBytesMax;
  const reservation = await budget.reserve(session.project_id, most, gone);
  try {
    return await budget.within(gone, async () => {
      const inflating = { left: snapshotLimits.snapshotPageInflatedBytesMax };
      const pieces = await expand(reading, blobs, inflating);
      reservation.shrink(most - inflating.left);
      return { pieces, reservation };
    });
  } catch (thrown) {
    reservation.release();
    throw thrown;
  }
}

/** What one event takes beside its text, in bytes: its parts and where they lie. */
const eventBytes = 400;

async function expand(
  { clickhouse, session }: PieceReading,
  blobs: readonly Blob[],
  budget: { left: number },
): Promise<ExpandedPiece[]> {
  const chunks = blobs.flatMap((blob) => blob.chunks);
  const wanted = chunks.filter((chunk) => chunk.size <= snapshotLimits.snapshotShownBytesMax);
  const read = await readChunks(clickhouse, session, wanted);
  const pieces: ExpandedPiece[] = [];
  let done = 0;
  for (const { uuid, size, window_id, first_at } of chunks) {
    if (size > snapshotLimits.snapshotShownBytesMax) {
      pieces.push({ window_id, events: [leftOut(Date.parse(isoWithFraction(first_at)), size)] });
      continue;
    }
    const piece = read.get(uuid);
    // Deleted while it was read.
    if (!piece) continue;
    const { events, bytesLeftOut } = await findEvents(piece.data, snapshotLimits.snapshotPageEventsMax);
    const expanded: ExpandedEvent[] = [];
    for (const event of events) {
      expanded.push({ timestamp: event.timestamp, parts: await expandEvent(piece.data, event, budget) });
      done += event.packed ? packedCost : 1;
      if (done < costMax) continue;
      done = 0;
      await yieldToEventLoop();
    }
    if (bytesLeftOut > 0) expanded.push(leftOut(events.at(-1)?.timestamp ?? 0, bytesLeftOut));
    pieces.push({ window_id: piece.window_id, events: expanded });
    done += pieceCost;
  }
  return pieces;
}

/** Work between other requests' turns, about a millisecond: in plain events. */
const [costMax, packedCost, pieceCost] = [4000, 100, 20];

/** A piece that is too large to be shown is alone in its blob. */
function isTooLarge({ chunks }: Blob): boolean {
  return chunks.length === 1 && chunks[0]!.size > snapshotLimits.snapshotShownBytesMax;
}

/** In place of what is not shown: an event of rrweb's own kind for its users, which players pass over. */
function leftOut(timestamp: number, bytes: number): ExpandedEvent {
  const text = JSON.stringify({ type: 5, timestamp, data: { tag: "left_out", payload: { bytes } } });
  return { timestamp, parts: [Buffer.from(text)] };
}
