// JSON cells in rows of Postgres's text format: jsonb refuses numbers that the stored text may have.

import { boundNumbers, mayExceed } from "../../../core/json/bounded_numbers.ts";

const lineFeed = 10;
const tab = 9;

/** The chunks cut after whole rows, with the numbers bounded in the cells at these positions. */
export async function* boundCells(
  chunks: AsyncIterable<Uint8Array>,
  positions: ReadonlySet<number>,
): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array[] = [];
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(lineFeed) + 1;
    if (end > 0) {
      yield boundRows(Buffer.concat([...rest, chunk.subarray(0, end)]), positions);
      rest = [];
    }
    if (end < chunk.length) rest.push(chunk.slice(end));
  }
  if (rest.length > 0) yield boundRows(Buffer.concat(rest), positions);
}

/** Nearly all blocks have no such number; only in the others cells are looked for. */
function boundRows(rows: Buffer, positions: ReadonlySet<number>): Buffer {
  if (positions.size === 0 || !mayExceed(rows)) return rows;
  const parts: Uint8Array[] = [];
  let position = 0;
  for (let from = 0; from < rows.length;) {
    const end = endOfCell(rows, from);
    const cell = rows.subarray(from, end);
    const isJson = positions.has(position) && mayExceed(cell);
    parts.push(isJson ? boundCell(cell) : cell, rows.subarray(end, end + 1));
    position = rows[end] === tab ? position + 1 : 0;
    from = end + 1;
  }
  return Buffer.concat(parts);
}

function endOfCell(rows: Buffer, from: number): number {
  let end = from;
  while (end < rows.length && rows[end] !== tab && rows[end] !== lineFeed) end++;
  return end;
}

const meanings: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  0: "\0",
};
const spellings: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Latin-1 keeps each byte. */
function boundCell(cell: Buffer): Buffer {
  const text = cell
    .toString("latin1")
    .replaceAll(/\\(.)/gs, (_, letter: string) => meanings[letter] ?? letter);
  const bounded = Buffer.from(boundNumbers(Buffer.from(text, "latin1"))).toString("latin1");
  const escaped = bounded.replaceAll(/[\\\n\r\t]/g, (char) => spellings[char] ?? char);
  return Buffer.from(escaped, "latin1");
}
