// Pages whose rows may be long: what fits into a reply, and what is read and sent of it at a time.

import { yieldToEventLoop } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { httpLimits } from "../limits.ts";
import { limits } from "../../core/limits.ts";

/**
 * @param sizes bytes of each row of the page, in its order.
 * @throws Fault with `limit` as its attr, naming how many rows fit, where all of them are longer than a page may be.
 *   One row always fits.
 */
export function checkFits(sizes: readonly number[], bytesMax: number = httpLimits.pageBytesMax): void {
  const fits = fitting(sizes, bytesMax);
  if (fits === undefined) return;
  const detail = `These rows are longer than the ${bytesMax} bytes of a page. Ask with limit=${fits}.`;
  throw new Fault("max_value", detail, { attr: "limit" });
}

/** How many of the first of these fit into `bytesMax`, at least one; undefined when all do. */
export function fitting(sizes: readonly number[], bytesMax: number): number | undefined {
  let bytes = 0;
  for (const [i, size] of sizes.entries()) {
    bytes += size;
    if (bytes > bytesMax && sizes.length > 1) return Math.max(1, i);
  }
  return undefined;
}

/** The list cut into blocks of at most `bytesMax`, or of a single element that is longer. */
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
 * Rows as JSON texts with a comma before each of them, some at a time: others have their turn in between. The first
 * block is read before this resolves, so that what is wrong with it has a status of its own.
 */
export async function begunTexts<Row>(
  blocks: AsyncGenerator<Row[], void>,
  textOf: (row: Row) => string,
): Promise<AsyncGenerator<Uint8Array, void>> {
  const texts = textsOf(blocks, textOf);
  const first = await texts.next();
  return (async function* () {
    if (!first.done) yield first.value;
    yield* texts;
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
