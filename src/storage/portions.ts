// Lists in portions by their bytes, as a statement's text or a block of a page can have them.

/** The list in portions of at most so many bytes, each of one element at least. */
export function portionsOf<One>(
  list: readonly One[],
  sizeOf: (one: One) => number,
  bytesMax: number,
): One[][] {
  const portions: One[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const one of list) {
    const size = sizeOf(one);
    if (bytes + size > bytesMax) {
      portions.push([]);
      bytes = 0;
    }
    portions.at(-1)!.push(one);
    bytes += size;
  }
  return portions;
}
