// Reads the first columns of a segment's blocks, from which event_days is derived, and thins them out: of events that
// are too old to be counted by day, the latest of each name is enough.

import { eventDaysCounted } from "../../storage/events/event_days.ts";
import { BlockReader } from "../../storage/native/block_reader.ts";
import { ByteColumn, writeBlockHead, writeColumnHead } from "../../storage/native/native.ts";
import { columnsThrough, cutColumn } from "../../storage/native/native_cut.ts";
import { type JournalIo, readWhole } from "../journal/journal_io.ts";
import type { Segment } from "../journal/segments/segment.ts";
import { flushLimits } from "./limits.ts";

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
    if (columns !== heads.length || read.text() !== name || read.text() !== type) return block;
    values.push(cutColumn(read, type, rows, 0, rows));
  }
  const [uuids, projects, events, times] = values as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  const names = readLowCardinality(events, rows);
  const chosenRows = chooseRows(rows, { projects, times, names }, (now - uncountedMs) * 1000);
  if (chosenRows.length === rows) return block;
  const out = new ByteColumn(chosenRows.length * 32 + names.head.length + 256);
  writeBlockHead(out, heads.length, chosenRows.length);
  const writeRows = (source: Uint8Array, width: number): void => {
    for (const row of chosenRows) out.raw(source, row * width, (row + 1) * width);
  };
  writeColumnHead(out, ...heads[0]);
  writeRows(uuids, 16);
  writeColumnHead(out, ...heads[1]);
  writeRows(projects, 4);
  writeColumnHead(out, ...heads[2]);
  out.raw(names.head);
  out.u64(BigInt(chosenRows.length));
  writeRows(names.indexes, names.width);
  writeColumnHead(out, ...heads[3]);
  writeRows(times, 8);
  return out.filled();
}

interface Names {
  /** All bytes before the number of rows. */
  head: Uint8Array;
  count: number;
  indexes: Uint8Array;
  /** Bytes of an index. */
  width: number;
}

function readLowCardinality(column: Uint8Array, rows: number): Names {
  const read = new BlockReader(column);
  read.slice(8);
  const width = 1 << Number(read.u64() & 255n);
  const count = Number(read.u64());
  read.strings(count, 0, 0);
  const head = read.between(0, read.at);
  read.slice(8);
  return { head, count, indexes: read.slice(rows * width), width };
}

/** The rows since then, in microseconds, and the latest of each project and name, in rising order. */
function chooseRows(
  rows: number,
  { projects, times, names }: { projects: Uint8Array; times: Uint8Array; names: Names },
  since: number,
): number[] {
  const [projectsView, timesView, indexes] = [projects, times, names.indexes].map(
    ({ buffer, byteOffset, byteLength }) => new DataView(buffer, byteOffset, byteLength),
  ) as [DataView, DataView, DataView];
  const readTime = (row: number): number =>
    timesView.getInt32(row * 8 + 4, true) * 2 ** 32 + timesView.getUint32(row * 8, true);
  const latest = new Map<number, number>();
  const recent: number[] = [];
  for (let row = 0; row < rows; row++) {
    const time = readTime(row);
    if (time >= since) recent.push(row);
    else {
      const name = projectsView.getUint32(row * 4, true) * names.count + readIndex(indexes, row, names.width);
      const before = latest.get(name);
      if (before === undefined || time > readTime(before)) latest.set(name, row);
    }
  }
  return [...recent, ...latest.values()].toSorted((a, b) => a - b);
}

function readIndex(indexes: DataView, row: number, width: number): number {
  if (width === 1) return indexes.getUint8(row);
  return width === 2 ? indexes.getUint16(row * 2, true) : indexes.getUint32(row * 4, true);
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
