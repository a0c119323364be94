import { expect, test } from "bun:test";
import {
  toLayouts,
  toShapes,
  withChanged,
  withMoved,
} from "../../../../src/console/app/dashboards/layout.ts";

const shape = (id: number, isWide = false, isTall = false) => ({ id, isWide, isTall });
const ids = (shapes: readonly { id: number }[]) => shapes.map(({ id }) => id);

test("tiles are read from the top left, those without a place last", () => {
  const at = (id: number, x: number, y: number, w = 6, h = 5) => ({ id, layouts: { sm: { x, y, w, h } } });
  const shapes = toShapes([
    { id: 1, layouts: {} },
    at(2, 6, 0),
    { id: 3, layouts: { sm: null } },
    at(4, 0, 5, 12, 10),
    at(5, 0, 0),
  ]);
  expect(shapes).toEqual([shape(5), shape(2), shape(4, true, true), shape(1), shape(3)]);
});

test("places fill rows of twelve columns, below what is highest in the row above", () => {
  const places = toLayouts([shape(1), shape(2, false, true), shape(3), shape(4, true), shape(5)]);
  expect(places.map(({ id, layouts: { sm } }) => [id, sm?.x, sm?.y, sm?.w, sm?.h])).toEqual([
    [1, 0, 0, 6, 5],
    [2, 6, 0, 6, 10],
    [3, 0, 10, 6, 5],
    [4, 0, 15, 12, 5],
    [5, 0, 20, 6, 5],
  ]);
  // In a narrow window one stands below the other.
  expect(places.map(({ layouts: { xs } }) => xs?.y)).toEqual([0, 5, 15, 20, 25]);
});

test("places that were kept give the same order and shapes", () => {
  const shapes = [shape(3, true), shape(1), shape(2, false, true), shape(5, true, true), shape(4)];
  expect(toShapes(toLayouts(shapes).toReversed())).toEqual(shapes);
});

test("a tile changes places with its neighbour, and stays at either end", () => {
  const shapes = [shape(1), shape(2), shape(3)];
  expect(ids(withMoved(shapes, 2, -1))).toEqual([2, 1, 3]);
  expect(ids(withMoved(shapes, 2, 1))).toEqual([1, 3, 2]);
  expect(ids(withMoved(shapes, 1, -1))).toEqual([1, 2, 3]);
  expect(ids(withMoved(shapes, 3, 1))).toEqual([1, 2, 3]);
  expect(withChanged(shapes, 2, { isTall: true })).toEqual([shape(1), shape(2, false, true), shape(3)]);
});
