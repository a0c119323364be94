// Reads the pieces of some blobs and inflates their events, with a turn of the event loop in between. One reader at a
// time has such a page in memory; the others wait, for a bounded time and in a bounded queue.

import { yieldToEventLoop } from "../../core/clock.ts";
import { unavailable } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { Semaphore } from "../../work/semaphore.ts";
import type { Blob } from "./blobs.ts";
import { findEvents } from "./event_offsets.ts";
import { expandEvent } from "./expand.ts";
import { snapshotLimits } from "./limits.ts";
import { readPieces, type RecordedSession } from "./store.ts";

/** An rrweb event: its JSON text in parts, to be joined. */
export interface ExpandedEvent {
  timestamp: number;
  parts: Uint8Array[];
}

export interface ExpandedPiece {
  window_id: string;
  events: ExpandedEvent[];
}

export interface PieceReading {
  clickhouse: ClickHouse;
  readers: Readers;
  session: RecordedSession;
  /** Aborted when the client disconnects. */
  gone: AbortSignal;
}

/** Readers of recordings: whoever has a permit may read pieces, and keep them in memory until it ends. */
export class Readers {
  readonly #semaphore = new Semaphore(
    snapshotLimits.snapshotReadsMax,
    snapshotLimits.snapshotReadsWaitingMax,
    1,
  );

  /** @throws Fault unavailable when no permit becomes free in time; what `read` throws. */
  async within<Read>(project_id: number, abort: AbortSignal, read: () => Promise<Read>): Promise<Read> {
    const busy = () => unavailable("Too many recordings are being read. Please retry.");
    const msMax = snapshotLimits.snapshotReadWaitMsMax;
    return await this.#semaphore.run({ owner: project_id, abort, msMax, busy }, read);
  }
}

/**
 * The slices of a reply with these blobs, ready to be sent. The memory of reading them is free again: a client that
 * does not read its reply uses none of other readers'.
 * @throws Fault as Readers.within().
 */
export async function readSlices(
  reading: PieceReading,
  blobs: readonly Blob[],
  buildParts: (pieces: ExpandedPiece[]) => Parts,
): Promise<Uint8Array[]> {
  return await reading.readers.within(reading.session.project_id, reading.gone, async () => {
    const slices: Uint8Array[] = [];
    for (const slice of cutSlices(buildParts(await expandPieces(reading, blobs)))) {
      slices.push(slice);
      await yieldToEventLoop();
    }
    return slices;
  });
}

/** Reads and expands the pieces of these blobs. */
async function expandPieces(
  { clickhouse, session }: PieceReading,
  blobs: readonly Blob[],
): Promise<ExpandedPiece[]> {
  const budget = { left: snapshotLimits.snapshotPageInflatedBytesMax };
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

/** Texts and bytes of a reply, in order. */
export type Parts = Generator<string | Uint8Array, undefined>;

/** Joins parts into slices of at most `limits.replySliceBytes`, from at most `snapshotPartsMax` parts each. */
export function* cutSlices(parts: Parts): Generator<Uint8Array, undefined> {
  let slice = Buffer.allocUnsafe(limits.replySliceBytes);
  let [length, joined] = [0, 0];
  const cutSlice = (): Uint8Array => {
    const whole = slice.subarray(0, length);
    slice = Buffer.allocUnsafe(limits.replySliceBytes);
    [length, joined] = [0, 0];
    return whole;
  };
  for (const part of parts) {
    if (++joined > snapshotLimits.snapshotPartsMax && length > 0) yield cutSlice();
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    for (let at = 0; at < bytes.length;) {
      const some = bytes.subarray(at, at + slice.length - length);
      slice.set(some, length);
      at += some.length;
      length += some.length;
      if (length === slice.length) yield cutSlice();
    }
  }
  if (length > 0) yield slice.subarray(0, length);
}
