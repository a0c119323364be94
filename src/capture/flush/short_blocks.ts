// Joins the short blocks of a segment before they are sent: where live events arrive one by one, a frame has as many
// rows as arrived while the one before was synced, and a block costs the engine as much as tens of rows.

import { limits } from "../../core/limits.ts";
import { BlockJoiner } from "../../storage/native/native_join.ts";
import { type JournalIo, readWhole } from "../journal/journal_io.ts";
import type { LaneKind } from "../journal/lane_kind.ts";
import type { Batch, Frame } from "../journal/segments/segment.ts";
import { flushLimits } from "./limits.ts";

/** Whether joining the frames of these batches costs less than it saves the engine. */
export function areShort(batches: readonly Batch[], { isNative }: LaneKind): boolean {
  const rows = batches.reduce((sum, batch) => sum + batch.rows, 0);
  const frames = batches.reduce((sum, batch) => sum + batch.frames.length, 0);
  return isNative && frames > 1 && rows < frames * flushLimits.shortBlockRows;
}

/**
 * The blocks, in their order, joined to blocks of at most limits.copyBytesMax bytes where they are shorter; each is
 * valid until the next.
 */
export async function* joinBlocks(blocks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const joiner = new BlockJoiner();
  for await (const block of blocks) {
    const isLong = block.length > limits.copyBytesMax / 2;
    if (!isLong && joiner.bytes + block.length <= limits.copyBytesMax && joiner.append(block)) continue;
    const joined = joiner.drainBlock();
    if (joined) yield joined;
    if (isLong || !joiner.append(block)) yield block;
  }
  const joined = joiner.drainBlock();
  if (joined) yield joined;
}

/** The frames of batches in the order of their file. */
export function listFrames(batches: readonly Batch[]): Frame[] {
  return batches.flatMap(({ frames }) => frames).toSorted((a, b) => a.offset - b.offset);
}

/** Reads the Native blocks of batches in the order of their file. @throws when the file ends before. */
export async function* readFrames(io: JournalIo, path: string, batches: readonly Batch[]) {
  const frames = listFrames(batches);
  const window = await openWindow(io, path, frames, limits.copyBytesMax);
  try {
    for (const { offset, length } of frames) yield await window.read(offset, length);
  } finally {
    await window.close();
  }
}

/** Reads ranges of a file from its beginning on, so many bytes at once: short blocks lie next to each other. */
export async function openWindow(io: JournalIo, path: string, frames: readonly Frame[], bytesAtOnce: number) {
  const end = frames.reduce((most, { offset, length }) => Math.max(most, offset + length), 0);
  const file = await io.open(path, "r");
  let [window, start] = [new Uint8Array(0), 0];
  return {
    /** @throws when the file ends before. */
    read: async (offset: number, length: number): Promise<Uint8Array> => {
      if (offset < start || offset + length > start + window.length) {
        const size = Math.min(Math.max(length, bytesAtOnce), end - offset);
        [window, start] = [new Uint8Array(size), offset];
        await readWhole(file, window, offset);
      }
      return window.subarray(offset - start, offset - start + length);
    },
    close: () => file.close(),
  };
}
