// A journal whose files were damaged: what was acknowledged is stored, or told with its file and count; what was not is
// cut; nothing is invented or doubled, and the rest goes on.

import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { captureSetup } from "../../../../src/capture/capture_journal.ts";
import type { CaptureJournal } from "../../../../src/capture/capture_journal.ts";
import { historicalLane, liveLane } from "../../../../src/capture/columns/block.ts";
import { Ledger } from "../../../../src/capture/journal/ledger.ts";
import { type Damage, Recovery } from "../../../../src/capture/journal/recovery/recovery.ts";
import {
  readSegmentName,
  type Segment,
  segmentName,
} from "../../../../src/capture/journal/segments/segment.ts";
import { readSegment } from "../../../../src/capture/journal/segments/segment_reader.ts";
import { UserError } from "../../../../src/core/fault.ts";
import { openLog } from "../../../../src/core/log.ts";
import { cleanUp } from "../../../support/cleanup.ts";
import { makeFolder } from "../../../support/folder.ts";
import {
  appendTo,
  clockAt,
  type LaneName,
  laneNamed,
  laneNames,
  openJournal,
} from "../../../support/journal.ts";

afterAll(cleanUp);

/** Journals of a test, left as a crash leaves them; their files are let go of once it is through. */
const opened: CaptureJournal[] = [];

afterEach(async () => {
  for (const journal of opened.splice(0)) {
    await journal.close();
    await journal.release();
  }
});

const groups = 3;
const rowsEach = 2;
const rows = groups * rowsEach;

/** A journal's folder after a crash or a stop, as bytes by file name. */
type Files = Map<string, Buffer<ArrayBuffer>>;

function filesOf(folder: string): Files {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(`${folder}/${name}`)]));
}

function putFiles(folder: string, files: Files): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of files) writeFileSync(`${folder}/${name}`, bytes);
}

interface Left {
  files: Files;
  /** The segment's file, and the bytes of its frames. */
  name: string;
  frames: Buffer[];
  ends: number[];
}

/** What a process leaves in a lane: killed behind an acknowledgement, or ended, with the segment sealed. */
async function leave(lane: LaneName, how: "killed" | "sealed", millis = 1_700_000_000_000): Promise<Left> {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder, { clock: clockAt(millis) });
  opened.push(journal);
  const ends: number[] = [];
  for (let group = 0; group < groups; group++) {
    for (let row = 0; row < rowsEach; row++) appendTo(journal, lane, group * rowsEach + row);
    await journal[lane].commit();
    ends.push(journal[lane].segment!.bytes);
  }
  const path = journal[lane].segment!.path;
  if (how === "sealed") {
    await journal.close();
    await journal.release();
  }
  return {
    files: filesOf(folder),
    name: basename(path),
    frames: framesOf(readSegment(captureSetup, path)!.segment),
    ends,
  };
}

function framesOf({ path, batches }: Segment): Buffer[] {
  const bytes = readFileSync(path);
  return batches
    .flatMap((batch) => batch.frames)
    .map(({ offset, length }) => bytes.subarray(offset, offset + length));
}

interface Told {
  level: string;
  message: string;
  file?: string;
  kept?: string;
  lost_rows?: number | string;
}

interface Found {
  segments: Segment[];
  damage: Damage;
  errors: Told[];
}

let told: Told[] = [];
beforeEach(() => void (told = []));
const log = openLog({
  level: "info",
  format: "json",
  write: (line) => void told.push(JSON.parse(line) as Told),
});

/** A start on these files, as far as it takes in what is there. */
function recover(folder: string): Found {
  told = [];
  const damage: Damage = { files: 0, rows: 0, bytes: 0 };
  const damaged = (more: Damage) => {
    damage.files += more.files;
    damage.rows += more.rows;
    damage.bytes += more.bytes;
  };
  const recovery = new Recovery({ setup: captureSetup, folder, damaged, log });
  recovery.readFolder(new Ledger(captureSetup, folder));
  return { segments: recovery.segments, damage, errors: told.filter(({ level }) => level === "error") };
}

