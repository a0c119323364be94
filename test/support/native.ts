// Blocks in ClickHouse's Native format, as tests look at them.

import { BlockReader } from "../../src/storage/native/block_reader.ts";
import { columnHeads, cutColumn } from "../../src/storage/native/native_cut.ts";

/** The number of rows in a block's head: the second of two numbers of seven bits a byte. */
export function rowsOfBlock(block: Uint8Array): number {
  let at = 0;
  while (block[at]! >= 128) at++;
  let rows = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = block[++at]!;
    rows += (byte & 127) * 2 ** shift;
    if (byte < 128) return rows;
  }
}

/** The length of the first block of `bytes`: a frame or file may hold several. */
export function lengthOfBlock(bytes: Uint8Array): number {
  const read = new BlockReader(bytes);
  const [columns, rows] = [read.varuint(), read.varuint()];
  for (const { type } of columnHeads(read, columns)) cutColumn(read, type, rows, 0, 0);
  return read.at;
}
