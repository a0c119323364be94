// Segments whose bytes changed while no server ran: cut off, flipped, zeroed and swapped at every boundary of a frame.
// What is readable goes on, what is not is told with its file and count, and nothing is made up.

import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { captureSetup } from "../../../src/capture/capture_journal.ts";
import type { CaptureJournal } from "../../../src/capture/capture_journal.ts";
import { readSegment } from "../../../src/capture/journal/segments/segment_reader.ts";
import { openLog } from "../../../src/core/log.ts";
import { makeFolder } from "../../support/folder.ts";
import { appendTo, clockAt, openJournal } from "../../support/journal.ts";
import { readBlocks } from "../../support/native_rows.ts";
import type { Verdict } from "./judge.ts";

interface Frame {
  from: number;
  to: number;
  /** Which rows it holds. */
  places: number[];
}

/** A journal's folder as it was left. */
interface Left {
  folder: string;
  name: string;
  bytes: Buffer;
  frames: Frame[];
  rows: number;
}

/** Changes the bytes; returns those that are no longer as they were. */
interface Harm {
  name: string;
  act(bytes: Buffer): { bytes: Buffer; from: number; to: number };
}

const groups = 8;
const rowsEach = 3;

export interface DamageResult extends Pick<
  Verdict,
  "acknowledged" | "stored" | "lost" | "doubled" | "invented" | "isSound"
> {
  cases: number;
  /** Rows that could not be read, and were told. */
  told: number;
  problems: string[];
}

export async function damageEverywhere(): Promise<DamageResult> {
  const result: DamageResult = {
    cases: 0,
    acknowledged: 0,
    stored: 0,
    told: 0,
    lost: 0,
    doubled: 0,
    invented: 0,
    isSound: true,
    problems: [],
  };
  for (const lane of ["live", "historical"] as const) {
    for (const how of ["killed", "sealed"] as const) {
      const left = await leave(lane, how);
      for (const harm of harmsOf(left)) compare(left, harm, `${lane}, ${how}, ${harm.name}`, result);
    }
  }
  result.isSound = result.lost + result.doubled + result.invented === 0 && result.problems.length === 0;
  return result;
}

async function leave(lane: "live" | "historical", how: "killed" | "sealed"): Promise<Left> {
  const folder = makeFolder();
  const journal = openJournal(folder, { clock: clockAt(1_700_000_000_000) });
  for (let group = 0; group < groups; group++) {
    for (let row = 0; row < rowsEach; row++) appendTo(journal, lane, group * rowsEach + row);
    await journal[lane].commit();
  }
  const copy = makeFolder();
  if (how === "killed") cpSync(folder, copy, { recursive: true });
  await journal.close();
  await journal.release();
  if (how === "sealed") cpSync(folder, copy, { recursive: true });
  // The oldest: behind it is the file that was made for the next segment.
  const [name] = readdirSync(copy)
    .filter((one) => one.endsWith(".segment"))
    .toSorted() as [string];
  const bytes = readFileSync(`${copy}/${name}`);
  const read = readSegment(captureSetup, `${copy}/${name}`)!;
  const frames = read.frames.map(({ at, offset, end }) => {
    const places = placesIn(bytes.subarray(offset, end));
    return { from: at, to: end, places };
  });
  return { folder: copy, name, bytes, frames, rows: groups * rowsEach };
}

function placesIn(native: Uint8Array): number[] {
  return readBlocks(native).map(
    ({ properties }) => (JSON.parse(String(properties)) as { place: number }).place,
  );
}

function harmsOf({ frames, bytes }: Left): Harm[] {
  const boundaries = [...frames.map(({ from }) => from), bytes.length];
  const near = boundaries.flatMap((at) => [at - 1, at, at + 1]).filter((at) => at >= 0 && at < bytes.length);
  return [
    ...near.map((at) => ({ name: `cut at ${at}`, act: (all: Buffer) => cut(all, at) })),
    ...near.flatMap((at) =>
      [0, 3, 7].map((bit) => ({
        name: `bit ${bit} of ${at} flipped`,
        act: (all: Buffer) => change(all, at, at + 1, (byte) => byte ^ (1 << bit)),
      })),
    ),
    ...frames.flatMap(({ from, to }) => [
      { name: `${from} to ${to} zeroed`, act: (all: Buffer) => change(all, from, to, () => 0) },
      { name: `all from ${from} zeroed`, act: (all: Buffer) => change(all, from, all.length, () => 0) },
      { name: `a sector at ${from} zeroed`, act: (all: Buffer) => change(all, from, from + 512, () => 0) },
      {
        name: `the middle of ${from} to ${to} flipped`,
        act: (all: Buffer) => change(all, (from + to) >> 1, ((from + to) >> 1) + 1, (byte) => byte ^ 255),
      },
    ]),
    ...frames.slice(1).map((frame, i) => ({
      name: `${frame.from} swapped with the one before`,
      act: (all: Buffer) => swap(all, frames[i]!, frame),
    })),
  ];
}

