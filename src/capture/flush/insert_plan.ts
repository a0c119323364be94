// Plans the INSERTs of a segment, and reads and cuts batches. A batch is of one partition and so becomes one part,
// stored whole or not at all (J-3); of the batches in one INSERT some may be stored and others not.

import { rebatch } from "../columns/block.ts";
import { type JournalIo, readWhole } from "../journal/journal_io.ts";
import type { Batch, FileRange, Segment } from "../journal/segments/segment.ts";
import { captureLimits } from "../limits.ts";

/** A batch whose Native blocks are in memory. */
export interface LoadedBatch {
  id: bigint;
  partition: number;
  rows: number;
  blocks: { native: Uint8Array; rows: number }[];
}

/**
 * The segment's batches, grouped into as few INSERTs as the limits allow: an INSERT of sixty partitions costs the
 * engine about as much as one of a single partition.
 */
export function planInserts({ batches, lane }: Segment): Batch[][] {
  // The bytes of an import's INSERT follow from the machine's memory, which is read from files.
  const { batchRowsMax, batchBytesMax } = lane;
  const inserts: Batch[][] = [];
  let [rows, bytes, changes] = [0, 0, 0];
  for (const batch of batches) {
    rows += batch.rows;
    bytes += batch.bytes;
    changes += batch.changes ?? 0;
    const last = inserts.at(-1);
    const fits = rows <= batchRowsMax && bytes <= batchBytesMax;
    const isDerivable = changes <= captureLimits.batchChangesMax;
    if (last && fits && isDerivable && last.length < captureLimits.insertPartitionsMax) last.push(batch);
    else {
      inserts.push([batch]);
      ({ rows, bytes, changes = 0 } = batch);
    }
  }
  return inserts;
}

/** Whether the segment's file holds these batches and nothing else, so that the engine can read it as it is. */
export function areWholeFile(io: JournalIo, batches: Batch[], segment: Segment): boolean {
  if (!segment.lane.isNative || batches.length !== segment.batches.length) return false;
  const bytes = batches.reduce((sum, batch) => sum + batch.bytes, 0);
  return bytes === segment.bytes && io.stat(segment.path).size === bytes;
}

/** The ranges of the batches' frames in their segment's file, in order; adjacent frames are one range. */
export function listFileRanges(batches: Batch[]): FileRange[] {
  const ranges: FileRange[] = [];
  const frames = batches.flatMap((batch) => batch.frames).toSorted((a, b) => a.offset - b.offset);
  for (const { offset, length } of frames) {
    const last = ranges.at(-1);
    if (last && last.offset + last.length === offset) last.length += length;
    else ranges.push({ offset, length });
  }
  return ranges;
}

/** Reads the Native blocks of batches from their segment's file. @throws when the file ends before. */
export async function readBatches(io: JournalIo, path: string, batches: Batch[]): Promise<LoadedBatch[]> {
  const file = await io.open(path, "r");
  try {
    const loaded: LoadedBatch[] = [];
    for (const { id, partition, rows, frames } of batches) {
      const blocks: LoadedBatch["blocks"] = [];
      for (const frame of frames) {
        const native = new Uint8Array(frame.length);
        await readWhole(file, native, frame.offset);
        blocks.push({ native, rows: frame.rows });
      }
      loaded.push({ id, partition, rows, blocks });
    }
    return loaded;
  } finally {
    await file.close();
  }
}

/** Rows `from` to `to` of a batch, as a batch with another id. */
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
