// Counts the rows of a file while it is sent, so that an incomplete answer is detected.

export type RowCount = ReturnType<typeof rowCount>;

const lineBreak = 10;
const quote = 34;
/** Parquet's last bytes are written when all rows were. */
const parquetMagic = Buffer.from("PAR1");

/** @param format LineAsString, CSVWithNames or Parquet */
export function rowCount(format: string) {
  const isCsv = format === "CSVWithNames";
  const isParquet = format === "Parquet";
  let breaks = 0;
  /** Quotes in a cell are doubled: a line break ends a row if the number of quotes is even. */
  let inside = false;
  let tail = Buffer.from("\n");
  return {
    add: (chunk: Uint8Array): void => {
      tail = Buffer.concat([tail, chunk.subarray(-parquetMagic.length)]).subarray(-parquetMagic.length);
      if (isCsv) {
        for (let at = 0; at < chunk.length; at++) {
          if (chunk[at] === quote) inside = !inside;
          else if (chunk[at] === lineBreak && !inside) breaks++;
        }
      } else if (!isParquet) {
        for (let at = chunk.indexOf(lineBreak); at >= 0; at = chunk.indexOf(lineBreak, at + 1)) breaks++;
      }
    },
    /** The number of rows, without the names of CSV; undefined for a format whose rows cannot be counted. */
    rows: () => (isParquet ? undefined : Math.max(0, isCsv ? breaks - 1 : breaks)),
    /** Whether the file is complete, as far as its format shows. */
    ended: () => (isParquet ? tail.equals(parquetMagic) : !inside && tail.at(-1) === lineBreak),
  };
}
