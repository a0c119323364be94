// Rows in lines, in batches of bounded length.

import { exportLimits } from "../limits.ts";

/** An incomplete last line is dropped, which the count reveals. */
export async function* batchesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array[]> {
  let lines: Uint8Array[] = [];
  let bytes = 0;
  for await (const line of linesOf(chunks)) {
    if (
      lines.length >= exportLimits.postRowsMax ||
      (lines.length > 0 && bytes + line.length > exportLimits.postBytesMax)
    ) {
      yield lines;
      lines = [];
      bytes = 0;
    }
    lines.push(line);
    bytes += line.length;
  }
  if (lines.length > 0) yield lines;
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const line = chunk.subarray(from, at);
      yield rest.length > 0 ? Buffer.concat([...rest, line]) : line;
      rest = [];
      from = at + 1;
    }
    if (from < chunk.length) rest.push(chunk.slice(from));
  }
}
