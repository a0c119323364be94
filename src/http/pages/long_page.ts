// Pages whose rows may be long: which rows fit into a reply, and how they are read and sent in blocks.

import { yieldToEventLoop } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { httpLimits } from "../limits.ts";
import { limits } from "../../core/limits.ts";

/**
 * Checks that a page fits into a reply; a single row always does.
 * @param sizes bytes of each row, in order.
 * @throws Fault with attr `limit`, which names how many rows fit.
 */
export function checkFits(sizes: readonly number[], bytesMax: number = httpLimits.pageBytesMax): void {
  const fits = fitting(sizes, bytesMax);
  if (fits === undefined) return;
  const detail = `These rows are longer than the ${bytesMax} bytes of a page. Ask with limit=${fits}.`;
  throw new Fault("max_value", detail, { attr: "limit" });
}

/** How many of the first rows fit into `bytesMax`, at least one; undefined when all do. */
export function fitting(sizes: readonly number[], bytesMax: number): number | undefined {
  let bytes = 0;
  for (const [i, size] of sizes.entries()) {
    bytes += size;
    if (bytes > bytesMax && sizes.length > 1) return Math.max(1, i);
  }
  return undefined;
}

/** Splits the list into blocks of at most `bytesMax`; a longer element is a block of its own. */
export function blocksOf<One>(
  list: readonly One[],
  sizeOf: (one: One) => number,
  bytesMax: number = httpLimits.pageBlockBytes,
): One[][] {
  const blocks: One[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const one of list) {
    const size = sizeOf(one);
    if (bytes + size > bytesMax) {
      blocks.push([]);
      bytes = 0;
    }
    blocks.at(-1)!.push(one);
    bytes += size;
  }
  return blocks;
}

/**
 * Rows as JSON texts, each with a comma before it, in slices; yields to the event loop in between. The first block is
 * read before this resolves, so that its failure can still set the status.
 */
export async function begunTexts<Row>(
  blocks: AsyncGenerator<Row[], void>,
  textOf: (row: Row) => string,
): Promise<AsyncGenerator<Uint8Array, void>> {
  return await begun(textsOf(blocks, textOf));
}

/** The same pieces, the first of which is ready when this resolves. */
export async function begun<Piece>(
  pieces: AsyncGenerator<Piece, void>,
): Promise<AsyncGenerator<Piece, void>> {
  const first = await pieces.next();
  return (async function* () {
    if (!first.done) yield first.value;
    yield* pieces;
  })();
}

async function* textsOf<Row>(
  blocks: AsyncGenerator<Row[], void>,
  textOf: (row: Row) => string,
): AsyncGenerator<Uint8Array, void> {
  for await (const rows of blocks) {
    let text = "";
    for (const row of rows) {
      text += `,${textOf(row)}`;
      if (text.length < limits.replySliceBytes) continue;
      yield Buffer.from(text);
      text = "";
      await yieldToEventLoop();
    }
    if (text !== "") yield Buffer.from(text);
  }
}
