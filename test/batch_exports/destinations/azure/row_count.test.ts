// Rows that are counted while a file's bytes pass.

import { expect, test } from "bun:test";
import { rowCount } from "../../../../src/batch_exports/destinations/azure/row_count.ts";

/** Counts a text cut into pieces of every length. */
function countsOf(format: string, text: string): [number | undefined, boolean][] {
  const bytes = new TextEncoder().encode(text);
  return [1, 2, 3, 7, Math.max(1, bytes.length)].map((length) => {
    const count = rowCount(format);
    for (let at = 0; at < bytes.length; at += length) count.add(bytes.subarray(at, at + length));
    return [count.rows(), count.ended()];
  });
}

test.each([
  ["LineAsString", "", 0, true],
  ["LineAsString", '{"a":1}\n{"a":2}\n', 2, true],
  ["LineAsString", '{"a":1}\n{"a"', 1, false],
  ["CSVWithNames", '"a","b"\n1,"x"\n2,"y ""\n"" z"\n', 2, true],
  ["CSVWithNames", '"a","b"\n1,"x\n2', 0, false],
  ["CSVWithNames", '"a"\n1', 0, false],
  ["Parquet", "PAR1 rows PAR1", undefined, true],
  ["Parquet", "PAR1 rows", undefined, false],
  ["Parquet", "", undefined, false],
] as const)("%s: %j", (format, text, rows, ended) => {
  for (const count of countsOf(format, text)) expect(count).toEqual([rows, ended]);
});
