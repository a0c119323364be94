// Reads the first columns of a segment's blocks, from which event_days is derived, and thins them out: of events that
// are too old to be counted by day, the latest of each name is enough.

import { eventDaysCounted } from "../../storage/events/event_days.ts";
import { BlockReader } from "../../storage/native/block_reader.ts";
import { numberedNamesAt, readIndex } from "../../storage/native/column_offsets.ts";
import { ByteColumn, writeBlockHead, writeColumnHead } from "../../storage/native/native.ts";
import { columnsThrough, cutColumn, readColumnHead } from "../../storage/native/native_cut.ts";
import type { JournalIo } from "../journal/journal_io.ts";
import type { Segment } from "../journal/segments/segment.ts";
import { flushLimits } from "./limits.ts";
import { listFrames, openWindow } from "./short_blocks.ts";

/** The columns and types of eventDaysOfBlocks. */
const heads = [
  ["uuid", "UUID"],
  ["project_id", "UInt32"],
  ["event", "LowCardinality(String)"],
  ["timestamp", "DateTime64(6, 'UTC')"],
] as const;

/** The age past which events are not counted by day, in ms: a day more than the engine counts by its own clock. */
const uncountedMs = (eventDaysCounted + 1) * 86_400_000;

/**
 * The block without the rows that are not counted by day, but for the latest of each project and name.
 * @param block the columns of event_days; with columns of another order it is returned as it is.
 * @param now in ms since 1970.
 * @throws Error when it is cut short.
 */
export function thinOldRows(block: Uint8Array, now: number): Uint8Array {
  const read = new BlockReader(block);
  const [columns, rows] = [read.varuint(), read.varuint()];
  const values: Uint8Array[] = [];
  for (const [name, type] of heads) {
    if (columns !== heads.length) return block;
    // A frame's first type has the frame's head in a comment.
    const found = readColumnHead(read);
    if (found.name !== name || found.type !== type) return block;
    values.push(cutColumn(read, type, rows, 0, rows));
  }
  const [uuids, projects, events, times] = values as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  const { indexesAt, indexBytes } = numberedNamesAt(events, 0);
  const indexes = events.subarray(indexesAt);
  const readName = (row: number) => readIndex(indexes, indexBytes, row);
  const chosenRows = chooseRows(rows, { projects, times, readName }, (now - uncountedMs) * 1000);
  if (chosenRows.length === rows) return block;
  const out = new ByteColumn(chosenRows.length * 32 + indexesAt + 256);
  writeBlockHead(out, heads.length, chosenRows.length);
  const writeRows = (source: Uint8Array, width: number): void => {
    for (const row of chosenRows) out.raw(source, row * width, (row + 1) * width);
  };
  writeColumnHead(out, ...heads[0]);
  writeRows(uuids, 16);
  writeColumnHead(out, ...heads[1]);
  writeRows(projects, 4);
  writeColumnHead(out, ...heads[2]);
  // All of it before the number of rows.
  out.raw(events, 0, indexesAt - 8);
  out.u64(BigInt(chosenRows.length));
  writeRows(indexes, indexBytes);
  writeColumnHead(out, ...heads[3]);
  writeRows(times, 8);
  return out.filled();
}

/** The rows since then, in microseconds, and the latest of each project and name, in rising order. */
function chooseRows(
  rows: number,
  read: { projects: Uint8Array; times: Uint8Array; readName: (row: number) => number },
  since: number,
): number[] {
  const [projectsView, timesView] = [read.projects, read.times].map(
    ({ buffer, byteOffset, byteLength }) => new DataView(buffer, byteOffset, byteLength),
  ) as [DataView, DataView];
  const readTime = (row: number): number =>
    timesView.getInt32(row * 8 + 4, true) * 2 ** 32 + timesView.getUint32(row * 8, true);
  const latest = new Map<number, number>();
  const recent: number[] = [];
  for (let row = 0; row < rows; row++) {
    const time = readTime(row);
    if (time >= since) recent.push(row);
    else {
      // A block has fewer names than 2 ** 20.
      const name = projectsView.getUint32(row * 4, true) * 2 ** 20 + read.readName(row);
      const before = latest.get(name);
      if (before === undefined || time > readTime(before)) latest.set(name, row);
    }
  }
  return [...recent, ...latest.values()].toSorted((a, b) => a - b);
}

/** Bytes of uuid, project_id, event and timestamp for each row, where a block has up to 65,536 names. */
const rowBytes = 16 + 4 + 2 + 8;
/** Bytes beside them: the columns' heads, and usual names. */
const headBytes = 2048;

/**
 * The columns of a segment's blocks up to the one named `last`, as blocks. Of a block whose columns have another
 * order, as an earlier version wrote them, more is read.
 * @throws when the file ends before.
 */
export async function* readFirstColumns(
  io: JournalIo,
  { path, batches }: Pick<Segment, "path" | "batches">,
  last: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const frames = listFrames(batches);
  const window = await openWindow(io, path, frames, flushLimits.firstColumnsBytes);
  try {
    for (const { offset, length, rows } of frames) {
      const likely = Math.min(length, headBytes + rows * rowBytes);
      const block = columnsThrough(await window.read(offset, likely), last);
      const found = block ?? columnsThrough(await window.read(offset, length), last);
      if (!found) throw new Error("a block is cut short");
      yield found;
    }
  } finally {
    await window.close();
  }
}
