// Recovery: reads at a start what an earlier process left in a journal's folder. Acknowledged rows are stored, or are
// logged as lost and their file is set aside; what was not acknowledged is cut.

import { basename, dirname } from "node:path";
import { UserError } from "../../../core/fault.ts";
import { type Log, toReason } from "../../../core/log.ts";
import type { JournalIo } from "../journal_io.ts";
import type { JournalSetup } from "../lane_kind.ts";
import type { Expected, Ledger, LedgerContents } from "../ledger.ts";
import { nativeBatchAt, readNativeFrame } from "../segments/native_frame.ts";
import {
  readSegmentHead,
  readSegmentMillis,
  readSegmentName,
  returnedSuffix,
  type Segment,
  segmentName,
  toSegment,
} from "../segments/segment.ts";
import { type ReadSegment, readSegment } from "../segments/segment_reader.ts";
import { judgeSegment, type SegmentVerdict } from "./verdict.ts";

/** Damage: files, acknowledged rows known to be lost, and unreadable bytes. */
export interface Damage {
  files: number;
  rows: number;
  bytes: number;
}

interface RecoveryOptions {
  setup: JournalSetup;
  folder: string;
  damaged(damage: Damage): void;
  log: Log;
}

/** Unreadable ranges of one file in a log line. */
const rangesLoggedMax = 8;

export class Recovery {
  readonly segments: Segment[] = [];
  lastMillis = 0;
  readonly #options: RecoveryOptions;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /** Recovers the whole folder; reads the ledger and does not rewrite it. */
  readFolder(ledger: Ledger): void {
    const { setup, folder } = this.#options;
    const contents = ledger.read();
    this.lastMillis = contents.lastMillis;
    if (contents.unreadable > 0) {
      const copyPath = ledger.copyAside();
      const text =
        "the journal's ledger is damaged; ClickHouse is asked for the batches of unlisted segments";
      this.#report(text, { file: `${folder}/ledger`, kept: copyPath, unreadable: contents.unreadable });
    }
    // A killed process may not have synced its last line, which must outlive the file that it names.
    if (contents.finished.length > 0) setup.io.sync(`${folder}/ledger`);
    for (const name of contents.finished) setup.io.remove(`${folder}/${basename(name)}`);
    // Keyed by lane, from the oldest.
    const names = setup.io
      .list(folder)
      .filter((name) => name.endsWith(".segment"))
      .toSorted();
    refuseMisnamed(setup, folder, names, contents.expected);
    for (const name of names) this.recoverFile(`${folder}/${name}`, findExpected(setup, name, contents));
    for (const [name, { rows, bytes }] of contents.expected) {
      if (names.includes(name)) continue;
      const about = { file: `${folder}/${name}`, lost_rows: rows, lost_bytes: bytes };
      this.#report("a journal segment is missing", about, { rows, bytes });
    }
  }

  beginLedger(ledger: Ledger): void {
    const { setup, folder, log } = this.#options;
    // What a killed process wrote and did not sync counts as present: it must survive a loss of power.
    for (const { path } of this.segments) setup.io.sync(path);
    if (ledger.restart(this.lastMillis, this.segments)) return;
    log.warn("the disk is full: the journal's ledger was not rewritten", { folder });
  }

  /** Recovers rows that an operator returned from quarantine, except from the files at `known` paths. */
  readReturned(known: ReadonlySet<string>): void {
    const { setup, folder } = this.#options;
    const names = setup.io.list(folder).filter((name) => name.endsWith(returnedSuffix));
    const paths = names.map((name) => `${folder}/${name}`).filter((path) => !known.has(path));
    for (const path of paths.toSorted()) this.recoverFile(path);
  }

  recoverFile(path: string, expected?: Expected): void {
    const read = this.#read(path, expected?.tail === "sealed" ? expected.bytes : undefined);
    if (!read) return this.#reportUnreadable(path, expected);
    const verdict = judgeSegment(read, expected);
    const { segment } = read;
    const isEmpty = segment.rows === 0;
    if (verdict.isDamaged) this.#reportDamaged(path, read, verdict);
    else if (isEmpty) this.#options.setup.io.remove(path);
    else if (segment.bytes < read.fileBytes) this.#cut(path, read);
    if (isEmpty) return;
    this.lastMillis = Math.max(this.lastMillis, readSegmentMillis(segment.id));
    this.segments.push(segment);
  }

  #read(path: string, end?: number): ReadSegment | undefined {
    try {
      return readSegment(this.#options.setup, path, end);
    } catch (thrown) {
      this.#options.log.error("a journal file cannot be read", { file: path, reason: toReason(thrown) });
      return undefined;
    }
  }

