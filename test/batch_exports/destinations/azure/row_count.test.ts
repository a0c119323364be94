// Rows that are counted while a file's bytes pass.

import { expect, test } from "bun:test";
import { countRows } from "../../../../src/batch_exports/destinations/azure/azure.ts";

/** Passes on a text cut into pieces of every length: why it is refused, if it is. */
async function problemsOf(format: string, text: string, expected: number): Promise<string[]> {
  const bytes = new TextEncoder().encode(text);
  const problems = [1, 2, 3, 7, Math.max(1, bytes.length)].map(async (length) => {
    const chunks = async function* () {
      for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
    };
    try {
      const passed = await Array.fromAsync(countRows(chunks(), format, expected));
      return Buffer.concat(passed).toString() === text ? "" : "it is another text";
    } catch (thrown) {
      return (thrown as Error).message;
    }
  });
  return await Promise.all(problems);
}

test.each([
  ["LineAsString", "", 0, true],
  ["LineAsString", '{"a":1}\n{"a":2}\n', 2, true],
  ["LineAsString", '{"a":1}\n{"a"', 1, false],
  ["CSVWithNames", '"a","b"\n1,"x"\n2,"y ""\n"" z"\n', 2, true],
  ["CSVWithNames", '"a","b"\n1,"x\n2', 0, false],
  ["CSVWithNames", '"a"\n1', 0, false],
  ["Parquet", "PAR1 rows PAR1", 3, true],
  ["Parquet", "PAR1 rows", 3, false],
  ["Parquet", "", 3, false],
] as const)("%s: %j", async (format, text, rows, isWhole) => {
  const stopped = `ClickHouse stopped after ${rows} of ${rows} rows`;
  for (const problem of await problemsOf(format, text, rows)) expect(problem).toBe(isWhole ? "" : stopped);
  if (format === "Parquet") return;
  for (const problem of await problemsOf(format, text, 9))
    expect(problem).toBe(`ClickHouse stopped after ${rows} of 9 rows`);
});
