import { afterAll, afterEach, expect, test } from "bun:test";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename } from "node:path";
import fc from "fast-check";
import { CaptureJournal, captureSetup } from "../../../src/capture/capture_journal.ts";
import { historicalLane, liveLane } from "../../../src/capture/columns/block.ts";
import { emptyRow } from "../../../src/capture/fields/row.ts";
import { journalLimits } from "../../../src/capture/journal/limits.ts";
import { computeReserve, DiskReserve } from "../../../src/capture/journal/quota.ts";
import { segmentName } from "../../../src/capture/journal/segments/segment.ts";
import { readSegment } from "../../../src/capture/journal/segments/segment_reader.ts";
import { captureLimits } from "../../../src/capture/limits.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { silentLog } from "../../../src/core/log.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { openJournal as openWith } from "../../support/journal.ts";
import { until } from "../../support/server.ts";

afterAll(cleanUp);

const encoder = new TextEncoder();

function clockAt(millis: number): Clock & { millis: number } {
  const clock = { millis, now: () => clock.millis, elapsed: () => clock.millis };
  return clock;
}

function openJournal(
  folder: string,
  clock: Clock = clockAt(1_700_000_000_000),
  bytesMax = 1 << 30,
): CaptureJournal {
  const journal = new CaptureJournal({
    folder,
    number: 3,
    flushIntervalMs: 3_600_000,
    bytesMax,
    clock,
    log: silentLog,
  });
  journal.open();
  opened.push(journal);
  return journal;
}

/** Journals of a test, left as a crash leaves them; their files are let go of once it is through. */
const opened: CaptureJournal[] = [];

afterEach(async () => {
  for (const journal of opened.splice(0)) {
    await journal.close();
    await journal.release();
  }
});

function appendRow(journal: CaptureJournal, historical: boolean, timestamp: number): void {
  const row = emptyRow();
  const source = encoder.encode("{}");
  for (const range of [row.event, row.distinct_id, row.properties])
    Object.assign(range, { source, from: 0, to: 2 });
  row.timestamp = timestamp;
  row.created_at = journal.stamp();
  (historical ? journal.historical : journal.live).append(row);
}

const january = Date.UTC(2024, 0, 15) * 1000;
const december = Date.UTC(2025, 0, 1) * 1000 - 1;
const nextYear = Date.UTC(2025, 0, 1) * 1000;

test("rows are on the disk when commit resolves, and a journal opened after a crash has them by year", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  for (const time of [january, nextYear, december]) appendRow(journal, true, time);
  await journal.historical.commit();
  appendRow(journal, false, january);
  await journal.live.commit();
  const after = openJournal(folder);
  expect(after.pending().events).toBe(4);
  const batches = after.nextSealed(historicalLane)!.batches;
  expect(batches.map(({ partition, rows }) => [partition, rows])).toEqual([
    [2024, 2],
    [2025, 1],
  ]);
  expect(after.nextSealed(liveLane)!.rows).toBe(1);
  expect(after.nextSealed(liveLane)!.isRecovered).toBe(true);
});

test("rows appended together are one group, and their frames lie where the index says", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  appendRow(journal, false, january);
  const first = journal.live.commit();
  appendRow(journal, false, january);
  await Promise.all([first, journal.live.commit()]);
  appendRow(journal, false, january);
  await journal.live.commit();
  const { oldest, batches } = journal.live.segment!;
  const known = structuredClone({ oldest, batches });
  await journal.close();
  const read = readSegment(captureSetup, journal.nextSealed(liveLane)!.path)!;
  expect(known.batches[0]!.frames.map((frame) => frame.rows)).toEqual([2, 1]);
  expect(read.segment.batches).toEqual(known.batches);
  expect(read.segment.oldest).toBe(known.oldest);
});

test("a seal ends the segment with the rows that waited, though others keep coming", async () => {
  const journal = openJournal(makeFolder());
  const sealed = () => journal.nextSealed(liveLane)?.rows ?? 0;
  const keepSending = async () => {
    // Bounded, so that a seal that waits for silence fails the test instead of holding it up.
    for (let sent = 0; sent < 2000 && sealed() === 0; sent++) {
      appendRow(journal, false, january);
      await journal.live.commit();
    }
  };
  appendRow(journal, false, january);
  const sending = Promise.all(Array.from({ length: 3 }, keepSending));
  void journal.live.seal();
  await sending;
  expect(sealed()).toBeGreaterThan(0);
  expect(sealed()).toBeLessThan(20);
});

