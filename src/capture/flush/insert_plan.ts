// A shipment: what of a segment goes to ClickHouse in one INSERT. Each of its batches is of one partition and so in one
// part, stored whole or not at all, though some may be stored and others not. Never sends anything.

import { type FileHandle, open, stat } from "node:fs/promises";
import { captureLimits } from "../limits.ts";
import { rebatch } from "../columns/block.ts";
import { type Batch, type Segment, isNative } from "../journal/segments/segment.ts";
import type { FileRange } from "./spool.ts";

/** A batch whose Native blocks are in memory. */
export interface LoadedBatch {
  id: bigint;
  partition: number;
  rows: number;
  blocks: { native: Uint8Array; rows: number }[];
}

/**
 * The segment's batches, together as far as one INSERT bears them: it costs the engine about the same whether it
 * brings one partition or sixty.
 */
export function planInserts({ batches }: Segment): Batch[][] {
  const shipments: Batch[][] = [];
  let [rows, bytes, changes] = [0, 0, 0];
  for (const batch of batches) {
    rows += batch.rows;
    bytes += batch.bytes;
    changes += batch.changes ?? 0;
    const last = shipments.at(-1);
    const fits = rows <= captureLimits.batchRowsMax && bytes <= captureLimits.batchBytesMax;
    const isDerivable = changes <= captureLimits.batchChangesMax;
    if (last && fits && isDerivable && last.length < captureLimits.insertPartitionsMax) last.push(batch);
    else {
      shipments.push([batch]);
      ({ rows, bytes, changes = 0 } = batch);
    }
  }
  return shipments;
}

/** Whether these batches are all that the segment's file holds, so that the engine can read it as it is. */
export async function areWholeFile(batches: Batch[], segment: Segment): Promise<boolean> {
  if (!isNative(segment.lane) || batches.length !== segment.batches.length) return false;
  const bytes = batches.reduce((sum, batch) => sum + batch.bytes, 0);
  return bytes === segment.bytes && (await stat(segment.path)).size === bytes;
}

/** Where the batches' frames lie in their segment's file, in its order: what lies side by side is one stretch. */
export function fileRangesOf(batches: Batch[]): FileRange[] {
  const stretches: FileRange[] = [];
  const frames = batches.flatMap((batch) => batch.frames).toSorted((a, b) => a.offset - b.offset);
  for (const { offset, length } of frames) {
    const last = stretches.at(-1);
    if (last && last.offset + last.length === offset) last.length += length;
    else stretches.push({ offset, length });
  }
  return stretches;
}

/** Reads the batches' blocks into memory. */
export async function readBatches(path: string, batches: Batch[]): Promise<LoadedBatch[]> {
  const file = await open(path, "r");
  try {
    const laden: LoadedBatch[] = [];
    for (const { id, partition, rows, frames } of batches) {
      const blocks: LoadedBatch["blocks"] = [];
      for (const frame of frames) {
        const native = new Uint8Array(frame.length);
        await readWhole(file, native, frame.offset);
        blocks.push({ native, rows: frame.rows });
      }
      laden.push({ id, partition, rows, blocks });
    }
    return laden;
  } finally {
    await file.close();
  }
}

async function readWhole(file: FileHandle, into: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < into.length;) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done);
    if (bytesRead === 0) throw new Error("a segment ends early");
    done += bytesRead;
  }
}

/** Rows `from` to `to` of a batch, as a batch of its own under another number. */
export function cutBatch(batch: LoadedBatch, from: number, to: number, id: bigint): LoadedBatch {
  const blocks: LoadedBatch["blocks"] = [];
  let before = 0;
  let rows = 0;
  for (const block of batch.blocks) {
    const first = Math.max(from - before, 0);
    const last = Math.min(to - before, block.rows);
    if (first < last) {
      blocks.push({ native: rebatch(block.native, first, last, id, rows), rows: last - first });
      rows += last - first;
    }
    before += block.rows;
  }
  return { id, partition: batch.partition, blocks, rows };
}
