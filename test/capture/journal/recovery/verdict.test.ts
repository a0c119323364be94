// What of a segment is judged to be lost: each case of the table in FORMAT.md.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { liveLane } from "../../../../src/capture/columns/block.ts";
import type { Expected } from "../../../../src/capture/journal/ledger.ts";
import {
  cases,
  findCase,
  judgeSegment,
  type SegmentFacts,
} from "../../../../src/capture/journal/recovery/verdict.ts";
import type { ReadSegment } from "../../../../src/capture/journal/segments/segment_reader.ts";

function frame(at: number, group: { synced: number; before: number }) {
  return { ...group, batch: 1n, partition: 2024, rows: 2, oldest: 0, at, offset: at, end: at + 100 };
}

function read(
  frames: ReturnType<typeof frame>[],
  bad: ReadSegment["bad"],
  isHeadDamaged = false,
): ReadSegment {
  const segment = {
    id: 1n,
    lane: liveLane,
    path: "",
    bytes: 300,
    rows: 4,
    oldest: 0,
    batches: [],
    isRecovered: true,
  };
  return { segment, fileBytes: 300, frames, bad, isHeadDamaged };
}

const torn = { from: 100, to: 200, isOwnBytes: true };
const zeros = { from: 100, to: 200, isOwnBytes: false };
const first = frame(0, { synced: 0, before: 0 });
const sound = { isDamaged: false, isDoubtful: false, lostRows: 0 };
const noted = (tail: Expected["tail"], bytes: number, rows: number) => ({ bytes, rows, tail });

test("A: a file of which nobody was told anything is no damage, whatever is in it", () => {
  const verdict = judgeSegment(read([], [zeros], true), undefined);
  expect(verdict).toEqual({ ...sound, letter: "A", badBytes: 0 });
});

test("B: rows before a group that was written behind them are told as lost when they are gone", () => {
  const frames = [first, frame(200, { synced: 200, before: 4 })];
  const verdict = judgeSegment(read(frames, [torn]), noted("least", 100, 2));
  expect(verdict).toEqual({ letter: "B", isDamaged: true, isDoubtful: false, lostRows: 2, badBytes: 100 });
});

test("B: rows that the ledger counted and that are gone are told as lost", () => {
  const verdict = judgeSegment(read([first], []), noted("sealed", 200, 4));
  expect(verdict).toMatchObject({ letter: "B", isDamaged: true, lostRows: 2, badBytes: 0 });
});

test("C: bad bytes that were synced, whose rows nothing counted, are told as lost without a number", () => {
  const last = frame(200, { synced: 150, before: 4 });
  const verdict = judgeSegment(read([last], [torn]), undefined);
  expect(verdict).toEqual({
    letter: "C",
    isDamaged: true,
    isDoubtful: false,
    lostRows: undefined,
    badBytes: 100,
  });
});

test("D: rows of a group's torn frame that nobody is known to be told of are in doubt, and not told as lost", () => {
  // A loss of power tore the first frame of the last group and left its second: the mark may be old.
  const frames = [first, frame(200, { synced: 100, before: 4 })];
  const verdict = judgeSegment(read(frames, [torn]), noted("least", 100, 2));
  expect(verdict).toEqual({
    letter: "D",
    isDamaged: true,
    isDoubtful: true,
    lostRows: undefined,
    badBytes: 100,
  });
});

test("E: a segment whose head cannot be read is damaged, though all its rows are there", () => {
  const verdict = judgeSegment(read([first], [], true), noted("synced", 100, 2));
  expect(verdict).toEqual({ letter: "E", isDamaged: true, isDoubtful: false, lostRows: 0, badBytes: 0 });
});

test("F: synced bytes that are bad are damage, though every counted row is there", () => {
  const verdict = judgeSegment(read([first], [zeros]), noted("synced", 200, 2));
  expect(verdict).toEqual({ letter: "F", isDamaged: true, isDoubtful: false, lostRows: 0, badBytes: 100 });
});

test("G: damage that an earlier start told of is not told again", () => {
  const verdict = judgeSegment(read([first], [torn]), noted("sealed", 200, 2));
  expect(verdict).toEqual({ ...sound, letter: "G", badBytes: 100 });
});

test("H: a torn group behind an exact mark was never acknowledged", () => {
  const verdict = judgeSegment(read([first], [torn]), noted("synced", 100, 2));
  expect(verdict).toEqual({ ...sound, letter: "H", badBytes: 0 });
});

test("of all facts that may meet, exactly one case is true", () => {
  const found = new Set<string>();
  const truths = [true, false];
  for (const isAcknowledged of truths)
    for (const isHeadBad of truths)
      for (const isSyncedBad of truths)
        for (const isSealed of truths)
          for (const isDoubtful of truths)
            for (const lost of ["none", "some", "unknown"] as const)
              found.add(
                findCase({ isAcknowledged, isHeadBad, isSyncedBad, isSealed, isDoubtful, lost }).letter,
              );
  expect([...found].toSorted()).toEqual(cases.map(({ letter }) => letter));
});

test("the table of FORMAT.md is the one that decides", () => {
  const path = join(import.meta.dir, "../../../../src/capture/journal/FORMAT.md");
  const rows = readFileSync(path, "utf8").matchAll(/^([A-Z]) {2,}(.*)$/gm);
  const words: Record<string, unknown> = { yes: true, no: false, bad: true, good: false };
  const names = ["isAcknowledged", "lost", "isDoubtful", "isHeadBad", "isSyncedBad", "isSealed"] as const;
  const written = [...rows].map(([, letter, cells]) => {
    const [said, ...facts] = cells!.split(/ {2,}/).reverse();
    const known = names.flatMap((name, i) => {
      const word = facts.at(-1 - i)!;
      return word === "·" ? [] : [[name, words[word] ?? word] as [keyof SegmentFacts, unknown]];
    });
    const verdict = said!.split(":")[0]!.replace("in doubt", "doubtful");
    return { letter, ...Object.fromEntries(known), verdict };
  });
  expect(written).toEqual(cases as never);
});
