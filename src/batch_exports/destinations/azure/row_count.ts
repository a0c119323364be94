// Counts the rows of a file while it is sent, so that an incomplete answer is detected.

import { ExportError } from "../../failure.ts";

const lineBreak = 10;
const quote = 34;
/** Parquet's last bytes are written when all rows were; its rows cannot be counted. */
const parquetMagic = Buffer.from("PAR1");

/**
 * The chunks of a file.
 * @param format LineAsString, CSVWithNames or Parquet. @throws ExportError at its end when rows are missing.
 */
export async function* countRows(
  chunks: AsyncIterable<Uint8Array>,
  format: string,
  expected: number,
): AsyncGenerator<Uint8Array> {
  const isCsv = format === "CSVWithNames";
  const isParquet = format === "Parquet";
  // The first row of CSV has the names.
  let rows = isParquet ? expected : isCsv ? -1 : 0;
  /** Quotes in a cell are doubled: a line break ends a row if the number of quotes is even. */
  let isInside = false;
  let tail = Buffer.from("\n");
  for await (const chunk of chunks) {
    tail = Buffer.concat([tail, chunk.subarray(-parquetMagic.length)]).subarray(-parquetMagic.length);
    for (let at = 0; isCsv && at < chunk.length; at++) {
      if (chunk[at] === quote) isInside = !isInside;
      else if (chunk[at] === lineBreak && !isInside) rows++;
    }
    if (!isCsv && !isParquet)
      for (let at = chunk.indexOf(lineBreak); at >= 0; at = chunk.indexOf(lineBreak, at + 1)) rows++;
    yield chunk;
  }
  const isWhole = isParquet ? tail.equals(parquetMagic) : !isInside && tail.at(-1) === lineBreak;
  if (rows !== expected || !isWhole)
    throw new ExportError(`ClickHouse stopped after ${Math.max(0, rows)} of ${expected} rows`, false);
}
