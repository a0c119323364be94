// Reads the first columns of a segment's blocks: a twentieth of an event's bytes.

import { columnsThrough } from "../../storage/native/native_cut.ts";
import type { JournalIo } from "../journal/journal_io.ts";
import { readWhole } from "../journal/segments/files.ts";
import type { Segment } from "../journal/segments/segment.ts";
import { flushLimits } from "./limits.ts";

/** Bytes of uuid, project_id, event and timestamp for each row, where a block has up to 65,536 names. */
const rowBytes = 16 + 4 + 2 + 8;
/** Bytes beside them: the columns' heads, and usual names. */
const headBytes = 2048;

/**
 * The columns of a segment's blocks up to the one named `last`, as blocks. Of a block whose columns have another
 * order, as an earlier version wrote them, more is read.
 * @throws when the file ends before.
 */
export async function* firstColumnsOf(
  io: JournalIo,
  { path, batches }: Pick<Segment, "path" | "batches">,
  last: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const frames = batches.flatMap((batch) => batch.frames).toSorted((a, b) => a.offset - b.offset);
  const end = frames.reduce((most, { offset, length }) => Math.max(most, offset + length), 0);
  const file = await io.open(path, "r");
  let [window, start] = [new Uint8Array(0), 0];
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    if (offset < start || offset + length > start + window.length) {
      // Short blocks lie next to each other: many are read at once.
      const size = Math.min(Math.max(length, flushLimits.firstColumnsBytes), end - offset);
      [window, start] = [new Uint8Array(size), offset];
      await readWhole(file, window, offset);
    }
    return window.subarray(offset - start, offset - start + length);
  };
  try {
    for (const { offset, length, rows } of frames) {
      const likely = Math.min(length, headBytes + rows * rowBytes);
      const block = columnsThrough(await read(offset, likely), last);
      const found = block ?? columnsThrough(await read(offset, length), last);
      if (!found) throw new Error("a block is cut short");
      yield found;
    }
  } finally {
    await file.close();
  }
}
