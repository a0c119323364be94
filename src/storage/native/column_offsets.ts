// The offsets of columns in a Native block, for readers of its bytes.

import { BlockReader } from "./block_reader.ts";
import { columnHeads, skipColumn } from "./native_cut.ts";

interface ColumnOffsets {
  from: number;
  to: number;
}

/** A Native block's number of rows, and the offsets of these columns. @throws Error as cutBlock(). */
export function columnOffsets<Name extends string>(block: Uint8Array, columnNames: readonly Name[]) {
  const read = new BlockReader(block);
  const [count, rows] = [read.varuint(), read.varuint()];
  const offsets: Partial<Record<string, ColumnOffsets>> = {};
  let columnsLeft = columnNames.length;
  for (const { name, type } of columnHeads(read, count)) {
    const from = read.at;
    skipColumn(read, type, rows);
    offsets[name] = { from, to: read.at };
    if ((columnNames as readonly string[]).includes(name) && --columnsLeft === 0) break;
  }
  if (columnsLeft > 0) throw new Error(`a block without one of ${columnNames.join(", ")}`);
  return { rows, offsets: offsets as Record<Name, ColumnOffsets> };
}

/**
 * The values of a LowCardinality(String) column of at least one row, from their offset in a block: names, where the
 * rows' numbers of them begin, and the bytes of each.
 * @throws Error as cutBlock().
 */
export function numberedNamesAt(block: Uint8Array, from: number) {
  const read = new BlockReader(block);
  read.at = from + 8;
  const indexBytes = 1 << Number(read.u64() & 255n);
  const names = Array.from({ length: Number(read.u64()) }, () => read.slice(read.varuint()));
  return { names, indexesAt: read.at + 8, indexBytes };
}

/** The number of a row's name, of so many bytes, among those of numberedNamesAt(). */
export function readIndex(indexes: Uint8Array, indexBytes: number, row: number): number {
  let index = 0;
  for (let byte = indexBytes - 1; byte >= 0; byte--) index = index * 256 + indexes[row * indexBytes + byte]!;
  return index;
}
