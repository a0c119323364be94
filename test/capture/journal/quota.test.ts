// A disk that fills up: captures are refused before the reserve is touched, files are given back, little is logged.

import { afterAll, afterEach, expect, test } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import type { CaptureJournal, CaptureJournalOptions } from "../../../src/capture/capture_journal.ts";
import { historicalLane, liveLane } from "../../../src/capture/columns/block.ts";
import { refusalCounts } from "../../../src/capture/counts.ts";
import { journalLimits } from "../../../src/capture/journal/limits.ts";
import { computeReserve, DiskReserve, type VolumeFigures } from "../../../src/capture/journal/quota.ts";
import { openMetrics } from "../../../src/capture/metrics.ts";
import type { OpenedCapture } from "../../../src/capture/open.ts";
import { openLog } from "../../../src/core/log.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { appendTo, clockAt, openJournal } from "../../support/journal.ts";

afterAll(cleanUp);

const opened: CaptureJournal[] = [];

afterEach(async () => {
  for (const journal of opened.splice(0)) {
    await journal.close();
    await journal.release();
  }
});

function open(folder: string, options: Partial<CaptureJournalOptions> = {}): CaptureJournal {
  const journal = openJournal(folder, options);
  opened.push(journal);
  return journal;
}

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** Room on a volume whose figures a test sets. */
function openRoom(freeBytes: number, totalBytes: number, lines: string[] = []) {
  const figures: VolumeFigures = { freeBytes, totalBytes };
  const log = openLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
  const room = new DiskReserve({ folder: "/", readVolume: async () => ({ ...figures }), log });
  return { figures, reserve: room };
}

test("the reserve is an eighth of the volume, from 48 MiB to 1 GiB, and never more than a quarter", () => {
  const sizes = [32 * mebibyte, 64 * mebibyte, 256 * mebibyte, gibibyte, 8 * gibibyte, 1024 * gibibyte];
  expect(sizes.map((bytes) => computeReserve(bytes) / mebibyte)).toEqual([8, 16, 48, 128, 1024, 1024]);
});

test("segments are so short that the reserve has room for one several times", async () => {
  for (const [total, segment] of [
    [64 * mebibyte, 4],
    [8 * gibibyte, 256],
  ] as const) {
    const { reserve: room } = openRoom(total, total);
    await room.poll();
    expect(room.segmentBytesMax).toBe(segment * mebibyte);
  }
});

test("what would come out of the reserve is refused until there is more room than at the border", async () => {
  const lines: string[] = [];
  const { figures, reserve: room } = openRoom(26 * mebibyte, 64 * mebibyte, lines);
  await room.poll();
  room.acquire(8 * mebibyte);
  expect(room.isLow).toBe(false);
  expect(() => room.acquire(3 * mebibyte)).toThrow("nearly full");
  expect(room.isLow).toBe(true);
  expect(() => room.acquire(1)).toThrow("nearly full");
  for (const [free, low] of [
    [17, true],
    [15, true],
    [17, true],
    [18, false],
    [17, false],
    [15, true],
  ] as const) {
    figures.freeBytes = free * mebibyte;
    await room.poll();
    expect([free, room.isLow]).toEqual([free, low]);
  }
  expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual([
    "error",
    "info",
    "error",
  ]);
});

test("a volume whose figures cannot be read holds nothing up, and is told once", async () => {
  const lines: string[] = [];
  const log = openLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
  const readVolume = () => Promise.reject(new Error("no such device"));
  const room = new DiskReserve({ folder: "/", readVolume, log });
  await room.poll();
  await room.poll();
  room.acquire(gibibyte);
  expect([room.isLow, room.freeBytes, lines.length]).toEqual([false, undefined, 1]);
});

test("the journal refuses a group that has no room, leaves its file as it is, and goes on when there is", async () => {
  const { figures, reserve: room } = openRoom(16 * mebibyte + 1000, 64 * mebibyte);
  await room.poll();
  const folder = `${makeFolder()}/journal`;
  const journal = open(folder, { reserve: room });
  appendTo(journal, "live", 1);
  await journal.live.commit();
  const { path } = journal.live.segment!;
  for (let place = 0; place < 50; place++) appendTo(journal, "live", place);
  await expect(journal.live.commit()).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
  expect([journal.isFull, journal.quota.areRecordingsFull, journal.isTight, journal.isFailing()]).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(journal.pending().events).toBe(1);
  figures.freeBytes = 40 * mebibyte;
  await room.poll();
  expect(journal.isFull).toBe(false);
  appendTo(journal, "live", 2);
  await journal.live.commit();
  expect(journal.live.segment!.path).toBe(path);
  expect(open(folder).nextSealed(liveLane)!.rows).toBe(2);
});