test("a torn tail is cut, and what stands before it stays", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  appendRow(journal, false, january);
  await journal.live.commit();
  const path = journal.live.segment!.path;
  const whole = readFileSync(path);
  for (const torn of [1, 30, 41, 100, whole.length - 1]) {
    writeFileSync(path, whole);
    appendFileSync(path, whole.subarray(0, torn));
    const after = openJournal(folder);
    expect(after.pending().events).toBe(1);
    expect(after.damagedFiles).toBe(0);
    expect(readFileSync(path).length).toBe(whole.length);
  }
});

test("a damaged frame between sound ones is set aside with its file, and the sound ones go on", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  const ends: number[] = [];
  for (let i = 0; i < 3; i++) {
    appendRow(journal, false, january);
    await journal.live.commit();
    ends.push(journal.live.segment!.bytes);
  }
  const path = journal.live.segment!.path;
  const bytes = readFileSync(path);
  bytes[ends[0]! + 60]! ^= 0xff;
  writeFileSync(path, bytes);
  const after = openJournal(folder);
  expect(after.damagedFiles).toBe(1);
  expect(after.pending().events).toBe(2);
  expect(readFileSync(`${path}.damaged`)).toEqual(bytes);
  expect(openJournal(folder).pending().events).toBe(2);
});

test("a segment noted in the ledger but not removed is not taken in again", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  appendRow(journal, false, january);
  await journal.close();
  const segment = journal.nextSealed(liveLane)!;
  copyFileSync(segment.path, `${folder}/copy`);
  await journal.finish(segment);
  expect(existsSync(segment.path)).toBe(false);
  renameSync(`${folder}/copy`, segment.path);
  const after = openJournal(folder);
  expect(after.pending()).toEqual({ events: 0, bytes: 0 });
  expect(existsSync(segment.path)).toBe(false);
});

test("numbers of segments rise even when the clock goes back between two runs", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder, clockAt(1_700_000_000_000));
  appendRow(journal, false, january);
  await journal.close();
  const segment = journal.nextSealed(liveLane)!;
  await journal.finish(segment);
  await journal.release();
  expect(openJournal(folder, clockAt(1_600_000_000_000)).nextId()).toBeGreaterThan(segment.id);
});

test("a number for rows that are in no segment is not used again after a kill, even when the clock goes back", async () => {
  const folder = `${makeFolder()}/journal`;
  const id = await openJournal(folder, clockAt(1_700_000_000_000)).lastingId();
  expect(openJournal(folder, clockAt(1_600_000_000_000)).nextId()).toBeGreaterThan(id);
});

test("a segment whose file is gone by an attempt that failed later is finished", async () => {
  const journal = openJournal(`${makeFolder()}/journal`);
  appendRow(journal, false, january);
  await journal.close();
  const segment = journal.nextSealed(liveLane)!;
  rmSync(segment.path);
  await journal.finish(segment);
  expect(journal.nextSealed(liveLane)).toBeUndefined();
  await journal.release();
});

test("a start that was killed before its first marks were written is no damage to the next", async () => {
  const folder = `${makeFolder()}/journal`;
  openJournal(folder);
  renameSync(`${folder}/synced`, `${folder}/synced.part`);
  rmSync(`${folder}/ledger`);
  expect(openJournal(folder).damagedFiles).toBe(0);
});

test("a journal that cannot be written refuses the group with a 503, and goes on when it can be again", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  rmSync(folder, { recursive: true });
  appendRow(journal, false, january);
  await expect(journal.live.commit()).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
  expect(journal.isFailing()).toBe(true);
  expect(journal.pending().events).toBe(0);
  const again = openJournal(folder);
  appendRow(again, false, january);
  await again.live.commit();
  expect(again.pending().events).toBe(1);
});

test("is full at its bound, and not before", async () => {
  const journal = openJournal(`${makeFolder()}/journal`, clockAt(1_700_000_000_000), 2000);
  expect(journal.isFull).toBe(false);
  for (let i = 0; i < 10 && !journal.isFull; i++) {
    appendRow(journal, false, january);
    await journal.live.commit();
  }
  expect(journal.isFull).toBe(true);
});

