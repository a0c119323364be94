// Rows in lines, sent in batches of bounded length. Those that the destination refuses are put aside.

import { ExportError } from "../failure.ts";
import { exportLimits } from "../limits.ts";
import type { ExportWork, RefusedRow } from "../source/statements.ts";

const { postBytesMax, postRowsMax, refusedNamedMax, refusedTriesMax } = exportLimits;

/** An incomplete last line is dropped, which the count reveals. */
export async function* readLineBatches(chunks: AsyncIterable<Uint8Array>, bytesMax = postBytesMax) {
  let lines: Uint8Array[] = [];
  let bytes = 0;
  for await (const line of readLines(chunks)) {
    if (lines.length >= postRowsMax || (lines.length > 0 && bytes + line.length > bytesMax)) {
      yield lines;
      lines = [];
      bytes = 0;
    }
    lines.push(line);
    bytes += line.length;
  }
  if (lines.length > 0) yield lines;
}

async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let openLine: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const line = chunk.subarray(from, at);
      yield openLine.length > 0 ? Buffer.concat([...openLine, line]) : line;
      openLine = [];
      from = at + 1;
    }
    if (from < chunk.length) openLine.push(chunk.slice(from));
  }
}

/**
 * Sends rows in batches. A refused batch is halved until a row is refused by itself: each refused row takes up to two
 * tries for every halving. `readRefusal`: why the row was refused; undefined for another error. `checkDestination` is
 * called while none is accepted, and throws where that is no fault of the rows.
 * @returns how many were accepted. @throws ExportError when too many were refused, or rows are missing.
 */
export async function sendBatches(
  { rows, refused }: Pick<ExportWork, "rows" | "refused">,
  chunks: AsyncIterable<Uint8Array>,
  {
    send,
    readRefusal,
    checkDestination,
    bytesMax,
  }: {
    send(lines: readonly Uint8Array[]): Promise<unknown>;
    readRefusal(thrown: unknown, line: Uint8Array): Omit<RefusedRow, "thrown"> | undefined;
    checkDestination(): Promise<void>;
    bytesMax?: number;
  },
): Promise<number> {
  let accepted = 0;
  let tries = 0;
  const sendHalving = async (lines: readonly Uint8Array[]): Promise<void> => {
    try {
      await send(lines);
      accepted += lines.length;
    } catch (thrown) {
      const refusal = readRefusal(thrown, lines[0]!);
      if (!refusal) throw thrown;
      if (++tries > refusedTriesMax) {
        const detail = `The destination refused ${refused.count} rows and more, the last one because of`;
        throw new ExportError(`${detail} ${refusal.reason}`, true);
      }
      if (lines.length === 1) {
        if (++refused.count <= refusedNamedMax) refused.named.push({ ...refusal, thrown });
        if (accepted === 0 && refused.count === refusedNamedMax) await checkDestination();
        return;
      }
      const half = Math.ceil(lines.length / 2);
      await sendHalving(lines.slice(0, half));
      await sendHalving(lines.slice(half));
    }
  };
  for await (const lines of readLineBatches(chunks, bytesMax)) await sendHalving(lines);
  const total = accepted + refused.count;
  if (total !== rows) throw new ExportError(`ClickHouse stopped after ${total} of ${rows} rows`, false);
  if (accepted === 0 && rows < refusedNamedMax) await checkDestination();
  return accepted;
}