test("a refused request is logged as the journal's refusal only where the journal refuses", async () => {
  const lines: string[] = [];
  const log = openLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
  const { figures, reserve } = openRoom(40 * mebibyte, 64 * mebibyte);
  await reserve.poll();
  const journal = open(`${makeFolder()}/journal`, { reserve, log });
  const refused = refusalCounts(openMetrics(), { journal } as OpenedCapture);
  refused("unavailable");
  expect(lines).toEqual([]);
  figures.freeBytes = 0;
  await reserve.poll();
  refused("unavailable");
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ message: "captures are refused", disk_low: true }),
  ]);
});

test("who waits for stored rows does not wait for a segment that nothing was written to", async () => {
  const { reserve: room } = openRoom(mebibyte, 64 * mebibyte);
  await room.poll();
  const journal = open(`${makeFolder()}/journal`, { reserve: room });
  appendTo(journal, "live", 1);
  await journal.live.commit().catch(() => {});
  expect(journal.live.segment).toMatchObject({ rows: 0 });
  await journal.stored(journal.live);
  await journal.live.seal();
  expect(readdirSync(journal.folder).filter((name) => name.endsWith(".segment"))).toEqual([]);
  expect(journal.nextSealed(liveLane)).toBeUndefined();
});

test("a group that could not be written makes the journal unready for as long as clients are told to wait", async () => {
  const clock = clockAt(1_700_000_000_000);
  const folder = `${makeFolder()}/journal`;
  const journal = open(folder, { clock });
  expect(journal.isFailing()).toBe(false);
  rmSync(folder, { recursive: true });
  appendTo(journal, "live", 1);
  await journal.live.commit().catch(() => {});
  expect(journal.isFailing()).toBe(true);
  clock.millis += 4999;
  expect(journal.isFailing()).toBe(true);
  clock.millis += 1;
  expect(journal.isFailing()).toBe(false);
});

/** A journal that has kept three large files to be written over. */
async function withSpares(folder: string, options: Partial<CaptureJournalOptions>): Promise<CaptureJournal> {
  const journal = open(folder, options);
  for (let segment = 0; segment < 3; segment++) {
    for (let row = 0; row < 20_000; row++) appendTo(journal, "historical", row);
    await journal.historical.seal();
  }
  for (let segment = 0; segment < 3; segment++) await journal.finish(journal.nextSealed(historicalLane)!);
  return journal;
}

const sparesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".spare")).length;

test("files kept to be written over are given back when nobody imports for ten minutes", async () => {
  const folder = `${makeFolder()}/journal`;
  const clock = clockAt(1_700_000_000_000);
  const journal = await withSpares(folder, { clock });
  expect(sparesIn(folder)).toBe(3);
  clock.millis += journalLimits.recycledIdleMs - 1;
  await journal.poll();
  expect(sparesIn(folder)).toBe(3);
  // Another lane's traffic wants none of them.
  appendTo(journal, "live", 1);
  await journal.live.commit();
  clock.millis += 1;
  await journal.poll();
  expect(sparesIn(folder)).toBe(0);
});

test("where room runs low they are given back at once, none is kept, and a start takes none in", async () => {
  const folder = `${makeFolder()}/journal`;
  const { figures, reserve: room } = openRoom(40 * mebibyte, 64 * mebibyte);
  await room.poll();
  const journal = await withSpares(folder, { reserve: room });
  expect(sparesIn(folder)).toBe(3);
  for (let row = 0; row < 20_000; row++) appendTo(journal, "live", row);
  await journal.live.seal();
  figures.freeBytes = mebibyte;
  await room.poll();
  await journal.poll();
  expect(sparesIn(folder)).toBe(0);
  await journal.finish(journal.nextSealed(liveLane)!);
  expect(sparesIn(folder)).toBe(0);
  writeFileSync(`${folder}/live-live-1.segment.spare`, new Uint8Array(2 * mebibyte));
  open(folder, { reserve: room });
  expect(sparesIn(folder)).toBe(0);
});