test("the watermark never passes a row that is not flushed, whatever the order of steps", async () => {
  const folder = makeFolder();
  let run = 0;
  const step = fc.constantFrom("live", "historical", "commit", "seal", "finish", "overtake", "tick");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const clock = clockAt(1_700_000_000_000);
      const journal = openJournal(`${folder}/${run++}`, clock);
      for (const one of steps) {
        if (one === "live" || one === "historical") appendRow(journal, one === "historical", january);
        if (one === "commit") void Promise.all([journal.live.commit(), journal.historical.commit()]);
        if (one === "seal") await Promise.all([journal.live.seal(), journal.historical.seal()]);
        const sealed = journal.nextSealed(liveLane);
        if (one === "finish" && sealed) await journal.finish(sealed);
        const older = journal.nextSealed(historicalLane);
        const newer = older && journal.nextSealed(historicalLane, new Set([older]));
        // Two of an import are under way at once, and the newer one may be there first.
        if (one === "overtake" && newer) await journal.finish(newer);
        if (one === "tick") clock.millis += 7;
        const unflushed = [journal.live.oldest, journal.historical.oldest].filter((at) => at !== undefined);
        for (const lane of [journal.live, journal.historical]) {
          const segment = journal.nextSealed(lane.kind);
          if (segment) unflushed.push(segment.oldest);
          const growing = lane.segment;
          if (growing && growing.rows > 0) unflushed.push(growing.oldest);
        }
        expect(journal.watermarks().derived).toBe(Math.min(clock.millis * 1000, ...unflushed));
      }
    }),
    { numRuns: 30 },
  );
});

test("stored() resolves only when every segment that was on the disk by then is finished", async () => {
  const journal = openJournal(`${makeFolder()}/journal`);
  appendRow(journal, false, january);
  await journal.live.commit();
  let stored = false;
  const waiting = journal.stored(journal.live).then(() => (stored = true));
  await journal.live.seal();
  expect(stored).toBe(false);
  const segment = journal.nextSealed(liveLane)!;
  await journal.finish(segment);
  await waiting;
  expect(stored).toBe(true);
  expect(existsSync(segment.path)).toBe(false);
});

/** Rows whose properties take so many bytes in all: segments as large as are kept. */
function appendLarge(journal: CaptureJournal, bytes: number, letter: string): void {
  const row = emptyRow();
  const source = encoder.encode(`"${letter.repeat(100_000)}"`);
  for (let at = 0; at < bytes; at += source.length) {
    Object.assign(row.properties, { source, from: 0, to: source.length });
    row.timestamp = january;
    row.created_at = journal.stamp();
    journal.live.append(row);
  }
}

const sparesOf = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".spare"));

test("a finished segment's file is written over, and its old frames never come back", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  for (let i = 0; i < 3; i++) {
    appendLarge(journal, 1_000_000, "a");
    await journal.live.commit();
  }
  await journal.live.seal();
  const old = journal.nextSealed(liveLane)!;
  const { bytes, path } = old;
  await journal.finish(old);
  expect(existsSync(path)).toBe(false);
  expect(sparesOf(folder)).toHaveLength(1);
  // The file of the next segment was made before; that of the one behind it is the old one.
  appendLarge(journal, 10_000, "c");
  await journal.live.seal();
  await journal.finish(journal.nextSealed(liveLane)!);
  // A first frame as long as the old file's: what follows is a whole old frame, at the very place of the next.
  appendLarge(journal, 1_000_000, "b");
  await journal.live.commit();
  const segment = journal.live.segment!;
  expect(readFileSync(segment.path).length).toBeGreaterThanOrEqual(bytes);
  expect(sparesOf(folder)).not.toContain(`live-${basename(path)}.spare`);
  const after = openJournal(folder);
  expect(after.damagedFiles).toBe(0);
  expect(after.nextSealed(liveLane)!.batches.map(({ rows, frames }) => [rows, frames.length])).toEqual([
    [10, 1],
  ]);
  expect(readFileSync(segment.path).includes("aaaa")).toBe(false);
});

test("a segment whose file went before its folder could be synced is finished by the next try", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  for (const letter of ["a", "b"]) {
    appendLarge(journal, 2_000_000, letter);
    await journal.live.seal();
    const segment = journal.nextSealed(liveLane)!;
    if (letter === "a") journal.retain(segment);
    rmSync(segment.path);
    await journal.finish(segment);
    expect(journal.isEmpty).toBe(true);
  }
});

test("a crash while a file changes its owner leaves a spare or an empty segment, never old rows", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  appendLarge(journal, 2_000_000, "a");
  await journal.live.seal();
  await journal.finish(journal.nextSealed(liveLane)!);
  const spare = readdirSync(folder).find((name) => name.endsWith(".spare"))!;
  const content = readFileSync(`${folder}/${spare}`);
  const id = journal.nextId();
  for (const named of [`${folder}/${spare}`, `${folder}/${segmentName(liveLane, id)}`]) {
    rmSync(`${folder}/${spare}`, { force: true });
    writeFileSync(named, content);
    const after = openJournal(folder);
    expect(after.pending().events).toBe(0);
    expect(after.damagedFiles).toBe(0);
  }
});

