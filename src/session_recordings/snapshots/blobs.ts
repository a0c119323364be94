// Groups the pieces of a recording into blobs of about 1 MB, and blobs into pages. A new piece never changes which
// blob an earlier piece is in, so blob keys stay valid.

import { isoWithFraction } from "../../http/fields/field_time.ts";
import { snapshotLimits } from "./limits.ts";
import type { PieceRow } from "./store.ts";

const sizes = ["bytes", "inflated", "events", "count"] as const;
type Size = Record<(typeof sizes)[number], number>;

/** Consecutive pieces. The key of a blob is its index. */
export interface Blob extends Size {
  pieces: PieceRow[];
}

const pageMax: Size = {
  bytes: snapshotLimits.snapshotPageBytesMax,
  inflated: snapshotLimits.snapshotPageInflatedBytesMax,
  events: snapshotLimits.snapshotPageEventsMax,
  count: snapshotLimits.snapshotPagePiecesMax,
};
const { snapshotBlobBytesMax: bytes, snapshotBlobPiecesMax: count } = snapshotLimits;
const blobMax: Size = { ...pageMax, bytes, count };

const empty: Readonly<Size> = { bytes: 0, inflated: 0, events: 0, count: 0 };

/** The pieces in blobs, in order. A single piece may exceed the size of a blob. */
export function groupBlobs(pieces: readonly PieceRow[]): Blob[] {
  const blobs: Blob[] = [];
  let open: Blob | undefined;
  for (const piece of pieces) {
    const size = { bytes: piece.size, inflated: piece.inflated, events: piece.events, count: 1 };
    if (!open || !fits(open, size, blobMax)) {
      open = { pieces: [], ...empty };
      blobs.push(open);
    }
    open.pieces.push(piece);
    add(open, size);
  }
  return blobs;
}

/** The end (exclusive) of the page that starts with blob `from`: at least one blob, if there is one. */
export function pageEnd(blobs: readonly Blob[], from: number): number {
  const page: Size = { ...empty };
  let to = from;
  for (; to < blobs.length && (to === from || fits(page, blobs[to]!, pageMax)); to++) add(page, blobs[to]!);
  return to;
}

function fits(open: Size, more: Size, max: Size): boolean {
  return sizes.every((size) => open[size] + more[size] <= max[size]);
}

function add(open: Size, more: Size): void {
  for (const size of sizes) open[size] += more[size];
}

/** A blob as replies list it. */
export function toSource({ pieces }: Blob, index: number) {
  let [first, last] = [pieces[0]?.first_at ?? "", ""];
  for (const { first_at, last_at } of pieces) {
    if (first_at < first) first = first_at;
    if (last_at > last) last = last_at;
  }
  return {
    source: "blob_v2",
    start_timestamp: isoWithFraction(first),
    end_timestamp: isoWithFraction(last),
    blob_key: String(index),
  };
}
