// Counts the rows of a file as its bytes pass, so that an incomplete answer is detected.

export interface RowCount {
  add(piece: Uint8Array): void;
  /** The number of rows; undefined for a format whose rows cannot be counted so. */
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
    add: (piece) => {
      for (let at = piece.indexOf(lineBreak); at >= 0; at = piece.indexOf(lineBreak, at + 1)) count++;
      last = piece.at(-1) ?? last;
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
    add: (piece) => {
      for (let at = 0; at < piece.length; at++) {
        if (piece[at] === quote) inside = !inside;
        else if (piece[at] === lineBreak && !inside) count++;
      }
      last = piece.at(-1) ?? last;
    },
    rows: () => Math.max(0, count - 1),
    ended: () => !inside && last === lineBreak,
  };
}

/** Parquet's last bytes are written when all rows were. */
function parquetEnd(): RowCount {
  let tail = Buffer.alloc(0);
  return {
    add: (piece) => {
      tail = Buffer.concat([tail, piece.subarray(-parquetMark.length)]).subarray(-parquetMark.length);
    },
    rows: () => undefined,
    ended: () => tail.equals(parquetMark),
  };
}

const parquetMark = Buffer.from("PAR1");