/** Holds what must be so whatever became of the one segment; returns how many rows are lost. */
function expectHonest(left: Left, folder: string, { segments, damage, errors }: Found): number {
  const found = segments.flatMap(framesOf);
  const known = left.frames.map((frame) => frame.toString("hex"));
  const kept = found.map((frame) => frame.toString("hex"));
  expect(kept.filter((frame) => !known.includes(frame))).toEqual([]);
  expect(new Set(kept).size).toBe(kept.length);
  const lost = rows - segments.reduce((sum, segment) => sum + segment.rows, 0);
  expect(lost).toBe(rows - kept.length * rowsEach);
  if (lost === 0) return 0;
  expect(damage.rows).toBe(lost);
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatchObject({ file: `${folder}/${left.name}`, lost_rows: lost });
  return lost;
}

/** Every byte of heads and around the places where frames meet, and each `step`th of the others. */
function placesIn({ files, name, ends }: Left, step: number): number[] {
  const length = files.get(name)!.length;
  const isDense = (at: number) => at < 72 || ends.some((end) => at >= end - 4 && at < end + 130);
  return Array.from({ length }, (_, at) => at).filter((at) => at % step === 0 || isDense(at));
}

const changes: Record<string, (bytes: Buffer<ArrayBuffer>, at: number) => Buffer<ArrayBuffer>> = {
  "a flipped bit": (bytes, at) => {
    bytes[at]! ^= 1 << (at % 8);
    return bytes;
  },
  "bytes of zeros": (bytes, at) => {
    bytes.fill(0, at, Math.min(at + 100, bytes.length));
    return bytes;
  },
  "an end cut off": (bytes, at) => bytes.subarray(0, at),
};

for (const how of ["killed", "sealed"] as const) {
  for (const lane of laneNames) {
    test(`of ${lane} ${how}, what any damage took is told with its file and count, and the rest goes on`, async () => {
      const left = await leave(lane, how);
      const folder = `${makeFolder()}/journal`;
      const whole = left.files.get(left.name)!;
      for (const [change, make] of Object.entries(changes)) {
        for (const at of placesIn(left, how === "killed" ? 7 : 13)) {
          const bytes = make(Buffer.from(whole), at);
          if (bytes.equals(whole)) continue;
          putFiles(folder, new Map(left.files).set(left.name, bytes));
          const found = recover(folder);
          const lost = expectHonest(left, folder, found);
          const label = `${change} at ${at}`;
          // One frame holds each byte but those of the head, which the name can stand for.
          const isHead = !laneNamed(lane).isNative && at < 24 && change === "a flipped bit";
          if (change === "a flipped bit") expect([label, lost]).toEqual([label, isHead ? 0 : rowsEach]);
          expect([label, found.damage.files, found.errors.length]).toEqual([label, 1, 1]);
          const { kept } = found.errors[0]!;
          if (bytes.length > 0 && kept !== undefined) expect(readFileSync(kept).equals(bytes)).toBe(true);
          else expect(bytes.length).toBe(0);
        }
      }
    });
  }
}

for (const lane of laneNames) {
  test(`of ${lane}, bytes behind what was acknowledged are cut and not told, whatever they are`, async () => {
    const left = await leave(lane, "killed");
    const folder = `${makeFolder()}/journal`;
    const whole = left.files.get(left.name)!;
    const last = whole.subarray(left.ends.at(-2)!);
    const tails = [last.subarray(0, 1), last.subarray(0, 30), last.subarray(0, -1), Buffer.alloc(4096)];
    for (const tail of tails) {
      putFiles(folder, new Map(left.files).set(left.name, Buffer.concat([whole, tail])));
      const { segments, damage, errors } = recover(folder);
      expect(segments.flatMap(framesOf)).toEqual(left.frames);
      expect([damage.files, errors]).toEqual([0, []]);
      expect(readFileSync(`${folder}/${left.name}`)).toEqual(whole);
    }
  });

  test(`of ${lane}, where nothing says how far it was synced, a last group that is bad is kept aside and told`, async () => {
    const left = await leave(lane, "killed");
    left.files.delete("synced");
    left.files.delete("ledger");
    const folder = `${makeFolder()}/journal`;
    const whole = left.files.get(left.name)!;
    for (let at = left.ends.at(-2)!; at < whole.length; at += 2) {
      const bytes = Buffer.from(whole);
      bytes[at]! ^= 4;
      putFiles(folder, new Map(left.files).set(left.name, bytes));
      const { segments, damage, errors } = recover(folder);
      expect(segments.flatMap(framesOf)).toEqual(left.frames.slice(0, -1));
      expect([at, damage.files, errors.length]).toEqual([at, 1, 1]);
      expect(readFileSync(errors[0]!.kept!).equals(bytes)).toBe(true);
    }
  });
}

