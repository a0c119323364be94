// Rows as one Native block, for those that are few.

import { ByteColumn, writeBlockHead, writeColumnHead } from "./native.ts";

/** Name, type, and what writes a row's value. */
export type NativeColumns<Row> = readonly (readonly [string, string, (out: ByteColumn, row: Row) => void])[];

export function nativeBlock<Row>(rows: readonly Row[], columns: NativeColumns<Row>): Uint8Array {
  const out = new ByteColumn(rows.length * 96);
  writeBlockHead(out, columns.length, rows.length);
  for (const [name, type, write] of columns) {
    writeColumnHead(out, name, type);
    for (const row of rows) write(out, row);
  }
  return out.filled();
}
