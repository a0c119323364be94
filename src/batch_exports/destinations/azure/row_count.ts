// Counts the rows of a file while it is sent, so that an incomplete answer is detected.

export interface RowCount {
  add(chunk: Uint8Array): void;
  /** The number of rows; undefined for a format whose rows cannot be counted. */
  rows(): number | undefined;
  /** Whether the file is complete, as far as its format shows. */
  ended(): boolean;
}

/** @param format LineAsString, CSVWithNames or Parquet */
export function rowCount(format: string): RowCount {
  if (format === "Parquet") return parquetEnd();
  return format === "CSVWithNames" ? csvRows() : lines();
}

const lineBreak = 10;
const quote = 34;

function lines(): RowCount {
  let count = 0;
  let last = lineBreak;
  return {
    add: (chunk) => {
      for (let at = chunk.indexOf(lineBreak); at >= 0; at = chunk.indexOf(lineBreak, at + 1)) count++;
      last = chunk.at(-1) ?? last;
    },
    rows: () => count,
    ended: () => last === lineBreak,
  };
}

/**
 * Quotes in a cell are doubled: a line break ends a row if the number of quotes is even. The first row has the names.
 */
function csvRows(): RowCount {
  let count = 0;
  let inside = false;
  let last = lineBreak;
  return {
    add: (chunk) => {
      for (let at = 0; at < chunk.length; at++) {
        if (chunk[at] === quote) inside = !inside;
        else if (chunk[at] === lineBreak && !inside) count++;
      }
      last = chunk.at(-1) ?? last;
    },
    rows: () => Math.max(0, count - 1),
    ended: () => !inside && last === lineBreak,
  };
}

/** Parquet's last bytes are written when all rows were. */
function parquetEnd(): RowCount {
  let tail = Buffer.alloc(0);
  return {
    add: (chunk) => {
      tail = Buffer.concat([tail, chunk.subarray(-parquetMagic.length)]).subarray(-parquetMagic.length);
    },
    rows: () => undefined,
    ended: () => tail.equals(parquetMagic),
  };
}

const parquetMagic = Buffer.from("PAR1");
