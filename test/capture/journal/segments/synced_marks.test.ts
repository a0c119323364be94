// Marks: what a later process learns of growing segments, and what it must not take for the last word.

import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { captureSetup } from "../../../../src/capture/capture_journal.ts";
import type { JournalSetup } from "../../../../src/capture/journal/lane_kind.ts";
import { type Segment, segmentId, segmentName } from "../../../../src/capture/journal/segments/segment.ts";
import { SyncedMarks } from "../../../../src/capture/journal/segments/synced_marks.ts";
import { cleanUp } from "../../../support/cleanup.ts";
import { makeFolder } from "../../../support/folder.ts";

afterAll(cleanUp);

const [lane, other] = captureSetup.lanes as [JournalSetup["lanes"][number], JournalSetup["lanes"][number]];
const booted = (id: string | undefined): JournalSetup => ({
  ...captureSetup,
  io: { ...captureSetup.io, bootId: () => id },
});
const setup = booted("one boot");

function segment(place: number, bytes: number, of = lane): Segment {
  const id = segmentId(Date.UTC(2026, 0, 1) + place, 3);
  return { id, lane: of, path: "", bytes, rows: bytes / 10, oldest: 0, batches: [], isRecovered: false };
}

/** What the next process reads, as [name, bytes, rows]. */
function readAgain(folder: string, by = setup) {
  const { extents, isExact, unreadable } = new SyncedMarks(by, folder).read();
  const found = [...extents].map(([name, { bytes, rows }]) => [name, bytes, rows]);
  return { found, isExact, unreadable };
}

const nameOf = (one: Segment) => segmentName(one.lane, one.id);

test("without a file there are no marks, and nothing is exact", () => {
  const marks = new SyncedMarks(setup, makeFolder());
  expect(marks.read()).toMatchObject({ isExact: false, unreadable: 0, exists: false });
});

test("the last mark of a segment counts, and a lane keeps two segments", () => {
  const folder = makeFolder();
  const marks = new SyncedMarks(setup, folder);
  marks.restart();
  expect(readAgain(folder)).toEqual({ found: [], isExact: true, unreadable: 0 });
  for (const bytes of [10, 20, 30]) marks.write(segment(1, bytes));
  marks.write(segment(2, 50));
  marks.write(segment(9, 70, other));
  const found = [segment(1, 30), segment(2, 50), segment(9, 70, other)];
  expect(new Set(readAgain(folder).found)).toEqual(
    new Set(found.map((one) => [nameOf(one), one.bytes, one.rows])),
  );
  // The third takes the place of the first, which is full and noted elsewhere by then.
  marks.write(segment(3, 60));
  const names = readAgain(folder).found.map(([name]) => name);
  expect(new Set(names)).toEqual(new Set([segment(2, 0), segment(3, 0), segment(9, 0, other)].map(nameOf)));
  marks.clear(segment(2, 50));
  expect(readAgain(folder).found.map(([name]) => name)).not.toContain(nameOf(segment(2, 0)));
  marks.close();
});

test("after the system was restarted marks say the least that was synced", () => {
  const folder = makeFolder();
  const marks = new SyncedMarks(setup, folder);
  marks.restart();
  marks.write(segment(1, 10));
  marks.close();
  for (const id of ["another boot", undefined]) {
    expect(readAgain(folder, booted(id))).toMatchObject({
      isExact: false,
      unreadable: 0,
      found: [expect.anything()],
    });
  }
});

test("a system without an id of its boot never says that its marks are the last", () => {
  const folder = makeFolder();
  const marks = new SyncedMarks(booted(undefined), folder);
  marks.restart();
  marks.write(segment(1, 10));
  marks.close();
  expect(readAgain(folder, booted(undefined))).toMatchObject({ isExact: false, unreadable: 0 });
});

test("a damaged mark is not believed, and said; the others are read", () => {
  const folder = makeFolder();
  const marks = new SyncedMarks(setup, folder);
  marks.restart();
  marks.write(segment(1, 10));
  marks.write(segment(2, 20));
  marks.close();
  const path = `${folder}/synced`;
  const whole = readFileSync(path);
  const { found } = readAgain(folder);
  for (const [slot, lost] of [1, 2].entries()) {
    const damaged = Buffer.from(whole);
    damaged[64 * lost + 8]! ^= 1;
    writeFileSync(path, damaged);
    const read = readAgain(folder);
    expect(read.unreadable).toBe(1);
    expect(read.found).toEqual(found.filter((_, i) => i !== slot));
  }
  writeFileSync(path, whole.subarray(0, 64));
  expect(readAgain(folder).unreadable).toBeGreaterThan(0);
});

test("a restart takes all marks away, and later notes go to the slots that a process before it used", () => {
  const folder = makeFolder();
  const before = new SyncedMarks(setup, folder);
  before.restart();
  before.write(segment(1, 10));
  before.write(segment(2, 20));
  before.close();
  // Where there is no room for a restart the file goes on.
  const next = new SyncedMarks(setup, folder);
  next.read();
  next.open();
  next.write(segment(3, 30));
  expect(new Set(readAgain(folder).found.map(([name]) => name))).toEqual(
    new Set([nameOf(segment(2, 0)), nameOf(segment(3, 0))]),
  );
  next.restart();
  expect(readAgain(folder).found).toEqual([]);
  next.close();
});

test("a mark that cannot be written takes its file along, so that an old one does not pass for the last", () => {
  const folder = makeFolder();
  let isBroken = false;
  const failing: JournalSetup = {
    ...setup,
    io: {
      ...setup.io,
      openMarks: (path) => {
        const file = setup.io.openMarks(path);
        const write = (bytes: Uint8Array, from: number, at: number) => {
          if (isBroken) throw new Error("no space left on device");
          return file.write(bytes, from, at);
        };
        return { write, sync: () => file.sync(), close: () => file.close(), map: () => undefined };
      },
    },
  };
  const marks = new SyncedMarks(failing, folder);
  marks.restart();
  marks.write(segment(1, 10));
  expect(readAgain(folder).found.length).toBe(1);
  isBroken = true;
  marks.write(segment(1, 20));
  expect(existsSync(`${folder}/synced`)).toBe(false);
  // It goes on without marks.
  marks.write(segment(1, 30));
});