test("files that were swapped, renamed or copied are refused by name, and go on once they have their own", async () => {
  for (const lane of laneNames) {
    const [first, second] = [await leave(lane, "sealed"), await leave(lane, "sealed", 1_700_000_100_000)];
    const folder = `${makeFolder()}/journal`;
    const [one, two] = [first.files.get(first.name)!, second.files.get(second.name)!];
    const other = lane === "live" ? historicalLane : liveLane;
    const { id } = readSegmentName(captureSetup, second.name)!;
    const renamed = segmentName(other, id + (7n << 12n));
    const ledger = Buffer.concat([first.files.get("ledger")!, second.files.get("ledger")!]);
    const own = new Map([
      [first.name, one],
      [second.name, two],
    ]);
    const cases: [string, Files][] = [
      [
        "swapped",
        new Map([
          [first.name, two],
          [second.name, one],
        ]),
      ],
      ["renamed", new Map([...own].filter(([name]) => name === first.name)).set(renamed, two)],
      ["moved up", new Map([[second.name, one]]).set(renamed, two)],
      ["copied", new Map(own).set(renamed, two)],
    ];
    for (const [label, files] of cases) {
      for (const known of lane === "live" && label === "swapped" ? [ledger, undefined] : [ledger]) {
        putFiles(folder, new Map([...files, ...(known ? [["ledger", known] as const] : [])]));
        const kept = readdirSync(folder);
        expect(() => recover(folder)).toThrow(UserError);
        expect(() => recover(folder)).toThrow(/\.segment has the contents of \S+\.segment, since/);
        expect([label, readdirSync(folder)]).toEqual([label, kept]);
        for (const name of files.keys()) {
          expect([label, readFileSync(`${folder}/${name}`).equals(files.get(name)!)]).toEqual([label, true]);
        }
      }
    }
    putFiles(folder, new Map([...own, ["ledger", ledger]]));
    expect(recover(folder).segments.flatMap(framesOf)).toEqual([...first.frames, ...second.frames]);
  }
});

test("a file that is missing is told with its rows; one that is done with, or moved on, is not", async () => {
  for (const how of ["killed", "sealed"] as const) {
    const left = await leave("recordings", how);
    const folder = `${makeFolder()}/journal`;
    left.files.delete(left.name);
    putFiles(folder, left.files);
    const { errors, damage } = recover(folder);
    expect(errors).toMatchObject([{ file: `${folder}/${left.name}`, lost_rows: rows }]);
    expect(damage).toMatchObject({ files: 1, rows });
  }
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  opened.push(journal);
  for (let segment = 0; segment < 3; segment++) {
    appendTo(journal, "live", segment);
    await journal.live.seal();
    await journal.finish(journal.nextSealed(liveLane)!);
  }
  const again = openJournal(folder, { log });
  opened.push(again);
  expect(again.damagedFiles).toBe(0);
});

test("frames that changed places, or were copied over each other, are told and never doubled", async () => {
  for (const lane of laneNames) {
    const left = await leave(lane, "killed");
    const folder = `${makeFolder()}/journal`;
    const whole = left.files.get(left.name)!;
    const [first, second] = [left.ends[0]!, left.ends[1]!];
    const start = laneNamed(lane).isNative ? 0 : 24;
    const [a, b, c] = [whole.subarray(start, first), whole.subarray(first, second), whole.subarray(second)];
    const [begin, swapped] = [whole.subarray(0, start), [b, a, c]];
    for (const frames of [swapped, [a, a, c], [b, b, c], [a, c, b], [a, b, b]]) {
      putFiles(folder, new Map(left.files).set(left.name, Buffer.concat([begin, ...frames])));
      expect(expectHonest(left, folder, recover(folder))).toBeGreaterThan(0);
    }
  }
});

