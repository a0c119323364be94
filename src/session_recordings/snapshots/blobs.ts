// Groups the pieces of a recording into blobs of about 1 MB, and blobs into pages. A new piece never changes which
// blob an earlier piece is in, so blob keys stay valid.

import { snapshotLimits } from "./limits.ts";
import type { Chunk } from "./store.ts";

/** Consecutive pieces. The key of a blob is its index. */
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

/** The pieces in blobs, in order. A single piece may exceed the size of a blob. */
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

/** The end (exclusive) of the page that starts with blob `from`: at least one blob, if there is one. */
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

/** A blob as replies list it. */
export function sourceOf({ chunks }: Blob, place: number) {
  let [first, last] = [chunks[0]?.first_at ?? "", ""];
  for (const { first_at, last_at } of chunks) {
    if (first_at < first) first = first_at;
    if (last_at > last) last = last_at;
  }
  return {
    source: "blob_v2",
    start_timestamp: isoWithMicros(first),
    end_timestamp: isoWithMicros(last),
    blob_key: String(place),
  };
}

/** ClickHouse's moment as ISO 8601. */
export function isoWithMicros(moment: string): string {
  return `${moment.replace(" ", "T")}Z`;
}
