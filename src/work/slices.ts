// Long lists in slices, with a turn of the event loop for others between two; streams whose first chunk is ready.

import { yieldToEventLoop } from "../core/clock.ts";
import { limits } from "../core/limits.ts";

/** Slices of at most `size`. Elements added after the first slice was requested are omitted. */
export async function* slices<Item>(
  all: readonly Item[],
  size: number = limits.mergesAtOnceMax,
): AsyncGenerator<Item[], void, undefined> {
  const { length } = all;
  for (let from = 0; from < length; from += size) {
    if (from > 0) await yieldToEventLoop();
    yield all.slice(from, Math.min(length, from + size));
  }
}

/**
 * Applies `show` to each row, and yields to the event loop after so many rows.
 * @param measure what of a row costs time, as of JSON texts: it yields after replySliceBytes of it, too.
 */
export async function mapInSlices<Row, Shown>(
  rows: readonly Row[],
  show: (row: Row) => Shown,
  measure: (row: Row) => number = () => 0,
): Promise<Shown[]> {
  const results: Shown[] = [];
  let [count, length] = [0, 0];
  for (const row of rows) {
    if (count === limits.rowsShownAtOnceMax || length >= limits.replySliceBytes) {
      [count, length] = [0, 0];
      await yieldToEventLoop();
    }
    results.push(show(row));
    count++;
    length += measure(row);
  }
  return results;
}

/**
 * Resolves when the first chunk is ready, to all chunks: a failure of the first can still set a reply's status. To end
 * them frees what they hold, although none was taken.
 */
export async function primed<Chunk>(
  chunks: AsyncGenerator<Chunk, void>,
): Promise<AsyncGenerator<Chunk, void>> {
  const first = await chunks.next();
  const all = (async function* () {
    try {
      // A generator that was not begun would end without its finally.
      yield undefined as Chunk;
      if (!first.done) yield first.value;
      yield* chunks;
    } finally {
      await chunks.return();
    }
  })();
  await all.next();
  return all;
}

/** Both answers; where the other one fails, chunks that are ready are ended. */
export async function besidePrimed<Other, Chunk>(
  other: Promise<Other>,
  chunks: Promise<AsyncGenerator<Chunk, void>>,
): Promise<[Other, AsyncGenerator<Chunk, void>]> {
  return await Promise.all([other, chunks]).catch(async (thrown) => {
    await chunks.then(
      (all) => all.return(),
      () => {},
    );
    throw thrown;
  });
}
