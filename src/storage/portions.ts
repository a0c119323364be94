// Lists in portions by their bytes, as a statement's text or a block of a page can have them.

/** The list in portions of at most so many bytes, each of one element at least. */
export function cutPortions<Item>(list: readonly Item[], measure: (item: Item) => number, bytesMax: number) {
  const portions: Item[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const item of list) {
    const size = measure(item);
    if (bytes + size > bytesMax) {
      portions.push([]);
      bytes = 0;
    }
    portions.at(-1)!.push(item);
    bytes += size;
  }
  return portions;
}
