// A copy of a journal that is being written: recovery finds in it what was acknowledged before, and no damage.

import { afterAll, afterEach, expect, test } from "bun:test";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { captureSetup } from "../../../src/capture/capture_journal.ts";
import type { CaptureJournal } from "../../../src/capture/capture_journal.ts";
import { copyJournal } from "../../../src/capture/journal/journal_copy.ts";
import { Ledger } from "../../../src/capture/journal/ledger.ts";
import { type Damage, Recovery } from "../../../src/capture/journal/recovery/recovery.ts";
import { silentLog } from "../../../src/core/log.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { appendTo, laneNames, openJournal } from "../../support/journal.ts";

afterAll(cleanUp);

const opened: CaptureJournal[] = [];

afterEach(async () => {
  for (const journal of opened.splice(0)) {
    await journal.close();
    await journal.release();
  }
});

function open(): { journal: CaptureJournal; folder: string } {
  const folder = join(makeFolder(), "journal");
  mkdirSync(folder);
  const journal = openJournal(folder);
  opened.push(journal);
  return { journal, folder };
}

function copyPlain(from: string, to: string): Promise<void> {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
  return Promise.resolve();
}

/** Copies the folder; resolves to what a start on the copy finds. */
async function found(
  folder: string,
  copy: (from: string, to: string) => Promise<void> = copyPlain,
): Promise<{ rows: Record<string, number>; damage: Damage[] }> {
  const target = join(makeFolder(), "copy");
  await copyJournal({ setup: captureSetup, folder, target, copy, attemptsMax: 3 });
  const damage: Damage[] = [];
  if (!existsSync(target)) return { rows: {}, damage };
  const recovery = new Recovery({
    setup: captureSetup,
    folder: target,
    damaged: (one) => damage.push(one),
    log: silentLog,
  });
  recovery.readFolder(new Ledger(captureSetup, target));
  return { rows: Object.fromEntries(recovery.segments.map(({ lane, rows }) => [lane.name, rows])), damage };
}

async function write(journal: CaptureJournal, rows: number): Promise<void> {
  for (let place = 0; place < rows; place++) for (const lane of laneNames) appendTo(journal, lane, place);
  for (const lane of laneNames) await journal[lane].commit();
}

/** The names of segments that grow; files made ahead are beside them. */
const growing = (journal: CaptureJournal) =>
  laneNames.map((lane) => basename(journal[lane].segment!.path)).toSorted();

test("the growing segments of all laneNames are copied with every row that was committed", async () => {
  const { journal, folder } = open();
  await write(journal, 2);
  await write(journal, 1);
  const rows = Object.fromEntries(laneNames.map((lane) => [lane, 3]));
  expect(await found(folder)).toEqual({ rows, damage: [] });
});

test("half a write behind them is left out, and is no damage", async () => {
  const { journal, folder } = open();
  await write(journal, 2);
  const half = async (from: string, to: string) => {
    await copyPlain(from, to);
    // The beginning of the frame that is being written, which bears this segment's number.
    if (basename(from).startsWith("live-")) appendFileSync(to, await Bun.file(from).slice(0, 150).bytes());
  };
  const rows = Object.fromEntries(laneNames.map((lane) => [lane, 2]));
  expect(await found(folder, half)).toEqual({ rows, damage: [] });
});

test("a segment that is finished while it is copied is left out, also when its file is used again", async () => {
  const { journal, folder } = open();
  await write(journal, 2);
  const [gone, again, ...others] = growing(journal);
  const copy = async (from: string, to: string) => {
    await copyPlain(from, to);
    if (basename(from) === gone) rmSync(from);
    if (basename(from) !== again) return;
    renameSync(from, `${from}.spare`);
    writeFileSync(from, "another segment's");
  };
  const { rows, damage } = await found(folder, copy);
  expect(damage).toEqual([]);
  expect(Object.keys(rows).length).toBe(others.length);
});

test("damage of the original is told by a start on the copy", async () => {
  const { journal, folder } = open();
  await write(journal, 2);
  const live = growing(journal).find((name) => name.startsWith("live-"))!;
  const { rows, damage } = await found(folder, async (from, to) => {
    await copyPlain(from, to);
    if (basename(from) === live) writeFileSync(to, "nothing of it");
  });
  expect(damage.length).toBe(1);
  expect(damage[0]!.rows).toBe(2);
  expect(rows["historical"]).toBe(2);
});

test("a folder with nothing that waits gives no copy, or one that a start takes as empty", async () => {
  const { folder } = open();
  expect(await found(folder)).toEqual({ rows: {}, damage: [] });
});
