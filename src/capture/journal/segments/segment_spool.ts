// Files of finished segments that wait to be archived: further names of them, in one folder of a DATA_DIR.

import { basename } from "node:path";
import { type JournalIo, syncFolder } from "../journal_io.ts";
import { journalLimits } from "../limits.ts";
import { type Segment, segmentEnding, segmentName } from "./segment.ts";

export interface WaitingFile {
  /** The segment's. */
  name: string;
  id: bigint;
  path: string;
  /** 0 for a segment that will not be archived. */
  bytes: number;
}

const fileShape = /^(\d{1,12})-([a-z]+-([0-9a-f]{16})\.segment)$/;

/** The folder of a DATA_DIR for all its journals. */
export function spoolFolder(dataDir: string): string {
  return `${dataDir}/archive`;
}

/** From the oldest segment to the newest. */
export function listWaiting(io: JournalIo, folder: string): WaitingFile[] {
  if (!io.exists(folder)) return [];
  const found = io.list(folder).flatMap((text) => {
    const [, bytes, name = "", id] = fileShape.exec(text) ?? [];
    if (id === undefined) return [];
    return [{ name, id: BigInt(`0x${id}`), path: `${folder}/${text}`, bytes: Number(bytes) }];
  });
  return found.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

export interface SpoolOptions {
  dataDir: string;
  journalBytesMax: number;
  /** Where what is flushed is archived; undefined: nowhere. */
  journalArchive?: string | undefined;
  /** Counts a segment that will not be archived. */
  counts: { unarchived(): void };
}

/** Undefined where nothing is archived; what waited for an archive is removed then. */
export function openSpool(io: JournalIo, options: SpoolOptions): SegmentSpool | undefined {
  if (options.journalArchive !== undefined) return new SegmentSpool(io, options);
  for (const { path } of listWaiting(io, spoolFolder(options.dataDir))) io.remove(path);
  return undefined;
}

export class SegmentSpool {
  readonly #io: JournalIo;
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #counts: SpoolOptions["counts"];

  constructor(io: JournalIo, { dataDir, journalBytesMax, counts }: SpoolOptions) {
    this.#io = io;
    this.#folder = spoolFolder(dataDir);
    this.#bytesMax = journalBytesMax / journalLimits.waitingBytesDivisor;
    this.#counts = counts;
  }

  /** Whether the file of a stored segment waits now: then it must not be overwritten. Failures are counted. */
  async retain({ path, id, lane, bytes }: Segment, isTight: boolean): Promise<boolean> {
    const name = segmentName(lane, id);
    // Rows from quarantine are in the segment that they came with.
    if (basename(path) !== name) return false;
    let isLinked = false;
    try {
      const ending = name.slice(-segmentEnding(0).length);
      const waiting = listWaiting(this.#io, this.#folder).filter((file) => file.name.endsWith(ending));
      if (waiting.some((file) => file.name === name)) return true;
      this.#io.makeFolder(this.#folder);
      const sum = waiting.reduce((total, file) => total + file.bytes, bytes);
      const isFull = waiting.length >= journalLimits.waitingFilesMax;
      if (isTight || sum > this.#bytesMax || isFull) {
        // An empty file tells the archive that there is a gap; in a full folder one for all that is left out.
        if (!isFull || waiting.at(-1)?.bytes !== 0) this.#io.write(`${this.#folder}/0-${name}`, "");
        throw new Error("the archive is behind");
      }
      this.#io.link(path, `${this.#folder}/${bytes}-${name}`);
      isLinked = true;
      await syncFolder(this.#io, this.#folder);
    } catch {
      this.#counts.unarchived();
    }
    return isLinked;
  }
}
