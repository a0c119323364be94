import { expect, test } from "bun:test";
import { FirstRanks } from "../../../src/capture/event/first_ranks.ts";
import { captureLimits } from "../../../src/capture/limits.ts";

const uuid = (...words: number[]): Uint32Array => Uint32Array.from(words);

test("an event that is sent again keeps its first rank, another one with a uuid nearly as its has its own", () => {
  const ranks = new FirstRanks();
  expect(ranks.settle(uuid(1, 2, 3, 4), 0, 10)).toBe(10);
  expect(ranks.settle(uuid(1, 2, 3, 5), 0, 11)).toBe(11);
  expect(ranks.settle(uuid(9, 9, 9, 9, 1, 2, 3, 5), 4, 12)).toBe(11);
  expect(ranks.settle(uuid(1, 2, 3, 4), 0, 13)).toBe(13);
});

test("so many ranks are remembered that a body sent again finds its own, and no more", () => {
  const ranks = new FirstRanks();
  const many = captureLimits.firstRanksMax;
  for (let i = 0; i < many; i++) ranks.settle(uuid(0, 7, i, 7), 0, i + 1);
  for (let i = 0; i < many; i++) expect(ranks.settle(uuid(0, 7, i, 7), 0, 2 * many)).toBe(i + 1);
  for (let i = 0; i < many; i++) ranks.settle(uuid(0, 7, i, 8), 0, 3 * many);
  expect(ranks.settle(uuid(0, 7, 5, 7), 0, 4 * many)).toBe(4 * many);
});