  /** Cuts off a torn write, or an earlier segment's bytes in a recycled file; not in a file that is also set aside. */
  #cut(path: string, { segment, fileBytes }: ReadSegment): void {
    const { setup, log } = this.#options;
    if (setup.io.stat(path).nlink > 1) return;
    const bytes = fileBytes - segment.bytes;
    const text = "cut what follows the last whole frame and was never acknowledged";
    log.info(text, { path, bytes });
    setup.io.truncate(path, segment.bytes);
  }

  #reportDamaged(path: string, read: ReadSegment, { lostRows, badBytes, isDoubtful }: SegmentVerdict): void {
    const { segment, bad, isHeadDamaged } = read;
    const { io } = this.#options.setup;
    if (lostRows === 0 && isAside(io, path)) {
      const text = "a journal segment was found damaged before; its intact frames wait";
      this.#options.log.info(text, { file: path });
      return;
    }
    const asidePath = setAside(io, path, segment.rows > 0);
    const text = isDoubtful
      ? "a journal segment ends in unreadable bytes that may have been acknowledged; the file is kept"
      : "a journal segment is damaged; its intact frames are stored, the file is kept";
    const about = {
      file: path,
      kept: asidePath,
      lane: segment.lane.name,
      sound_rows: segment.rows,
      lost_rows: lostRows ?? "unknown",
      lost_bytes: badBytes,
      unreadable: bad.slice(0, rangesLoggedMax).map(({ from, to }) => `${from}-${to}`),
      ...(isHeadDamaged && { head: "damaged" }),
    };
    this.#report(text, about, { rows: lostRows ?? 0, bytes: badBytes });
  }

  #reportUnreadable(path: string, expected: Expected | undefined): void {
    const { io } = this.#options.setup;
    const bytes = io.stat(path).size;
    if (bytes === 0 && !expected) return io.remove(path);
    const asidePath = setAside(io, path);
    const text = "a file among the journal's segments is no segment; it was set aside";
    const about = { file: path, kept: asidePath, bytes, lost_rows: expected?.rows ?? "unknown" };
    this.#report(text, about, { rows: expected?.rows ?? 0, bytes });
  }

  #report(text: string, about: Record<string, unknown>, damage: Partial<Damage> = {}): void {
    this.#options.log.error(text, about);
    this.#options.damaged({ files: 1, rows: 0, bytes: 0, ...damage });
  }
}

/**
 * Sets a damaged file aside for an operator, under a name that no recovery reads, which it returns. With `isKept` it
 * stays under its own name, too: by a hard link, which takes no space, or as a copy.
 */
function setAside(io: JournalIo, path: string, isKept = false): string {
  let aside = `${path}.damaged`;
  for (let number = 2; io.exists(aside); number++) aside = `${path}.${number}.damaged`;
  if (!isKept) io.rename(path, aside);
  else {
    try {
      io.link(path, aside);
    } catch {
      io.copy(path, `${aside}.part`);
      io.rename(`${aside}.part`, aside);
    }
  }
  return aside;
}

function isAside(io: JournalIo, path: string): boolean {
  const { ino, nlink } = io.stat(path);
  if (nlink === 1) return false;
  const asides = io.list(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.`));
  return asides.some((name) => io.stat(`${dirname(path)}/${name}`).ino === ino);
}

/** Finds what the segment of this name must contain; undefined when nothing is known of it. */
function findExpected(
  setup: JournalSetup,
  name: string,
  { expected, newest }: LedgerContents,
): Expected | undefined {
  const known = expected.get(name);
  const segment = readSegmentName(setup, name);
  if (known || !segment || !newest || segment.id <= newest.get(segment.lane)!) return known;
  // The segment was begun after the last mark: nothing in it was acknowledged.
  return { bytes: 0, rows: 0, tail: "synced" };
}

/** Longer than a head, and than the beginning of a native frame. */
const beginningBytes = 256;

/**
 * Files may have been swapped or renamed. A recycled file, too, begins with bytes of another segment: of an earlier
 * one, which the ledger does not expect.
 * @throws UserError in one line when only a wrong name explains a file's contents.
 */
function refuseMisnamed(
  setup: JournalSetup,
  folder: string,
  names: readonly string[],
  expected: ReadonlyMap<string, Expected>,
): void {
  const { io, lanes } = setup;
  // Files that return from quarantine are not named after their segment.
  for (const name of names.filter((text) => !text.endsWith(returnedSuffix))) {
    const path = `${folder}/${name}`;
    const [beginning] = io.readParts(path, [{ offset: 0, length: beginningBytes }]) as [Uint8Array];
    const named = readSegmentName(setup, name);
    const head = readSegmentHead(setup, beginning);
    const batch = nativeBatchAt(beginning, 0);
    const id = head?.id ?? (batch === undefined ? undefined : toSegment(batch));
    if (id === undefined || (!head && named?.id === id)) continue;
    const lane = lanes.find((kind) => kind.isNative && expected.has(segmentName(kind, id)));
    const isEarlier = lane === undefined && named !== undefined && id < named.id;
    // If the number itself is damaged, no frame with that number is intact.
    if (!head && (isEarlier || !readNativeFrame(io.read(path), 0, id))) continue;
    const ownLane = head?.lane ?? lane ?? named?.lane ?? lanes.find(({ isNative }) => isNative)!;
    const ownName = segmentName(ownLane, id);
    if (ownName === name) continue;
    throw new UserError(
      `${folder}/${name} has the contents of ${ownName}, since files were renamed or copied; remove it if there is ` +
        `such a file, or give it that name again: mv ${folder}/${name} ${folder}/${ownName}`,
    );
  }
}