test("a segment grows in a file that was made ahead: named, as large as the last one, and with zeros behind", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  appendLarge(journal, 500_000, "a");
  await journal.live.seal();
  const first = journal.nextSealed(liveLane)!;
  expect(statSync(first.path).size).toBe(first.bytes);
  appendRow(journal, false, january);
  await journal.live.commit();
  const second = journal.live.segment!;
  expect(second.id).toBeGreaterThan(first.id);
  const content = readFileSync(second.path);
  expect(content.length).toBeGreaterThanOrEqual(first.bytes);
  expect(content.subarray(second.bytes).every((byte) => byte === 0)).toBe(true);
  // As a kill leaves it: what was committed is there, what was made ahead is nothing.
  const after = openJournal(folder);
  expect([after.pending().events, after.damagedFiles]).toEqual([6, 0]);
  await after.close();
  await journal.close();
  expect(readdirSync(folder).filter((name) => name.endsWith(".segment"))).toHaveLength(2);
});

test("a segment's file is not used again before it is cut and closed", async () => {
  const journal = openJournal(`${makeFolder()}/journal`);
  appendLarge(journal, 500_000, "a");
  await journal.live.seal();
  const segment = journal.nextSealed(liveLane)!;
  const closed = Promise.withResolvers<void>();
  segment.closed = closed.promise;
  const finished = journal.finish(segment);
  // A commit takes longer than all that finish() does without waiting.
  appendRow(journal, false, january);
  await journal.live.commit();
  expect(existsSync(segment.path)).toBe(true);
  closed.resolve();
  await finished;
  expect(existsSync(segment.path)).toBe(false);
});

for (const lived of ["long", "for a moment only"]) {
  test(`a file made ahead of a segment that grew ${lived} is given back when its lane is idle for long`, async () => {
    const folder = `${makeFolder()}/journal`;
    let elapsed = 0;
    const clock: Clock = { now: () => Date.now(), elapsed: () => elapsed };
    const journal = openJournal(folder, clock);
    appendLarge(journal, 500_000, "a");
    await journal.live.commit();
    if (lived === "long") await journal.poll();
    await journal.live.seal();
    await journal.finish(journal.nextSealed(liveLane)!);
    const segments = () => readdirSync(folder).filter((name) => name.endsWith(".segment"));
    await journal.poll();
    // It is made behind the commit.
    await until(async () => segments().length === 1);
    elapsed = journalLimits.recycledIdleMs;
    // The journal's own clock looks as well, at any moment.
    void journal.poll();
    await journal.poll();
    expect(segments()).toEqual([]);
    // And the lane goes on.
    appendRow(journal, false, january);
    await journal.live.commit();
    expect(journal.pending().events).toBe(1);
  });
}

test("a file made ahead takes no room that groups may need", async () => {
  const folder = `${makeFolder()}/journal`;
  const totalBytes = 4e9;
  const readVolume = () => Promise.resolve({ freeBytes: computeReserve(totalBytes) + 50_000, totalBytes });
  const room = new DiskReserve({ folder, readVolume, log: silentLog });
  await room.poll();
  const journal = openWith(folder, { reserve: room });
  appendRow(journal, false, january);
  await journal.live.commit();
  await journal.live.seal();
  expect(journal.isTight).toBe(false);
  expect(readdirSync(folder).filter((name) => name.endsWith(".segment"))).toHaveLength(1);
  appendRow(journal, false, january);
  await journal.live.commit();
  expect(journal.isTight).toBe(false);
});

test("a file that an engine may still read is not written over", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  appendLarge(journal, 2_000_000, "a");
  await journal.live.seal();
  const segment = journal.nextSealed(liveLane)!;
  segment.isBorrowed = true;
  await journal.finish(segment);
  expect(existsSync(segment.path)).toBe(false);
  expect(sparesOf(folder)).toEqual([]);
});

test("a segment of one year ends with its batch, so that it is a file the engine can read", async () => {
  const journal = openJournal(`${makeFolder()}/journal`);
  const row = emptyRow();
  row.timestamp = january;
  const rows = captureLimits.batchRowsMax * 0.4;
  for (let group = 0; group < 3; group++) {
    for (let i = 0; i < rows; i++) {
      row.created_at = journal.stamp();
      journal.live.append(row);
    }
    await journal.live.commit();
  }
  await journal.live.seal();
  const first = journal.nextSealed(liveLane)!;
  expect(first.batches.map((batch) => [batch.rows, batch.bytes])).toEqual([[2 * rows, first.bytes]]);
  expect(readFileSync(first.path).length).toBe(first.bytes);
  await journal.finish(first);
  expect(journal.nextSealed(liveLane)!.rows).toBe(rows);
});