test("a file that was written over tells nothing of what it held before, whenever the process was killed", async () => {
  const folder = `${makeFolder()}/journal`;
  const journal = openJournal(folder);
  opened.push(journal);
  const fill = () => {
    for (let row = 0; row < 20_000; row++) appendTo(journal, "live", row);
  };
  fill();
  await journal.live.seal();
  await journal.finish(journal.nextSealed(liveLane)!);
  appendTo(journal, "live", 0);
  await journal.live.commit();
  const files = filesOf(folder);
  for (const without of [[], ["synced"], ["synced", "ledger"]]) {
    const left = new Map([...files].filter(([name]) => !without.includes(name)));
    const other = `${makeFolder()}/journal`;
    putFiles(other, left);
    const { segments, damage } = recover(other);
    expect(segments.map((segment) => segment.rows)).toEqual([1]);
    expect(damage.files).toBe(0);
  }
});

test("damage is told once: the next start goes on with what is sound, and tells what is damaged since", async () => {
  for (const lane of laneNames) {
    const left = await leave(lane, "killed");
    const folder = `${makeFolder()}/journal`;
    putFiles(folder, left.files);
    const flip = (at: number) => {
      const bytes = readFileSync(`${folder}/${left.name}`);
      bytes[at]! ^= 1;
      writeFileSync(`${folder}/${left.name}`, bytes);
    };
    const start = async () => {
      const journal = openJournal(folder, { log });
      const found = [journal.damagedFiles, journal.nextSealed(laneNamed(lane))?.rows];
      await journal.close();
      await journal.release();
      return found;
    };
    flip(left.ends[0]! + 40);
    expect(await start()).toEqual([1, rows - rowsEach]);
    expect(await start()).toEqual([0, rows - rowsEach]);
    flip(left.ends[0]! - 3);
    expect(await start()).toEqual([1, rows - 2 * rowsEach]);
    expect(await start()).toEqual([0, rows - 2 * rowsEach]);
  }
});

test("the ledger and the marks may be damaged anywhere: no row is lost or doubled, and no number used again", async () => {
  const folder = `${makeFolder()}/journal`;
  const left = await leave("historical", "killed");
  const done = await leave("live", "sealed");
  for (const file of ["ledger", "synced"]) {
    const whole = (file === "ledger" ? done : left).files.get(file)!;
    for (const change of Object.values(changes)) {
      for (let at = 0; at < whole.length; at++) {
        const bytes = change(Buffer.from(whole), at);
        const files = new Map((file === "ledger" ? done : left).files).set(file, bytes);
        putFiles(folder, files);
        const { segments, damage } = recover(folder);
        expect(segments.reduce((sum, segment) => sum + segment.rows, 0)).toBe(rows);
        expect(damage.rows).toBe(0);
      }
    }
  }
  putFiles(folder, new Map(done.files).set("ledger", Buffer.from("nothing of ours\n")));
  const journal = openJournal(folder, { log, clock: clockAt(1_600_000_000_000) });
  opened.push(journal);
  expect(told.find(({ level }) => level === "error")).toMatchObject({ file: `${folder}/ledger` });
  expect(journal.nextId()).toBeGreaterThan(journal.nextSealed(liveLane)!.id);
  expect(readFileSync(`${folder}/ledger.damaged`, "utf8")).toBe("nothing of ours\n");
});

test("a ledger that is gone or empty is told, and its segments go on", async () => {
  const left = await leave("live", "killed");
  for (const ledger of [undefined, ""]) {
    const files = new Map(left.files);
    if (ledger === undefined) files.delete("ledger");
    else files.set("ledger", Buffer.from(ledger));
    const folder = `${makeFolder()}/journal`;
    putFiles(folder, files);
    const { segments, errors, damage } = recover(folder);
    expect(segments.flatMap(framesOf)).toEqual(left.frames);
    expect(errors).toMatchObject([{ file: `${folder}/ledger` }]);
    expect(damage).toEqual({ files: 1, rows: 0, bytes: 0 });
  }
});

test("files that are no segments are set aside by name, and the start goes on", async () => {
  const left = await leave("live", "killed");
  const folder = `${makeFolder()}/journal`;
  putFiles(folder, new Map(left.files).set("notes.segment", Buffer.from("remember the milk")));
  mkdirSync(`${folder}/live-0000000000000000.segment`);
  const { segments, errors } = recover(folder);
  expect(segments.flatMap(framesOf)).toEqual(left.frames);
  expect(errors).toMatchObject([
    { file: `${folder}/notes.segment`, kept: `${folder}/notes.segment.damaged` },
  ]);
});