function cut(bytes: Buffer, at: number): { bytes: Buffer; from: number; to: number } {
  return { bytes: bytes.subarray(0, at), from: at, to: bytes.length };
}

function change(
  bytes: Buffer,
  from: number,
  to: number,
  act: (byte: number) => number,
): { bytes: Buffer; from: number; to: number } {
  const changed = Buffer.from(bytes);
  const end = Math.min(to, bytes.length);
  for (let at = from; at < end; at++) changed[at] = act(bytes[at]!);
  return { bytes: changed, from, to: end };
}

function swap(bytes: Buffer, one: Frame, other: Frame): { bytes: Buffer; from: number; to: number } {
  const parts = [
    bytes.subarray(0, one.from),
    bytes.subarray(other.from, other.to),
    bytes.subarray(one.from, one.to),
    bytes.subarray(other.to),
  ];
  return { bytes: Buffer.concat(parts), from: one.from, to: other.to };
}

function compare(left: Left, harm: Harm, name: string, result: DamageResult): void {
  const folder = makeFolder();
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  cpSync(left.folder, folder, { recursive: true });
  const harmed = harm.act(left.bytes);
  writeFileSync(`${folder}/${left.name}`, harmed.bytes);
  const told: { level: string; file?: string; lost_rows?: number | string }[] = [];
  const log = openLog({ level: "error", format: "json", write: (text) => void told.push(JSON.parse(text)) });
  const journal = openJournal(folder, { clock: clockAt(1_700_000_100_000), log });
  const found = placesOf(journal, folder);
  void journal.close().then(() => journal.release());
  rmSync(folder, { recursive: true, force: true });

  const there = new Set(found);
  const readable = left.frames.filter(({ from, to }) => to <= harmed.from || from >= harmed.to);
  const missing = left.rows - there.size;
  const counted = told.reduce(
    (sum, { lost_rows }) => sum + (typeof lost_rows === "number" ? lost_rows : 0),
    0,
  );
  const isUnknown = told.some(({ lost_rows }) => lost_rows === "unknown");
  result.cases++;
  result.acknowledged += left.rows;
  result.stored += there.size;
  result.told += missing;
  result.doubled += found.length - there.size;
  result.invented += found.filter((place) => !(place >= 0 && place < left.rows)).length;
  const unread = readable.flatMap(({ places }) => places).filter((place) => !there.has(place)).length;
  const isTold = missing === 0 || counted === missing || isUnknown;
  const namesFile = missing === 0 || told.some(({ file }) => file?.includes(left.name));
  result.lost += unread + (isTold ? 0 : missing);
  if (unread > 0) result.problems.push(`${name}: ${unread} readable rows do not go on`);
  if (!isTold) result.problems.push(`${name}: ${missing} rows are missing, ${counted} are told`);
  if (!namesFile) result.problems.push(`${name}: the file is not named`);
}

/** The rows that the journal would flush. */
function placesOf(journal: CaptureJournal, folder: string): number[] {
  const taken = new Set<NonNullable<ReturnType<CaptureJournal["nextSealed"]>>>();
  const places: number[] = [];
  for (const lane of [journal.live.kind, journal.historical.kind]) {
    for (let one = journal.nextSealed(lane, taken); one; one = journal.nextSealed(lane, taken)) {
      taken.add(one);
      const bytes = readFileSync(one.path.startsWith("/") ? one.path : `${folder}/${one.path}`);
      for (const { offset, length } of one.batches.flatMap((batch) => batch.frames)) {
        places.push(...placesIn(bytes.subarray(offset, offset + length)));
      }
    }
  }
  return places;
}
