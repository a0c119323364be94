// Reads the pieces of some blobs and inflates their events. Memory is reserved before it is used; the event loop gets
// a turn in between.

import { yieldToEventLoop } from "../../core/clock.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import type { Blob } from "./blobs.ts";
import { findEvents } from "./event_offsets.ts";
import { expandEvent } from "./expand.ts";
import { snapshotLimits } from "./limits.ts";
import type { ReadingBudget, Reservation } from "./reading_budget.ts";
import { readPieces, type RecordedSession } from "./store.ts";

/** An rrweb event: its JSON text in parts, to be joined. */
export interface ExpandedEvent {
  timestamp: number;
  parts: Uint8Array[];
}

interface ExpandedPiece {
  window_id: string;
  events: ExpandedEvent[];
}

export interface ExpandedPieces {
  pieces: ExpandedPiece[];
  /** To be released when the pieces are no longer needed. */
  reservation: Reservation;
}

export interface PieceReading {
  clickhouse: ClickHouse;
  budget: ReadingBudget;
  session: RecordedSession;
  /** Aborted when the client disconnects. */
  gone: AbortSignal;
}

/**
 * Reads and expands the pieces of these blobs.
 * @throws Fault unavailable when the memory cannot be reserved in time.
 */
export async function expandPieces(reading: PieceReading, blobs: readonly Blob[]): Promise<ExpandedPieces> {
  const { budget, session, gone } = reading;
  let [bytes, events] = [0, 0];
  for (const blob of blobs) {
    bytes += blob.bytes;
    events += Math.min(blob.events, snapshotLimits.snapshotPageEventsMax);
  }
  const fixed = bytes + events * eventBytes;
  const most = fixed + snapshotLimits.snapshotPageInflatedBytesMax;
  const reservation = await budget.reserve(session.project_id, most, gone);
  try {
    return await budget.within(session.project_id, gone, async () => {
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

/** Bytes of one event besides its text: its parts and ranges. */
const eventBytes = 400;

async function expand(
  { clickhouse, session }: PieceReading,
  blobs: readonly Blob[],
  budget: { left: number },
): Promise<ExpandedPiece[]> {
  const rows = blobs.flatMap((blob) => blob.pieces);
  const read = await readPieces(clickhouse, session, rows);
  const pieces: ExpandedPiece[] = [];
  let done = 0;
  for (const { uuid } of rows) {
    const piece = read.get(uuid);
    // The piece was deleted after it was listed.
    if (!piece) continue;
    const { events, bytesLeftOut } = await findEvents(piece.data, snapshotLimits.snapshotPageEventsMax);
    const expanded: ExpandedEvent[] = [];
    for (const event of events) {
      const { timestamp, from, to } = event;
      const isTooLarge = to - from > snapshotLimits.snapshotShownBytesMax;
      expanded.push(
        isTooLarge
          ? leftOut(timestamp, to - from)
          : { timestamp, parts: await expandEvent(piece.data, event, budget) },
      );
      done += event.compressed ? compressedCost : 1;
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

/** Cost between turns of the event loop, about a millisecond; a plain event costs 1. */
const [costMax, compressedCost, pieceCost] = [4000, 100, 20];

/** The event in place of omitted content: a custom rrweb event (type 5), which players skip. */
function leftOut(timestamp: number, bytes: number): ExpandedEvent {
  const text = JSON.stringify({ type: 5, timestamp, data: { tag: "left_out", payload: { bytes } } });
  return { timestamp, parts: [Buffer.from(text)] };
}
