// Pieces of a recording, grouped: blobs of about a megabyte by their key, and pages of some blobs. What comes later
// never moves a piece from one blob to another.

import { isoWithFraction } from "../../http/fields/field_time.ts";
import { snapshotLimits } from "./limits.ts";
import type { Chunk } from "./store.ts";

/** Pieces that follow each other; its key is its place. */
export interface Blob extends Size {
  chunks: Chunk[];
}

interface Size {
  bytes: number;
  events: number;
  pieces: number;
}

const blobMax: Size = {
  bytes: snapshotLimits.snapshotBlobBytesMax,
  events: snapshotLimits.snapshotPageEventsMax,
  pieces: snapshotLimits.snapshotBlobChunksMax,
};

const pageMax: Size = {
  bytes: snapshotLimits.snapshotPageBytesMax,
  events: snapshotLimits.snapshotPageEventsMax,
  pieces: snapshotLimits.snapshotPageChunksMax,
};

/** Grouped in their order; a single piece may be larger than a blob. */
export function blobsOf(chunks: readonly Chunk[]): Blob[] {
  const blobs: Blob[] = [];
  let open: Blob | undefined;
  for (const chunk of chunks) {
    const one = { bytes: chunk.size, events: chunk.events, pieces: 1 };
    if (!open || !fits(open, one, blobMax)) {
      open = { chunks: [], bytes: 0, events: 0, pieces: 0 };
      blobs.push(open);
    }
    open.chunks.push(chunk);
    add(open, one);
  }
  return blobs;
}

/** The end of the page that begins with blob `from`: one blob at least, if there is one. */
export function pageEnd(blobs: readonly Blob[], from: number): number {
  const page: Size = { bytes: 0, events: 0, pieces: 0 };
  let to = from;
  for (; to < blobs.length && (to === from || fits(page, blobs[to]!, pageMax)); to++) add(page, blobs[to]!);
  return to;
}

function fits(open: Size, more: Size, max: Size): boolean {
  return (
    open.bytes + more.bytes <= max.bytes &&
    open.events + more.events <= max.events &&
    open.pieces + more.pieces <= max.pieces
  );
}

function add(open: Size, more: Size): void {
  open.bytes += more.bytes;
  open.events += more.events;
  open.pieces += more.pieces;
}

/** A blob as a page lists it. */
export function sourceOf({ chunks }: Blob, place: number) {
  let [first, last] = [chunks[0]?.first_at ?? "", ""];
  for (const { first_at, last_at } of chunks) {
    if (first_at < first) first = first_at;
    if (last_at > last) last = last_at;
  }
  return {
    source: "blob_v2",
    start_timestamp: isoWithFraction(first),
    end_timestamp: isoWithFraction(last),
    blob_key: String(place),
  };
}
