// The ledger: what a later process learns of segments, whatever was left of the file.

import { afterAll, expect, test } from "bun:test";
import { appendFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { captureSetup } from "../../../src/capture/capture_journal.ts";
import type { JournalSetup, LaneKind } from "../../../src/capture/journal/lane_kind.ts";
import { Ledger } from "../../../src/capture/journal/ledger.ts";
import { journalLimits } from "../../../src/capture/journal/limits.ts";
import { type Segment, segmentId, segmentName } from "../../../src/capture/journal/segments/segment.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";

afterAll(cleanUp);

const setup: JournalSetup = { ...captureSetup, io: { ...captureSetup.io, bootId: () => "one boot" } };
const lane: LaneKind = setup.lanes[0]!;
const start = Date.UTC(2026, 0, 1);

function segment(place: number, rows = 5): Segment {
  const id = segmentId(start + place, 0);
  const path = `/folder/${segmentName(lane, id)}`;
  return { id, lane, path, bytes: rows * 10, rows, oldest: 0, batches: [], isRecovered: false };
}

const nameOf = (one: Segment) => basename(one.path);

function opened(folder: string, io: Partial<JournalSetup["io"]> = {}): Ledger {
  return new Ledger({ ...setup, io: { ...setup.io, ...io } }, folder);
}

function readAgain(folder: string) {
  const noted = opened(folder).read();
  return { ...noted, expected: [...noted.expected].map(([name, { tail }]) => [name, tail]) };
}

test("the first start finds nothing, and nothing is missing", () => {
  expect(opened(makeFolder()).read()).toMatchObject({ finished: [], lastMillis: 0, unreadable: 0 });
});

test("a sealed segment is expected until it is finished, and an empty one never", async () => {
  const folder = makeFolder();
  const ledger = opened(folder);
  expect(ledger.restart(start)).toBe(true);
  for (const one of [segment(1), segment(2), segment(3, 0)]) ledger.writeSealed(one, start + 3);
  ledger.marks.write(segment(4));
  await ledger.writeFinished(segment(1), start + 4);
  await ledger.close();
  expect(readAgain(folder)).toMatchObject({
    finished: [nameOf(segment(1))],
    lastMillis: start + 4,
    unreadable: 0,
    expected: [
      [nameOf(segment(4)), "synced"],
      [nameOf(segment(2)), "sealed"],
    ],
  });
});

test("the newest time is the latest noted, were it of a mark", async () => {
  const folder = makeFolder();
  const ledger = opened(folder);
  ledger.restart(start);
  await ledger.writeMillis(start + 50);
  expect(readAgain(folder).lastMillis).toBe(start + 50);
  ledger.marks.write(segment(70));
  await ledger.close();
  expect(readAgain(folder).lastMillis).toBe(start + 70);
  expect(readAgain(folder).newest?.get(lane)).toBe(segment(70).id);
});

test("a torn last line is skipped, and a wrong one within is said", async () => {
  const folder = makeFolder();
  const ledger = opened(folder);
  ledger.restart(start);
  for (const place of [1, 2]) await ledger.writeFinished(segment(place), start + place);
  await ledger.close();
  const path = `${folder}/ledger`;
  const whole = readFileSync(path, "latin1");
  writeFileSync(path, `${whole}live-00`);
  expect(readAgain(folder)).toMatchObject({ unreadable: 0, finished: [1, 2].map((n) => nameOf(segment(n))) });
  writeFileSync(path, whole.replace(nameOf(segment(1)), nameOf(segment(9))));
  expect(readAgain(folder)).toMatchObject({ unreadable: 1, finished: [nameOf(segment(2))] });
  // Every start writes a line, so an empty file has lost it.
  truncateSync(path, 0);
  expect(readAgain(folder).unreadable).toBe(1);
  const aside = opened(folder).copyAside();
  expect(aside && existsSync(aside)).toBe(true);
});

test("marks without a ledger mean that it was lost", async () => {
  const folder = makeFolder();
  const ledger = opened(folder);
  ledger.restart(start);
  await ledger.close();
  rmSync(`${folder}/ledger`);
  expect(readAgain(folder).unreadable).toBe(1);
  expect(opened(folder).copyAside()).toBeUndefined();
});

test("a restart leaves out what is finished, and keeps what waits", async () => {
  const folder = makeFolder();
  const ledger = opened(folder);
  ledger.restart(start);
  await ledger.writeFinished(segment(1), start + 1);
  await ledger.close();
  const next = opened(folder);
  next.read();
  next.restart(start + 9, [segment(2)]);
  await next.close();
  expect(readAgain(folder)).toMatchObject({
    finished: [],
    lastMillis: start + 9,
    expected: [[nameOf(segment(2)), "sealed"]],
  });
});

test("a disk without room keeps the ledger as it is, without a torn line, and it goes on", async () => {
  const folder = makeFolder();
  const before = opened(folder);
  before.restart(start);
  await before.writeFinished(segment(1), start + 1);
  await before.close();
  appendFileSync(`${folder}/ledger`, "live-torn");
  const write = () => {
    throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  };
  const full = opened(folder, { write });
  full.read();
  expect(full.restart(start + 5)).toBe(false);
  await full.writeFinished(segment(2), start + 2);
  await full.close();
  expect(readAgain(folder)).toMatchObject({ unreadable: 0, finished: [1, 2].map((n) => nameOf(segment(n))) });
  const broken = opened(folder, {
    write: () => {
      throw new Error("input/output error");
    },
  });
  expect(() => broken.restart(start)).toThrow("input/output");
});

test("a long ledger is written anew, with what is still expected", async () => {
  const folder = makeFolder();
  // So many lines would take minutes on a slow disk.
  const datasync = () => Promise.resolve();
  const open: JournalSetup["io"]["open"] = async (path, flags) =>
    Object.assign(await setup.io.open(path, flags), { datasync });
  const ledger = opened(folder, { open });
  ledger.restart(start);
  ledger.writeSealed(segment(0), start);
  const lineBytes = 40;
  const count = Math.ceil(journalLimits.ledgerBytesMax / lineBytes) + 1;
  for (let place = 1; place <= count; place++) await ledger.writeFinished(segment(place), start + place);
  await ledger.close();
  expect(readFileSync(`${folder}/ledger`).length).toBeLessThan(journalLimits.ledgerBytesMax);
  expect(readAgain(folder)).toMatchObject({
    unreadable: 0,
    lastMillis: start + count,
    expected: [[nameOf(segment(0)), "sealed"]],
  });
});
